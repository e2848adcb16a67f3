# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(data: R.Tensor((3, 1), dtype="float32"), new_shape: R.Tensor((3,), dtype="int64")) -> R.Tensor(dtype="float32", ndim=3):
        R.func_attr({"num_input": 2})
        x_0 = T.int64()
        x_1 = T.int64()
        x_2 = T.int64()
        with R.dataflow():
            lv: R.Shape(ndim=3) = R.call_packed("vm.builtin.tensor_to_shape", new_shape, ty_args=(R.Shape(ndim=3),))
            lv1: R.Shape([x_0, x_1, x_2]) = R.match_cast(lv, R.Shape([x_0, x_1, x_2]))
            lv2: R.Tensor((1, 3, 1), dtype="float32") = R.reshape(data, R.shape([1, 3, 1]))
            gv: R.Tensor((x_0, x_1, x_2), dtype="float32") = R.broadcast_to(lv2, R.shape([x_0, x_1, x_2]))
            R.output(gv)
        return gv