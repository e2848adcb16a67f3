"""A small language model in the form that MLC-LLM exports: weights of four bits in groups, halves, a paged cache, a function a step.

`module(target)` is its module, `weights()` are random values by the names of its parameters. `python -m tests.builds.paged_llama TARGET` makes
the passes of Relax for a target. With a second argument (`llvm` only) the whole build, which runs a prompt and a step with the weights of that file.
"""

import sys

import numpy as np
import tvm
from tvm import relax, te, tirx
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import Tensor, op, spec
from tvm.relax.frontend.nn.llm.kv_cache import PagedKVCache, RopeMode, TIRPagedKVCache

HIDDEN, HEADS, KV_HEADS, HEAD, VOCAB, INNER, GROUP = 128, 4, 2, 32, 128, 128, 32
HOST = {"kind": "llvm"}
TARGETS = {
    "cuda": {"kind": "cuda", "arch": "sm_80", "host": HOST},
    "metal": {"kind": "metal", "host": HOST},
    "llvm": HOST,
}
LENGTHS = ("max_batch_size", "max_total_seq_len", "prefill_chunk_size", "page_size", "support_sliding_window")


class Linear(nn.Module):
    """Weights of four bits, eight in a word, with a scale for each group."""

    def __init__(self, inputs, outputs, out_dtype=None):
        self.inputs, self.outputs, self.out_dtype = inputs, outputs, out_dtype
        self.q_weight = nn.Parameter((outputs, inputs // 8), "uint32")
        self.q_scale = nn.Parameter((outputs, inputs // GROUP), "float16")

    def forward(self, x):
        def element(words, scales):
            def value(row, column):
                bits = words[row, column // 8] >> tirx.Cast("uint32", column % 8 * 4)
                number = (bits & tirx.const(15, "uint32")).astype("float16") - tirx.const(7, "float16")
                return number * scales[row, column // GROUP]

            return te.compute((self.outputs, self.inputs), value, name="dequantize")

        weight = op.tensor_expr_op(element, "dequantize", [self.q_weight, self.q_scale])
        return op.matmul(x, op.permute_dims(weight), out_dtype=self.out_dtype)


class Layer(nn.Module):
    def __init__(self):
        self.norm1 = nn.RMSNorm(HIDDEN, -1, 1e-5, bias=False)
        self.norm2 = nn.RMSNorm(HIDDEN, -1, 1e-5, bias=False)
        self.qkv, self.out = Linear(HIDDEN, (HEADS + 2 * KV_HEADS) * HEAD), Linear(HEADS * HEAD, HIDDEN)
        self.gate_up, self.down = Linear(HIDDEN, 2 * INNER), Linear(INNER, HIDDEN)

    def forward(self, x, cache, number):
        b, n, _ = x.shape
        qkv = op.reshape(self.qkv(self.norm1(x)), (b, n, HEADS + 2 * KV_HEADS, HEAD))
        y = cache.attention_with_fused_qkv(number, qkv, HEADS, HEAD**-0.5)
        x = x + self.out(op.reshape(y, (b, n, HEADS * HEAD)))
        gate, up = op.split(self.gate_up(self.norm2(x)), 2, axis=-1)
        return x + self.down(op.silu(gate) * up)


class Llama(nn.Module):
    def __init__(self):
        self.embedding = nn.Embedding(VOCAB, HIDDEN)
        self.layers = nn.ModuleList([Layer()])
        self.norm = nn.RMSNorm(HIDDEN, -1, 1e-5, bias=False)
        self.head = Linear(HIDDEN, VOCAB, out_dtype="float32")

    def body(self, x, cache):
        for number, layer in enumerate(self.layers):
            x = layer(x, cache, number)
        return self.norm(x)

    def embed(self, ids: Tensor):
        return self.embedding(ids)

    def prefill(self, x: Tensor, cache: PagedKVCache):
        def last(x):
            b, n, d = x.shape
            return te.compute((b, 1, d), lambda i, _, k: x[i, n - 1, k], name="index")

        return self.head(op.tensor_expr_op(last, "index", [self.body(x, cache)])), cache

    def decode(self, x: Tensor, cache: PagedKVCache):
        return self.head(self.body(x, cache)), cache

    def create_cache(
        self, max_batch_size: tirx.Var, max_total_seq_len: tirx.Var, prefill_chunk_size: tirx.Var, page_size: tirx.Var,
        support_sliding_window: tirx.Var,
    ):  # fmt: skip
        return TIRPagedKVCache(
            attn_kind="mha", max_batch_size=max_batch_size, max_total_seq_len=max_total_seq_len, prefill_chunk_size=prefill_chunk_size,
            page_size=page_size, support_sliding_window=support_sliding_window, layer_partition=relax.ShapeExpr([0, 1]),
            num_hidden_layers=1, num_attention_heads=HEADS, num_key_value_heads=KV_HEADS, qk_head_dim=HEAD, v_head_dim=HEAD,
            mla_original_qk_head_dim=0, mla_original_v_head_dim=0, rope_mode=RopeMode.NORMAL, rope_scale=1, rope_theta=10000,
            rope_scaling={}, rope_ext_factors=relax.prim_value(0), rotary_dim=HEAD, enable_disaggregation=False, dtype="float16",
            target=tvm.target.Target.current(),
        )  # fmt: skip


def model():
    made = Llama()
    made.to("float16")
    for name, param in made.named_parameters():
        if name.endswith("q_weight"):
            param.to("uint32")
    return made


def module(target):
    packed = {"param_mode": "packed", "effect_mode": "none"}
    plain = {"param_mode": "none", "effect_mode": "none"}
    cache = spec.Object(PagedKVCache)
    with tvm.target.Target(TARGETS[target]):
        return model().export_tvm(
            spec={
                "embed": {"ids": spec.Tensor(["seq_len"], "int32"), "$": packed},
                "prefill": {"x": spec.Tensor([1, "seq_len", HIDDEN], "float16"), "cache": cache, "$": packed},
                "decode": {"x": spec.Tensor([1, 1, HIDDEN], "float16"), "cache": cache, "$": packed},
                "create_cache": {**dict.fromkeys(LENGTHS, int), "$": plain},
            },
            allow_extern=True,
        )[0]


def weights(seed=0):
    rng, found = np.random.default_rng(seed), {}
    for name, param in model().named_parameters():
        shape = [int(dim) for dim in param.shape]
        if name.endswith("q_weight"):
            found[name] = rng.integers(0, 2**32, shape, dtype=np.uint32)
        elif name.endswith("q_scale"):
            found[name] = (rng.random(shape) * 0.03 + 0.01).astype(np.float16)
        else:
            found[name] = (len(shape) == 1) + (0.3 * rng.standard_normal(shape)).astype(np.float16)
    return found


def run(machine, values):
    """A prompt of five tokens and one step more. The cache is told of them outside of the machine, as an engine does."""
    shape, tensor = tvm.runtime.ShapeTuple, tvm.runtime.tensor
    state = {
        name: tvm.get_global_func(f"vm.builtin.kv_state_{name}")
        for name in ("add_sequence", "begin_forward", "end_forward")
    }
    params = tuple(map(tensor, values))
    cache = machine["create_cache"](*[shape([n]) for n in (2, 64, 32, 16, 0)])
    state["add_sequence"](cache, 0)
    for name, ids in (("prefill", [3, 1, 4, 1, 5]), ("decode", [9])):
        state["begin_forward"](cache, shape([0]), shape([len(ids)]))
        x = machine["embed"](tensor(np.array(ids, np.int32)), params)
        machine[name](tensor(x.numpy().reshape(1, len(ids), HIDDEN)), cache, params)
        state["end_forward"](cache)


if __name__ == "__main__":
    target = tvm.target.Target(TARGETS[sys.argv[1]])
    given = module(sys.argv[1])
    with target:
        if sys.argv[2:]:
            machine = relax.VirtualMachine(relax.build(given, target=target), tvm.cpu())
            with np.load(sys.argv[2]) as file:
                run(machine, [file[name] for name in file.files])
        else:
            relax.get_default_pipeline(target)(given)
