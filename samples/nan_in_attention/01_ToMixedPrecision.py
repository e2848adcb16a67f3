# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(q: R.Tensor((4, 8), dtype="float32"), k: R.Tensor((4, 8), dtype="float32"), v: R.Tensor((4, 8), dtype="float32"), seen: R.Tensor((4, 4), dtype="bool")) -> R.Tensor((4, 8), dtype="float32"):
        with R.dataflow():
            q16: R.Tensor((4, 8), dtype="float16") = R.astype(q, dtype="float16")
            k16: R.Tensor((4, 8), dtype="float16") = R.astype(k, dtype="float16")
            v16: R.Tensor((4, 8), dtype="float16") = R.astype(v, dtype="float16")
            gv: R.Tensor((8, 4), dtype="float16") = R.permute_dims(k16, axes=None)
            scores: R.Tensor((4, 4), dtype="float16") = R.matmul(q16, gv, out_dtype=None)
            masked: R.Tensor((4, 4), dtype="float16") = R.where(seen, scores, R.const("-inf", "float16"))
            top: R.Tensor((4, 1), dtype="float16") = R.max(masked, axis=[-1], keepdims=True)
            shifted: R.Tensor((4, 4), dtype="float16") = R.subtract(masked, top)
            powers: R.Tensor((4, 4), dtype="float16") = R.exp(shifted)
            total: R.Tensor((4, 1), dtype="float16") = R.sum(powers, axis=[-1], keepdims=True)
            weights: R.Tensor((4, 4), dtype="float16") = R.divide(powers, total)
            mixed16: R.Tensor((4, 8), dtype="float16") = R.matmul(weights, v16, out_dtype=None)
            mixed: R.Tensor((4, 8), dtype="float32") = R.astype(mixed16, dtype="float32")
            R.output(mixed)
        return mixed
