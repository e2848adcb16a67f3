# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

A = TypeVar("A")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((A, 3, 4), dtype="float32")) -> R.Tensor((A, 12), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            gv: R.Tensor((A, 12), dtype="float32") = R.reshape(x, R.shape([A, 12]))
            R.output(gv)
        return gv