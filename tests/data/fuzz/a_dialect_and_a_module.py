@T.prim_func
def f(A: T.Buffer((8,), "int64")):
    for i in range(8):
        with T.sblock("b"):
            v = T.Module.spatial(T.int64(8), i)
            A[v] = v
