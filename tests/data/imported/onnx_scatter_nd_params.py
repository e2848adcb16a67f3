# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 3), dtype="float32"), u: R.Tensor((2, 3), dtype="float32"), i: R.Tensor((2, 1), dtype="int64")) -> R.Tensor((2, 3), dtype="float32"):
        R.func_attr({"num_input": 2})
        with R.dataflow():
            lv: R.Shape([4, 3]) = R.shape_of(x)
            lv1: R.Tensor((2,), dtype="int64") = R.shape_to_tensor(lv)
            lv2: R.Tensor((2, 1), dtype="bool") = R.less(i, R.const(0, "int64"))
            lv3: R.Tensor((1,), dtype="int64") = R.strided_slice(lv1, (0,), (0,), (1,), assume_inbound=False)
            lv4: R.Tensor((2, 1), dtype="int64") = R.add(i, lv3)
            lv5: R.Tensor((2, 1), dtype="int64") = R.where(lv2, lv4, i)
            lv6: R.Tensor((4, 3), dtype="float32") = R.scatter_nd(x, lv5, u, reduction="update")
            lv7: R.Shape([4, 3]) = R.shape_of(lv6)
            lv8: R.Tensor((2,), dtype="int64") = R.shape_to_tensor(lv7)
            lv9: R.Tensor((2, 1), dtype="bool") = R.less(i, R.const(0, "int64"))
            lv10: R.Tensor((1,), dtype="int64") = R.strided_slice(lv8, (0,), (0,), (1,), assume_inbound=False)
            lv11: R.Tensor((2, 1), dtype="int64") = R.add(i, lv10)
            lv12: R.Tensor((2, 1), dtype="int64") = R.where(lv9, lv11, i)
            lv13: R.Tensor((2, 3), dtype="float32") = R.gather_nd(lv6, lv12, batch_dims=0)
            gv: R.Tensor((2, 3), dtype="float32") = R.multiply(lv13, lv13)
            R.output(gv)
        return gv