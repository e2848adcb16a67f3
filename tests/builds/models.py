"""Real models for the doors: built with TVM's own front end, small enough for a test. `pip install '.[tvm]'`.

`expression()` one operator; `cnn()` convolutions, group norm, a residual; `decoder()` a two-layer language model with a cache that
the effects carry (`prefill`, `decode`, `softmax_with_temperature`), its weights packed into one tuple. Each returns (module, named parameters).
"""

import numpy as np
import tvm
from tvm import tirx
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import Tensor, op, spec
from tvm.script import from_source
from tvm.script import ir as I
from tvm.script import relax as R

HIDDEN, HEADS, KV_HEADS, HEAD, VOCAB, INNER = 32, 4, 2, 8, 64, 48


def expression():
    text = '@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((2, 3), "float32")):\n        return R.exp(x)\n'
    return from_source(text, extra_vars={"I": I, "R": R}), []


class Attention(nn.Module):
    def __init__(self, max_length):
        self.qkv = nn.Linear(HIDDEN, (HEADS + 2 * KV_HEADS) * HEAD, bias=False)
        self.o = nn.Linear(HEADS * HEAD, HIDDEN, bias=False)
        self.k_cache = nn.KVCache(max_length, [KV_HEADS, HEAD])
        self.v_cache = nn.KVCache(max_length, [KV_HEADS, HEAD])

    def forward(self, x, mask, total):
        b, n, _ = x.shape
        q, k, v = op.split(
            op.reshape(self.qkv(x), (b, n, HEADS + 2 * KV_HEADS, HEAD)), [HEADS, HEADS + KV_HEADS], axis=2
        )
        self.k_cache.append(op.squeeze(k, 0))
        self.v_cache.append(op.squeeze(v, 0))
        k = op.repeat(
            op.reshape(self.k_cache.view(total), (b, total, KV_HEADS, HEAD)), HEADS // KV_HEADS, axis=2
        )
        v = op.repeat(
            op.reshape(self.v_cache.view(total), (b, total, KV_HEADS, HEAD)), HEADS // KV_HEADS, axis=2
        )
        q, k, v = (op.permute_dims(t, [0, 2, 1, 3]) for t in (q, k, v))
        weights = op.minimum(op.matmul(q, op.permute_dims(k, [0, 1, 3, 2])) / HEAD**0.5, mask)
        y = op.matmul(op.softmax(weights, axis=-1), v)
        return self.o(op.reshape(op.permute_dims(y, [0, 2, 1, 3]), (b, n, HEADS * HEAD)))


class FeedForward(nn.Module):
    def __init__(self):
        self.gate_up = nn.Linear(HIDDEN, 2 * INNER, bias=False)
        self.down = nn.Linear(INNER, HIDDEN, bias=False)

    def forward(self, x):
        gate, up = op.split(self.gate_up(x), 2, axis=-1)
        return self.down(op.silu(gate) * up)


class Layer(nn.Module):
    def __init__(self, max_length):
        self.attention_norm = nn.RMSNorm(HIDDEN, axes=-1, bias=False)
        self.ffn_norm = nn.RMSNorm(HIDDEN, axes=-1, bias=False)
        self.attention, self.ffn = Attention(max_length), FeedForward()

    def forward(self, x, mask, total):
        x = x + self.attention(self.attention_norm(x), mask, total)
        return x + self.ffn(self.ffn_norm(x))


class Decoder(nn.Module):
    def __init__(self, layers, max_length):
        self.embedding = nn.Embedding(VOCAB, HIDDEN)
        self.layers = nn.ModuleList([Layer(max_length) for _ in range(layers)])
        self.norm = nn.RMSNorm(HIDDEN, axes=-1, bias=False)
        self.head = nn.Linear(HIDDEN, VOCAB, bias=False)

    def body(self, ids, mask, total):
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x, mask, total)
        return self.head(self.norm(x))

    def prefill(self, ids: Tensor, total: tirx.Var):
        b, n = ids.shape

        def causal(b, n, t):
            low, high = tirx.min_value("float32"), tirx.max_value("float32")
            return tvm.te.compute(
                (b, 1, n, t), lambda _, __, i, j: tirx.if_then_else(i < j - (t - n), low, high), name="mask"
            )

        return self.body(ids, op.tensor_expr_op(causal, "causal_mask", args=[b, n, total]), total)

    def decode(self, ids: Tensor, total: tirx.Var):
        b, n = ids.shape
        return self.body(
            ids, op.full((b, 1, n, total), fill_value=tirx.max_value("float32"), dtype="float32"), total
        )

    def softmax_with_temperature(self, logits: Tensor, temperature: Tensor):
        return op.softmax(logits / temperature, axis=-1)


def decoder(layers=2, max_length=32):
    model = Decoder(layers, max_length)
    model.to("float32")
    packed = {"param_mode": "packed", "effect_mode": "packed"}
    plain = {"param_mode": "none", "effect_mode": "none"}
    module, params, _ = model.export_tvm(
        spec={
            "prefill": {"ids": spec.Tensor([1, "seq_len"], "int32"), "total": int, "$": packed},
            "decode": {"ids": spec.Tensor([1, 1], "int32"), "total": int, "$": packed},
            "softmax_with_temperature": {
                "logits": spec.Tensor([1, 1, VOCAB], "float32"),
                "temperature": spec.Tensor([], "float32"),
                "$": plain,
            },
        },
        allow_extern=True,
    )
    return module, params


class Cnn(nn.Module):
    def __init__(self):
        self.c1 = nn.Conv2D(3, 8, 3, padding=1)
        self.c2 = nn.Conv2D(8, 8, 3, padding=1, bias=False)
        self.c3 = nn.Conv2D(8, 16, 3, stride=2, padding=1)
        self.norm = nn.GroupNorm(2, 8)
        self.out = nn.Linear(16, 10)

    def forward(self, x: Tensor):
        x = op.relu(self.c1(x))
        x = op.silu(self.c3(x + op.relu(self.norm(self.c2(x)))))
        return op.softmax(self.out(op.sum(x, axis=[2, 3]) / 16.0), axis=-1)


def cnn():
    model = Cnn()
    model.to("float32")
    return model.export_tvm(spec={"forward": {"x": spec.Tensor(["batch", 3, 8, 8], "float32")}})


def weights(params, seed=0):
    """Random values by the names that the model gives its parameters, such as `layers.0.attention.qkv.weight`."""
    rng = np.random.default_rng(seed)
    return {
        name: rng.standard_normal([int(d) for d in p.shape]).astype(np.float32) * np.float32(0.3)
        for name, p in params
    }
