# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

N = TypeVar("N")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((N, 3), dtype="float32"), z: R.Tensor((), dtype="float32"), z2: R.Tensor((), dtype="float32")) -> R.Tensor((N, 3), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((N, 3), dtype="bool") = R.greater(x, z)
            lv1: R.Tensor((N, 3), dtype="float32") = R.where(lv, x, z2)
            lv2: R.Tensor((N, 3), dtype="float16") = R.astype(lv1, dtype="float16")
            lv3: R.Tensor((N, 3), dtype="bool") = R.logical_not(lv)
            lv4: R.Tensor((N, 3), dtype="float32") = R.astype(lv2, dtype="float32")
            lv5: R.Tensor((N, 3), dtype="float32") = R.astype(lv3, dtype="float32")
            gv: R.Tensor((N, 3), dtype="float32") = R.add(lv4, lv5)
            R.output(gv)
        return gv