@I.ir_module
class M:
    @R.function
    def down(n: R.Tensor((), "int32")):
        stop = R.less(n, R.const(1, "int32"))
        if stop:
            r = R.const(0, "int32")
        else:
            r = M.down(R.subtract(n, R.const(1, "int32")))
        return r
    @R.function
    def main(n: R.Tensor((), "int32")):
        k = M.down(n)
        return k
