"""Sliding windows and trees of tokens in paged caches, beside what TVM's runtime did with the same calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.values import Shape
from tests.exec.test_paged_cache import TEXT, asked, begin, state

FOLDER = Path(__file__).parents[1] / "data" / "cache_calls"
CALLS = json.loads((FOLDER / "calls.json").read_text(encoding="utf-8"))
RECORDED = np.load(FOLDER / "io.npz")


def create(
    *,
    kinds: Any = (0, 0),
    rope: int = 0,
    window: int = 1,
    layer_window: int = 1024,
    tokens: int = 64,
    scale: int = 1,
    factors: bool = False,
) -> Any:
    """A cache of two layers with pages of 16 tokens, made by the function that TVM exported."""
    text = TEXT.replace("R.shape([0, 0]), False, 1, 1,", f"R.shape({list(kinds)}), False, {rope}, {scale},")
    text = text.replace("sliding_window, 1024]", f"sliding_window, {layer_window}]")
    text = text.replace("10000, 0, lv4,", "10000, lv4, lv4,") if factors else text
    return rxe.run(rxe.parse(text), "create_cache", [(4,), (tokens,), (64,), (16,), (window,)])


class Replay:
    """A cache that makes the recorded calls, with the same random operands, and its answers."""

    def __init__(self, cache: Any, shares: bool) -> None:
        self.shares = shares
        self.cache, self.random = cache, np.random.default_rng(7)
        self.outputs: list[Any] = []
        self.positions: list[Any] = []
        self.stored: list[Any] = []
        self.shared: list[Any] = []

    def forward(self, names: list[int], added: list[int], *parents: list[int]) -> None:
        """A forward pass over two layers with different operands."""
        state("begin_forward", self.cache, Shape(names), Shape(added), *map(Shape, parents))
        fused = self.random.standard_normal((sum(added), 8, 16)).astype(np.float32)
        out = np.zeros((2, len(fused), 4, 16), np.float32)
        for layer, operand in enumerate((fused, -fused[:, ::-1])):
            asked("attention_with_fused_qkv", self.cache, layer, 0.25, operand, out[layer])
        self.outputs.append(out[:, :, ::3, :4])
        self.positions.append(asked("get_query_positions", self.cache))
        if self.shares:
            self.share(len(fused))
        state("end_forward", self.cache)

    def share(self, count: int) -> None:
        """Other attention to the keys of each layer. TVM ignores the new keys if each sequence has one token."""
        q, k, v = (self.random.standard_normal((count, n, 16)).astype(np.float32) for n in (4, 2, 2))
        for layer in range(2):
            out = np.zeros_like(q)
            asked("attention_with_shared_kv", self.cache, layer, 0.25, q, k, v, out)
            self.shared.append(out[:, ::3, :4])

    def kv(self, name: int, count: int) -> None:
        """Read the keys and values of a sequence."""
        stored = np.zeros((2, 2, count, 2, 16), np.float32)
        asked("debug_get_kv", self.cache, name, 0, count, *stored)
        self.stored.append(stored[..., :4])

    def call(self, name: str, args: list[Any]) -> None:
        """One recorded call."""
        if hasattr(self, name):
            getattr(self, name)(*args)
        elif name == "enable_sliding_window_for_seq":
            asked(name, self.cache, *args)
        elif name == "commit_accepted_token_tree_nodes":
            asked(name, self.cache, *map(Shape, args))
        else:
            state(name, self.cache, *args)

    def counts(self) -> tuple[int, int]:
        """The number of tokens, and of free pages."""
        return asked("get_total_sequence_length", self.cache), asked("get_num_available_pages", self.cache)


@pytest.mark.parametrize("name", CALLS)
def test_calls_answer_as_in_tvm(name: str) -> None:
    sizes = dict(CALLS[name])
    steps = sizes.pop("steps")
    replay = Replay(shares=sizes.pop("shares", False), cache=create(**sizes))
    for (call, *args), counts in zip(steps, RECORDED[f"{name}_counts"].tolist(), strict=True):
        replay.call(call, args)
        assert list(replay.counts()) == counts, (call, args)
    np.testing.assert_array_equal(np.concatenate(replay.positions), RECORDED[f"{name}_positions"])
    outputs = np.concatenate(replay.outputs, axis=1)
    np.testing.assert_allclose(outputs, RECORDED[f"{name}_outputs"], rtol=1e-4, atol=2e-5)
    if replay.shared:
        shared = np.concatenate(replay.shared)
        np.testing.assert_allclose(shared, RECORDED[f"{name}_shared"], rtol=1e-4, atol=2e-5)
    if replay.stored:
        np.testing.assert_allclose(
            np.concatenate(replay.stored, axis=2), RECORDED[f"{name}_kv"], rtol=1e-4, atol=2e-5
        )


def windowed() -> Any:
    """A cache whose sequence 0 has slid over a window of 20 tokens with 3 sinks."""
    cache = create()
    state("add_sequence", cache, 0)
    asked("enable_sliding_window_for_seq", cache, 0, 20, 3)
    begin(cache, (0,), (22,))
    return cache


def pinned() -> Any:
    """A cache whose sequence 0 has slid, with sinks on two pages."""
    cache = create()
    state("add_sequence", cache, 0)
    asked("enable_sliding_window_for_seq", cache, 0, 20, 18)
    begin(cache, (0,), (22,))
    return cache


def with_trees() -> Any:
    """A cache of two sequences of 2 tokens; those of sequence 1 are a tree."""
    cache = create(window=0)
    for name in (0, 1):
        state("add_sequence", cache, name)
    begin(cache, (0,), (2,))
    state("begin_forward", cache, Shape((1,)), Shape((2,)), Shape((-1, 0)))
    return cache


def sharing() -> Any:
    """A cache whose sequence 1 shares 16 tokens and has a window of 8."""
    cache = create()
    state("add_sequence", cache, 0)
    begin(cache, (0,), (16,))
    state("fork_sequence", cache, 0, 1, 16)
    asked("enable_sliding_window_for_seq", cache, 1, 8, 0)
    return cache


WINDOW, COMMIT = "enable_sliding_window_for_seq", "commit_accepted_token_tree_nodes"


@pytest.mark.parametrize(
    ("make", "name", "args", "words"),
    [
        (windowed, WINDOW, (9, 20, 3), "sequence 9 is not in the cache"),
        (windowed, WINDOW, (0, 20, 3), "already has a window of 20 tokens"),
        (windowed, WINDOW, (0, 4, 4), "a window of 4 tokens can't keep 4 first ones"),
        (windowed, WINDOW, (0, 0, 0), "the size of the window must be a whole number of at least 1"),
        (windowed, "fork_sequence", (0, 1, 4), "can be forked at 3 at most"),
        (windowed, "fork_sequence", (0, 1), "can be forked at 3 at most"),
        (windowed, "popn", (0, 1), "has slid over its window"),
        (windowed, "begin_forward", (Shape((0,)), Shape((1,)), Shape((-1,))), "takes no trees"),
        (pinned, "fork_sequence", (0, 1, 17), "the pages from 0 on can't be shared"),
        (sharing, "begin_forward", (Shape((1,)), Shape((1,))), "the first 16 tokens of sequence 1 were shared"),
        (with_trees, WINDOW, (0, 20, 3), "created without sliding windows"),
        (with_trees, "fork_sequence", (1, 2), "commit_accepted_token_tree_nodes first"),
        (with_trees, "popn", (1, 1), "has no accepted tokens yet"),
        (with_trees, "begin_forward", (Shape((0, 1)), Shape((1, 1))), "the tree of sequence 1"),
        (with_trees, "begin_forward", (Shape((0,)), Shape((2,)), Shape((-1,))), "2 tokens have 1 parents"),
        (with_trees, "begin_forward", (Shape((0,)), Shape((2,)), Shape((0, 0))), "token 0 in the tree of sequence 0"),
        (with_trees, "begin_forward", (Shape((1,)), Shape((1,)), Shape((-2,))), "has the parent -2"),
        (with_trees, "begin_forward", (Shape((1,)), Shape((1,)), (1, 2)), "must be a shape"),
        (with_trees, COMMIT, (Shape((1,)), Shape((0, 1))), "1 sequences have 2 leaves"),
        (with_trees, COMMIT, (Shape((0,)), Shape((0,))), "in its order: 1"),
        (with_trees, COMMIT, (Shape((1,)), Shape((2,))), "has 2 tokens, 2 is not one of them"),
    ],
)  # fmt: skip
def test_refusals_are_sentences_and_change_nothing(make: Any, name: str, args: Any, words: str) -> None:
    cache = make()
    before = cache.state
    with pytest.raises(rxe.Failure) as problem:
        (asked if name in (WINDOW, COMMIT) else state)(name, cache, *args)
    assert str(problem.value.diagnostics[0].code) == "RX0518"
    assert words in problem.value.diagnostics[0].message
    assert cache.state is before


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"kinds": (0, 1)}, "a cache with latent attention takes no sliding windows"),
        ({"kinds": (0, 2)}, "can be run here, not linear attention"),
        ({"factors": True}, "extension factors (longrope)"),
        ({"kinds": (3, 3), "rope": 2, "scale": 2}, "need the scale 1 and the base 10000"),
        ({"kinds": (3, 3), "layer_window": 0}, "the window of sliding layers must be above 0"),
        ({"rope": 3}, "rope_mode must be 0, 1 or 2"),
    ],
)
def test_caches_that_are_not_supported_are_named(sizes: Any, words: str) -> None:
    with pytest.raises(rxe.Failure) as problem:
        create(**sizes)
    assert words in problem.value.diagnostics[0].message


def test_more_refusals() -> None:
    layers = create(kinds=(0, 3), window=0)
    state("add_sequence", layers, 0)
    begin(layers, (0,), (20,))
    with pytest.raises(rxe.Failure, match="shares a page can't be run here in a cache with sliding layers"):
        state("fork_sequence", layers, 0, 1, 16)
    for cache, words in ((layers, "sliding windows"), (create(rope=2, window=0), "rotates in its attention")):
        if not cache.state.sequences:
            state("add_sequence", cache, 0)
        with pytest.raises(rxe.Failure, match=f"{words}.* takes no trees"):
            state("begin_forward", cache, Shape((0,)), Shape((1,)), Shape((-1,)))
    trees = with_trees()
    asked(COMMIT, trees, Shape((1,)), Shape((1,)))
    with pytest.raises(rxe.Failure, match="no forward pass was begun"):
        asked("get_query_positions", trees)
    with pytest.raises(rxe.Failure, match="sequence 1 has no tree"):
        asked(COMMIT, trees, Shape((1,)), Shape((-1,)))
    cache = rxe.run(rxe.parse(TEXT), "create_cache", [(4,), (512,), (512,), (16,), (0,)])
    state("add_sequence", cache, 1)
    with pytest.raises(rxe.Failure, match="tree of sequence 1 has 257 tokens, the limit is 256"):
        state("begin_forward", cache, Shape((1,)), Shape((257,)), Shape([-1] * 257))


QUERY, KEY = np.zeros((2, 4, 16), np.float32), np.zeros((2, 2, 16), np.float32)


@pytest.mark.parametrize(
    ("sizes", "args", "words"),
    [
        ({}, (0, 1.0, QUERY, KEY, KEY, QUERY), "layer 0 must attend first in this forward pass"),
        ({}, (2, 1.0, QUERY, KEY, KEY, QUERY), "layer 2 is not one of the 2"),
        ({}, (0, 1.0, KEY, KEY, KEY, QUERY), "(2, 4, 16) of float32 is needed"),
        ({}, (0, 1.0, QUERY, KEY[:1], KEY, QUERY), "(2, 2, 16) of float32 is needed"),
        ({}, (0, 1.0, QUERY, KEY, KEY, QUERY.astype(np.float64)), "(2, 4, 16) of float32 is needed"),
        ({"rope": 2}, (0, 1.0, QUERY, KEY, KEY, QUERY), "can't be run here in a cache that rotates in its attention"),
        ({"kinds": (1, 1)}, (0, 1.0, QUERY, KEY, KEY, QUERY), "can't be run here in a layer of latent attention"),
    ],
)  # fmt: skip
def test_attention_with_shared_keys_is_refused(sizes: Any, args: Any, words: str) -> None:
    cache = create(window=0, **sizes)
    state("add_sequence", cache, 0)
    begin(cache, (0,), (2,))
    with pytest.raises(rxe.Failure) as problem:
        asked("attention_with_shared_kv", cache, *args)
    assert words in problem.value.diagnostics[0].message


PROGRAM = """
@I.ir_module
class M:
    @R.function(pure=False)
    def main(kv: R.Any, x: R.Tensor((2, 8, 16), "float32")):
        a = R.call_packed("vm.builtin.attention_kv_cache_enable_sliding_window_for_seq", kv, 0, 20, 3, sinfo_args=R.Any)
        b = R.call_packed("vm.builtin.kv_state_begin_forward", kv, R.shape([0]), R.shape([2]), sinfo_args=R.Any)
        c = R.call_dps_packed("vm.builtin.attention_kv_cache_attention_with_fused_qkv", (kv, R.prim_value(0), R.prim_value(0.25), x),
                              out_sinfo=R.Tensor((2, 4, 16), "float32"))
        d = R.call_packed("vm.builtin.kv_state_begin_forward", kv, R.shape([0]), R.shape([2]), sinfo_args=R.Any)
        return c
"""


def test_a_window_opens_again_when_one_goes_back() -> None:
    cache = create()
    state("add_sequence", cache, 0)
    begin(cache, (0,), (19,))
    fused = np.random.default_rng(3).standard_normal((2, 8, 16)).astype(np.float32)
    at = Debugger(rxe.parse(PROGRAM), "main", [cache, fused])
    lengths = [asked("get_sequence_length", cache, 0)]
    states = [cache.state]
    while not at.done:
        at.step()
        states.append(cache.state)
        lengths.append(cache.state.sequences[0].length)
    assert sorted(set(lengths)) == [19, 20]
    result = at.result.copy()
    for n in reversed(range(len(states))):
        at.goto(n)
        assert cache.state is states[n]
    at.goto(10**6)
    np.testing.assert_array_equal(at.result, result)
