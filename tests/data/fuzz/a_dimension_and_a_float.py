@R.function
def main(x: R.Tensor(("n", "n * 2"), "float32")):
    n = T.int64()
    y: R.Tensor((n, n + T.float32(1.5)), "float32") = x  # warning: [RX0110]
    return y
