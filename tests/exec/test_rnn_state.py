"""Recurrent states, beside what TVM's runtime did with the same calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.values import Shape
from tests.exec.test_paged_cache import builtin, state

RECORDED = np.load(Path(__file__).parents[1] / "data" / "cache_calls" / "rnn.npz")
SHAPES = ((2, 3), (4,))
PROGRAM = """
@I.ir_module
class M:
    @T.prim_func
    def read(a: T.handle, b: T.handle, c: T.handle, d: T.handle):
        T.evaluate(0)

    @R.function(pure=False)
    def create(x: R.Tensor((2, 3), "float32"), y: R.Tensor((4,), "float32")):
        cls = M
        s = R.call_pure_packed("vm.builtin.rnn_state_create", 2, 3, HISTORY, (cls.read, cls.read), (cls.read, cls.read), (x, y),
                               sinfo_args=R.Any)
        return s

    @R.function(pure=False)
    def step(s: R.Any, x: R.Tensor((1, 2, 3), "float32")):
        a = R.call_packed("vm.builtin.kv_state_begin_forward", s, R.shape([5]), R.shape([1]), sinfo_args=R.Any)
        old = R.call_dps_packed("vm.builtin.rnn_state_get", (s, R.prim_value(0), R.prim_value(0)),
                                out_sinfo=R.Tensor((1, 2, 3), "float32"))
        new = R.add(old, x)
        t = R.call_pure_packed("vm.builtin.rnn_state_set", s, R.prim_value(0), R.prim_value(0), new, sinfo_args=R.Any)
        b = R.call_packed("vm.builtin.kv_state_end_forward", t, sinfo_args=R.Any)
        return new
"""
CHAIN = [
    ("add_sequence", 0),
    ("forward", [0], [5]),
    ("add_sequence", 7),
    ("forward", [7, 0], [1, 1]),
    ("forward", [0, 7], [1, 1]),
    ("forward", [0], [1]),
    ("popn", 0, 2),
    ("forward", [0], [1]),
    ("fork_sequence", 0, 3, -1),
    ("forward", [3, 7], [1, 1]),
    ("popn", 3, 1),
    ("forward", [0, 3, 7], [1, 2, 1]),
    ("popn", 3, 0),
    ("remove_sequence", 7),
    ("add_sequence", 9),
    ("forward", [9], [1]),
    ("forward", [9, 3], [3, 1], [-1, 0, 1, -1]),
    ("popn", 3, 1),
    ("clear",),
    ("add_sequence", 0),
    ("forward", [0], [1]),
]


def create(history: int = 3) -> Any:
    """A state of 2 layers and 3 sequences."""
    random = np.random.default_rng(1)
    first = [random.standard_normal(shape).astype(np.float32) for shape in SHAPES]
    return rxe.run(rxe.parse(PROGRAM.replace("HISTORY", str(history))), "create", first)


def rnn(name: str, *args: Any) -> Any:
    return builtin(f"rnn_state_{name}", *args)


def forward(made: Any, random: Any, names: list[int], *rest: list[int]) -> list[Any]:
    """A forward pass that reads, sets and reads each state; what it read."""
    state("begin_forward", made, *map(Shape, (names, *rest)))
    read = []
    for layer in range(2):
        for index, shape in enumerate(SHAPES):
            out = np.zeros((2, len(names), *shape), np.float32)
            rnn("get", made, layer, index, out[0])
            data = random.standard_normal((len(names), *shape)).astype(np.float32)
            assert rnn("set", made, layer, index, data) is made
            data[...] = 0
            rnn("get", made, layer, index, out[1])
            read += [out[0].ravel(), out[1].ravel()]
    state("end_forward", made)
    return read


@pytest.mark.parametrize("history", [3, 1])
def test_calls_answer_as_in_tvm(history: int) -> None:
    """With one slot nothing can be dropped, and a new value shows at once."""
    made, random, read = create(history), np.random.default_rng(2), []
    for name, *args in CHAIN:
        if name == "popn" and history == 1 and args[1]:
            continue
        if name == "forward":
            read += forward(made, random, *args)
        else:
            state(name, made, *args)
        shown = args[0] if name == "forward" else args[:1] if name in ("add_sequence", "popn") else []
        places = [(layer, index) for layer in range(2) for index in range(2)]
        read += [rnn("debug_get", made, *place, each).ravel() for each in shown for place in places]
    np.testing.assert_array_equal(np.concatenate(read), RECORDED[f"history_{history}"])
    assert str(made) == f"<rnn state of 1 sequence, 2 states in 2 layers, {history} kept>"


ONE, OTHER = np.zeros((1, 2, 3), np.float32), np.zeros((1, 4), np.float32)


@pytest.mark.parametrize(
    ("name", "args", "words"),
    [
        ("rnn_state_get", (2, 0, ONE), "layer 2 is not one of the 2 layers"),
        ("rnn_state_get", (0, 2, ONE), "a layer has 2 states, number 2"),
        ("rnn_state_get", (0, 0, OTHER), "(1, 2, 3) of float32 is needed"),
        ("rnn_state_set", (0, 0, ONE.astype(np.float64)), "(1, 2, 3) of float32 is needed"),
        ("rnn_state_set", (0, 0, np.zeros((2, 2, 3), np.float32)), "is needed"),
        ("rnn_state_set", (0, 0, 3), "a tensor is needed"),
        ("rnn_state_debug_get", (0, 0, 9), "sequence 9 is not in the state; there are 5, 6"),
        ("rnn_state_debug_get", (0, 0, 0.5), "a sequence has a number"),
        ("kv_state_add_sequence", (5,), "already in the state"),
        ("kv_state_remove_sequence", (9,), "sequence 9 is not"),
        ("kv_state_popn", (5, 2), "keeps 1 earlier states, 2 tokens can't be dropped"),
        ("kv_state_fork_sequence", (5, 6), "already in the state"),
        ("kv_state_fork_sequence", (5, 7, 1), "can be forked at its end only"),
        ("kv_state_begin_forward", (Shape((5,)), Shape((1, 1))), "1 sequences have 2 numbers"),
        ("kv_state_begin_forward", (Shape((5, 5)), Shape((1, 1))), "named twice"),
        ("kv_state_begin_forward", (Shape(()), Shape(())), "needs a sequence"),
        ("kv_state_begin_forward", (Shape((5,)), Shape((0,))), "each sequence a new token"),
        ("kv_state_begin_forward", (Shape((9,)), Shape((1,))), "sequence 9 is not"),
        ("kv_state_begin_forward", (Shape((5,)), Shape((2,)), Shape((-1, -1))), "chains of tokens only"),
        ("attention_kv_cache_empty", (), "is not a paged cache"),
    ],
)
def test_refusals_are_sentences_and_change_nothing(name: str, args: Any, words: str) -> None:
    made = create()
    for sequence in (5, 6):
        state("add_sequence", made, sequence)
    forward(made, np.random.default_rng(0), [5], [2])
    forward(made, np.random.default_rng(0), [5], [1])
    state("begin_forward", made, Shape((5,)), Shape((1,)))
    before = made.state
    with pytest.raises(rxe.Failure) as problem:
        builtin(name, made, *args)
    assert str(problem.value.diagnostics[0].code) == "RX0518"
    assert words in problem.value.diagnostics[0].message
    assert made.state is before


def test_a_history_of_three_keeps_two_earlier_states() -> None:
    """TVM refuses the same two calls."""
    made, random = create(), np.random.default_rng(0)
    state("add_sequence", made, 0)
    for _ in range(5):
        forward(made, random, [0], [1])
    with pytest.raises(rxe.Failure, match="keeps 2 earlier states, 3 tokens can't be dropped"):
        state("popn", made, 0, 3)
    state("popn", made, 0, 1)
    with pytest.raises(rxe.Failure, match="keeps 1 earlier states, 2 tokens can't be dropped"):
        state("popn", made, 0, 2)


def test_states_are_kept_apart_from_the_arrays_of_callers_and_from_later_states() -> None:
    first = [np.ones(shape, np.float32) for shape in SHAPES]
    made = rxe.run(rxe.parse(PROGRAM.replace("HISTORY", "3")), "create", first)
    first[0][...] = 7
    state("add_sequence", made, 0)
    rnn("debug_get", made, 0, 0, 0)[...] = 8
    assert (rnn("debug_get", made, 0, 0, 0) == 1).all()
    for call in (
        lambda: state("begin_forward", made, Shape((0,)), Shape((1,))),
        lambda: rnn("set", made, 0, 0, np.zeros((1, *SHAPES[0]), np.float32)),
        lambda: state("end_forward", made),
    ):
        before, sequences = made.state, dict(made.state.sequences)
        call()
        assert made.state is not before
        assert before.sequences == sequences
    state("fork_sequence", made, 0, 1, 1)
    assert sorted(made.state.sequences) == [0, 1]


def test_a_pass_is_needed_and_begun_again_after_other_calls() -> None:
    made = create()
    for name in (1, 2, 3):
        state("add_sequence", made, name)
    with pytest.raises(rxe.Failure, match="the state is full: it has room for 3 sequences"):
        state("add_sequence", made, 4)
    with pytest.raises(rxe.Failure, match="the state is full"):
        state("fork_sequence", made, 1, 4)
    for call in (lambda: rnn("get", made, 0, 0, ONE), lambda: state("end_forward", made)):
        with pytest.raises(rxe.Failure, match="no forward pass was begun"):
            call()
    state("begin_forward", made, Shape((1,)), Shape((1,)))
    state("remove_sequence", made, 2)
    with pytest.raises(rxe.Failure, match="call kv_state_begin_forward again"):
        rnn("set", made, 0, 0, ONE)
    with pytest.raises(rxe.Failure, match="is not a paged cache or a recurrent state"):
        state("clear", 5)
    with pytest.raises(rxe.Failure, match="is not a state made by rnn_state_create"):
        rnn("get", 5, 0, 0, ONE)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((0, 1, 1, (1,), (1,), (ONE,)), "the layers must be a whole number of at least 1"),
        ((1, 1, 0, (1,), (1,), (ONE,)), "the history must be a whole number of at least 1"),
        ((1, 1, 1, (1,), (1,), ONE), "takes tuples"),
        ((1, 1, 1, (), (), ()), "takes tuples"),
        ((1, 1, 1, (1, 1), (1,), (ONE,)), "1 states need as many kernels to read and to write, 2 and 1"),
        ((1 << 20, 1 << 20, 9, (1,), (1,), (ONE,)), "GiB"),
        ((1, 1, 1, (1,), (1,)), "at least 6 arguments"),
    ],
)
def test_a_wrong_creation_is_refused(args: Any, words: str) -> None:
    with pytest.raises(rxe.Failure) as problem:
        rnn("create", *args)
    assert words in problem.value.diagnostics[0].message


def test_going_back_returns_to_the_state_before() -> None:
    made, module = create(), rxe.parse(PROGRAM.replace("HISTORY", "3"))
    state("add_sequence", made, 5)
    first = rnn("debug_get", made, 0, 0, 5)
    at = Debugger(module, "step", [made, ONE + 1])
    before = made.state
    while not at.done:
        at.step()
    np.testing.assert_array_equal(rnn("debug_get", made, 0, 0, 5), first + 1)
    np.testing.assert_array_equal(at.result[0], first + 1)
    after = made.state
    at.goto(0)
    assert made.state is before
    at.goto(10**6)
    assert made.state is after
