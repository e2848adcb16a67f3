# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

N = TypeVar("N")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((N, 3, 8, 8), dtype="float32"), w: R.Tensor((4, 3, 3, 3), dtype="float32"), b: R.Tensor((4,), dtype="float32"), g: R.Tensor((4,), dtype="float32"), be: R.Tensor((4,), dtype="float32"), mu: R.Tensor((4,), dtype="float32"), va: R.Tensor((4,), dtype="float32"), w2: R.Tensor((4, 4, 3, 3), dtype="float32"), w3: R.Tensor((5, 4), dtype="float32"), b3: R.Tensor((5,), dtype="float32")) -> R.Tensor((N, 5), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((N, 4, 8, 8), dtype="float32") = R.nn.conv2d(x, w, strides=[1, 1], padding=[1, 1, 1, 1], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)
            lv1: R.Tensor((1, 4, 1, 1), dtype="float32") = R.reshape(b, R.shape([1, 4, 1, 1]))
            lv2: R.Tensor((N, 4, 8, 8), dtype="float32") = R.add(lv, lv1)
            lv3: R.Tuple(R.Tensor((N, 4, 8, 8), dtype="float32"), R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")) = R.nn.batch_norm(lv2, g, be, mu, va, axis=1, epsilon=1.0000000000000001e-05, center=True, scale=True, momentum=0.90000000000000002, training=False)
            lv4: R.Tensor((N, 4, 8, 8), dtype="float32") = lv3[0]
            lv5: R.Tensor((4,), dtype="float32") = lv3[1]
            lv6: R.Tensor((4,), dtype="float32") = lv3[2]
            lv7: R.Tensor((N, 4, 8, 8), dtype="float32") = R.nn.relu(lv4)
            lv8: R.Tensor((N, 4, 4, 4), dtype="float32") = R.nn.max_pool2d(lv7, pool_size=[2, 2], strides=[2, 2], dilation=[1, 1], padding=[0, 0, 0, 0], ceil_mode=False, count_include_pad=False, layout="NCHW", out_layout="NCHW")
            lv9: R.Tensor((N, 4, 4, 4), dtype="float32") = R.nn.conv2d(lv8, w2, strides=[1, 1], padding=[1, 1, 1, 1], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)
            lv10: R.Tensor((N, 4, 4, 4), dtype="float32") = R.add(lv9, lv8)
            lv11: R.Tensor((N, 4, 1, 1), dtype="float32") = R.mean(lv10, axis=[2, 3], keepdims=True)
            lv12: R.Tensor((N, 4), dtype="float32") = R.reshape(lv11, R.shape([N, 4]))
            lv13: R.Tensor((4, 5), dtype="float32") = R.permute_dims(w3, axes=[1, 0])
            lv14: R.Tensor((N, 5), dtype="float32") = R.matmul(lv12, lv13, out_dtype=None)
            gv: R.Tensor((N, 5), dtype="float32") = R.add(lv14, b3)
            R.output(gv)
        return gv