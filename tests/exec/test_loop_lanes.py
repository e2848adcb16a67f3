"""Reductions in lanes: their order is the documented one, by both compilers; other reductions keep the order of the program."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec import kernel_code
from relax_explorer.core.exec.compiled_kernel import compile_prim_func, uncompiled
from relax_explorer.core.exec.loop_lanes import LANES
from relax_explorer.core.exec.loop_statements import translate
from relax_explorer.core.exec.loop_text import source
from relax_explorer.core.tir.stmt import PrimFunc

ROWS = """
@T.prim_func
def f(A: T.Buffer(("m", "n"), "float32"), B: T.Buffer(("m",), "float32")):
    m, n = T.int64(), T.int64()
    for i, k in T.grid({loops}):
        with T.sblock("B"):
            v_i, v_k = T.axis.remap("SR", [i, k])
            with T.init():
                B[v_i] = T.float32({start})
            B[v_i] = {value}
"""
SUM, START = "B[v_i] + A[v_i, v_k]", 0.5
LENGTHS = (0, 1, 31, 32, 33, 63, 64, 65, 96, 200, 1000)


@pytest.fixture(params=[False, True], ids=["LLVM", "numba"])
def by_numba(request: pytest.FixtureRequest) -> bool:
    """Whether numba compiles the kernels of a test."""
    return bool(request.param)


def parsed(text: str) -> PrimFunc:
    fn = rxe.parse(text)["f"]
    assert type(fn) is PrimFunc
    return fn


def rows(value: str = SUM, start: float = START, loops: str = "m, n") -> PrimFunc:
    return parsed(ROWS.replace("{loops}", loops).replace("{start}", str(start)).replace("{value}", value))


def documented(row: np.ndarray, start: float = START, joined: np.ufunc = np.add) -> np.float32:
    """The sum of a row, or its product, in the order that `loop_lanes` tells."""
    lanes = np.full(LANES, joined.identity, np.float32)
    for k, term in enumerate(row):
        lanes[k % LANES] = joined(lanes[k % LANES], term)
    while len(lanes) > 1:
        lanes = joined(lanes[: len(lanes) // 2], lanes[len(lanes) // 2 :])
    return np.float32(joined(np.float32(start), lanes[0]))


def data(length: int, count: int = 3) -> np.ndarray:
    return np.random.default_rng(length).standard_normal((count, length)).astype(np.float32)


def outcome(fn: PrimFunc, values: np.ndarray, by_numba: bool = False, count: int | None = None) -> np.ndarray:
    result = np.zeros(len(values) if count is None else count, np.float32)
    compile_prim_func(fn, by_numba=by_numba)(values, result)
    return result


@pytest.mark.parametrize("length", LENGTHS)
def test_sums_have_the_documented_order(length: int, by_numba: bool) -> None:
    values = data(length)
    assert outcome(rows(), values, by_numba).tolist() == [documented(row) for row in values]


@pytest.mark.parametrize("length", LENGTHS)
def test_so_have_products(length: int, by_numba: bool) -> None:
    values = data(length) + np.float32(0.7)
    made = outcome(rows("B[v_i] * A[v_i, v_k]"), values, by_numba).tolist()
    assert made == [documented(row, joined=np.multiply) for row in values]


@pytest.mark.parametrize("length", LENGTHS[2:])
@pytest.mark.parametrize("extreme", ["max", "min"])
def test_extremes_are_those_of_the_program(length: int, extreme: str, by_numba: bool) -> None:
    fn = rows(f"T.{extreme}(B[v_i], A[v_i, v_k])", -1e30 if extreme == "max" else 1e30)
    values = data(length, 6) + np.float32(9 if extreme == "min" else -9)  # on one side of 0
    values[1, length // 2] = np.nan  # a comparison with NaN takes the second one, so the place counts
    values[2, -1] = np.nan
    values[3, :] = np.nan
    wanted = np.zeros(6, np.float32)
    uncompiled(fn)(values, wanted)
    np.testing.assert_array_equal(outcome(fn, values, by_numba), wanted)
    code = compile_prim_func(fn, by_numba=by_numba).code
    assert code is not None
    assert code.is_by_numba is by_numba


def test_an_extreme_that_nothing_exceeds_is_what_the_program_starts_with(by_numba: bool) -> None:
    fn = rows("T.max(B[v_i], A[v_i, v_k])", 100.0)
    assert outcome(fn, data(70), by_numba).tolist() == [100.0] * 3


KEPT = {
    "neighbours are results": ("B[v_i] + A[v_k, v_i]", "m, n"),
    "few terms": (SUM, "m, 63"),
    "the result is read elsewhere": ("B[v_i] + A[v_i, v_k] * B[v_i]", "m, n"),
    "a difference": ("B[v_i] - A[v_i, v_k]", "m, n"),
    "every second term": ("B[v_i] + A[v_i, v_k * 2]", "m, n // 2"),
}


@pytest.mark.parametrize(("value", "loops"), KEPT.values(), ids=KEPT)
def test_other_reductions_keep_their_order(value: str, loops: str) -> None:
    fn, values = rows(value, loops=loops), data(100, 100)
    wanted = np.zeros(100, np.float32)
    uncompiled(fn)(values, wanted)
    assert outcome(fn, values).tobytes() == wanted.tobytes()


def test_shared_memory_keeps_the_order() -> None:
    fn, values = rows(), data(100)
    result, wanted = [np.array(values) for _ in range(2)]
    compile_prim_func(fn)(result, result[0, :3])
    uncompiled(fn)(wanted, wanted[0, :3])
    assert result.tobytes() == wanted.tobytes()


def test_float16_is_rounded_after_each_term() -> None:
    fn = parsed(
        ROWS.replace("float32", "float16")
        .replace("{loops}", "m, n")
        .replace("{start}", "0")
        .replace("{value}", SUM)
    )
    values = data(100).astype(np.float16)
    result, wanted = np.zeros(3, np.float16), np.zeros(3, np.float16)
    compile_prim_func(fn)(values, result)
    uncompiled(fn)(values, wanted)
    assert result.tobytes() == wanted.tobytes()


def test_two_loops_are_summed_in_the_same_lanes() -> None:
    text = ROWS.replace('("m", "n")', '("m", 5, "n")').replace(
        "i, k in T.grid({loops})", "i, j, k in T.grid(m, 5, n)"
    )
    text = text.replace(
        'v_i, v_k = T.axis.remap("SR", [i, k])', 'v_i, v_j, v_k = T.axis.remap("SRR", [i, j, k])'
    )
    fn = parsed(text.replace("{start}", "0").replace("{value}", "B[v_i] + A[v_i, v_j, v_k]"))
    values = np.random.default_rng(3).standard_normal((2, 5, 70)).astype(np.float32)
    lanes = np.zeros((2, LANES), np.float32)
    for j in range(5):
        for k in range(70):
            lanes[:, k % LANES] += values[:, j, k]
    while lanes.shape[1] > 1:
        lanes = lanes[:, : lanes.shape[1] // 2] + lanes[:, lanes.shape[1] // 2 :]
    assert outcome(fn, values).tolist() == lanes[:, 0].tolist()


def test_a_kernel_that_may_stop_has_no_lanes() -> None:
    fn = rows("B[v_i] + A[v_i, T.Cast('int64', A[v_i, v_k])]")
    assert f"({LANES})" not in source(translate(fn).routine)
    values = np.zeros((2, 70), np.float32)
    values[1, 60] = 70
    with pytest.raises(rxe.Failure, match="k = 60"):
        compile_prim_func(fn)(values, np.zeros(2, np.float32))


def test_long_reductions_look_at_the_interrupt() -> None:
    text = (
        ROWS.replace('("m", "n")', '("m", 10000000)')
        .replace("{loops}", "m, 10000000")
        .replace("{start}", "0")
    )
    fn = parsed(text.replace("{value}", "T.max(B[v_i], A[v_i, v_k])"))
    assert (
        source(translate(fn).routine).count("poll(stop)") == 3
    )  # around the rows, in the lanes, and where a term is NaN


def test_facts_are_looked_up_for_the_same_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a text relies on is decided again for each length, so lengths 1 and 2**31 have texts of their own."""
    names: list[str] = []
    function = kernel_code.Code.function

    def watched(self: kernel_code.Code, fn: PrimFunc, values: object, name: str) -> object:
        names.append(name)
        return function(self, fn, values, name)  # type: ignore[arg-type]  # a sequence

    monkeypatch.setattr(kernel_code.Code, "function", watched)
    fn = rows()
    for length in LENGTHS:
        outcome(fn, data(length))
    assert set(names) == {kernel_code.TRUSTING}


@pytest.mark.parametrize(("length", "way"), [(100, kernel_code.TRUSTING), (99, kernel_code.CHECKED)])
def test_lengths_for_which_an_index_is_wrong(length: int, way: str) -> None:
    """The lanes hold for some lengths only: others have the checks and the order of the program."""
    text = ROWS.replace("B: T.Buffer", 'C: T.Buffer(("k",), "float32"), B: T.Buffer').replace(
        "m, n = T", "m, n, k = T"
    )
    text = text.replace("m, n, k = T.int64(), T.int64()", "m, n, k = T.int64(), T.int64(), T.int64()")
    text = (
        text.replace("i, k in", "i, j in")
        .replace("[i, k]", "[i, j]")
        .replace("{loops}", "m, n")
        .replace("{start}", "0")
    )
    fn = parsed(text.replace("{value}", "B[v_i] + A[v_i, v_k] * C[T.min(v_k, k * 1000000)]"))
    values, other = data(100), np.ones(length, np.float32)
    answers = []
    for kernel in (compile_prim_func(fn), uncompiled(fn)):
        result = np.zeros(3, np.float32)
        try:
            kernel(values, other, result)
        except rxe.Failure as failure:
            answers.append(str(failure).split(", where ")[0])
        else:
            answers.append(str(np.round(result, 3)))
    assert answers[0] == answers[1]
    assert ("axis" in answers[0]) == (way == kernel_code.CHECKED)
