# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

N = TypeVar("N")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((N, 12), dtype="float32")) -> R.Tuple(R.Tensor((N, 4), dtype="float32"), R.Tensor((N, 4), dtype="float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tuple(R.Tensor((N, 4), dtype="float32"), R.Tensor((N, 4), dtype="float32"), R.Tensor((N, 4), dtype="float32")) = R.split(x, indices_or_sections=3, axis=1)
            lv1: R.Tensor((N, 4), dtype="float32") = lv[0]
            lv2: R.Tensor((N, 4), dtype="float32") = lv[1]
            lv3: R.Tensor((N, 4), dtype="float32") = lv[2]
            lv4: R.Tensor((N, 4), dtype="float32") = R.sigmoid(lv1)
            lv5: R.Tensor((N, 4), dtype="float32") = R.tanh(lv2)
            lv6: R.Tensor((N, 4), dtype="float32") = R.multiply(lv4, lv5)
            lv7: R.Tensor((N, 4), dtype="float32") = R.add(lv6, lv3)
            lv8: R.Tensor((N, 4), dtype="float32") = R.exp(lv3)
            gv: R.Tuple(R.Tensor((N, 4), dtype="float32"), R.Tensor((N, 4), dtype="float32")) = lv7, lv8
            R.output(gv)
        return gv