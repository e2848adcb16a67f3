# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

N = TypeVar("N")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((N, 3), dtype="float32"), z: R.Tensor((N, 3), dtype="float32"), m: R.Tensor((N, 3), dtype="bool")) -> R.Tensor((N, 3), dtype="float32"):
        R.func_attr({"num_input": 3})
        with R.dataflow():
            lv: R.Tensor((N, 3), dtype="bool") = R.less(x, z)
            lv1: R.Tensor((N, 3), dtype="bool") = R.logical_and(lv, m)
            lv2: R.Tensor((N, 3), dtype="bool") = R.greater_equal(x, z)
            lv3: R.Tensor((N, 3), dtype="bool") = R.logical_or(lv1, lv2)
            lv4: R.Tensor((N, 3), dtype="bool") = R.logical_xor(lv3, m)
            lv5: R.Tensor((N, 3), dtype="float32") = R.where(lv4, x, z)
            lv6: R.Tensor((N, 3), dtype="float32") = R.abs(lv5)
            lv7: R.Tensor((N, 3), dtype="float32") = R.floor(lv5)
            lv8: R.Tensor((N, 3), dtype="float32") = R.sign(lv6)
            gv: R.Tensor((N, 3), dtype="float32") = R.subtract(lv7, lv8)
            R.output(gv)
        return gv