@R.function
def main():
    x: R.Tensor((2,), "float32") = 340282346638528859811704183484516925440
    return x
