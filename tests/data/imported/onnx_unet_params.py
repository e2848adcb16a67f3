# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 2, 8, 8), dtype="float32"), w: R.Tensor((4, 2, 3, 3), dtype="float32"), w2: R.Tensor((4, 4, 3, 3), dtype="float32"), w3: R.Tensor((4, 4, 2, 2), dtype="float32"), w4: R.Tensor((1, 8, 1, 1), dtype="float32"), b4: R.Tensor((1,), dtype="float32")) -> R.Tensor((1, 1, 8, 8), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((1, 4, 8, 8), dtype="float32") = R.nn.conv2d(x, w, strides=[1, 1], padding=[1, 1, 1, 1], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)
            lv1: R.Tensor((1, 4, 8, 8), dtype="float32") = R.nn.relu(lv)
            lv2: R.Tensor((1, 4, 4, 4), dtype="float32") = R.nn.max_pool2d(lv1, pool_size=[2, 2], strides=[2, 2], dilation=[1, 1], padding=[0, 0, 0, 0], ceil_mode=False, count_include_pad=False, layout="NCHW", out_layout="NCHW")
            lv3: R.Tensor((1, 4, 4, 4), dtype="float32") = R.nn.conv2d(lv2, w2, strides=[1, 1], padding=[1, 1, 1, 1], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)
            lv4: R.Tensor((1, 4, 4, 4), dtype="float32") = R.nn.relu(lv3)
            lv5: R.Tensor((1, 4, 8, 8), dtype="float32") = R.nn.conv2d_transpose(lv4, w3, strides=[2, 2], padding=[0, 0, 0, 0], output_padding=[0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="IOHW", out_layout="NCHW", out_dtype=None)
            lv6: R.Tensor((1, 8, 8, 8), dtype="float32") = R.concat((lv5, lv1), axis=1)
            lv7: R.Tensor((1, 1, 8, 8), dtype="float32") = R.nn.conv2d(lv6, w4, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)
            lv8: R.Tensor((1, 1, 1, 1), dtype="float32") = R.reshape(b4, R.shape([1, 1, 1, 1]))
            gv: R.Tensor((1, 1, 8, 8), dtype="float32") = R.add(lv7, lv8)
            R.output(gv)
        return gv