# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis
# from tvm.script import relax as R

B = TypeVar("B")
L = TypeVar("L")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((B, L), dtype="float32"), i1: R.Tensor((), dtype="int64"), z: R.Tensor((), dtype="int64"), o: R.Tensor((), dtype="int64")) -> R.Tensor(dtype="float32", ndim=2):
        R.func_attr({"num_input": 1})
        range_len_0 = T.int64()
        with R.dataflow():
            lv: R.Tensor((2,), dtype="int64") = R.shape_to_tensor(R.shape([B, L]))
            lv1: R.Shape([2]) = R.shape_of(lv)
            lv2: R.Tensor((1,), dtype="int64") = R.shape_to_tensor(lv1)
            lv3: R.Tensor((), dtype="bool") = R.less(i1, R.const(0, "int64"))
            lv4: R.Tensor((), dtype="int64") = R.take(lv2, R.const(0, "int64"), axis=0, mode="wrap")
            lv5: R.Tensor((), dtype="int64") = R.add(i1, lv4)
            lv6: R.Tensor((), dtype="int64") = R.where(lv3, lv5, i1)
            lv7: R.Tensor((), dtype="int64") = R.take(lv, lv6, axis=0, mode="fast")
            lv8: R.Tensor((), dtype="int64") = R.subtract(R.const(0, "int64"), lv7)
            lv9: R.Tensor((), dtype="int64") = R.floor_divide(lv8, R.const(1, "int64"))
            lv10: R.Tensor((), dtype="int64") = R.negative(lv9)
            lv11: R.Tensor((), dtype="int64") = R.maximum(lv10, R.const(0, "int64"))
            lv12: R.Tensor((), dtype="int64") = R.astype(lv11, dtype="int64")
            lv13: R.Tensor((1,), dtype="int64") = R.match_cast(R.reshape(lv12, R.shape([1])), R.Tensor((1,), dtype="int64"))
            lv14: R.Shape(ndim=1) = R.tensor_to_shape(lv13)
            lv15: R.Shape([range_len_0]) = R.match_cast(lv14, R.Shape([range_len_0]))
            lv16: R.Tensor((range_len_0,), dtype="int64") = R.arange(0, range_len_0, 1, dtype="int64")
            lv17: R.Tensor((range_len_0,), dtype="int64") = R.astype(lv16, dtype="int64")
            lv18: R.Tensor((range_len_0,), dtype="int64") = R.multiply(lv17, R.const(1, "int64"))
            lv19: R.Tensor((range_len_0,), dtype="int64") = R.add(lv18, R.const(0, "int64"))
            lv20: R.Tensor((range_len_0,), dtype="float32") = R.astype(lv19, dtype="float32")
            gv: R.Tensor(dtype="float32", ndim=2) = R.add(x, lv20)
            R.output(gv)
        return gv