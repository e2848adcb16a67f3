# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

B = TypeVar("B")
S = TypeVar("S")
@I.ir_module
class Module:
    @R.function
    def main(ids: R.Tensor((B, S), dtype="int64"), tab: R.Tensor((10, 8), dtype="float32"), w: R.Tensor((8, 16), dtype="float32"), ra: R.Tensor((1,), dtype="int64")) -> R.Tensor((B, 16), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Shape([10, 8]) = R.shape_of(tab)
            lv1: R.Tensor((2,), dtype="int64") = R.shape_to_tensor(lv)
            lv2: R.Tensor((B, S), dtype="bool") = R.less(ids, R.const(0, "int64"))
            lv3: R.Tensor((), dtype="int64") = R.take(lv1, R.const(0, "int64"), axis=0, mode="wrap")
            lv4: R.Tensor((B, S), dtype="int64") = R.add(ids, lv3)
            lv5: R.Tensor((B, S), dtype="int64") = R.where(lv2, lv4, ids)
            lv6: R.Tensor((B, S, 8), dtype="float32") = R.take(tab, lv5, axis=0, mode="fast")
            lv7: R.Tensor((B, S, 16), dtype="float32") = R.matmul(lv6, w, out_dtype=None)
            lv8: R.Tensor((B, S, 16), dtype="float32") = R.nn.gelu(lv7)
            lv9: R.Tensor((B, 16), dtype="float32") = R.mean(lv8, axis=[1], keepdims=False)
            gv: R.Tensor((B, 16), dtype="float32") = R.nn.softmax(lv9, axis=-1)
            R.output(gv)
        return gv