"""Caches of latent attention (MLA). TVM has no kernels of it for a CPU, so the numbers are those of the definition, by numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.values import Shape
from tests.exec.test_paged_cache import TEXT, asked, begin, builtin, state

HEADS, SIZE, VALUES, SCALE = 4, 16, 12, 0.3
CREATE = TEXT.replace("4, 2, 16, 16, R.shape([0, 0]), False, 1,", "4, 1, 16, 12, R.shape([1, 1]), False, 0,")


def create(kinds: str = "1, 1", window: int = 0) -> Any:
    """A cache of two layers that keep vectors of 16 numbers; the first 12 are the values."""
    return rxe.run(
        rxe.parse(CREATE.replace("[1, 1]", f"[{kinds}]")),
        "create_cache",
        [(4,), (64,), (32,), (16,), (window,)],
    )


def attended(queries: Any, vectors: Any) -> tuple[Any, Any]:
    """Attention of one token to vectors in float64, and the log2 of the sum of its weights, head by head."""
    out, logs = np.zeros((HEADS, VALUES)), np.zeros(HEADS)
    for head in range(HEADS):
        weights = np.exp(vectors.astype(np.float64) @ queries[head] * SCALE)
        out[head], logs[head] = weights @ vectors[:, :VALUES] / weights.sum(), np.log2(weights.sum())
    return out, logs


def arrays(count: int) -> tuple[Any, Any]:
    """Memory for a result, and for logarithms."""
    return np.zeros((count, HEADS, VALUES), np.float32), np.zeros((count, HEADS), np.float32)


class Model:
    """A cache, and beside it the vectors of each sequence in layer 1."""

    def __init__(self) -> None:
        self.cache, self.random = create(), np.random.default_rng(5)
        self.vectors: dict[int, Any] = {}

    def forward(self, names: tuple[int, ...], added: tuple[int, ...], cross: bool, own: bool) -> None:
        """A pass in layer 1 with one or both kinds of attention, compared with the definition."""
        count = sum(added)
        begin(self.cache, names, added)
        new = self.random.standard_normal((count, SIZE)).astype(np.float32)
        queries = self.random.standard_normal((count, HEADS, SIZE)).astype(np.float32)
        assert asked("append_mla_kv", self.cache, 1, new) is self.cache
        one, other = arrays(count), arrays(count)
        if own:
            asked(
                "self_attention",
                self.cache,
                1,
                SCALE,
                queries,
                new[:, None],
                new[:, None, :VALUES].copy(),
                *one,
            )
        if cross:
            asked("cross_attention", self.cache, 1, SCALE, queries, *other)
        if own and cross:
            merged = asked("merge_attn_output_inplace", self.cache, *one, *other)
            assert [id(part) for part in merged] == [id(part) for part in one]
        state("end_forward", self.cache)
        place = 0
        for name, more in zip(names, added, strict=True):
            past = self.vectors.get(name, np.zeros((0, SIZE), np.float32))
            every = self.vectors[name] = np.concatenate([past, new[place : place + more]])
            for n in range(more):
                out, logs = attended(queries[place + n], every[: len(past) + n + 1])
                np.testing.assert_allclose((one if own else other)[0][place + n], out, rtol=1e-4, atol=1e-5)
                np.testing.assert_allclose((one if own else other)[1][place + n], logs, rtol=1e-4, atol=1e-5)
            place += more


def test_self_cross_and_merged_attention_is_causal_attention() -> None:
    model = Model()
    for name in (0, 1):
        state("add_sequence", model.cache, name)
    model.forward((0,), (5,), cross=False, own=True)
    model.forward((0, 1), (3, 2), cross=True, own=True)
    for _ in range(10):
        model.forward((1, 0), (1, 1), cross=True, own=False)
    state("fork_sequence", model.cache, 0, 2, 16)
    model.vectors[2] = model.vectors[0][:16]
    state("popn", model.cache, 0, 4)
    model.vectors[0] = model.vectors[0][:-4]
    model.forward((2, 0, 1), (1, 1, 1), cross=True, own=False)
    for name, vectors in model.vectors.items():
        stored = np.ones((2, len(vectors), SIZE), np.float32)
        asked("debug_get_kv_mla", model.cache, name, 0, len(vectors), stored)
        np.testing.assert_array_equal(stored, [np.zeros_like(vectors), vectors])


Q, K, V = (
    np.zeros((2, HEADS, SIZE), np.float32),
    np.zeros((2, 1, SIZE), np.float32),
    np.zeros((2, 1, 12), np.float32),
)
NEW, OUT, LOGS = np.zeros((2, SIZE), np.float32), *arrays(2)
FUSED = np.zeros((2, 6, SIZE), np.float32)


@pytest.mark.parametrize(
    ("kinds", "name", "args", "words"),
    [
        ("1, 1", "append_mla_kv", (2, NEW), "layer 2 is not one of the 2"),
        ("1, 1", "append_mla_kv", (0, NEW[:1]), "(2, 16) of float32 is needed"),
        ("1, 1", "append_mla_kv", (0, NEW.astype(np.float16)), "(2, 16) of float32 is needed"),
        ("1, 0", "append_mla_kv", (1, NEW), "layer 1 has no latent attention; append_mla_kv of other layers"),
        ("1, 0", "self_attention", (1, 1.0, Q, K, V, OUT, LOGS), "self_attention of other layers can't be run here"),
        ("1, 0", "cross_attention", (1, 1.0, Q, OUT, LOGS), "cross_attention of other layers can't be run here"),
        ("1, 0", "attention_with_fused_qkv", (0, 1.0, FUSED, OUT), "takes append_mla_kv"),
        ("1, 0", "debug_get_kv_mla", (0, 0, 2, NEW), "needs latent attention in each layer"),
        ("1, 0", "debug_get_kv", (0, 0, 2, NEW, NEW), "use debug_get_kv_mla"),
        ("0, 0", "merge_attn_output_inplace", (OUT, LOGS, OUT, LOGS), "needs a cache with latent attention"),
        ("1, 1", "merge_attn_output_inplace", (OUT, OUT, OUT, LOGS), "two results and their logarithms"),
        ("1, 1", "debug_get_kv_mla", (0, 0, 3, NEW), "the sequence has 2 tokens, 0 to 3"),
        ("1, 1", "debug_get_kv_mla", (9, 0, 2, NEW), "sequence 9 is not in the cache"),
        ("1, 1", "self_attention", (0, 1.0, Q[0], K, V, OUT, LOGS), "need three lengths"),
        ("1, 1", "self_attention", (0, 1.0, Q, K[:1], V, OUT, LOGS), "(2, 1, 16) of float32 is needed"),
        ("1, 1", "self_attention", (0, 1.0, Q, K, V, OUT, OUT), "(2, 4) of float32 is needed"),
        ("1, 1", "self_attention", (0, "a", Q, K, V, OUT, LOGS), "the scale must be a number"),
        ("1, 1", "cross_attention", (0, 1.0, Q, OUT, LOGS), "has nothing to attend to"),
        ("1, 1", "cross_attention", (0, 1.0, Q[:, :1], OUT, LOGS), "(2, 4, 16) of float32 is needed"),
    ],
)  # fmt: skip
def test_refusals_are_sentences_and_change_nothing(kinds: str, name: str, args: Any, words: str) -> None:
    cache = create(kinds)
    state("add_sequence", cache, 0)
    begin(cache, (0,), (2,))
    before = cache.state
    with pytest.raises(rxe.Failure) as problem:
        asked(name, cache, *args)
    assert str(problem.value.diagnostics[0].code) == "RX0518"
    assert words in problem.value.diagnostics[0].message
    assert cache.state is before


def test_latent_attention_takes_no_windows_and_no_trees() -> None:
    with pytest.raises(rxe.Failure, match="takes no sliding windows"):
        create(window=1)
    cache = create()
    state("add_sequence", cache, 0)
    with pytest.raises(rxe.Failure, match="a cache with latent attention takes no trees"):
        builtin("kv_state_begin_forward", cache, Shape((0,)), Shape((1,)), Shape((-1,)))
    begin(cache, (0,), (1,))
    with pytest.raises(
        rxe.Failure, match=r"layer 0 has 0 of the 1 tokens .* call attention_kv_cache_append_mla_kv"
    ):
        asked("cross_attention", cache, 0, 1.0, Q[:1], OUT[:1], LOGS[:1])


PROGRAM = """
@I.ir_module
class M:
    @R.function(pure=False)
    def main(kv: R.Any, new: R.Tensor((2, 16), "float32"), q: R.Tensor((2, 4, 16), "float32"), k: R.Tensor((2, 1, 16), "float32"),
             v: R.Tensor((2, 1, 12), "float32")):
        t = R.call_pure_packed("vm.builtin.attention_kv_cache_append_mla_kv", kv, R.prim_value(0), new, sinfo_args=R.Any)
        a = R.call_dps_packed("vm.builtin.attention_kv_cache_self_attention", (t, R.prim_value(0), R.prim_value(0.3), q, k, v),
            out_sinfo=[R.Tensor((2, 4, 12), "float32"), R.Tensor((2, 4), "float32")])
        b = R.call_dps_packed("vm.builtin.attention_kv_cache_cross_attention", (t, R.prim_value(0), R.prim_value(0.3), q),
            out_sinfo=[R.Tensor((2, 4, 12), "float32"), R.Tensor((2, 4), "float32")])
        o = a[0]
        l = a[1]
        p = b[0]
        m = b[1]
        r = R.call_pure_packed("vm.builtin.attention_kv_cache_merge_attn_output_inplace", t, o, l, p, m,
            sinfo_args=R.Tuple(R.Tensor((2, 4, 12), "float32"), R.Tensor((2, 4), "float32")))
        w = r[0]
        return w
"""


def test_going_back_takes_vectors_out_and_a_merge_apart() -> None:
    model = Model()
    state("add_sequence", model.cache, 0)
    model.forward((0,), (3,), cross=False, own=True)
    begin(model.cache, (0,), (2,))
    new, queries = (
        model.random.standard_normal(shape).astype(np.float32) for shape in ((2, SIZE), (2, HEADS, SIZE))
    )
    at = Debugger(
        rxe.parse(PROGRAM), "main", [model.cache, new, queries, new[:, None], new[:, None, :VALUES].copy()]
    )
    states, tuples = [model.cache.state], [""]
    while not at.done:
        at.step()
        states.append(model.cache.state)
        tuples.append(repr(at.machine.log[1].event.value) if len(states) > 2 else "")
    for n in range(2):
        expected, _ = attended(queries[n], np.concatenate([np.zeros((3, SIZE)), new])[: 4 + n])
        np.testing.assert_allclose(at.result[n], expected, rtol=1e-4, atol=1e-5)
    final = at.result.copy()
    assert len(set(tuples[2:])) == 2, "the merge overwrites what self_attention gave"
    for n in reversed(range(2, len(states))):
        at.goto(n)
        assert (model.cache.state, repr(at.machine.log[1].event.value)) == (states[n], tuples[n])
    at.goto(0)
    assert model.cache.state is states[0]
    at.goto(10**6)
    np.testing.assert_array_equal(at.result, final)
