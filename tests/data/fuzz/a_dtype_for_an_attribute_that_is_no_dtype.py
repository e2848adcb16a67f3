# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def forward(x: R.Tensor((n, 16), dtype="float32"), up_weight: R.Tensor((32, 16), dtype="float32"), up_bias: R.Tensor((32,), dtype="float32"), down_weight: R.Tensor((8, 32), dtype="float32")) -> R.Tensor((n, 8), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            permute_dims: R.Tensor((16, 32), dtype="float32") = R.permute_dims(up_weight, axes=R.dtype('int8'))
            matmul: R.Tensor((n, 32), dtype="float32") = R.matmul(x, permute_dims, out_dtype=None)
            add: R.Tensor((n, 32), dtype="float32") = R.add(matmul, up_bias)
            gelu: R.Tensor((n, 32), dtype="float32") = R.nn.gelu(add)
            permute_dims1: R.Tensor((32, 8), dtype="float32") = R.permute_dims(down_weight, axes=None)
            matmul1: R.Tensor((n, 8), dtype="float32") = R.matmul(gelu, permute_dims1, out_dtype=None)
            gv: R.Tensor((n, 8), dtype="float32") = matmul1
            R.output(gv)
        return gv
