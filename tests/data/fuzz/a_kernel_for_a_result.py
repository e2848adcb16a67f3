@I.ir_module
class M:
    @T.prim_func
    def addk(A: T.Buffer((4,), "float32"), k: T.int64, B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] + T.Cast("float32", k)

    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor(("n",), "float32")):
        n = T.int64()
        z = R.call_tir(M.addk, (x, n), out_ty=R.Tensor((4,), "float32"))  # warning: [RX0146] "n"
        return addk
