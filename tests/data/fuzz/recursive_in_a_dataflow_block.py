@R.function
def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
    with R.dataflow():
        @R.function
        def g(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            z = g(y)
            return z
        w = g(x)
        R.output(w)
    return w
