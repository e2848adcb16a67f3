# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

N = TypeVar("N")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((N, 3), dtype="float32"), k: R.Tensor((3,), dtype="float32")) -> R.Tensor((N, 3), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((N, 3), dtype="float32") = R.add(x, k)
            lv1: R.Tensor((N, 3), dtype="float32") = R.multiply(lv, k)
            lv2: R.Tensor((N, 3), dtype="float32") = R.subtract(lv1, k)
            lv3: R.Tensor((3,), dtype="float32") = R.divide(k, k)
            gv: R.Tensor((N, 3), dtype="float32") = R.add(lv2, lv3)
            R.output(gv)
        return gv