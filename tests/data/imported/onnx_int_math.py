# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

N = TypeVar("N")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((N,), dtype="int64")) -> R.Tensor((N,), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((N,), dtype="int64") = R.divide(x, R.const(3, "int64"))
            lv1: R.Tensor((N,), dtype="int64") = R.multiply(lv, R.const(3, "int64"))
            lv2: R.Tensor((N,), dtype="int64") = R.subtract(x, lv1)
            lv3: R.Tensor((N,), dtype="int64") = R.floor_mod(x, R.const(3, "int64"))
            lv4: R.Tensor((N,), dtype="int64") = R.add(lv2, lv3)
            gv: R.Tensor((N,), dtype="float32") = R.astype(lv4, dtype="float32")
            R.output(gv)
        return gv