"""Paged caches: a decoder that TVM exported, and what a cache holds and refuses. The numbers are those of TVM's runtime."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.values import Shape

FOLDER = Path(__file__).parents[1] / "data" / "decoder"
TEXT = (FOLDER / "decoder.py").read_text(encoding="utf-8")
MODES = {"none": 0, "normal": 1, "inline": 2}
PROMPT = np.array([[3, 14, 15, 9, 26]], np.int32)


def decoder(mode: str) -> rxe.IRModule:
    """The exported decoder, with one of the modes of rotation. TVM exports the other modes with this one difference."""
    return rxe.normalize(
        rxe.parse(TEXT.replace("False, 1, 1, 10000, 0", f"False, {MODES[mode]}, 1, 10000, 0"))
    )


def weights(module: rxe.IRModule) -> tuple[Any, ...]:
    """The weights that TVM ran with: norms of size 1, matrices of size 0.2."""
    random = np.random.default_rng(0)
    shapes = [[dim.value for dim in info.shape] for info in module["prefill"].params[2].struct_info.fields]
    arrays = [random.standard_normal(shape) * (1 if len(shape) == 1 else 0.2) for shape in shapes]
    return tuple(array.astype(np.float32) for array in arrays)


def builtin(name: str, *args: Any) -> Any:
    """Call a builtin with these values."""
    params = ", ".join(f"a{n}: R.Any" for n in range(len(args)))
    names = ", ".join(f"a{n}" for n in range(len(args)))
    text = (
        f"@I.ir_module\nclass M:\n    @R.function(pure=False)\n    def main({params}):\n"
        f'        out = R.call_packed("vm.builtin.{name}", {names}, ty_args=[R.Any])\n        return out\n'
    )
    return rxe.run(rxe.parse(text), "main", args)


def state(name: str, *args: Any) -> Any:
    return builtin(f"kv_state_{name}", *args)


def asked(name: str, *args: Any) -> Any:
    return builtin(f"attention_kv_cache_{name}", *args)


def begin(cache: Any, names: tuple[int, ...], added: tuple[int, ...]) -> None:
    state("begin_forward", cache, Shape(names), Shape(added))


def a_cache(mode: str = "none", pages: int = 4, page: int = 16) -> Any:
    return rxe.run(decoder(mode), "create_cache", [(4,), (pages * page,), (16,), (page,), (0,)])


@pytest.mark.parametrize("mode", MODES)
def test_a_decoder_says_what_it_says_in_tvm(mode: str) -> None:
    module, expected = decoder(mode), np.load(FOLDER / "io.npz")
    cache, params = rxe.run(module, "create_cache", [(4,), (64,), (16,), (16,), (0,)]), weights(module)
    state("add_sequence", cache, 0)
    begin(cache, (0,), (5,))
    logits, same = rxe.run(module, "prefill", [PROMPT, cache, params])
    assert same is cache
    state("end_forward", cache)
    np.testing.assert_allclose(logits[0], expected[f"{mode}_prefill"], rtol=1e-4, atol=2e-5)
    tokens = [int(logits[0, -1].argmax())]
    for step in range(10):
        begin(cache, (0,), (1,))
        logits, _ = rxe.run(module, "decode", [np.array([tokens[-1:]], np.int32), cache, params])
        state("end_forward", cache)
        np.testing.assert_allclose(logits[0, 0], expected[f"{mode}_decode"][step], rtol=1e-4, atol=2e-5)
        tokens.append(int(logits[0, -1].argmax()))
    assert tokens == expected[f"{mode}_tokens"].tolist()
    assert str(cache) == "<paged kv cache of 1 sequence, 15 tokens, 4 of 5 pages of 16 free>"


def counts(cache: Any) -> tuple[int, int]:
    return asked("get_total_sequence_length", cache), asked("get_num_available_pages", cache)


def test_pages_are_counted_as_in_tvm() -> None:
    cache = a_cache()
    steps: list[tuple[str, tuple[Any, ...], tuple[int, int]]] = [
        ("add_sequence", (0,), (0, 5)),
        ("begin_forward", (Shape((0,)), Shape((5,))), (5, 4)),
        ("begin_forward", (Shape((0,)), Shape((11,))), (16, 4)),
        ("begin_forward", (Shape((0,)), Shape((1,))), (17, 3)),
        ("fork_sequence", (0, 1, -1), (34, 2)),
        ("fork_sequence", (0, 2, 10), (44, 1)),
        ("fork_sequence", (0, 3, 16), (60, 1)),
        ("fork_sequence", (0, 6, 0), (60, 1)),
        ("begin_forward", (Shape((0, 1)), Shape((1, 1))), (62, 1)),
        ("begin_forward", (Shape((1, 2)), Shape((2, 3))), (67, 1)),
        ("popn", (1, 2), (65, 1)),
        ("remove_sequence", (0,), (47, 2)),
        ("clear", (), (0, 5)),
    ]
    assert asked("empty", cache)
    for name, args, expected in steps:
        state(name, cache, *args)
        assert counts(cache) == expected, (name, args)
    assert asked("empty", cache)


def test_a_shared_page_is_copied_when_its_tokens_are_dropped() -> None:
    cache = a_cache()
    state("add_sequence", cache, 0)
    begin(cache, (0,), (16,))
    state("fork_sequence", cache, 0, 1, 16)
    assert counts(cache) == (32, 4)
    state("popn", cache, 1, 1)
    assert counts(cache) == (31, 3)
    begin(cache, (1,), (1,))
    assert counts(cache) == (32, 3)


def test_a_page_of_its_own_is_not_copied_when_all_pages_are_used() -> None:
    cache = a_cache(pages=1)
    state("add_sequence", cache, 0)
    begin(cache, (0,), (16,))
    state("fork_sequence", cache, 0, 1, 16)
    begin(cache, (1,), (4,))
    assert counts(cache) == (36, 0)
    state("popn", cache, 1, 1)
    assert counts(cache) == (35, 0)


def test_the_width_of_windows_may_be_left_out() -> None:
    text = TEXT.replace(
        "support_sliding_window, 1024]), R.shape([0, 2])", "support_sliding_window]), R.shape([0, 2])"
    )
    assert text != TEXT
    sizes = [(4,), (64,), (16,), (16,), (0,)]
    cache, other = [rxe.run(rxe.parse(each), "create_cache", sizes) for each in (text, TEXT)]
    assert (cache.layout.most_sequences, cache.layout.windows) == (4, other.layout.windows)


def test_positions_continue_each_sequence() -> None:
    cache = a_cache()
    for name in (1, 2):
        state("add_sequence", cache, name)
    begin(cache, (1,), (3,))
    begin(cache, (2, 1), (2, 1))
    positions = asked("get_query_positions", cache)
    assert (positions.tolist(), positions.dtype) == ([0, 1, 3], np.int32)
    assert asked("get_sequence_length", cache, 1) == 4


def test_questions_read_their_first_argument_only() -> None:
    cache = a_cache()
    state("add_sequence", cache, 1)
    begin(cache, (1,), (3,))
    for name in ("get_query_positions", "get_total_sequence_length", "get_num_available_pages", "empty"):
        assert np.array_equal(asked(name, cache, "more"), asked(name, cache))
    state("end_forward", cache, "more")
    state("clear", cache, "more")
    assert asked("empty", cache)


def test_a_pass_has_no_more_sequences_than_the_cache_was_made_for() -> None:
    cache = rxe.run(decoder("none"), "create_cache", [(2,), (64,), (16,), (16,), (0,)])
    for name in (1, 2, 3):
        state("add_sequence", cache, name)
    begin(cache, (1, 2), (1, 1))
    with pytest.raises(rxe.Failure, match="2"):
        begin(cache, (1, 2, 3), (1, 1, 1))


def test_keys_and_values_may_differ_in_size() -> None:
    layout = replace(a_cache().layout, kv_heads=5, key_size=2, value_size=3, latent=(False, True))
    shapes = [tuple([part.data.shape for part in rows]) for rows in layout.no_rows]
    assert shapes == [((0, 5, 2), (0, 5, 3)), ((0, 1, 2), (0, 1, 0))]


def attend(cache: Any, fused: Any) -> Any:
    out = np.zeros((len(fused), 4, 16), np.float32)
    for layer in range(2):
        asked("attention_with_fused_qkv", cache, layer, 0.25, fused, out)
    return out


def stored(cache: Any, name: int, count: int) -> Any:
    keys, values = np.zeros((2, 2, count, 2, 16), np.float32)
    asked("debug_get_kv", cache, name, 0, count, keys, values)
    return keys, values


def test_a_fork_attends_to_its_own_past() -> None:
    random, cache, other = np.random.default_rng(1), a_cache(), a_cache()
    past, one, two = (random.standard_normal((n, 8, 16)).astype(np.float32) for n in (7, 1, 1))
    for each in (cache, other):
        state("add_sequence", each, 0)
        begin(each, (0,), (7,))
        before, sequences = each.state, dict(each.state.sequences)
        attend(each, past)
        assert before.sequences == sequences  # one can go back to it
    state("fork_sequence", cache, 0, 1, 5)
    begin(cache, (0, 1), (1, 1))
    both = attend(cache, np.concatenate([one, two]))
    state("popn", other, 0, 2)
    begin(other, (0,), (1,))
    np.testing.assert_allclose(attend(other, two)[0], both[1], rtol=1e-6)
    keys, values = stored(cache, 0, 8)
    np.testing.assert_array_equal(keys[1], np.concatenate([past, one])[:, 4:6])
    np.testing.assert_array_equal(values[0], np.concatenate([past, one])[:, 6:])
    np.testing.assert_array_equal(stored(cache, 1, 6)[0][0], np.concatenate([past[:5], two])[:, 4:6])


def test_attention_is_causal_and_shares_heads_of_keys() -> None:
    random, cache = np.random.default_rng(2), a_cache()
    fused = random.standard_normal((3, 8, 16)).astype(np.float32)
    state("add_sequence", cache, 0)
    begin(cache, (0,), (3,))
    out = attend(cache, fused)
    for token in range(3):
        for head in range(4):
            keys, values = fused[: token + 1, 4 + head // 2], fused[: token + 1, 6 + head // 2]
            chances = np.exp(keys @ fused[token, head] * 0.25)
            np.testing.assert_allclose(
                out[token, head], chances @ values / chances.sum(), rtol=2e-5, atol=1e-6
            )


FUSED, OUT = np.zeros((2, 8, 16), np.float32), np.zeros((2, 4, 16), np.float32)
ATTEND = "attention_kv_cache_attention_with_fused_qkv"


@pytest.mark.parametrize(
    ("name", "args", "words"),
    [
        ("kv_state_add_sequence", (0,), "already in the cache"),
        ("kv_state_add_sequence", (0.5,), "a sequence has a number"),
        ("kv_state_remove_sequence", (9,), "sequence 9 is not in the cache; there are 0, 1"),
        ("kv_state_fork_sequence", (9, 5), "sequence 9 is not"),
        ("kv_state_fork_sequence", (0, 1), "already"),
        ("kv_state_fork_sequence", (0, 5, 99), "a fork at 99"),
        ("kv_state_popn", (0, 3), "3 can't be dropped"),
        ("kv_state_popn", (0, -1), "at least 0"),
        ("kv_state_begin_forward", (Shape((9,)), Shape((1,))), "sequence 9 is not"),
        ("kv_state_begin_forward", (Shape((0,)), Shape((1, 2))), "have 2 numbers"),
        ("kv_state_begin_forward", (Shape((0,)), Shape((0,))), "needs a new token"),
        ("kv_state_begin_forward", (Shape((0, 0)), Shape((1, 1))), "named twice"),
        ("kv_state_begin_forward", (Shape((0,)), Shape((17,))), "chunk size, 16"),
        ("kv_state_begin_forward", (0, 1), "must be a shape"),
        ("kv_state_clear", (), ""),
        (ATTEND, (2, 0.25, FUSED, OUT), "layer 2 is not one of the 2"),
        (ATTEND, (0, 0.25, FUSED[:1], OUT), "for the 2 tokens"),
        (ATTEND, (0, 0.25, FUSED.astype(np.float16), OUT), "float32"),
        (ATTEND, (0, 0.25, FUSED[:, :6], OUT), "(2, 8, 16)"),
        (ATTEND, (0, 0.25, FUSED, OUT[:1]), "the result is"),
        (ATTEND, (0, 0.25, 3, OUT), "a tensor is needed"),
        ("attention_kv_cache_debug_get_kv", (0, 0, 3, OUT, OUT), "has 2 tokens"),
        ("attention_kv_cache_debug_get_kv", (0, 0, 2, OUT, OUT), "is needed"),
    ],
)
def test_refusals_are_diagnostics_and_change_nothing(name: str, args: tuple[Any, ...], words: str) -> None:
    cache = a_cache()
    state("add_sequence", cache, 1)
    state("add_sequence", cache, 0)
    begin(cache, (0,), (2,))
    before = cache.state
    if not words:
        builtin(name, cache, *args)
        assert not cache.state.sequences
        return
    with pytest.raises(rxe.Failure) as problem:
        builtin(name, cache, *args)
    assert str(problem.value.diagnostics[0].code) == "RX0518"
    assert words in problem.value.diagnostics[0].message
    assert cache.state is before


def test_attention_needs_a_forward_pass_and_pages() -> None:
    cache = a_cache(pages=1)
    state("add_sequence", cache, 0)
    for call in (lambda: attend(cache, FUSED), lambda: asked("get_query_positions", cache)):
        with pytest.raises(rxe.Failure, match="no forward pass was begun"):
            call()
    begin(cache, (0,), (16,))
    begin(cache, (0,), (16,))
    state("end_forward", cache)
    with pytest.raises(rxe.Failure, match="no forward pass was begun"):
        attend(cache, FUSED)
    with pytest.raises(rxe.Failure, match="0 pages are free, the forward pass needs 1 more"):
        begin(cache, (0,), (1,))
    with pytest.raises(rxe.Failure, match="not a paged cache"):
        state("clear", 5)


def test_going_back_empties_the_cache_again() -> None:
    module = decoder("none")
    cache, params = a_cache(), weights(module)
    state("add_sequence", cache, 0)
    begin(cache, (0,), (5,))
    at = Debugger(module, "prefill", [PROMPT, cache, params])
    before = cache.state
    while not at.done:
        at.step()
    after, logits = cache.state, at.result[0].copy()
    assert after is not before
    at.goto(0)
    assert cache.state is before
    at.goto(10**6)
    assert cache.state is after
    np.testing.assert_array_equal(at.result[0], logits)
