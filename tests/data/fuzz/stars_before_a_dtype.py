@T.prim_func(s_tir=True)
def f(A: T.Buffer((T.int64(2),), **"float32"), B: T.Buffer((2,), "float32")):
    for i in T.serial(2, **A):
        B[i] = T.call_extern("float32", "f", **B)
