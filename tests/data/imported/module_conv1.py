# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

b = TypeVar("b")
l = TypeVar("l")
@I.ir_module
class Module:
    @R.function
    def forward(x: R.Tensor((b, 4, l), dtype="float32"), c_weight: R.Tensor((8, 4, 3), dtype="float32"), c_bias: R.Tensor((8,), dtype="float32"), t_weight: R.Tensor((8, 4, 2), dtype="float32"), t_bias: R.Tensor((4,), dtype="float32")) -> R.Tensor((b, 4, "l * 2"), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((b, 8, l), dtype="float32") = R.nn.conv1d(x, c_weight, strides=[1], padding=[1, 1], dilation=[1], groups=1, data_layout="NCW", kernel_layout="OIW", out_layout="NCW", out_dtype=None)
            lv1: R.Tensor((1, 8, 1), dtype="float32") = R.reshape(c_bias, R.shape([1, 8, 1]))
            conv1d: R.Tensor((b, 8, l), dtype="float32") = R.add(lv, lv1)
            relu: R.Tensor((b, 8, l), dtype="float32") = R.nn.relu(conv1d)
            lv2: R.Tensor((b, 4, l * 2), dtype="float32") = R.nn.conv1d_transpose(relu, t_weight, strides=[2], padding=[0, 0], output_padding=[0], dilation=[1], groups=1, data_layout="NCW", kernel_layout="IOW", out_layout="NCW", out_dtype=None)
            lv3: R.Tensor((1, 4, 1), dtype="float32") = R.reshape(t_bias, R.shape([1, 4, 1]))
            conv1d_transpose: R.Tensor((b, 4, l * 2), dtype="float32") = R.add(lv2, lv3)
            gv: R.Tensor((b, 4, l * 2), dtype="float32") = conv1d_transpose
            R.output(gv)
        return gv