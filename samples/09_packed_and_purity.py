# Packed functions are called by name and may have any effect, so their caller is declared impure.
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        y = R.call_packed("vm.builtin.copy", x, ty_args=(R.Tensor((3,), dtype="float32"),))
        R.print(y, format="y = {}")
        z = R.add(y, x)
        return z
