@I.ir_module
class M:
    @T.prim_func
    def addone(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(A, (n,), "float32")
        for i in range(n):
            B[i] = A[i] + T.float32(1)

    @R.function
    def main(x: R.Tensor(("n",), "float32"), h: R.Tensor(("n",), "float16"), s: R.Tensor((), "float32")):
        n = T.int64()
        a = R.call_tir(M.addone, (x,), out_ty=R.Tensor((n,), "float16"))  # error: [RX0213] "float16"
        b = R.call_tir(M.addone, (h,), out_ty=R.Tensor((n,), "float32"))  # error: [RX0213] "float16"
        c = R.call_tir(M.addone, (s,), out_ty=R.Tensor((n,), "float32"))  # error: [RX0213]
        d = R.call_tir(M.addone, (x, x), out_ty=R.Tensor((n,), "float32"))  # error: [RX0212] "takes 2 parameters"
        e = R.call_tir(M.addone, (x,), out_ty=R.Tensor((n + 1,), "float32"))  # error: [RX0213]
        return (a, b, c, d, e)
