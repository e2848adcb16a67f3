# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

S = TypeVar("S")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((S, 8), dtype="float32"), co: R.Tensor((S, 8), dtype="float32"), si: R.Tensor((S, 8), dtype="float32")) -> R.Tensor((S, 8), dtype="float32"):
        R.func_attr({"num_input": 3})
        with R.dataflow():
            lv: R.Tensor((S, 4), dtype="float32") = R.strided_slice(x, (1,), (4,), (8,), (1,), assume_inbound=False)
            lv1: R.Tensor((S, 4), dtype="float32") = R.negative(lv)
            lv2: R.Tensor((S, 4), dtype="float32") = R.strided_slice(x, (1,), (0,), (4,), (1,), assume_inbound=False)
            lv3: R.Tensor((S, 8), dtype="float32") = R.concat((lv1, lv2), axis=-1)
            lv4: R.Tensor((S, 8), dtype="float32") = R.multiply(x, co)
            lv5: R.Tensor((S, 8), dtype="float32") = R.multiply(lv3, si)
            gv: R.Tensor((S, 8), dtype="float32") = R.add(lv4, lv5)
            R.output(gv)
        return gv