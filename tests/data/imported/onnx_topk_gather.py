# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 9), dtype="float32")) -> R.Tensor((4, 3), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tuple(R.Tensor((4, 3), dtype="float32"), R.Tensor((4, 3), dtype="int64")) = R.topk(x, k=3, axis=-1, ret_type="both", largest=True, dtype="int64")
            lv1: R.Tensor((4, 3), dtype="float32") = lv[0]
            lv2: R.Tensor((4, 3), dtype="int64") = lv[1]
            lv3: R.Shape([4, 9]) = R.shape_of(x)
            lv4: R.Tensor((2,), dtype="int64") = R.shape_to_tensor(lv3)
            lv5: R.Tensor((4, 3), dtype="bool") = R.less(lv2, R.const(0, "int64"))
            lv6: R.Tensor((), dtype="int64") = R.take(lv4, R.const(1, "int64"), axis=0, mode="wrap")
            lv7: R.Tensor((4, 3), dtype="int64") = R.add(lv2, lv6)
            lv8: R.Tensor((4, 3), dtype="int64") = R.where(lv5, lv7, lv2)
            lv9: R.Tensor((4, 3), dtype="float32") = R.gather_elements(x, lv8, axis=1)
            gv: R.Tensor((4, 3), dtype="float32") = R.subtract(lv1, lv9)
            R.output(gv)
        return gv