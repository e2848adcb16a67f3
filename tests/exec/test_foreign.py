"""Packed functions are code of users: whatever they raise, return or wait for, the run ends with a diagnostic."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.exec.machine import Machine
from relax_explorer.viz.debug_text import value_text

NAME = "test.foreign.f"
PROGRAM = f"""@I.ir_module
class M:
    @T.prim_func(private=True, s_tir=True)
    def twice(A: T.Buffer((3,), "float32"), B: T.Buffer((3,), "float32")):
        for i in range(3):
            B[i] = A[i] * T.float32(2)

    @R.function
    def main(x: R.Tensor((3,), "float32")):
        y = R.call_pure_packed("{NAME}", x, sinfo_args=R.Tensor((3,), "float32"))
        z = M.USE
        return z
"""


def program(use: str) -> rxe.IRModule:
    return rxe.normalize(rxe.parse(PROGRAM.replace("M.USE", use)))


ADD = "R.add(y, x)"
TIR = 'R.call_tir(M.twice, (y,), out_ty=R.Tensor((3,), "float32"))'
GIVEN = np.arange(3, dtype="float32")


class Hostile:
    """An object that refuses every question."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __repr__(self) -> str:
        raise RuntimeError("no text")


class Odd(BaseException):
    def __str__(self) -> str:
        raise ValueError("no text")


def failure(use: str, function: Callable[..., Any]) -> rxe.Diagnostic:
    rxe.packed_function(NAME)(function)
    at = Debugger(program(use), "main", [GIVEN])
    for _ in range(2):  # the session goes on
        with pytest.raises(rxe.Failure) as caught:
            at.continue_()
    (problem,) = caught.value.diagnostics
    for frame in at.frames:
        assert all(value_text(value) for value in frame.values.values())
    at.goto(0)
    at.step()
    return problem


@pytest.mark.parametrize("error", [SystemExit(3), GeneratorExit(), Odd(), RecursionError("deep")])
def test_whatever_it_raises_is_a_failure_of_the_program(error: BaseException) -> None:
    def function(x: Any) -> Any:
        raise error

    rxe.packed_function(NAME)(function)
    with pytest.raises(rxe.Failure) as caught:
        rxe.run(program(ADD), "main", [GIVEN])
    assert caught.value.diagnostics[0].code.id == "RX0522"
    assert type(error).__name__ in caught.value.diagnostics[0].message


@pytest.mark.parametrize(
    "value",
    [
        np.array([None] * 3),
        np.array(["a", "b", "c"]),
        np.zeros(3, "complex64"),
        np.zeros(3, "datetime64[s]"),
        np.zeros(3, [("field", "float32")]),
        (np.zeros(3, "float32"), (np.array([None]),)),
    ],
)
def test_an_array_that_is_no_tensor_is_refused(value: Any) -> None:
    rxe.packed_function(NAME)(lambda x: value)
    with pytest.raises(rxe.Failure) as caught:
        rxe.run(program(ADD), "main", [GIVEN])
    assert caught.value.diagnostics[0].code.id == "RX0522"
    assert "no element type" in caught.value.diagnostics[0].message


@pytest.mark.parametrize("use", [ADD, TIR])
@pytest.mark.parametrize(
    "value",
    [
        None,
        "text",
        7,
        [1.0],
        {},
        object(),
        Hostile(),
        len,
        iter(()),
        rxe,
        (),
        np.zeros((2, 2), "int8"),
        np.zeros(4, "float32"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_nonsense_is_named_where_it_is_used(value: Any, use: str) -> None:
    problem = failure(use, lambda x: value)
    assert problem.code.id.startswith("RX05"), problem
    assert problem.help


@pytest.mark.parametrize("use", [ADD, TIR])
def test_bytes_in_the_other_order_are_numbers(use: str) -> None:
    rxe.packed_function(NAME)(lambda x: x)
    module = program(use)
    for _ in range(3):  # checked, remembered, again
        np.testing.assert_array_equal(rxe.run(module, "main", [GIVEN.astype(">f4")]), GIVEN * 2)
    rxe.packed_function(NAME)(lambda x: x.astype(">f4"))
    for _ in range(3):
        np.testing.assert_array_equal(rxe.run(module, "main", [GIVEN]), GIVEN * 2)


def test_an_argument_in_the_other_order_is_filled() -> None:
    text = """@I.ir_module
class M:
    @T.prim_func(private=True, s_tir=True)
    def up(A: T.Buffer((3,), "float32")):
        for i in range(3):
            A[i] = A[i] + T.float32(1)

    @R.function(pure=False)
    def main(x: R.Tensor((3,), "float32")):
        y = R.call_tir_inplace(M.up, (x,), inplace_indices=[0], out_ty=R.Tensor((3,), "float32"))
        return y
"""
    given = GIVEN.astype(">f4")
    np.testing.assert_array_equal(rxe.run(rxe.normalize(rxe.parse(text)), "main", [given]), GIVEN + 1)


# -- functions that don't return --------------------------------------------------------------------------------------


def spins(x: Any) -> Any:
    while True:
        pass


def naps(x: Any) -> Any:
    while True:
        time.sleep(0.01)


def swallows(x: Any) -> Any:
    try:
        return spins(x)
    finally:
        np.zeros(3)


def catches(x: Any) -> Any:
    try:
        return spins(x)
    except BaseException:  # noqa: BLE001  # like careless code of users
        return x


@pytest.mark.parametrize("function", [spins, naps, swallows, catches])
def test_a_function_that_hangs_is_cancelled(function: Callable[..., Any]) -> None:
    rxe.packed_function(NAME)(function)
    at = Debugger(program(ADD), "main", [GIVEN])

    def cancel() -> None:
        at.interrupt.cancel()
        at.interrupt.cancel()  # an impatient user

    threading.Timer(0.2, cancel).start()
    with pytest.raises(Cancelled):
        at.continue_()
    assert at.position == 0
    at.interrupt.clear()
    rxe.packed_function(NAME)(lambda x: x)
    at.continue_()
    assert at.done
    np.testing.assert_array_equal(at.result, GIVEN * 2)


def test_cancelling_hits_no_other_code() -> None:
    """A cancelled run is cancelled, and nothing else is, at whatever moment the cancellation comes."""
    rxe.packed_function(NAME)(lambda x: x)
    module = program(ADD)
    sys.setswitchinterval(1e-5)
    try:
        for number in range(150):
            interrupt = Interrupt()
            machine = Machine(module, "main", [GIVEN], interrupt=interrupt)
            timer = threading.Thread(target=lambda: (time.sleep(number * 2e-6), interrupt.cancel()))  # noqa: B023  # joined below
            timer.start()
            with suppress(Cancelled):
                machine.run()
            timer.join()
            assert sum(range(100)) == 4950  # a late exception would be raised here
    finally:
        sys.setswitchinterval(0.005)


def test_each_cancellation_raises_once_and_only_inside() -> None:
    interrupt, seen = Interrupt(), []
    with suppress(Cancelled), interrupt.reaching():
        with suppress(Cancelled):
            interrupt.cancel()
            spins(None)
        interrupt.cancel()
        seen.append(sum(range(100)))
    assert seen == [4950]
    interrupt.clear()
    with interrupt.reaching():
        interrupt.clear()  # the mark of a thread that went on
        interrupt.cancel()
        interrupt.clear()
        assert sum(range(100)) == 4950
