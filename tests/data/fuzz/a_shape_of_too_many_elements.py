@R.function
def main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool")):
    n = T.int64(9223372036854775807)
    if c:
        y = R.multiply(x, R.const([1, 2, 3, 4], "float32"))
    else:
        y = R.reshape(x, R.shape([n, 4]))
    return y
