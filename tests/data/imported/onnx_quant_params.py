# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

N = TypeVar("N")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((N, 4), dtype="float32"), s: R.Tensor((), dtype="float32"), zp: R.Tensor((), dtype="int8"), w: R.Tensor((4, 5), dtype="float32")) -> R.Tensor((N, 5), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((N, 4), dtype="int8") = R.quantize(x, s, zp, out_dtype="int8", axis=1)
            lv1: R.Tensor((N, 4), dtype="float32") = R.dequantize(lv, s, zp, out_dtype="float32", axis=1)
            lv2: R.Tensor((N, 5), dtype="float32") = R.matmul(lv1, w, out_dtype=None)
            gv: R.Tensor((N, 5), dtype="float32") = R.nn.relu(lv2)
            R.output(gv)
        return gv