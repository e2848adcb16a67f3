# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def forward(x: R.Tensor((n, 4), dtype="float32"), a_weight: R.Tensor((8, 4), dtype="float32"), a_bias: R.Tensor((8,), dtype="float32"), b_weight: R.Tensor((8, 4), dtype="float32"), b_bias: R.Tensor((8,), dtype="float32")) -> R.Tuple(R.Tuple(R.Tensor((n, 2), dtype="float32"), R.Tensor((n, 4), dtype="float32")), R.Tuple(R.Tensor((n, 2), dtype="float32"), R.Tensor((4,), dtype="float32"))):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            permute_dims: R.Tensor((4, 8), dtype="float32") = R.permute_dims(a_weight, axes=None)
            matmul: R.Tensor((n, 8), dtype="float32") = R.matmul(x, permute_dims, out_dtype=None)
            add: R.Tensor((n, 8), dtype="float32") = R.add(matmul, a_bias)
            topk: R.Tuple(R.Tensor((n, 2), dtype="float32"), R.Tensor((n, 2), dtype="int32")) = R.topk(add, k=2, axis=-1, ret_type="both", largest=True, dtype="int32")
            topk_0: R.Tensor((n, 2), dtype="float32") = topk[0]
            topk_1: R.Tensor((n, 2), dtype="int32") = topk[1]
            permute_dims1: R.Tensor((4, 8), dtype="float32") = R.permute_dims(a_weight, axes=None)
            matmul1: R.Tensor((n, 8), dtype="float32") = R.matmul(x, permute_dims1, out_dtype=None)
            add1: R.Tensor((n, 8), dtype="float32") = R.add(matmul1, a_bias)
            permute_dims2: R.Tensor((4, 8), dtype="float32") = R.permute_dims(b_weight, axes=None)
            matmul2: R.Tensor((n, 8), dtype="float32") = R.matmul(x, permute_dims2, out_dtype=None)
            add2: R.Tensor((n, 8), dtype="float32") = R.add(matmul2, b_bias)
            concat: R.Tensor((n, 16), dtype="float32") = R.concat((add1, add2), axis=1)
            chunk: R.Tuple(R.Tensor((n, 4), dtype="float32"), R.Tensor((n, 4), dtype="float32"), R.Tensor((n, 4), dtype="float32"), R.Tensor((n, 4), dtype="float32")) = R.split(concat, indices_or_sections=4, axis=1)
            chunk_0: R.Tensor((n, 4), dtype="float32") = chunk[0]
            chunk_1: R.Tensor((n, 4), dtype="float32") = chunk[1]
            chunk_2: R.Tensor((n, 4), dtype="float32") = chunk[2]
            chunk_3: R.Tensor((n, 4), dtype="float32") = chunk[3]
            chunk1: R.Tuple(R.Tensor((n, 4), dtype="float32"), R.Tensor((n, 4), dtype="float32"), R.Tensor((n, 4), dtype="float32"), R.Tensor((n, 4), dtype="float32")) = R.split(concat, indices_or_sections=4, axis=1)
            chunk_01: R.Tensor((n, 4), dtype="float32") = chunk1[0]
            chunk_11: R.Tensor((n, 4), dtype="float32") = chunk1[1]
            chunk_21: R.Tensor((n, 4), dtype="float32") = chunk1[2]
            chunk_31: R.Tensor((n, 4), dtype="float32") = chunk1[3]
            maximum: R.Tensor((n, 4), dtype="float32") = R.maximum(chunk_0, chunk_21)
            zeros: R.Tensor((n, 2), dtype="float32") = R.zeros(R.shape([n, 2]), dtype="float32")
            arange: R.Tensor((4,), dtype="float32") = R.arange(0, 4, 1, dtype="float32")
            gv: R.Tuple(R.Tuple(R.Tensor((n, 2), dtype="float32"), R.Tensor((n, 4), dtype="float32")), R.Tuple(R.Tensor((n, 2), dtype="float32"), R.Tensor((4,), dtype="float32"))) = (topk_0, maximum), (zeros, arange)
            R.output(gv)
        return gv