# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def forward(x: R.Tensor((n, 3, 8, 8), dtype="float32"), c_weight: R.Tensor((8, 3, 3, 3), dtype="float32"), c_bias: R.Tensor((8,), dtype="float32"), g_weight: R.Tensor((8,), dtype="float32"), g_bias: R.Tensor((8,), dtype="float32"), d_weight: R.Tensor((8, 8, 3, 3), dtype="float32"), r_weight: R.Tensor((8, 3, 1, 1), dtype="float32"), r_bias: R.Tensor((8,), dtype="float32")) -> R.Tensor((n, 8, 4, 4), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((n, 8, 8, 8), dtype="float32") = R.nn.conv2d(x, c_weight, strides=[1, 1], padding=[1, 1, 1, 1], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)
            lv1: R.Tensor((1, 8, 1, 1), dtype="float32") = R.reshape(c_bias, R.shape([1, 8, 1, 1]))
            conv2d: R.Tensor((n, 8, 8, 8), dtype="float32") = R.add(lv, lv1)
            group_norm: R.Tensor((n, 8, 8, 8), dtype="float32") = R.nn.group_norm(conv2d, g_weight, g_bias, num_groups=2, channel_axis=1, axes=[2, 3], epsilon=1.0000000000000001e-05, center=True, scale=True)
            silu: R.Tensor((n, 8, 8, 8), dtype="float32") = R.nn.silu(group_norm)
            conv2d1: R.Tensor((n, 8, 4, 4), dtype="float32") = R.nn.conv2d(silu, d_weight, strides=[2, 2], padding=[1, 1, 1, 1], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)
            lv2: R.Tensor((n, 8, 4, 4), dtype="float32") = R.nn.conv2d(x, r_weight, strides=[2, 2], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)
            lv3: R.Tensor((1, 8, 1, 1), dtype="float32") = R.reshape(r_bias, R.shape([1, 8, 1, 1]))
            conv2d2: R.Tensor((n, 8, 4, 4), dtype="float32") = R.add(lv2, lv3)
            add: R.Tensor((n, 8, 4, 4), dtype="float32") = R.add(conv2d1, conv2d2)
            gv: R.Tensor((n, 8, 4, 4), dtype="float32") = add
            R.output(gv)
        return gv