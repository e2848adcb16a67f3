# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

N = TypeVar("N")
S = TypeVar("S")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((N, S, 8), dtype="float32"), w1: R.Tensor((8, 8), dtype="float32"), w2: R.Tensor((8, 8), dtype="float32"), w3: R.Tensor((8, 8), dtype="float32")) -> R.Tensor((N, S, 8), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((N, S, 8), dtype="float32") = R.matmul(x, w1, out_dtype=None)
            lv1: R.Tensor((N, S, 8), dtype="float32") = R.sigmoid(lv)
            lv2: R.Tensor((N, S, 8), dtype="float32") = R.multiply(lv, lv1)
            lv3: R.Tensor((N, S, 8), dtype="float32") = R.matmul(x, w2, out_dtype=None)
            lv4: R.Tensor((N, S, 8), dtype="float32") = R.multiply(lv2, lv3)
            lv5: R.Tensor((N, S, 8), dtype="float32") = R.matmul(x, w3, out_dtype=None)
            gv: R.Tensor((N, S, 8), dtype="float32") = R.add(lv4, lv5)
            R.output(gv)
        return gv