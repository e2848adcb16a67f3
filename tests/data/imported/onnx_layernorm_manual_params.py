# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

B = TypeVar("B")
S = TypeVar("S")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((B, S, 8), dtype="float32"), ax: R.Tensor((1,), dtype="int64"), eps: R.Tensor((), dtype="float32"), g: R.Tensor((8,), dtype="float32"), b: R.Tensor((8,), dtype="float32")) -> R.Tensor((B, S, 8), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((B, S, 1), dtype="float32") = R.mean(x, axis=[-1], keepdims=True)
            lv1: R.Tensor((B, S, 8), dtype="float32") = R.subtract(x, lv)
            lv2: R.Tensor((B, S, 8), dtype="float32") = R.multiply(lv1, lv1)
            lv3: R.Tensor((B, S, 1), dtype="float32") = R.mean(lv2, axis=[-1], keepdims=True)
            lv4: R.Tensor((B, S, 1), dtype="float32") = R.add(lv3, eps)
            lv5: R.Tensor((B, S, 1), dtype="float32") = R.sqrt(lv4)
            lv6: R.Tensor((B, S, 8), dtype="float32") = R.divide(lv1, lv5)
            lv7: R.Tensor((B, S, 8), dtype="float32") = R.multiply(lv6, g)
            gv: R.Tensor((B, S, 8), dtype="float32") = R.add(lv7, b)
            R.output(gv)
        return gv