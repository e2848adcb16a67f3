# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(q: R.Tensor((4, 8), dtype="float32"), k: R.Tensor((4, 8), dtype="float32"), v: R.Tensor((4, 8), dtype="float32"), seen: R.Tensor((4, 4), dtype="bool")) -> R.Tensor((4, 8), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((8, 4), dtype="float32") = R.permute_dims(k, axes=None)
            scores: R.Tensor((4, 4), dtype="float32") = R.matmul(q, lv, out_dtype=None)
            masked: R.Tensor((4, 4), dtype="float32") = R.where(seen, scores, R.const(-1000000000.0, "float32"))
            top: R.Tensor((4, 1), dtype="float32") = R.max(masked, axis=[-1], keepdims=True)
            shifted: R.Tensor((4, 4), dtype="float32") = R.subtract(masked, top)
            powers: R.Tensor((4, 4), dtype="float32") = R.exp(shifted)
            total: R.Tensor((4, 1), dtype="float32") = R.sum(powers, axis=[-1], keepdims=True)
            weights: R.Tensor((4, 4), dtype="float32") = R.divide(powers, total)
            mixed: R.Tensor((4, 8), dtype="float32") = R.matmul(weights, v, out_dtype=None)
            R.output(mixed)
        return mixed
