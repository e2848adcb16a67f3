"""Kernels compute with the exact arithmetic of their dtypes: no wrapping index counts as proven, no divisor is 0 unnoticed."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.compiled_kernel import compile_prim_func
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.exec.kernels import Kernels
from relax_explorer.core.exec.loop_statements import translate
from relax_explorer.core.exec.loop_text import source


def kernel(body: str, params: str = 'A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32")') -> Any:
    """The kernel of a body over two buffers."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return compile_prim_func(rxe.parse(f"@T.prim_func\ndef f({params}):\n{lines}")["f"])


def zeros() -> Any:
    return np.zeros(64, np.int32)


OUTSIDE = {
    "a cast that wraps": 'B[0] = A[T.Cast("int64", T.Cast("int8", T.int64(128))) - T.int64(128)]',
    "a cast of a loop variable": 'for i in T.serial(T.int64(200)):\n    B[0] = A[T.Cast("int64", T.Cast("int8", i)) + T.int64(64)]',
    "a store through int32": 'for i in T.serial(T.int64(4294967296)):\n    if i == T.int64(2147483648):\n        B[T.Cast("int32", i)] = 1',
    "int32 that wraps": "for i in range(64):\n    B[0] = A[i * 1073741824 // 134217728 - 16]",
    "uint8 that wraps": 'B[0] = A[T.Cast("int32", T.uint8(255) + T.uint8(1)) - 1]',
    "int64 that wraps": "for i in T.serial(T.int64(64)):\n    B[0] = A[(i + T.int64(9223372036854775807)) // T.int64(2305843009213693952)]",
    "a number of an axis": 'with T.sblock("c"):\n    v = T.axis.spatial(64, 64)\n    B[v] = 1',
    "a let": "x: T.let[T.int32] = A[0] - 1\nB[x] = 1",
    "a select": "for i in range(64):\n    B[T.Select(i < 3, i - 1, i)] = 1",
    "a loop of nearly 2^63": "for i in range(T.int64(1), T.Cast('int64', A[1]) + T.int64(9223372036854775807)):\n    B[64] = 1",
    "a number as a truth value": "for i in range(T.Select(T.Cast('bool', T.int32(-4)), 1, 0)):\n    B[64] = 1",
    "a shift": "for i in range(64):\n    B[T.shift_left(i, 28) + 1] = 1",
    "a loop that ends beyond": "for i in range(0, 65):\n    B[i] = 1",
}


@pytest.mark.parametrize("body", OUTSIDE.values(), ids=OUTSIDE)
def test_an_index_outside_stops_the_kernel(body: str) -> None:
    if "sblock" in body:
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        text = f'@T.prim_func(s_tir=True)\ndef f(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32")):\n{lines}'
        found = compile_prim_func(rxe.parse(text)["f"])
    else:
        found = kernel(body)
    with pytest.raises(
        rxe.Failure, match=r"an index of buffer \w is -?\d+, its axis 0 has length 64"
    ) as caught:
        found(zeros(), zeros())
    assert caught.value.diagnostics[0].code.id == "RX0508"


def test_uint8_wraps_to_an_index_inside() -> None:
    first = zeros()
    first[0] = 7
    out = zeros()
    kernel("B[3] = A[T.uint8(255) + T.uint8(1)]")(first, out)
    assert out[3] == 7


def test_a_scalar_parameter_may_be_negative() -> None:
    found = kernel("B[0] = A[k]", 'A: T.Buffer((64,), "int32"), k: T.int64, B: T.Buffer((64,), "int32")')
    found(zeros(), 63, zeros())
    for bad in (-1, 64, -(2**63)):
        with pytest.raises(rxe.Failure, match=f"an index of buffer A is {bad}"):
            found(zeros(), bad, zeros())


def test_a_scalar_parameter_that_its_dtype_cannot_hold_is_refused() -> None:
    found = kernel("B[0] = A[k]", 'A: T.Buffer((64,), "int32"), k: T.int8, B: T.Buffer((64,), "int32")')
    with pytest.raises(rxe.Failure, match="k is 300, which int8 can't hold"):
        found(zeros(), 300, zeros())


LEAST = -(2**63)
DIVISIONS = {
    "T.floordiv(T.int64(5), A[0] + A[0])": None,  # the divisor wraps to 0
    "T.floormod(T.int64(5), A[0] + A[0])": None,
    "T.truncdiv(T.int64(5), A[0] + A[0])": None,
    "T.truncmod(T.int64(5), A[0] * T.int64(2))": None,
    "T.floordiv(A[0], A[1])": LEAST,
    "T.floormod(A[0], A[1])": 0,
    "T.truncdiv(A[0], A[1])": LEAST,
    "T.truncmod(A[0], A[1])": 0,
    "A[0] - T.int64(1)": 2**63 - 1,
    "A[0] * T.int64(3)": LEAST,
}


@pytest.mark.parametrize("expression", DIVISIONS)
def test_the_least_number(expression: str) -> None:
    found = kernel(f"B[0] = {expression}", 'A: T.Buffer((2,), "int64"), B: T.Buffer((1,), "int64")')
    out = np.zeros(1, np.int64)
    values, wanted = np.array([LEAST, -1]), DIVISIONS[expression]
    if wanted is None:
        with pytest.raises(rxe.Failure, match="a divisor is 0") as caught:
            found(values, out)
        assert caught.value.diagnostics[0].code.id == "RX0509"
    else:
        found(values, out)
        assert out[0] == wanted


def test_a_float_that_no_integer_holds_is_the_least_one() -> None:
    found = kernel(
        'B[0] = A[T.Cast("int32", C[0])]',
        'A: T.Buffer((4,), "int32"), C: T.Buffer((1,), "float32"), B: T.Buffer((1,), "int32")',
    )
    for value in (np.inf, -np.inf, np.nan, 3e9):
        with pytest.raises(rxe.Failure, match="an index of buffer A is -2147483648"):
            found(np.zeros(4, np.int32), np.array([value], np.float32), np.zeros(1, np.int32))


def test_memory_that_nothing_was_written_to_has_a_poison() -> None:
    body = 'C = T.alloc_buffer((2,), "float32")\nD = T.alloc_buffer((2,), "int16")\nA[0] = C[0]\nB[0] = D[1]'
    a, b = np.zeros(1, np.float32), np.zeros(1, np.int16)
    kernel(body, 'A: T.Buffer((1,), "float32"), B: T.Buffer((1,), "int16")')(a, b)
    assert np.isnan(a[0])
    assert b[0] == -(2**15)


@pytest.mark.parametrize("length", ["A[0] - 1", "A[0] + 2147483647"])
def test_memory_of_a_length_that_cannot_be_is_refused(length: str) -> None:
    found = kernel(f'C = T.alloc_buffer(({length},), "float64")\nB[0] = T.Cast("int32", C[0])')
    with pytest.raises(rxe.Failure, match="a negative length, or needs too much memory"):
        found(zeros(), zeros())


def test_a_view_before_its_memory_is_refused() -> None:
    found = kernel("B2 = T.decl_buffer((2,), 'int32', data=B.data, elem_offset=A[0] - 2)\nB2[0] = 1")
    with pytest.raises(rxe.Failure, match="a view reaches beyond"):
        found(zeros(), zeros())


GATHER = """
@T.prim_func
def f(A: T.Buffer((4,), "int32"), B: T.Buffer((4, 4), "int32")):
    T.func_attr({"global_symbol": "gather"})
    for row, column in T.grid(4, 4):
        B[row, column] = A[A[row] + column]
"""


def test_a_trap_names_its_kernel_line_and_loops() -> None:
    with pytest.raises(rxe.Failure) as caught:
        compile_prim_func(rxe.parse(GATHER)["f"])(
            np.array([0, 0, 3, 0], np.int32), np.zeros((4, 4), np.int32)
        )
    (problem,) = caught.value.diagnostics
    assert problem.message == (
        "kernel gather: an index of buffer A is 4, its axis 0 has length 4 "
        "in B[row, column] = A[A[row] + column], line 6, where row = 2, column = 1"
    )
    assert problem.span is not None
    assert problem.span.line == 6


def test_names_are_those_of_the_caller_s_own_prim_func() -> None:
    for name in ("A", "another"):
        found = kernel(
            f"B[0] = {name}[A2[0] + 64]".replace("A2", name),
            f'{name}: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32")',
        )
        with pytest.raises(rxe.Failure, match=f"an index of buffer {name} is 64"):
            found(zeros(), zeros())


SYMBOLIC = """
@T.prim_func
def f(a: T.handle, b: T.handle):
    n, m = T.int32(), T.int32()
    A = T.match_buffer(a, (n, m), "int8")
    B = T.match_buffer(b, (n * m,), "int8")
    for i, j in T.grid(n, m):
        B[i * m + j] = A[i, j] + A[(i * m + j) // m, (i * m + j) % m]
"""


def test_ordinary_indices_are_proven_for_lengths_that_are_variables() -> None:
    fn = rxe.parse(SYMBOLIC)["f"]
    assert "at(" not in source(translate(fn).routine).split("def kernel")[1]


NARROWED = """
@T.prim_func
def f(a: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "int8")
    for i in T.serial(n):
        A[T.Cast("int64", T.Cast("int16", i))] = T.int8(1)
"""


def test_what_holds_for_small_lengths_is_asked_again_for_large_ones() -> None:
    fn = rxe.parse(NARROWED)["f"]
    assert "[at(" not in source(translate(fn).routine)
    found, small = compile_prim_func(fn), np.zeros(1000, np.int8)
    found(small)
    assert small.all()
    with pytest.raises(rxe.Failure, match="an index of buffer A is -32768, its axis 0 has length 40000"):
        found(np.zeros(40000, np.int8))


ENDLESS = {
    "while": "while A[0] == 0:\n    B[0] = B[0] + 1",
    "a while without memory": "b: T.int32 = 0\nwhile b < 1:\n    b = b * 2\nB[0] = b",
    "a huge loop": "for i in T.serial(T.int64(1152921504606846976)):\n    B[0] = B[0] + A[0]",
    "loops": "for i, j, k in T.grid(2147483647, 1000, 3):\n    B[0] = (B[0] + A[k]) * 3 // 2",
}


@pytest.mark.parametrize("body", ENDLESS.values(), ids=ENDLESS)
def test_a_kernel_is_stopped_from_another_thread(body: str) -> None:
    found, interrupt = kernel(body), Interrupt()
    timer = threading.Timer(0.3, interrupt.cancel)
    timer.start()
    with pytest.raises(Cancelled):
        found(zeros(), zeros(), interrupt=interrupt)
    timer.join()
    interrupt.clear()
    threading.Timer(0.05, interrupt.cancel).start()
    with pytest.raises(Cancelled):
        found(zeros(), zeros(), interrupt=interrupt)


def test_a_cache_that_others_can_write_to_is_refused(tmp_path: Path) -> None:
    fn = rxe.parse('@T.prim_func\ndef f(A: T.Buffer((3,), "int32")):\n    A[1] = A[0] + 41\n')["f"]
    open_folder = tmp_path / "open"
    open_folder.mkdir()
    open_folder.chmod(0o777)
    kernels = Kernels(open_folder)
    values = np.ones(3, np.int32)
    kernels.call(fn, [values])
    assert values.tolist() == [1, 42, 1]
    assert [item.code.id for item in kernels.remarks] == ["RX0524"]
    assert not list(open_folder.glob("*.py"))


def test_a_cache_is_made_for_its_user_alone_and_what_others_planted_is_not_executed(tmp_path: Path) -> None:
    fn = rxe.parse('@T.prim_func\ndef f(A: T.Buffer((3,), "float32")):\n    A[1] = T.log2(A[0]) + 44\n')["f"]
    folder = tmp_path / "kernels"
    Kernels(folder, engine="numba").call(fn, [np.ones(3, np.float32)])
    assert folder.stat().st_mode & 0o777 == 0o700
    (source,) = folder.glob("k_*.py")
    assert not list(folder.glob("__pycache__/*.pyc"))
    source.write_text("raise SystemExit('planted')")
    fresh = rxe.parse('@T.prim_func\ndef f(A: T.Buffer((3,), "float32")):\n    A[1] = T.log2(A[0]) + 44\n')[
        "f"
    ]
    values = np.ones(3, np.float32)
    Kernels(folder, engine="numba").call(fresh, [values])
    assert values.tolist() == [1, 44, 1]


FILLED = {
    "for i in range(4):\n    C[i] = A[i]": True,
    "for i in range(3):\n    C[i] = A[i]": False,
    "for i in range(4):\n    C[i] = C[3 - i]": False,
    "for i in range(1, 4):\n    C[i] = A[i]": False,
    "if A[0] > 0:\n    for i in range(4):\n        C[i] = A[i]": False,
    "for i in range(4):\n    if A[i] > 0:\n        C[i] = A[i]": False,
    "for i, j in T.grid(4, A[0]):\n    C[i] = A[j]": False,
    "B[0] = C[0]\nfor i in range(4):\n    C[i] = A[i]": False,
}


@pytest.mark.parametrize("body", FILLED)
def test_memory_that_is_filled_first_needs_no_poison(body: str) -> None:
    text = f'C = T.alloc_buffer((4,), "int32")\n{body}\nB[1] = C[0]'
    found = kernel(text)
    assert ("np.empty" in source(translate(found.fn).routine)) is FILLED[body]
    found(zeros(), zeros())
