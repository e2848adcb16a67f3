# Work for the passes: a copy, an expression computed twice, constants that can be folded, and an unused value.
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            same = x
            a = R.exp(same)
            b = R.exp(x)
            two = R.add(R.const(1.0, "float32"), R.const(1.0, "float32"))
            unused = R.sin(x)
            total = R.add(a, b)
            gv = R.multiply(total, two)
            R.output(gv)
        return gv
