# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

b = TypeVar("b")
@I.ir_module
class Module:
    @R.function
    def forward(x: R.Tensor((b, 4, 16), dtype="float32"), n1_weight: R.Tensor((16,), dtype="float32"), a_q_weight: R.Tensor((16, 16), dtype="float32"), a_kv_weight: R.Tensor((32, 16), dtype="float32"), a_kv_bias: R.Tensor((32,), dtype="float32"), a_o_weight: R.Tensor((16, 16), dtype="float32"), a_o_bias: R.Tensor((16,), dtype="float32"), n2_weight: R.Tensor((16,), dtype="float32"), n2_bias: R.Tensor((16,), dtype="float32"), up_weight: R.Tensor((64, 16), dtype="float32"), up_bias: R.Tensor((64,), dtype="float32"), down_weight: R.Tensor((16, 32), dtype="float32"), down_bias: R.Tensor((16,), dtype="float32")) -> R.Tensor((b, 4, 16), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            rms_norm: R.Tensor((b, 4, 16), dtype="float32") = R.nn.rms_norm(x, n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims: R.Tensor((16, 16), dtype="float32") = R.permute_dims(a_q_weight, axes=None)
            matmul: R.Tensor((b, 4, 16), dtype="float32") = R.matmul(rms_norm, permute_dims, out_dtype=None)
            reshape: R.Tensor((b, 4, 2, 8), dtype="float32") = R.reshape(matmul, R.shape([b, 4, 2, 8]))
            permute_dims1: R.Tensor((16, 32), dtype="float32") = R.permute_dims(a_kv_weight, axes=None)
            matmul1: R.Tensor((b, 4, 32), dtype="float32") = R.matmul(rms_norm, permute_dims1, out_dtype=None)
            add: R.Tensor((b, 4, 32), dtype="float32") = R.add(matmul1, a_kv_bias)
            split: R.Tuple(R.Tensor((b, 4, 16), dtype="float32"), R.Tensor((b, 4, 16), dtype="float32")) = R.split(add, indices_or_sections=2, axis=-1)
            split_0: R.Tensor((b, 4, 16), dtype="float32") = split[0]
            split_1: R.Tensor((b, 4, 16), dtype="float32") = split[1]
            reshape1: R.Tensor((b, 4, 2, 8), dtype="float32") = R.reshape(split_0, R.shape([b, 4, 2, 8]))
            reshape2: R.Tensor((b, 4, 2, 8), dtype="float32") = R.reshape(split_1, R.shape([b, 4, 2, 8]))
            permute_dims2: R.Tensor((b, 2, 4, 8), dtype="float32") = R.permute_dims(reshape, axes=[0, 2, 1, 3])
            permute_dims3: R.Tensor((b, 2, 4, 8), dtype="float32") = R.permute_dims(reshape1, axes=[0, 2, 1, 3])
            permute_dims4: R.Tensor((b, 2, 4, 8), dtype="float32") = R.permute_dims(reshape2, axes=[0, 2, 1, 3])
            permute_dims5: R.Tensor((b, 2, 8, 4), dtype="float32") = R.permute_dims(permute_dims3, axes=[0, 1, 3, 2])
            matmul2: R.Tensor((b, 2, 4, 4), dtype="float32") = R.matmul(permute_dims2, permute_dims5, out_dtype=None)
            divide: R.Tensor((b, 2, 4, 4), dtype="float32") = R.divide(matmul2, R.const(2.8284270763397217, "float32"))
            softmax: R.Tensor((b, 2, 4, 4), dtype="float32") = R.nn.softmax(divide, axis=-1)
            matmul3: R.Tensor((b, 2, 4, 8), dtype="float32") = R.matmul(softmax, permute_dims4, out_dtype=None)
            permute_dims6: R.Tensor((b, 4, 2, 8), dtype="float32") = R.permute_dims(matmul3, axes=[0, 2, 1, 3])
            reshape3: R.Tensor((b, 4, 16), dtype="float32") = R.reshape(permute_dims6, R.shape([b, 4, 16]))
            permute_dims7: R.Tensor((16, 16), dtype="float32") = R.permute_dims(a_o_weight, axes=None)
            matmul4: R.Tensor((b, 4, 16), dtype="float32") = R.matmul(reshape3, permute_dims7, out_dtype=None)
            add1: R.Tensor((b, 4, 16), dtype="float32") = R.add(matmul4, a_o_bias)
            add2: R.Tensor((b, 4, 16), dtype="float32") = R.add(x, add1)
            layer_norm: R.Tensor((b, 4, 16), dtype="float32") = R.nn.layer_norm(add2, n2_weight, n2_bias, axes=[-1], epsilon=1.0000000000000001e-05, center=True, scale=True)
            permute_dims8: R.Tensor((16, 64), dtype="float32") = R.permute_dims(up_weight, axes=None)
            matmul5: R.Tensor((b, 4, 64), dtype="float32") = R.matmul(layer_norm, permute_dims8, out_dtype=None)
            add3: R.Tensor((b, 4, 64), dtype="float32") = R.add(matmul5, up_bias)
            split1: R.Tuple(R.Tensor((b, 4, 32), dtype="float32"), R.Tensor((b, 4, 32), dtype="float32")) = R.split(add3, indices_or_sections=2, axis=-1)
            split_01: R.Tensor((b, 4, 32), dtype="float32") = split1[0]
            split_11: R.Tensor((b, 4, 32), dtype="float32") = split1[1]
            silu: R.Tensor((b, 4, 32), dtype="float32") = R.nn.silu(split_01)
            mul: R.Tensor((b, 4, 32), dtype="float32") = R.multiply(silu, split_11)
            permute_dims9: R.Tensor((32, 16), dtype="float32") = R.permute_dims(down_weight, axes=None)
            matmul6: R.Tensor((b, 4, 16), dtype="float32") = R.matmul(mul, permute_dims9, out_dtype=None)
            add4: R.Tensor((b, 4, 16), dtype="float32") = R.add(matmul6, down_bias)
            add5: R.Tensor((b, 4, 16), dtype="float32") = R.add(add2, add4)
            gv: R.Tensor((b, 4, 16), dtype="float32") = add5
            R.output(gv)
        return gv