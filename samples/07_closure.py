# A closure: `add_bias` is a value that captures `b` from the scope around it.
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), b: R.Tensor((3,), "float32")) -> R.Tensor((2, 3), "float32"):
        @R.function
        def add_bias(y: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            shifted = R.add(y, b)
            return shifted

        once = add_bias(x)
        twice = add_bias(once)
        return twice
