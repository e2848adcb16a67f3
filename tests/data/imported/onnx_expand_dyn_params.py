# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

N = TypeVar("N")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((N, 4), dtype="float32"), b: R.Tensor((1, 4), dtype="float32")) -> R.Tensor((N, 4), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((N, 4), dtype="float32") = R.broadcast_to(b, R.shape([N, 4]))
            lv1: R.Tensor((N, 4), dtype="float32") = R.multiply(x, lv)
            lv2: R.Tensor((N, 4), dtype="float32") = R.erf(lv1)
            lv3: R.Tensor((N, 4), dtype="float32") = R.maximum(lv2, R.const(0.0, "float32"))
            lv4: R.Tensor((N, 4), dtype="float32") = R.abs(lv2)
            lv5: R.Tensor((N, 4), dtype="float32") = R.negative(lv4)
            lv6: R.Tensor((N, 4), dtype="float32") = R.exp(lv5)
            lv7: R.Tensor((N, 4), dtype="float32") = R.add(R.const(1.0, "float32"), lv6)
            lv8: R.Tensor((N, 4), dtype="float32") = R.log(lv7)
            lv9: R.Tensor((N, 4), dtype="float32") = R.add(lv3, lv8)
            gv: R.Tensor((N, 4), dtype="float32") = R.divide(R.const(1.0, "float32"), lv9)
            R.output(gv)
        return gv