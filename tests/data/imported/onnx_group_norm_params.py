# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4, 3, 3), dtype="float32"), g: R.Tensor((4,), dtype="float32"), b: R.Tensor((4,), dtype="float32")) -> R.Tensor((2, 4, 3, 3), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((4,), dtype="float32") = R.ones_like(g, dtype=None)
            lv1: R.Tensor((4,), dtype="float32") = R.zeros_like(b, dtype=None)
            lv2: R.Tensor((2, 4, 3, 3), dtype="float32") = R.nn.group_norm(x, lv, lv1, num_groups=2, channel_axis=1, axes=[2, 3], epsilon=1.0000000000000001e-05, center=False, scale=False)
            lv3: R.Tensor((4, 1, 1), dtype="float32") = R.reshape(g, R.shape([4, 1, 1]))
            lv4: R.Tensor((2, 4, 3, 3), dtype="float32") = R.multiply(lv2, lv3)
            lv5: R.Tensor((4, 1, 1), dtype="float32") = R.reshape(b, R.shape([4, 1, 1]))
            lv6: R.Tensor((2, 4, 3, 3), dtype="float32") = R.add(lv4, lv5)
            lv7: R.Tensor((2, 4, 3, 3), dtype="float32") = R.sigmoid(lv6)
            gv: R.Tensor((2, 4, 3, 3), dtype="float32") = R.multiply(lv6, lv7)
            R.output(gv)
        return gv