# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

B = TypeVar("B")
S = TypeVar("S")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((B, S, 4), dtype="float32"), one: R.Tensor((), dtype="int64"), onei: R.Tensor((), dtype="int64"), w: R.Tensor((4, 5), dtype="float32")) -> R.Tensor((B, 5), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((3,), dtype="int64") = R.shape_to_tensor(R.shape([B, S, 4]))
            lv1: R.Shape([3]) = R.shape_of(lv)
            lv2: R.Tensor((1,), dtype="int64") = R.shape_to_tensor(lv1)
            lv3: R.Tensor((), dtype="bool") = R.less(one, R.const(0, "int64"))
            lv4: R.Tensor((), dtype="int64") = R.take(lv2, R.const(0, "int64"), axis=0, mode="wrap")
            lv5: R.Tensor((), dtype="int64") = R.add(one, lv4)
            lv6: R.Tensor((), dtype="int64") = R.where(lv3, lv5, one)
            lv7: R.Tensor((), dtype="int64") = R.take(lv, lv6, axis=0, mode="fast")
            lv8: R.Shape([B, S, 4]) = R.shape_of(x)
            lv9: R.Tensor((3,), dtype="int64") = R.shape_to_tensor(lv8)
            lv10: R.Tensor((), dtype="int64") = R.subtract(lv7, onei)
            lv11: R.Tensor((), dtype="bool") = R.less(lv10, R.const(0, "int64"))
            lv12: R.Tensor((), dtype="int64") = R.take(lv9, R.const(1, "int64"), axis=0, mode="wrap")
            lv13: R.Tensor((), dtype="int64") = R.add(lv10, lv12)
            lv14: R.Tensor((), dtype="int64") = R.where(lv11, lv13, lv10)
            lv15: R.Tensor((B, 4), dtype="float32") = R.take(x, lv14, axis=1, mode="fast")
            gv: R.Tensor((B, 5), dtype="float32") = R.matmul(lv15, w, out_dtype=None)
            R.output(gv)
        return gv