"""Threads share parallel loops: with the values, the traps and the interruptions of loops that run in order."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec import compiled_kernel, kernel_pieces, loop_nests, machine_code, translations
from relax_explorer.core.exec.compiled_kernel import compile_prim_func, uncompiled
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.ops.kit import ndarrays
from relax_explorer.core.tir.stmt import PrimFunc

HEAD = """
@T.prim_func(s_tir=True)
def f(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 8), {dtype!r})
    B = T.match_buffer(b, (n, 8), {dtype!r})
"""
TWICE = """for i in T.parallel(n):
    for j in range(8):
        B[i, j] = A[i, j] + A[i, 7 - j]"""
SCALED = """S = T.alloc_buffer((n, 8), {dtype!r})
for i in T.parallel(n):
    for j in range(8):
        S[i, j] = A[i, j] + A[i, 7 - j]
for i in T.parallel(n):
    for j in range(8):
        B[i, j] = S[n - 1 - i, j] * S[i, j]"""
SUMS = """for i in T.parallel(n):
    for j, k in T.grid(8, 8):
        with T.sblock("sum"):
            v, w, r = T.axis.remap("SSR", [i, j, k])
            with T.init():
                B[v, w] = A[v, 0]
            B[v, w] = B[v, w] + A[v, r]"""
ROWS = """for o in T.serial(1):
    for i in T.parallel(n):
        for j in range(8):
            with T.sblock("row"):
                v, w = T.axis.remap("SS", [i, j])
                B[v + o, w] = A[v, w] * A[v, 0]"""
TRAP = """for i in T.parallel(n):
    for j in range(8):
        B[i, j] = A[T.if_then_else(i % 50 == 49, i - 100, i), j]"""
MARK = """for i in T.parallel(n):
    for j in range(8):
        B[i, j] = A[i, j] // (i - 13) // (i - 57)"""


@pytest.fixture(autouse=True)
def shared(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Small loops are shared by 4 threads; the values of the loop variable that each call got."""
    monkeypatch.setattr(loop_nests, "WORTHWHILE", 100)
    monkeypatch.setattr(ndarrays, "_SHARED", 100)
    monkeypatch.setattr(ndarrays, "_threads", lambda: 4)
    calls: list[tuple[int, int]] = []
    original = compiled_kernel.in_blocks

    def watched(fill: Any, length: int, rows: int, size: int) -> None:
        def told(first: int, last: int) -> None:
            calls.append((first, last))
            fill(first, last)

        original(told, length, rows, size)

    monkeypatch.setattr(compiled_kernel, "in_blocks", watched)
    return calls


def kernel(body: str, dtype: str = "float32", head: str = HEAD) -> PrimFunc:
    text = head + "\n".join(f"    {line}" for line in body.splitlines()) + "\n"
    fn = rxe.parse(text.format(dtype=dtype))["f"]
    assert type(fn) is PrimFunc
    return fn


def operands(dtype: str, n: int = 70) -> list[Any]:
    return [np.random.default_rng(0).integers(1, 9, (n, 8)).astype(dtype), np.zeros((n, 8), dtype)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "uint8"])
@pytest.mark.parametrize(
    ("body", "loops"), [(TWICE, 1), (SCALED, 2), (SUMS, 1)], ids=["twice", "scaled", "sums"]
)
def test_threads_give_the_values_of_the_loop_in_order(
    body: str, loops: int, dtype: str, shared: list[tuple[int, int]]
) -> None:
    fn = kernel(body, dtype)
    found, wanted = operands(dtype), operands(dtype)
    compile_prim_func(fn)(*found)
    uncompiled(fn)(*wanted)
    np.testing.assert_array_equal(found[1], wanted[1])
    if not (loops == 2 and dtype == "float16"):  # pieces hold no narrow floats
        assert sorted(shared) == sorted([(0, 18), (18, 36), (36, 54), (54, 70)] * loops)


@pytest.mark.parametrize("kind", ["parallel", "serial"])
@pytest.mark.parametrize(
    ("body", "loops", "dtype"),
    [(TWICE, 1, "int32"), (SUMS, 1, "float32"), (SUMS, 2, "int32"), (ROWS, 1, "float64")],
)  # sums of integers have a loop that sets their start
def test_threads_of_numba_share_the_loop(
    body: str, loops: int, dtype: str, kind: str, shared: list[tuple[int, int]]
) -> None:
    fn = kernel(body.replace("T.parallel", f"T.{kind}"), dtype)
    found, by_llvm, wanted = operands(dtype), operands(dtype), operands(dtype)
    compiled = compile_prim_func(fn, by_numba=True)
    compiled(*found)
    assert parallel_loops(compiled) == loops
    assert not shared
    compile_prim_func(fn)(*by_llvm)
    uncompiled(fn)(*wanted)
    assert found[1].tobytes() == by_llvm[1].tobytes() == wanted[1].tobytes()


def parallel_loops(compiled: compiled_kernel.Kernel) -> int:
    """The number of loops that numba made parallel, as it tells."""
    assert compiled.code is not None
    text = compiled.code.texts[compiled_kernel.SPREAD]
    assert "in prange(" in text.source
    dispatcher = text.numba.kernel  # type: ignore[union-attr]  # numba compiled it
    (signature,) = dispatcher.signatures
    return int(dispatcher.get_metadata(signature)["parfor_diagnostics"].count_parfors())


def test_threads_of_numba_share_each_loop_of_a_program() -> None:
    fn = kernel(SCALED.replace("T.parallel", "T.serial"), "int32")
    found, wanted = operands("int32"), operands("int32")
    compiled = compile_prim_func(fn, by_numba=True)
    compiled(*found)
    uncompiled(fn)(*wanted)
    assert found[1].tobytes() == wanted[1].tobytes()
    assert compiled.divided is not None
    assert [parallel_loops(part) for part in compiled.divided.kernels.values()] == [1, 1]


def test_what_may_stop_has_no_threads_of_numba(shared: list[tuple[int, int]]) -> None:
    fn = kernel(TRAP, "int32")
    compiled = compile_prim_func(fn, by_numba=True)
    with pytest.raises(rxe.Failure) as threads:
        compiled(*operands("int32"))
    with pytest.raises(rxe.Failure) as order:
        uncompiled(fn)(*operands("int32"))
    assert str(threads.value) == str(order.value)
    assert shared
    assert compiled.code is not None
    assert not compiled.code.is_spread


def test_threads_of_numba_stop_between_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_kernel, "LONGEST", 1_000)
    compiled, given = compile_prim_func(kernel(TWICE), by_numba=True), operands("float32")
    compiled(*given)
    wanted, starts, interrupt = given[1].copy(), [], Interrupt()
    call = compiled_kernel.Kernel._call

    def watched(self: Any, function: Any, values: Any, interrupt: Interrupt) -> Any:
        starts.append(values[-2])
        if len(starts) == 3:
            interrupt.cancel()
        return call(self, function, values, interrupt)

    monkeypatch.setattr(compiled_kernel.Kernel, "_call", watched)
    given[1][:] = 0
    with pytest.raises(Cancelled):
        compiled(*given, interrupt=interrupt)
    assert len(starts) == 3
    last = 2 * starts[2] - starts[1]
    assert np.array_equal(given[1][:last], wanted[:last])
    assert not given[1][last:].any()


def test_threads_share_a_serial_loop_that_never_stops(shared: list[tuple[int, int]]) -> None:
    body, found, wanted = TWICE.replace("T.parallel", "T.serial"), operands("int32"), operands("int32")
    compile_prim_func(kernel(body, "int32"))(*found)
    uncompiled(kernel(body, "int32"))(*wanted)
    np.testing.assert_array_equal(found[1], wanted[1])
    assert len(shared) > 1


@pytest.mark.parametrize(
    "body",
    [
        TRAP.replace("T.parallel", "T.serial").replace("i % 50 == 49", "i * i % 5 == 2"),  # it might stop
        TWICE.replace("B[i, j] =", "B[i // 2, j] ="),
        TWICE.replace("A[i, 7 - j]", "B[n - 1 - i, j]"),
        TWICE.replace("T.parallel(n)", "T.parallel(1)"),  # too small
    ],
)
def test_other_loops_run_in_order(body: str, shared: list[tuple[int, int]]) -> None:
    found, wanted = operands("int32"), operands("int32")
    compile_prim_func(kernel(body, "int32"))(*found)
    uncompiled(kernel(body, "int32"))(*wanted)
    np.testing.assert_array_equal(found[1], wanted[1])
    assert not shared


def test_arguments_that_share_memory_run_in_order(shared: list[tuple[int, int]]) -> None:
    memory, other = (
        np.arange(71 * 8, dtype="int32").reshape(71, 8),
        np.arange(71 * 8, dtype="int32").reshape(71, 8),
    )
    compile_prim_func(kernel(TWICE, "int32"))(memory[:-1], memory[1:])
    uncompiled(kernel(TWICE, "int32"))(other[:-1], other[1:])
    np.testing.assert_array_equal(memory, other)
    assert not shared


@pytest.mark.parametrize("body", [TRAP, MARK], ids=["index", "division"])
def test_a_trap_is_that_of_the_first_iteration(body: str, shared: list[tuple[int, int]]) -> None:
    fn = kernel(body, "int32")
    with pytest.raises(rxe.Failure) as threads:
        compile_prim_func(fn)(*operands("int32"))
    assert shared
    with pytest.raises(rxe.Failure) as order:
        uncompiled(fn)(*operands("int32"))
    assert str(threads.value) == str(order.value)
    assert threads.value.diagnostics[0].code == order.value.diagnostics[0].code


def test_a_shared_loop_can_be_interrupted(shared: list[tuple[int, int]]) -> None:
    body = """for i in T.parallel(n):
    for j, k in T.grid(8, T.int64(1099511627776)):
        B[i, j] = B[i, j] * A[i, j] + T.float32(1)"""
    fn, interrupt = kernel(body), Interrupt()
    run = compile_prim_func(fn)
    run(*operands("float32", 0))
    timer = threading.Timer(0.3, interrupt.cancel)
    timer.start()
    with pytest.raises(Cancelled):
        run(*operands("float32"), interrupt=interrupt)
    assert len(shared) == 4


def test_a_program_calls_the_shared_kernel_again_and_again(shared: list[tuple[int, int]]) -> None:
    text = """@I.ir_module
class M:
    @T.prim_func(private=True, s_tir=True)
    def double(A: T.Buffer((64, 8), "float32"), B: T.Buffer((64, 8), "float32")):
        for i in T.parallel(64):
            for j in range(8):
                B[i, j] = A[i, j] * T.float32(2)
    @R.function
    def main(x: R.Tensor((64, 8), "float32")):
        y = R.call_tir(M.double, (x,), out_ty=R.Tensor((64, 8), "float32"))
        return R.call_tir(M.double, (y,), out_ty=R.Tensor((64, 8), "float32"))
"""
    module, given = rxe.normalize(rxe.parse(text)), operands("float32", 64)[:1]
    for run in range(1, 6):
        np.testing.assert_array_equal(rxe.run(module, "main", given), given[0] * 4)
        assert len(shared) == 8 * run


def test_a_kernel_that_an_earlier_process_translated_is_shared_as_well(
    shared: list[tuple[int, int]], tmp_path: Path
) -> None:
    sized = TWICE.replace("(n)", "(70)").replace("A[i, 7 - j]", "A[69 - i, 7 - j]")
    for head, body, calls in ((HEAD, SCALED, 8), (HEAD, TWICE, 4), (HEAD.replace("n,", "70,"), sized, 4)):
        fn, (values, wanted) = kernel(body, head=head), operands("float32")
        uncompiled(fn)(values, wanted)
        for _ in range(2):
            machine_code._TEXTS.clear()
            translations.translations.cache_clear()
            shared.clear()
            out = np.zeros_like(wanted)
            later = compile_prim_func(kernel(body, head=head), tmp_path / "cache")
            later(values, out)
            assert later.code is not None
            assert not later.code.is_by_numba
            assert len(shared) == calls
            np.testing.assert_array_equal(out, wanted)


def test_pieces_are_divided_only_where_a_loop_is_parallel() -> None:
    assert kernel_pieces.pieces(kernel(SCALED)) is not None
    assert kernel_pieces.pieces(kernel(SCALED.replace("T.parallel", "T.serial"))) is None
    assert kernel_pieces.pieces(kernel(TWICE)) is None


def test_a_loop_of_few_operations_runs_in_order(
    monkeypatch: pytest.MonkeyPatch, shared: list[tuple[int, int]]
) -> None:
    monkeypatch.setattr(loop_nests, "WORTHWHILE", 10_000)
    compile_prim_func(kernel(TWICE))(*operands("float32"))
    assert not shared


def test_threads_have_no_scratch_of_a_whole_function() -> None:
    body = """S = T.alloc_buffer((n, 8), "float32")
for i in T.parallel(n):
    S[i, 0] = A[i, 0]
    B[i, 0] = S[i, 0]"""
    assert loop_nests.parallel_loop(kernel(body)) is None
