# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

N = TypeVar("N")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((N, 4, 6, 6), dtype="float32"), w: R.Tensor((4, 4, 3, 3), dtype="float32"), w1: R.Tensor((2, 4, 1, 1), dtype="float32"), w2: R.Tensor((4, 2, 1, 1), dtype="float32")) -> R.Tensor((N, 4, 6, 6), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((N, 4, 6, 6), dtype="float32") = R.nn.conv2d(x, w, strides=[1, 1], padding=[1, 1, 1, 1], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)
            lv1: R.Tensor((N, 4, 1, 1), dtype="float32") = R.mean(lv, axis=[2, 3], keepdims=True)
            lv2: R.Tensor((N, 2, 1, 1), dtype="float32") = R.nn.conv2d(lv1, w1, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)
            lv3: R.Tensor((N, 2, 1, 1), dtype="float32") = R.nn.relu(lv2)
            lv4: R.Tensor((N, 4, 1, 1), dtype="float32") = R.nn.conv2d(lv3, w2, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)
            lv5: R.Tensor((N, 4, 1, 1), dtype="float32") = R.multiply(R.const(0.20000000298023224, "float32"), lv4)
            lv6: R.Tensor((N, 4, 1, 1), dtype="float32") = R.add(lv5, R.const(0.5, "float32"))
            lv7: R.Tensor((N, 4, 1, 1), dtype="float32") = R.clip(lv6, 0, 1)
            lv8: R.Tensor((N, 4, 6, 6), dtype="float32") = R.multiply(lv, lv7)
            gv: R.Tensor((N, 4, 6, 6), dtype="float32") = R.add(lv8, lv)
            R.output(gv)
        return gv