# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 16), dtype="float32"), w: R.Tensor((16, 16), dtype="float32"), b: R.Tensor((16,), dtype="float32"), w_out: R.Tensor((16, 4), dtype="float32")) -> R.Tensor((n, 4), dtype="float32"):
        with R.dataflow():
            product: R.Tensor((n, 16), dtype="float32") = R.matmul(x, w, out_dtype=None)
            biased: R.Tensor((n, 16), dtype="float32") = R.add(product, b)
            gate: R.Tensor((n, 16), dtype="float32") = R.sigmoid(biased)
            gated: R.Tensor((n, 16), dtype="float32") = R.multiply(biased, gate)
            scores: R.Tensor((n, 4), dtype="float32") = R.matmul(gated, w_out, out_dtype=None)
            out: R.Tensor((n, 4), dtype="float32") = R.nn.softmax(scores, axis=-1)
            R.output(out)
        return out
