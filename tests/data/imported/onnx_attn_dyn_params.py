# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

B = TypeVar("B")
S = TypeVar("S")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((B, S, 8), dtype="float32"), wq: R.Tensor((8, 8), dtype="float32"), wk: R.Tensor((8, 8), dtype="float32"), wv: R.Tensor((8, 8), dtype="float32"), wo: R.Tensor((8, 8), dtype="float32"), hs: R.Tensor((4,), dtype="int64"), fs: R.Tensor((3,), dtype="int64"), s: R.Tensor((), dtype="float32"), g: R.Tensor((8,), dtype="float32"), be: R.Tensor((8,), dtype="float32")) -> R.Tensor((B, S, 8), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((B, S, 8), dtype="float32") = R.matmul(x, wq, out_dtype=None)
            lv1: R.Tensor((B, S, 8), dtype="float32") = R.matmul(x, wk, out_dtype=None)
            lv2: R.Tensor((B, S, 8), dtype="float32") = R.matmul(x, wv, out_dtype=None)
            lv3: R.Tensor((B, S, 2, 4), dtype="float32") = R.reshape(lv, R.shape([B, S, 2, 4]))
            lv4: R.Tensor((B, S, 2, 4), dtype="float32") = R.reshape(lv1, R.shape([B, S, 2, 4]))
            lv5: R.Tensor((B, S, 2, 4), dtype="float32") = R.reshape(lv2, R.shape([B, S, 2, 4]))
            lv6: R.Tensor((B, 2, S, 4), dtype="float32") = R.permute_dims(lv3, axes=[0, 2, 1, 3])
            lv7: R.Tensor((B, 2, 4, S), dtype="float32") = R.permute_dims(lv4, axes=[0, 2, 3, 1])
            lv8: R.Tensor((B, 2, S, S), dtype="float32") = R.matmul(lv6, lv7, out_dtype=None)
            lv9: R.Tensor((B, 2, S, S), dtype="float32") = R.multiply(lv8, s)
            lv10: R.Tensor((B, 2, S, S), dtype="float32") = R.nn.softmax(lv9, axis=-1)
            lv11: R.Tensor((B, 2, S, 4), dtype="float32") = R.permute_dims(lv5, axes=[0, 2, 1, 3])
            lv12: R.Tensor((B, 2, S, 4), dtype="float32") = R.matmul(lv10, lv11, out_dtype=None)
            lv13: R.Tensor((B, S, 2, 4), dtype="float32") = R.permute_dims(lv12, axes=[0, 2, 1, 3])
            lv14: R.Tensor((B, S, 8), dtype="float32") = R.reshape(lv13, R.shape([B, S, 8]))
            lv15: R.Tensor((B, S, 8), dtype="float32") = R.matmul(lv14, wo, out_dtype=None)
            lv16: R.Tensor((B, S, 8), dtype="float32") = R.add(lv15, x)
            lv17: R.Tensor((B, S, 8), dtype="float32") = R.nn.layer_norm(lv16, g, be, axes=[-1], epsilon=1.0000000000000001e-05, center=True, scale=True)
            gv: R.Tensor((B, S, 8), dtype="float32") = lv17
            R.output(gv)
        return gv