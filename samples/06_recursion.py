# Recursion: `power` multiplies by `x` once for each step from `count` down to 0; its return annotation is required.
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def power(x: R.Tensor((), "float32"), count: R.Tensor((), "int32")) -> R.Tensor((), "float32"):
        cls = Module
        stop = R.less_equal(count, R.const(0, "int32"))
        if stop:
            r = R.const(1.0, "float32")
        else:
            less = R.subtract(count, R.const(1, "int32"))
            rest = cls.power(x, less)
            r = R.multiply(x, rest)
        return r

    @R.function
    def main(x: R.Tensor((), "float32")) -> R.Tensor((), "float32"):
        cls = Module
        result = cls.power(x, R.const(5, "int32"))
        return result
