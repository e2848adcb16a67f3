"""PrimFuncs run by the reference evaluator: what test_kernels says of compiled ones, endless loops, and the fall back."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.compiled_kernel import compile_prim_func, uncompiled
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.exec.kernel_code import Code
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.machine_code import NotCompiled
from tests.tir import test_kernels
from tests.tir.test_kernels import (  # noqa: F401  # each of these tests runs again, by the fixture
    SEVEN,
    binary,
    test_a_scalar_is_assigned_to_again,
    test_a_scalar_without_a_value_and_a_vector,
    test_a_view_beyond_its_memory_is_refused,
    test_a_view_is_the_memory_it_shows,
    test_a_view_of_a_part_counts_from_the_start_of_the_memory,
    test_a_view_that_has_no_translation_is_refused,
    test_arguments_are_checked_before_the_loops_run,
    test_comparison_with_nan_takes_the_second_operand,
    test_integer_arithmetic,
    test_integers_wrap_at_their_width,
    test_narrow_floats_are_computed_as_float32,
    test_rounding_is_half_to_even,
    test_several_are_assigned_at_once,
    test_traps,
    test_what_has_no_translation_is_named,
    test_what_is_written_through_a_view_of_a_small_float_is_kept,
)


@pytest.fixture(autouse=True)
def by_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """In test_kernels, nothing is compiled."""
    monkeypatch.setattr(test_kernels, "compile_prim_func", uncompiled)


@pytest.mark.parametrize("expression", ["A[b]", "a // b", "T.shift_left(a, b)"])
def test_a_program_stops_with_the_same_words(expression: str) -> None:
    fn, said = binary(expression), []
    for kernel in (compile_prim_func(fn), uncompiled(fn)):
        with pytest.raises(rxe.Failure) as caught:
            kernel(
                np.zeros(4, np.int32), np.array([0, 1, 40, 0], np.int32)[::-1].copy(), np.zeros(4, np.int32)
            )
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert "where i = " in said[0]


def test_an_assertion_gives_its_message() -> None:
    text = '@T.prim_func\ndef f(A: T.Buffer((4,), "int32")):\n    assert A[1] == 1, "one is needed"\n    A[0] = 5\n'
    fn, values = rxe.parse(text)["f"], np.zeros(4, np.int32)
    with pytest.raises(rxe.Failure, match="one is needed"):
        uncompiled(fn)(values)
    values[1] = 1
    uncompiled(fn)(values)
    assert values.tolist() == [5, 1, 0, 0]


def test_an_endless_loop_is_cancelled() -> None:
    text = '@T.prim_func\ndef f(A: T.Buffer((4,), "int32")):\n    while A[0] == 0:\n        A[1] = A[1] + 1\n'
    interrupt, values = Interrupt(), np.zeros(4, np.int32)
    timer = threading.Timer(0.05, interrupt.cancel)
    timer.start()
    with pytest.raises(Cancelled):
        uncompiled(rxe.parse(text)["f"])(values, interrupt=interrupt)
    assert values[1] > 0


MEMORY = """@T.prim_func
def f(a: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "int64")
    B = T.alloc_buffer(({length},), "int64")
    B[0] = A[0]
    A[0] = B[0]
"""


@pytest.mark.parametrize("length", ["n * T.int64(1099511627776)", "n - T.int64(5)"])
def test_memory_that_a_kernel_can_not_have_is_refused(length: str) -> None:
    with pytest.raises(rxe.Failure) as caught:
        uncompiled(rxe.parse(MEMORY.format(length=length))["f"])(np.zeros(4, np.int64))
    assert caught.value.diagnostics[0].code.id == "RX0511", str(caught.value)


TWICE = """
@I.ir_module
class Module:
    @T.prim_func
    def twice(A: T.Buffer((T.int64(4),), "int32"), B: T.Buffer((T.int64(4),), "int32")):
        for i in range(T.int64(4)):
            with T.sblock("b"):
                v = T.axis.spatial(T.int64(4), i)
                B[v] = A[v] + A[v]

    @R.function
    def main(x: R.Tensor((4,), "int32")):
        y = R.call_tir(Module.twice, (x,), R.Tensor((4,), "int32"))
        z = R.call_tir(Module.twice, (y,), R.Tensor((4,), "int32"))
        return z
"""


def test_a_kernel_that_numba_refuses_runs_and_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*given: Any) -> Any:
        raise NotCompiled("too deep")

    monkeypatch.setattr(Code, "function", refused)
    machine = Machine(rxe.normalize(rxe.parse(TWICE)), "main", [SEVEN])
    assert machine.run().tolist() == [28, -28, 28, -28]
    (warning,) = machine.warnings
    assert (warning.code.id, "too deep" in warning.message) == ("RX0527", True)


def test_the_engine_reference_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Code, "function", None)
    module = rxe.normalize(rxe.parse(TWICE))
    for _ in range(3):
        assert rxe.run(module, "main", [SEVEN], engine="reference").tolist() == [28, -28, 28, -28]


UNSIGNED = """
@T.prim_func
def f(A: T.Buffer((4,), "uint64"), B: T.Buffer((4,), "uint64")):
    for i in range(4):
        B[{index}] = {value}
"""


@pytest.mark.parametrize(
    ("index", "value"),
    [
        ("T.Cast('int64', A[i])", "A[i]"),
        ("i", "T.shift_left(T.uint64(1), A[i])"),
        ("i", "A[i] // (A[i] - A[i])"),
    ],
)
def test_large_unsigned_numbers_are_written_alike(index: str, value: str) -> None:
    fn, said = rxe.parse(UNSIGNED.format(index=index, value=value))["f"], []
    for kernel in (compile_prim_func(fn), uncompiled(fn)):
        with pytest.raises(rxe.Failure) as caught:
            kernel(np.full(4, 2**64 - 2, np.uint64), np.zeros(4, np.uint64))
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_a_loop_beyond_the_largest_signed_number_does_not_run() -> None:
    text = UNSIGNED.format(index="T.Cast('int64', T.truncmod(j, T.uint64(0)))", value="A[0]")
    fn = rxe.parse(text.replace("for i in range(4)", "for j in range(A[0])"))["f"]
    for kernel in (compile_prim_func(fn), uncompiled(fn)):
        result = np.zeros(4, np.uint64)
        kernel(np.full(4, 2**64 - 2, np.uint64), result)
        assert not result.any()


def test_a_step_beyond_the_largest_signed_number_is_negative() -> None:
    text = UNSIGNED.format(index="T.Cast('int64', T.truncmod(j, T.uint64(4)))", value="A[0]")
    head = "for j in T.serial(T.uint64(1), T.uint64(9), step=A[0])"
    fn = rxe.parse(text.replace("for i in range(4)", head))["f"]
    for kernel in (compile_prim_func(fn), uncompiled(fn)):
        with pytest.raises(rxe.Failure, match="the step of a loop is -2"):
            kernel(np.full(4, 2**64 - 2, np.uint64), np.zeros(4, np.uint64))
