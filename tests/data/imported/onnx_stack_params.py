# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

N = TypeVar("N")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((N, 3), dtype="float32"), z: R.Tensor((N, 3), dtype="float32"), a0: R.Tensor((1,), dtype="int64")) -> R.Tensor((N, 3), dtype="float32"):
        R.func_attr({"num_input": 2})
        with R.dataflow():
            lv: R.Tensor((1, N, 3), dtype="float32") = R.expand_dims(x, axis=[0])
            lv1: R.Tensor((1, N, 3), dtype="float32") = R.expand_dims(z, axis=[0])
            lv2: R.Tensor((2, N, 3), dtype="float32") = R.concat((lv, lv1), axis=0)
            lv3: R.Tensor((1, N, 3), dtype="float32") = R.min(lv2, axis=[0], keepdims=True)
            lv4: R.Tensor((N, 3), dtype="float32") = R.max(lv2, axis=[0], keepdims=False)
            lv5: R.Tensor((N, 3), dtype="float32") = R.squeeze(lv3, axis=[0])
            gv: R.Tensor((N, 3), dtype="float32") = R.subtract(lv4, lv5)
            R.output(gv)
        return gv