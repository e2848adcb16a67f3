"""Walks through PrimFuncs: each store is seen, and going back restores buffers, variables and what is left to do."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec import kernel_walk, loop_runtime
from relax_explorer.core.exec.compiled_kernel import uncompiled
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.exec.kernel_walk import KernelWalk
from relax_explorer.core.tir.stmt import Evaluate
from tests.support.packed_kernels import VALUES, kernel, outputs

TWICE = """
@T.prim_func
def f(A: T.Buffer((3, 4), "float32"), B: T.Buffer((3, 4), "float32")):
    for i, j in T.grid(3, 4):
        with T.sblock("B"):
            v, w = T.axis.remap("SS", [i, j])
            B[v, w] = A[v, w] * T.float32(2)
"""
PRODUCT = """
@T.prim_func
def f(a: T.handle, B: T.Buffer((4, 2), "float32"), c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 4), "float32")
    C = T.match_buffer(c, (n, 2), "float32")
    D = T.alloc_buffer((n, 2), "float32")
    for i, j, k in T.grid(n, 2, 4):
        with T.sblock("D"):
            v, w, r = T.axis.remap("SSR", [i, j, k])
            with T.init():
                D[v, w] = T.float32(0)
            D[v, w] = D[v, w] + A[v, r] * B[r, w]
    for i, j in T.grid(n, 2):
        with T.sblock("C"):
            v, w = T.axis.remap("SS", [i, j])
            C[v, w] = T.max(D[v, w], T.float32(0))
"""
BOTH = """
@T.prim_func
def f(A: T.Buffer((12,), "float32"), B: T.Buffer((12,), "float32")):
    for i in range(12):
        A[i] = A[i] + T.float32(1)
        B[i] = B[i] * T.float32(3)
"""
COUNTED = """
@T.prim_func
def f(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    T.func_attr({"global_symbol": "f"})
    count: T.int32 = 0
    for i in range(8):
        if A[i] > 2:
            rest: T.int32 = A[i]
            while rest > 0:
                rest = rest - 2
                count = count + 1
        else:
            count = count - 1
        B[i] = count
"""


def walk(text: str, *args: Any, interrupt: Interrupt | None = None) -> KernelWalk:
    fn = rxe.parse(text)["f"]
    return KernelWalk(fn, "f", uncompiled(fn).passed(args), interrupt or Interrupt())


def seen(at: KernelWalk) -> tuple[Any, ...]:
    """All that a walk shows."""
    values = {
        name: value.tobytes() if isinstance(value, np.ndarray) else value for name, value in at.values.items()
    }
    operands = [(str(load), place, float(value)) for load, place, value in at.operands()]
    element = None if at.element is None else float(at.element)
    loops = [(var.name, value) for var, value in at.machine.loops.items()]
    return at.number, at.stored, values, at.loops, loops, at.place, element, operands


def product() -> KernelWalk:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(3, 4)).astype(np.float32), rng.normal(size=(4, 2)).astype(np.float32)
    return walk(PRODUCT, a, b, np.zeros((3, 2), np.float32))


def counted() -> KernelWalk:
    return walk(COUNTED, np.array([1, 5, 0, 3, 9, 2, 7, 1], np.int32), np.zeros(8, np.int32))


def shared() -> KernelWalk:
    """A buffer that is written while it is read under another name, one element further on."""
    memory = np.arange(13, dtype=np.float32)
    return walk(TWICE, memory[:12].reshape(3, 4), memory[1:].reshape(3, 4))


def crossed() -> KernelWalk:
    """Two buffers that are both written, and share memory."""
    memory = np.arange(1, 14, dtype=np.float32)
    return walk(BOTH, memory[:12], memory[1:])


@pytest.mark.parametrize("make", [product, counted, shared, crossed])
@pytest.mark.parametrize("every", [1, 3, 256])
@pytest.mark.parametrize("most", [0, 1 << 20])
def test_going_back_restores_everything(
    make: Callable[[], KernelWalk], every: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_walk, "EVERY", every)
    monkeypatch.setattr(kernel_walk, "MOST", most)
    at = make()
    known = [seen(at)]
    while at.step():
        known.append(seen(at))
    assert len(known) > 10
    rng = random.Random(every)
    for _ in range(60):
        number = rng.randrange(len(known))
        at.goto(number)
        assert seen(at) == known[number]


def test_the_end_is_what_the_kernel_computes() -> None:
    for make in (product, counted, shared):
        at = make()
        at.goto(10**9)
        at.goto(at.number)  # the last store, where all is in scope
        given = [value.copy() if isinstance(value, np.ndarray) else value for value in at.given]
        if make is shared:
            memory = np.arange(13, dtype=np.float32)
            given = [memory[:12].reshape(3, 4), memory[1:].reshape(3, 4)]
        uncompiled(at.fn)(*given[: len(at.fn.params)])
        last = at.fn.params[-1]
        np.testing.assert_array_equal(at.machine.arrays[last], given[len(at.fn.params) - 1])


def test_the_arguments_stay_as_they_are() -> None:
    at = product()
    before = [np.copy(value) for value in at.given]
    at.goto(20)
    for value, old in zip(at.given, before, strict=True):
        np.testing.assert_array_equal(value, old)


@pytest.mark.parametrize("every", [1, 256])
def test_calls_of_packed_functions_are_steps(every: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_walk, "EVERY", every)
    for key, function in vars(loop_runtime).copy().items():
        if hasattr(function, "py_func"):  # compiling takes seconds
            monkeypatch.setattr(loop_runtime, key, function.py_func)
    name = "positions"
    made = outputs(name)
    at = walk(kernel(name), VALUES, *made)
    known = [seen(at)]
    while at.step():
        known.append(seen(at))
    assert any(isinstance(now[1], Evaluate) and now[5] is None for now in known)
    for number in [*range(len(known)), *reversed(range(len(known)))]:
        at.goto(number)
        assert seen(at) == known[number]
    uncompiled(at.fn)(VALUES, *made)
    at.goto(len(known))
    for param, array in zip(at.fn.params[1:], made, strict=True):
        np.testing.assert_array_equal(at.machine.arrays[param], array)


@pytest.mark.parametrize("length", [0, 3])
def test_axes_of_length_0(length: int) -> None:
    """Without terms, a reduction is only initialized; without results, nothing is stored."""
    text = PRODUCT.replace("4), ", "0), ").replace("(4, 2)", "(0, 2)").replace("(n, 2, 4)", "(n, 2, 0)")
    results = np.ones((length, 2), np.float32)
    at = walk(text, np.zeros((length, 0), np.float32), np.zeros((0, 2), np.float32), results)
    known = [seen(at)]
    while at.step():
        known.append(seen(at))
    assert len(known) == 4 * length + 1
    for number in reversed(range(len(known))):
        at.goto(number)
        assert seen(at) == known[number]


def test_an_overwritten_operand_is_shown_as_it_was_read() -> None:
    at = product()
    at.goto(3)
    before = float(at.find("D")[0, 0])
    at.step()
    (load, place, value), *_ = at.operands()
    assert (load.buffer.name, place) == ("D", (0, 0))
    assert float(value) == before != float(at.element)


def test_names_end_with_their_scope() -> None:
    at = product()
    assert at.find("i") is None
    assert at.find("n") == 3
    assert at.find("D") is None  # not allocated yet
    at.goto(25)
    assert at.loops == {"i": 2, "j": 0, "k": 3, "v": 2, "w": 0, "r": 3}
    at.goto(10**9)
    at.goto(at.number)
    assert at.loops == {"i": 2, "j": 1, "v": 2, "w": 1}
    assert at.find("k") is None


def test_buffers_of_one_name_have_numbers_as_in_printed_text() -> None:
    # A length of its own: equal kernels are made once in a process, with the names of the first one.
    text = "@R.function\ndef main(x: R.Tensor((173,), 'float32')):\n    y = R.add(x, x)\n    return y\n"
    fn = rxe.apply_pass(rxe.parse(text), "LegalizeOps")["add"]
    assert "x[v_ax0] + x_1[v_ax0]" in rxe.apply_pass(rxe.parse(text), "LegalizeOps").script()
    args = np.ones(173, np.float32), np.full(173, 5, np.float32), np.zeros(173, np.float32)
    at = KernelWalk(fn, "add", uncompiled(fn).passed(args), Interrupt())
    at.step()
    assert (at.find("x")[0], at.find("x_1")[0]) == (1, 5)
    assert [at.name_of(load.buffer) for load, _, _ in at.operands()] == ["x", "x_1"]


def test_a_program_that_stops_stays_before_the_stop() -> None:
    text = TWICE.replace("A[v, w] * T.float32(2)", "A[v + 1, w] * T.float32(2)")
    at = walk(text, np.ones((3, 4), np.float32), np.zeros((3, 4), np.float32))
    with pytest.raises(rxe.Failure, match=r"axis 0 has length 3 .*, where i = 2, j = 0"):
        at.goto(100)
    assert at.number == 8
    assert at.loops == {"i": 1, "j": 3, "v": 1, "w": 3}
    at.goto(7)
    assert at.loops["j"] == 2


def test_a_walk_is_cancelled_and_goes_on() -> None:
    interrupt = Interrupt()
    at = walk(TWICE, np.ones((3, 4), np.float32), np.zeros((3, 4), np.float32), interrupt=interrupt)
    at.goto(5)
    before = seen(at)
    interrupt.cancel()
    with pytest.raises(Cancelled):
        at.step()
    assert seen(at) == before
    interrupt.clear()
    assert at.step()
    assert at.loops["j"] == 1


def test_a_loop_that_stores_nothing_can_be_cancelled() -> None:
    text = "@T.prim_func\ndef f(A: T.Buffer((1,), 'int32')):\n    A[0] = 1\n    while A[0] == 1:\n        T.evaluate(0)\n"
    interrupt = Interrupt()
    at = walk(text, np.zeros(1, np.int32), interrupt=interrupt)
    at.step()
    check, calls = interrupt.check, []

    def counting() -> None:
        calls.append(1)
        if len(calls) == 1000:
            interrupt.cancel()
        check()

    at.machine.interrupt = type("Counting", (), {"check": staticmethod(counting)})()
    with pytest.raises(Cancelled):
        at.step()
    assert at.number == 1


def test_beyond_its_memory_the_oldest_stores_are_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_walk, "EVERY", 4)
    monkeypatch.setattr(kernel_walk, "MOST", 3 * 2_100)
    at = product()
    at.goto(30)
    assert len(at.marks) <= 4
    assert at.bytes <= kernel_walk.MOST
    again = product()
    again.goto(3)
    at.goto(3)
    assert seen(at)[2:] == seen(again)[2:]


def test_many_stores_need_little_memory() -> None:
    text = TWICE.replace("(3, 4)", "(100, 200)").replace("T.grid(3, 4)", "T.grid(100, 200)")
    at = walk(text, np.ones((100, 200), np.float32), np.zeros((100, 200), np.float32))
    at.goto(20_000)
    assert at.number == 20_000
    assert at.bytes < 40 * at.number
    at.goto(12_345)
    assert at.loops["i"] * 200 + at.loops["j"] == 12_344
    assert at.find("B").sum() == 2 * 12_345
