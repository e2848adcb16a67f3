@T.prim_func
def f(A: T.Buffer((4,), "float32x4"), n: T.int64, k: T.int32):
    A[0] = k - (n * T.float32x4(16))
    A[1] = T.float32x4(T.int32x4(n))
