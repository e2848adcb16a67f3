# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

s = TypeVar("s")
@I.ir_module
class Module:
    @R.function
    def _initialize_effect() -> R.Tuple(R.Any):
        with R.dataflow():
            _io: R.Any = R.null_value()
            lv: R.Tuple(R.Any) = (_io,)
            gv: R.Tuple(R.Any) = lv
            R.output(gv)
        return gv

    @R.function
    def forward(ids: R.Tensor((1, s), dtype="int32"), _io: R.Any, e_weight: R.Tensor((32, 16), dtype="float32"), l_0_n1_weight: R.Tensor((16,), dtype="float32"), l_0_a_q_weight: R.Tensor((16, 16), dtype="float32"), l_0_a_kv_weight: R.Tensor((32, 16), dtype="float32"), l_0_a_kv_bias: R.Tensor((32,), dtype="float32"), l_0_a_o_weight: R.Tensor((16, 16), dtype="float32"), l_0_a_o_bias: R.Tensor((16,), dtype="float32"), l_0_n2_weight: R.Tensor((16,), dtype="float32"), l_0_n2_bias: R.Tensor((16,), dtype="float32"), l_0_up_weight: R.Tensor((64, 16), dtype="float32"), l_0_up_bias: R.Tensor((64,), dtype="float32"), l_0_down_weight: R.Tensor((16, 32), dtype="float32"), l_0_down_bias: R.Tensor((16,), dtype="float32"), l_1_n1_weight: R.Tensor((16,), dtype="float32"), l_1_a_q_weight: R.Tensor((16, 16), dtype="float32"), l_1_a_kv_weight: R.Tensor((32, 16), dtype="float32"), l_1_a_kv_bias: R.Tensor((32,), dtype="float32"), l_1_a_o_weight: R.Tensor((16, 16), dtype="float32"), l_1_a_o_bias: R.Tensor((16,), dtype="float32"), l_1_n2_weight: R.Tensor((16,), dtype="float32"), l_1_n2_bias: R.Tensor((16,), dtype="float32"), l_1_up_weight: R.Tensor((64, 16), dtype="float32"), l_1_up_bias: R.Tensor((64,), dtype="float32"), l_1_down_weight: R.Tensor((16, 32), dtype="float32"), l_1_down_bias: R.Tensor((16,), dtype="float32"), n_weight: R.Tensor((16,), dtype="float32"), head_weight: R.Tensor((32, 16), dtype="float32")) -> R.Tuple(R.Tensor((1, s, 32), dtype="float32"), R.Tuple(R.Any)):
        R.func_attr({"num_input": 2})
        with R.dataflow():
            reshape: R.Tensor((s,), dtype="int32") = R.reshape(ids, R.shape([s]))
            take: R.Tensor((s, 16), dtype="float32") = R.take(e_weight, reshape, axis=0, mode="fast")
            reshape1: R.Tensor((1, s, 16), dtype="float32") = R.reshape(take, R.shape([1, s, 16]))
            rms_norm: R.Tensor((1, s, 16), dtype="float32") = R.nn.rms_norm(reshape1, l_0_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims: R.Tensor((16, 16), dtype="float32") = R.permute_dims(l_0_a_q_weight, axes=None)
            matmul: R.Tensor((1, s, 16), dtype="float32") = R.matmul(rms_norm, permute_dims, out_dtype=None)
            reshape2: R.Tensor((1, s, 2, 8), dtype="float32") = R.reshape(matmul, R.shape([1, s, 2, 8]))
            permute_dims1: R.Tensor((16, 32), dtype="float32") = R.permute_dims(l_0_a_kv_weight, axes=None)
            matmul1: R.Tensor((1, s, 32), dtype="float32") = R.matmul(rms_norm, permute_dims1, out_dtype=None)
            add: R.Tensor((1, s, 32), dtype="float32") = R.add(matmul1, l_0_a_kv_bias)
            split: R.Tuple(R.Tensor((1, s, 16), dtype="float32"), R.Tensor((1, s, 16), dtype="float32")) = R.split(add, indices_or_sections=2, axis=-1)
            split_0: R.Tensor((1, s, 16), dtype="float32") = split[0]
            split_1: R.Tensor((1, s, 16), dtype="float32") = split[1]
            reshape3: R.Tensor((1, s, 2, 8), dtype="float32") = R.reshape(split_0, R.shape([1, s, 2, 8]))
            reshape4: R.Tensor((1, s, 2, 8), dtype="float32") = R.reshape(split_1, R.shape([1, s, 2, 8]))
            permute_dims2: R.Tensor((1, 2, s, 8), dtype="float32") = R.permute_dims(reshape2, axes=[0, 2, 1, 3])
            permute_dims3: R.Tensor((1, 2, s, 8), dtype="float32") = R.permute_dims(reshape3, axes=[0, 2, 1, 3])
            permute_dims4: R.Tensor((1, 2, s, 8), dtype="float32") = R.permute_dims(reshape4, axes=[0, 2, 1, 3])
            permute_dims5: R.Tensor((1, 2, 8, s), dtype="float32") = R.permute_dims(permute_dims3, axes=[0, 1, 3, 2])
            matmul2: R.Tensor((1, 2, s, s), dtype="float32") = R.matmul(permute_dims2, permute_dims5, out_dtype=None)
            divide: R.Tensor((1, 2, s, s), dtype="float32") = R.divide(matmul2, R.const(2.8284270763397217, "float32"))
            softmax: R.Tensor((1, 2, s, s), dtype="float32") = R.nn.softmax(divide, axis=-1)
            matmul3: R.Tensor((1, 2, s, 8), dtype="float32") = R.matmul(softmax, permute_dims4, out_dtype=None)
            permute_dims6: R.Tensor((1, s, 2, 8), dtype="float32") = R.permute_dims(matmul3, axes=[0, 2, 1, 3])
            reshape5: R.Tensor((1, s, 16), dtype="float32") = R.reshape(permute_dims6, R.shape([1, s, 16]))
            permute_dims7: R.Tensor((16, 16), dtype="float32") = R.permute_dims(l_0_a_o_weight, axes=None)
            matmul4: R.Tensor((1, s, 16), dtype="float32") = R.matmul(reshape5, permute_dims7, out_dtype=None)
            add1: R.Tensor((1, s, 16), dtype="float32") = R.add(matmul4, l_0_a_o_bias)
            add2: R.Tensor((1, s, 16), dtype="float32") = R.add(reshape1, add1)
            layer_norm: R.Tensor((1, s, 16), dtype="float32") = R.nn.layer_norm(add2, l_0_n2_weight, l_0_n2_bias, axes=[-1], epsilon=1.0000000000000001e-05, center=True, scale=True)
            permute_dims8: R.Tensor((16, 64), dtype="float32") = R.permute_dims(l_0_up_weight, axes=None)
            matmul5: R.Tensor((1, s, 64), dtype="float32") = R.matmul(layer_norm, permute_dims8, out_dtype=None)
            add3: R.Tensor((1, s, 64), dtype="float32") = R.add(matmul5, l_0_up_bias)
            split1: R.Tuple(R.Tensor((1, s, 32), dtype="float32"), R.Tensor((1, s, 32), dtype="float32")) = R.split(add3, indices_or_sections=2, axis=-1)
            split_01: R.Tensor((1, s, 32), dtype="float32") = split1[0]
            split_11: R.Tensor((1, s, 32), dtype="float32") = split1[1]
            silu: R.Tensor((1, s, 32), dtype="float32") = R.nn.silu(split_01)
            mul: R.Tensor((1, s, 32), dtype="float32") = R.multiply(silu, split_11)
            permute_dims9: R.Tensor((32, 16), dtype="float32") = R.permute_dims(l_0_down_weight, axes=None)
            matmul6: R.Tensor((1, s, 16), dtype="float32") = R.matmul(mul, permute_dims9, out_dtype=None)
            add4: R.Tensor((1, s, 16), dtype="float32") = R.add(matmul6, l_0_down_bias)
            add5: R.Tensor((1, s, 16), dtype="float32") = R.add(add2, add4)
            rms_norm1: R.Tensor((1, s, 16), dtype="float32") = R.nn.rms_norm(add5, l_1_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims10: R.Tensor((16, 16), dtype="float32") = R.permute_dims(l_1_a_q_weight, axes=None)
            matmul7: R.Tensor((1, s, 16), dtype="float32") = R.matmul(rms_norm1, permute_dims10, out_dtype=None)
            reshape6: R.Tensor((1, s, 2, 8), dtype="float32") = R.reshape(matmul7, R.shape([1, s, 2, 8]))
            permute_dims11: R.Tensor((16, 32), dtype="float32") = R.permute_dims(l_1_a_kv_weight, axes=None)
            matmul8: R.Tensor((1, s, 32), dtype="float32") = R.matmul(rms_norm1, permute_dims11, out_dtype=None)
            add6: R.Tensor((1, s, 32), dtype="float32") = R.add(matmul8, l_1_a_kv_bias)
            split2: R.Tuple(R.Tensor((1, s, 16), dtype="float32"), R.Tensor((1, s, 16), dtype="float32")) = R.split(add6, indices_or_sections=2, axis=-1)
            split_02: R.Tensor((1, s, 16), dtype="float32") = split2[0]
            split_12: R.Tensor((1, s, 16), dtype="float32") = split2[1]
            reshape7: R.Tensor((1, s, 2, 8), dtype="float32") = R.reshape(split_02, R.shape([1, s, 2, 8]))
            reshape8: R.Tensor((1, s, 2, 8), dtype="float32") = R.reshape(split_12, R.shape([1, s, 2, 8]))
            permute_dims12: R.Tensor((1, 2, s, 8), dtype="float32") = R.permute_dims(reshape6, axes=[0, 2, 1, 3])
            permute_dims13: R.Tensor((1, 2, s, 8), dtype="float32") = R.permute_dims(reshape7, axes=[0, 2, 1, 3])
            permute_dims14: R.Tensor((1, 2, s, 8), dtype="float32") = R.permute_dims(reshape8, axes=[0, 2, 1, 3])
            permute_dims15: R.Tensor((1, 2, 8, s), dtype="float32") = R.permute_dims(permute_dims13, axes=[0, 1, 3, 2])
            matmul9: R.Tensor((1, 2, s, s), dtype="float32") = R.matmul(permute_dims12, permute_dims15, out_dtype=None)
            divide1: R.Tensor((1, 2, s, s), dtype="float32") = R.divide(matmul9, R.const(2.8284270763397217, "float32"))
            softmax1: R.Tensor((1, 2, s, s), dtype="float32") = R.nn.softmax(divide1, axis=-1)
            matmul10: R.Tensor((1, 2, s, 8), dtype="float32") = R.matmul(softmax1, permute_dims14, out_dtype=None)
            permute_dims16: R.Tensor((1, s, 2, 8), dtype="float32") = R.permute_dims(matmul10, axes=[0, 2, 1, 3])
            reshape9: R.Tensor((1, s, 16), dtype="float32") = R.reshape(permute_dims16, R.shape([1, s, 16]))
            permute_dims17: R.Tensor((16, 16), dtype="float32") = R.permute_dims(l_1_a_o_weight, axes=None)
            matmul11: R.Tensor((1, s, 16), dtype="float32") = R.matmul(reshape9, permute_dims17, out_dtype=None)
            add7: R.Tensor((1, s, 16), dtype="float32") = R.add(matmul11, l_1_a_o_bias)
            add8: R.Tensor((1, s, 16), dtype="float32") = R.add(add5, add7)
            layer_norm1: R.Tensor((1, s, 16), dtype="float32") = R.nn.layer_norm(add8, l_1_n2_weight, l_1_n2_bias, axes=[-1], epsilon=1.0000000000000001e-05, center=True, scale=True)
            permute_dims18: R.Tensor((16, 64), dtype="float32") = R.permute_dims(l_1_up_weight, axes=None)
            matmul12: R.Tensor((1, s, 64), dtype="float32") = R.matmul(layer_norm1, permute_dims18, out_dtype=None)
            add9: R.Tensor((1, s, 64), dtype="float32") = R.add(matmul12, l_1_up_bias)
            split3: R.Tuple(R.Tensor((1, s, 32), dtype="float32"), R.Tensor((1, s, 32), dtype="float32")) = R.split(add9, indices_or_sections=2, axis=-1)
            split_03: R.Tensor((1, s, 32), dtype="float32") = split3[0]
            split_13: R.Tensor((1, s, 32), dtype="float32") = split3[1]
            silu1: R.Tensor((1, s, 32), dtype="float32") = R.nn.silu(split_03)
            mul1: R.Tensor((1, s, 32), dtype="float32") = R.multiply(silu1, split_13)
            permute_dims19: R.Tensor((32, 16), dtype="float32") = R.permute_dims(l_1_down_weight, axes=None)
            matmul13: R.Tensor((1, s, 16), dtype="float32") = R.matmul(mul1, permute_dims19, out_dtype=None)
            add10: R.Tensor((1, s, 16), dtype="float32") = R.add(matmul13, l_1_down_bias)
            add11: R.Tensor((1, s, 16), dtype="float32") = R.add(add8, add10)
            rms_norm2: R.Tensor((1, s, 16), dtype="float32") = R.nn.rms_norm(add11, n_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims20: R.Tensor((16, 32), dtype="float32") = R.permute_dims(head_weight, axes=None)
            matmul14: R.Tensor((1, s, 32), dtype="float32") = R.matmul(rms_norm2, permute_dims20, out_dtype="float32")
            gv1: R.Tuple(R.Tensor((1, s, 32), dtype="float32"), R.Tuple(R.Any)) = matmul14, (_io,)
            R.output(gv1)
        return gv1