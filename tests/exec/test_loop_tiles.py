"""Nests that read along columns run in tiles, and write what they wrote before; others stay as they are."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec import kernel_code, loop_nests
from relax_explorer.core.exec.compiled_kernel import compile_prim_func, uncompiled
from relax_explorer.core.exec.loop_statements import translate
from relax_explorer.core.exec.loop_text import source
from relax_explorer.core.ops.kit import ndarrays
from relax_explorer.core.tir.stmt import PrimFunc

TEXT = """
@T.prim_func
def f(A: T.Buffer((3, "n", "m"), "float32"), B: T.Buffer((3, "m", "n"), "float32")):
    m, n = T.int64(), T.int64()
    for b, i, j in T.grid(3, m, n):
        with T.sblock("B"):
            v_b, v_i, v_j = T.axis.remap("SSS", [b, i, j])
            {store}
"""
TURN = "B[v_b, v_i, v_j] = A[v_b, v_j, v_i] * T.float32(2)"


def parsed(store: str = TURN) -> PrimFunc:
    fn = rxe.parse(TEXT.replace("{store}", store))["f"]
    assert type(fn) is PrimFunc
    return fn


def is_tiled(fn: PrimFunc) -> bool:
    rows, columns = loop_nests.TILE
    return f"({rows}))" in source(translate(fn).routine) and f"({columns}))" in source(translate(fn).routine)


@pytest.mark.parametrize(("m", "n"), [(0, 5), (1, 1), (64, 8), (65, 9), (63, 7), (130, 100)])
@pytest.mark.parametrize("by_numba", [False, True], ids=["LLVM", "numba"])
def test_a_transposition(m: int, n: int, by_numba: bool) -> None:
    values = np.random.default_rng(1).standard_normal((3, n, m)).astype(np.float32)
    result = np.full((3, m, n), np.nan, np.float32)
    compile_prim_func(parsed(), by_numba=by_numba)(values, result)
    assert result.tobytes() == (values.transpose(0, 2, 1) * np.float32(2)).tobytes()


@pytest.mark.parametrize("loop", ["b, i, j", "i, b, j"])
def test_threads_share_tiles(loop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_nests, "WORTHWHILE", 1)
    monkeypatch.setattr(ndarrays, "_SHARED", 1)
    monkeypatch.setattr(ndarrays, "_threads", lambda: 3)
    text = TEXT.replace("{store}", TURN).replace(
        "b, i, j in T.grid(3, m, n)", f"{loop} in T.grid({'3, m, n' if loop[0] == 'b' else 'm, 3, n'})"
    )
    fn = rxe.parse(text)["f"]
    assert type(fn) is PrimFunc
    assert is_tiled(fn)
    values = np.random.default_rng(1).standard_normal((3, 100, 140)).astype(np.float32)
    result = np.full((3, 140, 100), np.nan, np.float32)
    kernel = compile_prim_func(fn)
    kernel(values, result)
    assert result.tobytes() == (values.transpose(0, 2, 1) * np.float32(2)).tobytes()
    assert kernel.code is not None
    assert kernel_code.PART in kernel.code.texts
    part = np.full_like(result, np.nan)
    passed = kernel.passed([values, part])
    function = kernel.code.function(
        fn, (*passed, 0, 0, kernel_code._NOTHING, kernel_code.NEVER.address), kernel_code.PART
    )
    first, last = (1, 2) if loop[0] == "b" else (10, 90)
    kernel._call(function, (*passed, first, last), kernel_code.NEVER)
    wanted = result.copy()
    rest = wanted if loop[0] == "b" else wanted.transpose(1, 0, 2)
    rest[:first] = rest[last:] = np.nan
    np.testing.assert_array_equal(part, wanted)


PLAIN = {
    "rows are read": "B[v_b, v_i, v_j] = A[v_b, v_i, v_j]",
    "columns are written": "B[v_b, v_j, v_i] = A[v_b, v_i, v_j]",
    "the result is read": "B[v_b, v_i, v_j] = A[v_b, v_j, v_i] + B[v_b, v_j, v_i]",
    "an element is written twice": "B[v_b, 0, v_j] = A[v_b, v_j, v_i]",
}


@pytest.mark.parametrize("store", PLAIN.values(), ids=PLAIN)
def test_other_nests_keep_their_order(store: str) -> None:
    fn = parsed(store)
    assert not is_tiled(fn)
    values = np.random.default_rng(2).standard_normal((3, 70, 70)).astype(np.float32)
    results = [np.ones((3, 70, 70), np.float32) for _ in range(2)]
    compile_prim_func(fn)(values, results[0])
    uncompiled(fn)(values, results[1])
    assert results[0].tobytes() == results[1].tobytes()


def test_shared_memory_keeps_the_order() -> None:
    memory = np.random.default_rng(3).standard_normal(3 * 20 * 20 + 1).astype(np.float32)
    one, two = memory.copy(), memory.copy()
    compile_prim_func(parsed())(one[1:].reshape(3, 20, 20), one[:-1].reshape(3, 20, 20))
    uncompiled(parsed())(two[1:].reshape(3, 20, 20), two[:-1].reshape(3, 20, 20))
    assert one.tobytes() == two.tobytes()


def test_a_wrong_index_is_told_at_the_first_place_of_the_program() -> None:
    fn = parsed("B[v_b, v_i, v_j] = A[v_b, v_j, v_i] + A[0, T.Cast('int64', A[v_b, v_j, v_i]), 0]")
    assert not is_tiled(fn)
    values = np.zeros((3, 9, 9), np.float32)
    values[1, 8, 2] = values[1, 3, 4] = 9  # a tile has the second one first
    answers = []
    for kernel in (compile_prim_func(fn), uncompiled(fn)):
        with pytest.raises(rxe.Failure) as problem:
            kernel(values, np.zeros((3, 9, 9), np.float32))
        answers.append(str(problem.value))
    assert answers[0] == answers[1]


def test_a_triangle_has_no_tiles() -> None:
    """The length of its inner loop is the variable of the outer one."""
    text = TEXT.replace("{store}", TURN).replace(
        "for b, i, j in T.grid(3, m, n):", "for b, i in T.grid(3, m):\n        for j in range(i):"
    )
    text = text.replace("        with T.sblock", "            with T.sblock").replace(
        "            v_b,", "                v_b,"
    )
    fn = rxe.parse(text.replace("            B[", "                B["))["f"]
    assert type(fn) is PrimFunc
    assert not is_tiled(fn)
    values = np.random.default_rng(4).standard_normal((3, 90, 90)).astype(np.float32)
    results = [np.zeros((3, 90, 90), np.float32) for _ in range(2)]
    compile_prim_func(fn)(values, results[0])
    uncompiled(fn)(values, results[1])
    assert results[0].tobytes() == results[1].tobytes()
