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
    def main(x: R.Tensor((B, L), dtype="float32")) -> R.Tensor(dtype="float32", ndim=2):
        R.func_attr({"num_input": 1})
        range_len_0 = T.int64()
        with R.dataflow():
            lv: R.Tensor((1,), dtype="int64") = R.shape_to_tensor(R.shape([L]))
            lv1: R.Tensor((), dtype="int64") = R.reshape(lv, R.shape([]))
            lv2: R.Tensor((), dtype="int64") = R.subtract(R.const(0, "int64"), lv1)
            lv3: R.Tensor((), dtype="int64") = R.floor_divide(lv2, R.const(1, "int64"))
            lv4: R.Tensor((), dtype="int64") = R.negative(lv3)
            lv5: R.Tensor((), dtype="int64") = R.maximum(lv4, R.const(0, "int64"))
            lv6: R.Tensor((), dtype="int64") = R.astype(lv5, dtype="int64")
            lv7: R.Tensor((1,), dtype="int64") = R.match_cast(R.reshape(lv6, R.shape([1])), R.Tensor((1,), dtype="int64"))
            lv8: R.Shape(ndim=1) = R.tensor_to_shape(lv7)
            lv9: R.Shape([range_len_0]) = R.match_cast(lv8, R.Shape([range_len_0]))
            lv10: R.Tensor((range_len_0,), dtype="int64") = R.arange(0, range_len_0, 1, dtype="int64")
            lv11: R.Tensor((range_len_0,), dtype="int64") = R.astype(lv10, dtype="int64")
            lv12: R.Tensor((range_len_0,), dtype="int64") = R.multiply(lv11, R.const(1, "int64"))
            lv13: R.Tensor((range_len_0,), dtype="int64") = R.add(lv12, R.const(0, "int64"))
            lv14: R.Tensor((range_len_0,), dtype="float32") = R.astype(lv13, dtype="float32")
            gv: R.Tensor(dtype="float32", ndim=2) = R.add(x, lv14)
            R.output(gv)
        return gv