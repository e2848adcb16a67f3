"""What one step leaves for later ones: lengths after a failed check, those that a closure keeps, and functions checked at run time."""

from __future__ import annotations

import time

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.computed import kernel_call, made
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.values import UNKNOWN, shape_value
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import INT64

F = np.float32
HEAD = "from tvm.script import ir as I, relax as R, tirx as T\n\n"


def lengths(frame: Frame) -> dict[str, int]:
    return {var.name: length for var, length in frame.dims.items()}


def test_a_match_cast_that_fails_binds_nothing() -> None:
    text = """
@R.function
def main(x: R.Tensor("float32", ndim=2), t: R.Tuple(R.Tensor("float32", ndim=1), R.Tensor("float32", ndim=1))):
    n = T.int64()
    m = T.int64()
    k = T.int64()
    y = R.match_cast(x, R.Tensor((n, n), "float32"))
    u = R.match_cast(t, R.Tuple(R.Tensor((m,), "float32"), R.Tensor((m * 2,), "float32")))
    return y
"""
    module = rxe.parse(HEAD + text)
    pair = (np.zeros(2, F), np.zeros(3, F))
    for square, known in ((np.zeros((2, 3), F), {}), (np.zeros((2, 2), F), {"n": 2})):
        debugger = Debugger(module, "main", [square, pair])
        for _ in known:
            debugger.step()
        for _ in range(2):  # and the second attempt fails as the first did
            with pytest.raises(rxe.Failure) as caught:
                debugger.step()
            assert caught.value.diagnostics[0].code.id == "RX0503"
            assert lengths(debugger.frame) == known


def test_a_closure_keeps_the_lengths_of_its_making() -> None:
    text = """
@R.function
def main(x: R.Tensor(("n",), "float32"), y: R.Tensor("float32", ndim=1)):
    n = T.int64()
    m = T.int64()

    @R.function
    def inner(z: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
        k = T.int64()
        w = R.match_cast(z, R.Tensor((k,), "float32"))
        return w

    b = R.match_cast(y, R.Tensor((m,), "float32"))
    c = inner(x)
    d = inner(c)
    return (b, d)
"""
    debugger = Debugger(rxe.parse(HEAD + text), "main", [np.zeros(2, F), np.zeros(3, F)])
    seen = []
    while not debugger.done:
        debugger.step()
        if len(debugger.frames) == 2:
            frame = debugger.frame
            assert {var.name: length for var, length in frame.outer.items()} == {"n": 2}
            seen.append(lengths(frame))
    assert seen == [{"n": 2}, {"n": 2, "k": 2}] * 2
    assert [array.shape for array in debugger.result] == [(3,), (2,)]


@pytest.mark.parametrize(
    ("wanted", "refused"),
    [
        ("R.Callable((R.Tensor(ndim=1),), R.Tensor(ndim=1), True)", ""),
        ("R.Callable((R.Tensor((3,)),), R.Tensor(ndim=1), True)", ""),
        ("R.Callable((R.Tensor(ndim=1),), R.Tensor((3,)), True)", "returns"),
        ("R.Callable((R.Object,), R.Tensor(ndim=1), True)", "parameter 1"),
        ("R.Callable((R.Tensor(ndim=1),), R.Tensor(ndim=1), True)", "parameter 1"),
        ('R.Callable((R.Tensor(ndim=1),), R.Tensor("float32", ndim=1), True)', "returns"),
        ("R.Callable((R.Tensor(ndim=1), R.Object), R.Tensor(ndim=1), True)", "of 1 parameters"),
    ],
)
def test_a_function_of_which_it_is_unknown_is_refused(wanted: str, refused: str) -> None:
    takes = "(3,)" if refused == "parameter 1" else "ndim=1"
    text = f"""
@R.function
def main(x: R.Tensor(ndim=1)):
    @R.function
    def inner(z: R.Tensor({takes})) -> R.Tensor(ndim=1):
        return z

    t = (inner, x)
    f = R.match_cast(t, R.Tuple({wanted}, R.Object))
    return x
"""
    module = rxe.parse(HEAD + text)
    if not refused:
        rxe.run(module, "main", [np.zeros(3, F)])
        return
    with pytest.raises(rxe.Failure) as caught:
        rxe.run(module, "main", [np.zeros(3, F)])
    assert caught.value.diagnostics[0].code.id == "RX0503"
    assert refused in caught.value.diagnostics[0].message


UNKNOWN_LENGTH = """
@R.function
def main(x: R.Tensor(("n",), "float32"), y: R.Tensor((3,), "float32")):
    n = T.int64()
    a = R.call_pure_packed("test.later.given", y, sinfo_args=R.Tensor((n,), "float32"))
    b: R.Tensor((n,), "float32") = a
    return b
"""


def test_other_values_do_not_tell_the_lengths_of_an_unknown_one() -> None:
    rxe.packed_function("test.later.given")(lambda y: y)
    module = rxe.normalize(rxe.parse(HEAD + UNKNOWN_LENGTH))
    machine = Machine(module, "main", [UNKNOWN, np.zeros(3, F)], check_annotations=True)
    frame = machine.frame
    assert machine.run().shape == (3,)
    assert lengths(frame) == {}


CALLEE = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor("float32", ndim=1)):
        r = M.inner(y)
        s = M.inner(x)
        return (r, s)

    @R.function
    def inner(z: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
        m = T.int64()
        w = R.call_pure_packed("test.later.two", z, sinfo_args=R.Tensor((m,), "float32"))
        return w
"""


def test_a_result_has_the_lengths_of_the_frame_that_called() -> None:
    rxe.packed_function("test.later.two")(lambda z: z[:2])
    module = rxe.parse(HEAD + CALLEE)
    for count in (3, 2):
        debugger = Debugger(module, "main", [np.zeros(2, F), np.zeros(count, F)])
        debugger.continue_()
        assert [item.code.id for item in debugger.machine.warnings] == ["RX0528"] * (count - 2)
    debugger.goto(0)
    outer, outcomes = debugger.frames, []
    while not debugger.done:
        event = debugger.step()
        outcomes += [check.outcome for check in event.checks if check.kind == "parameters"]
    assert outcomes == ["checked", "proved"]
    assert len(outer) == 1
    assert debugger.step() is event  # nothing is left to do


def test_a_length_without_a_value_and_numbers_for_scalars_are_refused() -> None:
    with pytest.raises(rxe.Failure):
        shape_value((p.PrimVar("k", INT64),), {}, None)
    text = HEAD + '@R.function\ndef main(b: R.Prim("bool"), n: R.Prim("int32")):\n    return (b, n)\n'
    assert rxe.run(rxe.parse(text), "main", [True, 2]) == (True, 2)
    with pytest.raises(rxe.Failure):
        rxe.run(rxe.parse(text), "main", [1, 2])


def test_steps_tell_their_own_seconds_and_those_of_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    def clock() -> float:
        now[0] += 1
        return now[0]

    @rxe.packed_function("test.later.slow")
    def slow(x: object) -> object:
        now[0] += 1000
        return x

    text = """
@R.function
def main(x: R.Tensor(ndim=1)):
    y = R.call_pure_packed("test.later.slow", x, sinfo_args=R.Tensor(ndim=1))
    z = R.add(y, y)
    return z
"""
    debugger = Debugger(rxe.parse(HEAD + text), "main", [np.zeros(2, F)])
    monkeypatch.setattr(time, "perf_counter", clock)
    debugger.continue_()
    slow_one, add, _ = debugger.machine.log
    assert slow_one.seconds > 1000
    assert add.seconds < 1000
    assert (slow_one.checking, add.checking > 0) == (0, True)


KERNELS = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def bump(A: T.Buffer((2,), "float32")):
        for i in range(2):
            A[i] = A[i] + T.float32(1)
    @T.prim_func(private=True)
    def beyond(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
        for i in range(2):
            B[i + 1] = A[i]
    @T.prim_func(private=True)
    def plus(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32"), k: T.int64):
        for i in range(2):
            B[i] = A[i] + T.Cast("float32", k)
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")):
        y = {}
        return (x, y)
"""
ROW = 'R.Tensor((2,), "float32")'


def test_kernels_overwrite_no_value_of_the_program_and_are_blamed_once() -> None:
    text = HEAD + KERNELS.format(f"R.call_tir_inplace(M.bump, (x,), inplace_indices=[0], out_sinfo={ROW})")
    x = np.zeros(2, F)
    before, after = rxe.run(rxe.parse(text), "main", [x])
    assert (x.tolist(), before.tolist(), after.tolist()) == ([0, 0], [0, 0], [1, 1])
    rxe.packed_function("test.later.calls")(lambda kernel, x: kernel(x, np.zeros(2, F)))
    text = HEAD + KERNELS.format('R.call_packed("test.later.calls", M.beyond, x, sinfo_args=R.Object)')
    with pytest.raises(rxe.Failure) as caught:
        rxe.run(rxe.parse(text), "main", [x])
    assert len(caught.value.diagnostics[0].labels) == 2


def test_a_step_tells_the_arguments_of_its_kernel_in_their_order() -> None:
    call = f"R.call_tir(M.plus, (x,), out_sinfo={ROW}, tir_vars=R.shape([3]))"
    debugger = Debugger(rxe.parse(HEAD + KERNELS.format(call)), "main", [np.ones(2, F)])
    debugger.step()
    step = made(debugger.machine.log[0])
    assert step is not None
    found = kernel_call(debugger.module, step)
    assert found is not None
    assert [np.asarray(arg).tolist() for arg in found[1]] == [[1, 1], [0, 0], 3]
