# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

B = TypeVar("B")
S = TypeVar("S")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((B, S, 8), dtype="float32"), wq: R.Tensor((8, 8), dtype="float32"), wk: R.Tensor((8, 4), dtype="float32"), bq: R.Tensor((8,), dtype="float32"), bk: R.Tensor((4,), dtype="float32")) -> R.Tensor((B, S, S), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((B, S, 8), dtype="float32") = R.matmul(x, wq, out_dtype=None)
            lv1: R.Tensor((B, S, 4), dtype="float32") = R.matmul(x, wk, out_dtype=None)
            lv2: R.Tensor((B, S, 8), dtype="float32") = R.add(lv, bq)
            lv3: R.Tuple(R.Tensor((B, S, 4), dtype="float32"), R.Tensor((B, S, 4), dtype="float32")) = R.split(lv2, indices_or_sections=2, axis=-1)
            lv4: R.Tensor((B, S, 4), dtype="float32") = lv3[0]
            lv5: R.Tensor((B, S, 4), dtype="float32") = lv3[1]
            lv6: R.Tensor((B, S, 4), dtype="float32") = R.add(lv1, bk)
            lv7: R.Tensor((B, 4, S), dtype="float32") = R.permute_dims(lv6, axes=[0, 2, 1])
            lv8: R.Tensor((B, S, S), dtype="float32") = R.matmul(lv4, lv7, out_dtype=None)
            lv9: R.Tensor((B, S, S), dtype="float32") = R.matmul(lv5, lv7, out_dtype=None)
            lv10: R.Tensor((B, S, S), dtype="float32") = R.add(lv8, lv9)
            gv: R.Tensor((B, S, S), dtype="float32") = R.nn.softmax(lv10, axis=-1)
            R.output(gv)
        return gv