# A transformer layer: attention over `h` heads with symbolic batch and sequence lengths, then a feed-forward network.
from typing import TypeVar

from tvm.script import ir as I
from tvm.script import relax as R

b = TypeVar("b")
s = TypeVar("s")


@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor((b, s, 16), "float32"),
        w_qkv: R.Tensor((16, 48), "float32"),
        w_out: R.Tensor((16, 16), "float32"),
        gain: R.Tensor((16,), "float32"),
        bias: R.Tensor((16,), "float32"),
        w_up: R.Tensor((16, 32), "float32"),
        w_down: R.Tensor((32, 16), "float32"),
    ) -> R.Tensor((b, s, 16), "float32"):
        with R.dataflow():
            normed = R.nn.layer_norm(x, gain, bias, axes=[-1])
            qkv = R.matmul(normed, w_qkv)
            parts = R.split(qkv, 3, axis=-1)
            q = R.permute_dims(R.reshape(parts[0], R.shape([b, s, 4, 4])), axes=[0, 2, 1, 3])
            k = R.permute_dims(R.reshape(parts[1], R.shape([b, s, 4, 4])), axes=[0, 2, 3, 1])
            v = R.permute_dims(R.reshape(parts[2], R.shape([b, s, 4, 4])), axes=[0, 2, 1, 3])
            scores = R.multiply(R.matmul(q, k), R.const(0.5, "float32"))
            weights = R.nn.softmax(scores, axis=-1)
            mixed = R.permute_dims(R.matmul(weights, v), axes=[0, 2, 1, 3])
            attended = R.add(x, R.matmul(R.reshape(mixed, R.shape([b, s, 16])), w_out))
            hidden = R.nn.silu(R.matmul(attended, w_up))
            gv = R.add(attended, R.matmul(hidden, w_down))
            R.output(gv)
        return gv
