# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(boxes: R.Tensor((1, 6, 4), dtype="float32"), scores: R.Tensor((1, 1, 6), dtype="float32"), max_output_boxes_per_class: R.Tensor((1,), dtype="int64"), iou_threshold: R.Tensor((1,), dtype="float32"), score_threshold: R.Tensor((1,), dtype="float32")) -> R.Tensor((6, 3), dtype="int64"):
        R.func_attr({"num_input": 5})
        with R.dataflow():
            lv: R.Tuple(R.Tensor((6, 3), dtype="int64"), R.Tensor((1,), dtype="int64")) = R.vision.all_class_non_max_suppression(boxes, scores, R.const(0, "int64"), R.const(0.5, "float32"), R.const(0.0, "float32"), output_format="onnx")
            lv1: R.Tensor((6, 3), dtype="int64") = lv[0]
            gv: R.Tensor((6, 3), dtype="int64") = lv1
            R.output(gv)
        return gv