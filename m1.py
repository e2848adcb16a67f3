from tvm.script import ir as I, relax as R, tir as T

@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        m = T.int64()
        z = R.add(x, x)
        w = R.match_cast(y, R.Tensor((n,), "float32"))
        q = R.add(z, w)
        return q
