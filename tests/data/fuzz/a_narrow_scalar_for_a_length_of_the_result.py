@R.function
def main(n: T.uint8, m: T.int64, x: R.Tensor(( m), "float32")) -> R.Tensor((m, n), "float32"):
    s = R.shape([n, m + 1])  # revealed: R.Shape([n, m + 1])
    e = R.eye(n, m)  # revealed: R.Tensor((n, m), dtype="float32")
    a = R.arange(n)  # revealed: R.Tensor((n,), dtype="int64")
    z = R.zeros((n, 2), "float32")  # revealed: R.Tensor((n, 2), dtype="float32")
    w = R.match_cast(s, R.Shape([n, m + 1]))
    y: R.Tensor((m, n), "float32") = R.permute_dims(x)
    return n + 0
