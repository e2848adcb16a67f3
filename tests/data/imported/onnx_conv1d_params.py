# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

N = TypeVar("N")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((N, 2, 8), dtype="float32"), w: R.Tensor((4, 2, 3), dtype="float32"), w2: R.Tensor((4, 3), dtype="float32")) -> R.Tensor((N, 4, 3), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((N, 4, 8), dtype="float32") = R.nn.conv1d(x, w, strides=[1], padding=[1, 1], dilation=[1], groups=1, data_layout="NCW", kernel_layout="OIW", out_layout="NCW", out_dtype=None)
            lv1: R.Tensor((N, 4, 8), dtype="float32") = R.exp(lv)
            lv2: R.Tensor((N, 4, 8), dtype="float32") = R.subtract(R.const(1.0, "float32"), lv1)
            lv3: R.Tensor((N, 4, 8), dtype="float32") = R.nn.relu(lv2)
            lv4: R.Tensor((N, 4, 8), dtype="float32") = R.multiply(R.const(-1.0, "float32"), lv3)
            lv5: R.Tensor((N, 4, 8), dtype="float32") = R.nn.relu(lv)
            lv6: R.Tensor((N, 4, 8), dtype="float32") = R.add(lv4, lv5)
            lv7: R.Tensor((N, 4, 4), dtype="float32") = R.nn.max_pool1d(lv6, pool_size=[2], strides=[2], dilation=[1], padding=[0, 0], ceil_mode=False, count_include_pad=False, layout="NCW", out_layout="NCW")
            lv8: R.Tensor((N, 4, 4), dtype="float32") = R.permute_dims(lv7, axes=[0, 2, 1])
            gv: R.Tensor((N, 4, 3), dtype="float32") = R.matmul(lv8, w2, out_dtype=None)
            R.output(gv)
        return gv