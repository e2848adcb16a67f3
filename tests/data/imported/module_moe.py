# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

t = TypeVar("t")
@I.ir_module
class Module:
    @R.function
    def forward(x: R.Tensor((t, 8), dtype="float32"), g_weight: R.Tensor((4, 8), dtype="float32"), w: R.Tensor((4, 8, 8), dtype="float32")) -> R.Tuple(R.Tensor((t, 8), dtype="float32"), R.Tensor((t, 4), dtype="float32"), R.Tensor((t, 2), dtype="int32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            permute_dims: R.Tensor((8, 4), dtype="float32") = R.permute_dims(g_weight, axes=None)
            matmul: R.Tensor((t, 4), dtype="float32") = R.matmul(x, permute_dims, out_dtype=None)
            softmax: R.Tensor((t, 4), dtype="float32") = R.nn.softmax(matmul, axis=-1)
            topk: R.Tuple(R.Tensor((t, 2), dtype="float32"), R.Tensor((t, 2), dtype="int32")) = R.topk(softmax, k=2, axis=-1, ret_type="both", largest=True, dtype="int32")
            topk_0: R.Tensor((t, 2), dtype="float32") = topk[0]
            topk_1: R.Tensor((t, 2), dtype="int32") = topk[1]
            unsqueeze: R.Tensor((t, 1, 8), dtype="float32") = R.expand_dims(x, axis=[1])
            broadcast_to: R.Tensor((t, 4, 8), dtype="float32") = R.broadcast_to(unsqueeze, R.shape([t, 4, 8]))
            sum: R.Tensor((8, 8), dtype="float32") = R.sum(w, axis=[0], keepdims=False)
            permute_dims1: R.Tensor((8, 8), dtype="float32") = R.permute_dims(sum, axes=None)
            matmul1: R.Tensor((t, 4, 8), dtype="float32") = R.matmul(broadcast_to, permute_dims1, out_dtype=None)
            unsqueeze1: R.Tensor((t, 4, 1), dtype="float32") = R.expand_dims(softmax, axis=[-1])
            mul: R.Tensor((t, 4, 8), dtype="float32") = R.multiply(matmul1, unsqueeze1)
            sum1: R.Tensor((t, 8), dtype="float32") = R.sum(mul, axis=[1], keepdims=False)
            cumsum: R.Tensor((t, 4), dtype="float32") = R.cumsum(softmax, axis=-1, dtype=None, exclusive=False)
            gv: R.Tuple(R.Tensor((t, 8), dtype="float32"), R.Tensor((t, 4), dtype="float32"), R.Tensor((t, 2), dtype="int32")) = sum1, cumsum, topk_1
            R.output(gv)
        return gv