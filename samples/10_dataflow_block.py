# A dataflow block has no side effects and no control flow: it is a graph. Only what R.output names can be seen outside.
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 8), "float32"), w: R.Tensor((8, 8), "float32")):
        with R.dataflow():
            lv = R.matmul(x, w)
            lv1 = R.nn.gelu(lv)
            lv2 = R.add(x, lv1)
            gv = R.nn.softmax(lv2, axis=-1)
            R.output(gv)
        return gv
