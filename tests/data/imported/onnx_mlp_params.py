# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

N = TypeVar("N")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((N, 8), dtype="float32"), w: R.Tensor((16, 8), dtype="float32"), b: R.Tensor((16,), dtype="float32"), w2: R.Tensor((16, 4), dtype="float32"), b2: R.Tensor((4,), dtype="float32")) -> R.Tensor((N, 4), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((8, 16), dtype="float32") = R.permute_dims(w, axes=[1, 0])
            lv1: R.Tensor((N, 16), dtype="float32") = R.matmul(x, lv, out_dtype=None)
            lv2: R.Tensor((N, 16), dtype="float32") = R.add(lv1, b)
            lv3: R.Tensor((N, 16), dtype="float32") = R.nn.relu(lv2)
            lv4: R.Tensor((N, 4), dtype="float32") = R.matmul(lv3, w2, out_dtype=None)
            gv: R.Tensor((N, 4), dtype="float32") = R.add(lv4, b2)
            R.output(gv)
        return gv