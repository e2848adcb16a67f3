# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

m = TypeVar("m")
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def forward(x: R.Tensor((1, n, 8), dtype="float32"), c: R.Tensor((1, m, 8), dtype="float32"), q_weight: R.Tensor((8, 8), dtype="float32"), q_bias: R.Tensor((8,), dtype="float32"), k_weight: R.Tensor((8, 8), dtype="float32"), k_bias: R.Tensor((8,), dtype="float32"), v_weight: R.Tensor((8, 8), dtype="float32"), v_bias: R.Tensor((8,), dtype="float32")) -> R.Tensor((1, n, 2, 4), dtype="float32"):
        R.func_attr({"num_input": 2})
        with R.dataflow():
            permute_dims: R.Tensor((8, 8), dtype="float32") = R.permute_dims(q_weight, axes=None)
            matmul: R.Tensor((1, n, 8), dtype="float32") = R.matmul(x, permute_dims, out_dtype=None)
            add: R.Tensor((1, n, 8), dtype="float32") = R.add(matmul, q_bias)
            permute_dims1: R.Tensor((8, 8), dtype="float32") = R.permute_dims(k_weight, axes=None)
            matmul1: R.Tensor((1, m, 8), dtype="float32") = R.matmul(c, permute_dims1, out_dtype=None)
            add1: R.Tensor((1, m, 8), dtype="float32") = R.add(matmul1, k_bias)
            permute_dims2: R.Tensor((8, 8), dtype="float32") = R.permute_dims(v_weight, axes=None)
            matmul2: R.Tensor((1, m, 8), dtype="float32") = R.matmul(c, permute_dims2, out_dtype=None)
            add2: R.Tensor((1, m, 8), dtype="float32") = R.add(matmul2, v_bias)
            reshape: R.Tensor((1, n, 2, 4), dtype="float32") = R.reshape(add, R.shape([1, n, 2, 4]))
            reshape1: R.Tensor((1, m, 2, 4), dtype="float32") = R.reshape(add1, R.shape([1, m, 2, 4]))
            reshape2: R.Tensor((1, m, 2, 4), dtype="float32") = R.reshape(add2, R.shape([1, m, 2, 4]))
            scaled_dot_product_attention: R.Tensor((1, n, 2, 4), dtype="float32") = R.nn.attention(reshape, reshape1, reshape2, scale=None, causal_mask=None, window_size=None)
            gv: R.Tensor((1, n, 2, 4), dtype="float32") = scaled_dot_product_attention
            R.output(gv)
        return gv