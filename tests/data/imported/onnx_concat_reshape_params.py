# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3, 4), dtype="float32"), z: R.Tensor((2, 5, 4), dtype="float32"), sh: R.Tensor((3,), dtype="int64"), sh2: R.Tensor((2,), dtype="int64"), sh3: R.Tensor((3,), dtype="int64"), ax: R.Tensor((1,), dtype="int64")) -> R.Tensor((2, 4), dtype="float32"):
        R.func_attr({"num_input": 2})
        with R.dataflow():
            lv: R.Tensor((2, 8, 4), dtype="float32") = R.concat((x, z), axis=1)
            lv1: R.Tensor((2, 16, 2), dtype="float32") = R.reshape(lv, R.shape([2, 16, 2]))
            lv2: R.Tensor((2, 2, 16), dtype="float32") = R.permute_dims(lv1, axes=[0, 2, 1])
            lv3: R.Tensor((2, 32), dtype="float32") = R.reshape(lv2, R.shape([2, 32]))
            lv4: R.Tensor((2, 8, 4), dtype="float32") = R.reshape(lv3, R.shape([2, 8, 4]))
            gv: R.Tensor((2, 4), dtype="float32") = R.mean(lv4, axis=[1], keepdims=False)
            R.output(gv)
        return gv