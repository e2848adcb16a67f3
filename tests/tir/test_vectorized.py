"""Loops that LLVM 22 vectorizes wrongly, compiled by LLVM and by numba: they give what the reference evaluator gives.

Each reads or writes foreign memory, or another element, without `Expressions.hidden` or `machine_code.settle`.
"""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.compiled_kernel import compile_prim_func, uncompiled
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.tir.stmt import PrimFunc

LENGTHS = (1, 3, 4, 5, 17, 100, 255, 256, 300)
TABLES = """
@T.prim_func
def f(A: T.Buffer((256,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer(("n",), "float32")):
    n = T.int64()
    for i in range(n):
        C[i] = A[{wide}] + B[{narrow}]
"""
BYTE = "T.Cast('int64', T.Cast('uint8', i))"
INDICES = {
    "rests": ("i % 256", "i % 4"),
    "truncated rests": ("T.truncmod(i, 256)", "T.truncmod(i, 4)"),
    "a cast and a rest": (BYTE, "i % 4"),
    "a signed cast": ("T.Cast('int64', T.Cast('int8', i)) + 128", "i % 4"),
    "masks": ("T.bitwise_and(i, 255)", "T.bitwise_and(i, 3)"),
    "products with quotients": ("i - i // 256 * 256", "i - i // 4 * 4"),
    "shifts": ("T.shift_right(T.shift_left(i, 56), 56) + 128", "T.bitwise_and(i, 3)"),
    "a rest of a rest": ("i % 256", "T.max(i % 256, T.Cast('int64', T.Cast('uint8', i - 254))) % 4"),
    "unsigned numbers": ("T.Cast('uint64', i) % T.uint64(256)", "T.Cast('uint64', i) % T.uint64(4)"),
    "32 bits": ("T.Cast('int32', i) % 256", "T.Cast('int32', i) % 4"),
}


@pytest.fixture(params=["LLVM", "numba"])
def by_numba(request: pytest.FixtureRequest) -> bool:
    """Whether numba compiles the kernels of a test."""
    return bool(request.param == "numba")


def parsed(text: str) -> PrimFunc:
    fn = rxe.parse(text)["f"]
    assert type(fn) is PrimFunc
    return fn


@pytest.mark.parametrize("indices", INDICES.values(), ids=INDICES)
def test_indices_that_wrap_at_two_lengths(indices: tuple[str, str], by_numba: bool) -> None:
    fn = parsed(TABLES.format(wide=indices[0], narrow=indices[1]))
    a, b = np.arange(256, dtype=np.float32) * 8, np.arange(4, dtype=np.float32)
    kernel, reference = compile_prim_func(fn, by_numba=by_numba), uncompiled(fn)
    for n in LENGTHS:
        found, wanted = np.zeros(n, np.float32), np.zeros(n, np.float32)
        kernel(a, b, found)
        reference(a, b, wanted)
        assert found.tolist() == wanted.tolist(), n
    assert kernel.code is not None
    assert kernel.code.is_by_numba == by_numba


def test_variables_of_blocks_that_wrap(by_numba: bool) -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((256,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer(("n",), "float32")):
    n = T.int64()
    for i in range(n):
        with T.sblock("sum"):
            v, w = T.axis.spatial(256, i % 256), T.axis.spatial(4, i % 4)
            u = T.axis.spatial(n, i)
            x: T.let[T.int64] = T.bitwise_and(i, 3)
            C[u] = A[v] + B[w] * B[x]
"""
    fn = parsed(text)
    a, b = np.arange(256, dtype=np.float32) * 16, np.arange(4, dtype=np.float32)
    for n in LENGTHS:
        found, wanted = np.zeros(n, np.float32), np.zeros(n, np.float32)
        compile_prim_func(fn, by_numba=by_numba)(a, b, found)
        uncompiled(fn)(a, b, wanted)
        assert found.tolist() == wanted.tolist(), n


def test_a_store_behind_a_branch_and_a_division(by_numba: bool) -> None:
    text = """
@T.prim_func
def f(B: T.Buffer((5,), "int8"), a: T.int32, b: T.uint8):
    for i in range(T.int64(4)):
        for j in range(6, 6 + T.Cast("int32", i)):
            B[T.Cast("uint8", a) % b % T.uint8(5)] = T.int8(7)
"""
    fn = parsed(text)
    for a, b in ((-1, 6), (13, 5), (2, 9)):
        found, wanted = np.zeros(5, np.int8), np.zeros(5, np.int8)
        compile_prim_func(fn, by_numba=by_numba)(found, a, b)
        uncompiled(fn)(wanted, a, b)
        assert found.tolist() == wanted.tolist(), (a, b)


def test_the_first_byte_of_an_address_is_0() -> None:
    assert all(Interrupt().address >> 56 == 0 for _ in range(10))
