# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

N = TypeVar("N")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((N,), dtype="float32")) -> R.Tuple(R.Tensor((N,), dtype="float32"), R.Tensor((N,), dtype="float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((N,), dtype="float32") = R.exp(x)
            lv1: R.Tensor((N,), dtype="float32") = R.exp(x)
            lv2: R.Tensor((N,), dtype="float32") = R.add(lv, lv1)
            lv3: R.Tensor((N,), dtype="float32") = R.multiply(lv2, lv)
            lv4: R.Tensor((N,), dtype="float32") = R.multiply(lv2, lv1)
            gv: R.Tuple(R.Tensor((N,), dtype="float32"), R.Tensor((N,), dtype="float32")) = lv3, lv4
            R.output(gv)
        return gv