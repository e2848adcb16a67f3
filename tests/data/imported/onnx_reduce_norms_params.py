# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

N = TypeVar("N")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((N, 6), dtype="float32"), ax: R.Tensor((1,), dtype="int64"), two: R.Tensor((), dtype="float32")) -> R.Tensor((N,), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((N, 1), dtype="float32") = R.sum(x, axis=[1], keepdims=True)
            lv1: R.Tensor((N, 6), dtype="float32") = R.divide(x, lv)
            lv2: R.Tensor((N, 6), dtype="float32") = R.multiply(lv1, lv1)
            lv3: R.Tensor((N, 1), dtype="float32") = R.sum(lv2, axis=[1], keepdims=True)
            lv4: R.Tensor((N, 1), dtype="float32") = R.sqrt(lv3)
            lv5: R.Tensor((N, 6), dtype="float32") = R.divide(lv1, lv4)
            lv6: R.Tensor((N,), dtype="float32") = R.max(lv5, axis=[1], keepdims=False)
            gv: R.Tensor((N,), dtype="float32") = R.power(lv6, two)
            R.output(gv)
        return gv