# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

N = TypeVar("N")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((N, 3, 5, 5), dtype="float32"), w: R.Tensor((3, 3, 1, 1), dtype="float32"), w2: R.Tensor((3, 3, 1, 1), dtype="float32"), g: R.Tensor((3,), dtype="float32"), be: R.Tensor((3,), dtype="float32"), mu: R.Tensor((3,), dtype="float32"), va: R.Tensor((3,), dtype="float32")) -> R.Tensor((N, 3, 5, 5), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((N, 3, 5, 5), dtype="float32") = R.nn.conv2d(x, w, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)
            lv1: R.Tuple(R.Tensor((N, 3, 5, 5), dtype="float32"), R.Tensor((3,), dtype="float32"), R.Tensor((3,), dtype="float32")) = R.nn.batch_norm(lv, g, be, mu, va, axis=1, epsilon=1.0000000000000001e-05, center=True, scale=True, momentum=0.90000000000000002, training=False)
            lv2: R.Tensor((N, 3, 5, 5), dtype="float32") = lv1[0]
            lv3: R.Tensor((3,), dtype="float32") = lv1[1]
            lv4: R.Tensor((3,), dtype="float32") = lv1[2]
            lv5: R.Tensor((N, 3, 5, 5), dtype="float32") = R.nn.conv2d(lv2, w2, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)
            lv6: R.Tuple(R.Tensor((N, 3, 5, 5), dtype="float32"), R.Tensor((3,), dtype="float32"), R.Tensor((3,), dtype="float32")) = R.nn.batch_norm(lv5, g, be, mu, va, axis=1, epsilon=1.0000000000000001e-05, center=True, scale=True, momentum=0.90000000000000002, training=False)
            lv7: R.Tensor((N, 3, 5, 5), dtype="float32") = lv6[0]
            lv8: R.Tensor((3,), dtype="float32") = lv6[1]
            lv9: R.Tensor((3,), dtype="float32") = lv6[2]
            lv10: R.Tensor((N, 3, 5, 5), dtype="float32") = R.add(lv2, lv7)
            gv: R.Tensor((N, 3, 5, 5), dtype="float32") = R.nn.relu(lv10)
            R.output(gv)
        return gv