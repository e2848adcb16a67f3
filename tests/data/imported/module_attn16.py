# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def forward(x: R.Tensor((1, n, 16), dtype="float32"), q_weight: R.Tensor((16, 16), dtype="float32"), kv_weight: R.Tensor((32, 16), dtype="float32"), kv_bias: R.Tensor((32,), dtype="float32"), o_weight: R.Tensor((16, 16), dtype="float32"), o_bias: R.Tensor((16,), dtype="float32")) -> R.Tensor((1, n, 16), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            permute_dims: R.Tensor((16, 16), dtype="float32") = R.permute_dims(q_weight, axes=None)
            matmul: R.Tensor((1, n, 16), dtype="float32") = R.matmul(x, permute_dims, out_dtype=None)
            reshape: R.Tensor((1, n, 2, 8), dtype="float32") = R.reshape(matmul, R.shape([1, n, 2, 8]))
            permute_dims1: R.Tensor((16, 32), dtype="float32") = R.permute_dims(kv_weight, axes=None)
            matmul1: R.Tensor((1, n, 32), dtype="float32") = R.matmul(x, permute_dims1, out_dtype=None)
            add: R.Tensor((1, n, 32), dtype="float32") = R.add(matmul1, kv_bias)
            split: R.Tuple(R.Tensor((1, n, 16), dtype="float32"), R.Tensor((1, n, 16), dtype="float32")) = R.split(add, indices_or_sections=2, axis=-1)
            split_0: R.Tensor((1, n, 16), dtype="float32") = split[0]
            split_1: R.Tensor((1, n, 16), dtype="float32") = split[1]
            reshape1: R.Tensor((1, n, 2, 8), dtype="float32") = R.reshape(split_0, R.shape([1, n, 2, 8]))
            reshape2: R.Tensor((1, n, 2, 8), dtype="float32") = R.reshape(split_1, R.shape([1, n, 2, 8]))
            permute_dims2: R.Tensor((1, 2, n, 8), dtype="float32") = R.permute_dims(reshape, axes=[0, 2, 1, 3])
            permute_dims3: R.Tensor((1, 2, n, 8), dtype="float32") = R.permute_dims(reshape1, axes=[0, 2, 1, 3])
            permute_dims4: R.Tensor((1, 2, n, 8), dtype="float32") = R.permute_dims(reshape2, axes=[0, 2, 1, 3])
            permute_dims5: R.Tensor((1, 2, 8, n), dtype="float32") = R.permute_dims(permute_dims3, axes=[0, 1, 3, 2])
            matmul2: R.Tensor((1, 2, n, n), dtype="float32") = R.matmul(permute_dims2, permute_dims5, out_dtype=None)
            divide: R.Tensor((1, 2, n, n), dtype="float32") = R.divide(matmul2, R.const(2.8284270763397217, "float32"))
            softmax: R.Tensor((1, 2, n, n), dtype="float32") = R.nn.softmax(divide, axis=-1)
            matmul3: R.Tensor((1, 2, n, 8), dtype="float32") = R.matmul(softmax, permute_dims4, out_dtype=None)
            permute_dims6: R.Tensor((1, n, 2, 8), dtype="float32") = R.permute_dims(matmul3, axes=[0, 2, 1, 3])
            reshape3: R.Tensor((1, n, 16), dtype="float32") = R.reshape(permute_dims6, R.shape([1, n, 16]))
            permute_dims7: R.Tensor((16, 16), dtype="float32") = R.permute_dims(o_weight, axes=None)
            matmul4: R.Tensor((1, n, 16), dtype="float32") = R.matmul(reshape3, permute_dims7, out_dtype=None)
            add1: R.Tensor((1, n, 16), dtype="float32") = R.add(matmul4, o_bias)
            gv: R.Tensor((1, n, 16), dtype="float32") = add1
            R.output(gv)
        return gv