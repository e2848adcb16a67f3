# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

b = TypeVar("b")
s = TypeVar("s")
v = TypeVar("v")
@I.ir_module
class Module:
    @R.function
    def forward(i: R.Tensor((b, s), dtype="int32"), e_weight: R.Tensor((v, 8), dtype="float32"), l_weight: R.Tensor((v, 8), dtype="float32")) -> R.Tuple(R.Tensor(("b * s", 1), dtype="float32"), R.Tensor(("b * s", 1), dtype="int32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            reshape: R.Tensor((b * s,), dtype="int32") = R.reshape(i, R.shape([b * s]))
            take: R.Tensor((b * s, 8), dtype="float32") = R.take(e_weight, reshape, axis=0, mode="fast")
            reshape1: R.Tensor((b, s, 8), dtype="float32") = R.reshape(take, R.shape([b, s, 8]))
            reshape2: R.Tensor((b * s, 8), dtype="float32") = R.reshape(reshape1, R.shape([b * s, 8]))
            permute_dims: R.Tensor((8, v), dtype="float32") = R.permute_dims(l_weight, axes=None)
            matmul: R.Tensor((b * s, v), dtype="float32") = R.matmul(reshape2, permute_dims, out_dtype=None)
            topk: R.Tuple(R.Tensor((b * s, 1), dtype="float32"), R.Tensor((b * s, 1), dtype="int32")) = R.topk(matmul, k=1, axis=-1, ret_type="both", largest=True, dtype="int32")
            topk_0: R.Tensor((b * s, 1), dtype="float32") = topk[0]
            topk_1: R.Tensor((b * s, 1), dtype="int32") = topk[1]
            gv: R.Tuple(R.Tensor((b * s, 1), dtype="float32"), R.Tensor((b * s, 1), dtype="int32")) = topk_0, topk_1
            R.output(gv)
        return gv