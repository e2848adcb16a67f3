# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

n = TypeVar("n")
total = TypeVar("total")
@I.ir_module
class Module:
    @R.function
    def _initialize_effect() -> R.Tuple(R.Any):
        with R.dataflow():
            lv: R.Tensor((16, 2, 4), dtype="float32") = R.zeros(R.shape([16, 2, 4]), dtype="float32")
            cache: R.Any = R.call_pure_packed("vm.builtin.attention_kv_cache_create", lv, R.shape([16, 2, 4]), 0, ty_args=(R.Any,))
            lv1: R.Tuple(R.Any) = (cache,)
            gv: R.Tuple(R.Any) = lv1
            R.output(gv)
        return gv

    @R.function
    def forward(x: R.Tensor((n, 8), dtype="float32"), total_1: R.Shape([total]), cache: R.Any, p_weight: R.Tensor((8, 8), dtype="float32"), p_bias: R.Tensor((8,), dtype="float32")) -> R.Tuple(R.Tensor((2, 4), dtype="float32"), R.Tuple(R.Any)):
        R.func_attr({"num_input": 3})
        with R.dataflow():
            permute_dims: R.Tensor((8, 8), dtype="float32") = R.permute_dims(p_weight, axes=None)
            matmul: R.Tensor((n, 8), dtype="float32") = R.matmul(x, permute_dims, out_dtype=None)
            add: R.Tensor((n, 8), dtype="float32") = R.add(matmul, p_bias)
            reshape: R.Tensor((n, 2, 4), dtype="float32") = R.reshape(add, R.shape([n, 2, 4]))
            lv2: R.Any = R.call_inplace_packed("vm.builtin.attention_kv_cache_append", cache, reshape, inplace_indices=[0], ty_args=(R.Any,))
            lv3: R.Tensor((total, 2, 4), dtype="float32") = R.call_pure_packed("vm.builtin.attention_kv_cache_view", lv2, R.shape([total, 2, 4]), ty_args=(R.Tensor((total, 2, 4), dtype="float32"),))
            sum: R.Tensor((2, 4), dtype="float32") = R.sum(lv3, axis=[0], keepdims=False)
            gv1: R.Tuple(R.Tensor((2, 4), dtype="float32"), R.Tuple(R.Any)) = sum, (lv2,)
            R.output(gv1)
        return gv1