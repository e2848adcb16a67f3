# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def forward(x: R.Tensor((n, 8), dtype="float32"), pos: R.Tensor((n,), dtype="int32")) -> R.Tensor((n, 8), dtype="float32"):
        R.func_attr({"num_input": 2})
        with R.dataflow():
            split: R.Tuple(R.Tensor((n, 4), dtype="float32"), R.Tensor((n, 4), dtype="float32")) = R.split(x, indices_or_sections=2, axis=-1)
            split_0: R.Tensor((n, 4), dtype="float32") = split[0]
            split_1: R.Tensor((n, 4), dtype="float32") = split[1]
            neg: R.Tensor((n, 4), dtype="float32") = R.negative(split_1)
            concat: R.Tensor((n, 8), dtype="float32") = R.concat((neg, split_0), axis=-1)
            unsqueeze: R.Tensor((n, 1), dtype="int32") = R.expand_dims(pos, axis=[-1])
            astype: R.Tensor((n, 1), dtype="float32") = R.astype(unsqueeze, dtype="float32")
            mul: R.Tensor((n, 8), dtype="float32") = R.multiply(x, astype)
            sqrt: R.Tensor((n, 1), dtype="float32") = R.sqrt(astype)
            mul1: R.Tensor((n, 8), dtype="float32") = R.multiply(concat, sqrt)
            add: R.Tensor((n, 8), dtype="float32") = R.add(mul, mul1)
            gv: R.Tensor((n, 8), dtype="float32") = add
            R.output(gv)
        return gv