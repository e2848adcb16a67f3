# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

b = TypeVar("b")
s = TypeVar("s")
@I.ir_module
class Module:
    @R.function
    def forward(x: R.Tensor((b, s, 8), dtype="float16"), w: R.Tensor((8,), dtype="float16"), l_weight: R.Tensor((24, 8), dtype="float16")) -> R.Tensor((b, s, 16), dtype="float16"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            rms_norm: R.Tensor((b, s, 8), dtype="float16") = R.nn.rms_norm(x, w, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims: R.Tensor((8, 24), dtype="float16") = R.permute_dims(l_weight, axes=None)
            matmul: R.Tensor((b, s, 24), dtype="float16") = R.matmul(rms_norm, permute_dims, out_dtype=None)
            split: R.Tuple(R.Tensor((b, s, 8), dtype="float16"), R.Tensor((b, s, 8), dtype="float16"), R.Tensor((b, s, 8), dtype="float16")) = R.split(matmul, indices_or_sections=3, axis=-1)
            split_0: R.Tensor((b, s, 8), dtype="float16") = split[0]
            split_1: R.Tensor((b, s, 8), dtype="float16") = split[1]
            split_2: R.Tensor((b, s, 8), dtype="float16") = split[2]
            sigmoid: R.Tensor((b, s, 8), dtype="float16") = R.sigmoid(split_1)
            mul: R.Tensor((b, s, 8), dtype="float16") = R.multiply(split_0, sigmoid)
            concat: R.Tensor((b, s, 16), dtype="float16") = R.concat((mul, split_2), axis=-1)
            gv: R.Tensor((b, s, 16), dtype="float16") = concat
            R.output(gv)
        return gv