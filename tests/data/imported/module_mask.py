# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def forward(x: R.Tensor((n, n), dtype="float32"), n_1: R.Shape([n])) -> R.Tensor((n, n), dtype="float32"):
        R.func_attr({"num_input": 2})
        with R.dataflow():
            full: R.Tensor((n, n), dtype="float32") = R.full(R.shape([n, n]), R.const(-1000000000.0, "float32"), dtype="float32")
            triu: R.Tensor((n, n), dtype="float32") = R.triu(full, 1)
            add: R.Tensor((n, n), dtype="float32") = R.add(x, triu)
            softmax: R.Tensor((n, n), dtype="float32") = R.nn.softmax(add, axis=-1)
            gv: R.Tensor((n, n), dtype="float32") = softmax
            R.output(gv)
        return gv