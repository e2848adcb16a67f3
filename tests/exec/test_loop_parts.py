"""Loops in parts where a margin is known, reductions over few terms without loops, and scans that skip what changes nothing.

None of them changes a bit of a result, whichever compiler makes the code, and each check that fails says the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.compiled_kernel import compile_prim_func, uncompiled
from relax_explorer.core.exec.loop_statements import translate
from relax_explorer.core.exec.loop_text import source
from relax_explorer.core.tir.stmt import PrimFunc


@pytest.fixture(params=[False, True], ids=["LLVM", "numba"])
def by_numba(request: pytest.FixtureRequest) -> bool:
    """Whether numba compiles the kernels of a test."""
    return bool(request.param)


def parsed(text: str) -> PrimFunc:
    fn = rxe.parse(text)["f"]
    assert type(fn) is PrimFunc
    return fn


def agree(fn: PrimFunc, arrays: Sequence[np.ndarray], by_numba: bool) -> list[np.ndarray]:
    """The arrays after the compiled kernel, which are those after the statements, bit by bit."""
    found, wanted = [item.copy() for item in arrays], [item.copy() for item in arrays]
    compile_prim_func(fn, by_numba=by_numba)(*found)
    uncompiled(fn)(*wanted)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one.view(f"u{one.itemsize}"), other.view(f"u{other.itemsize}"))
    return found


def random(*shape: int, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(-50, 50, shape).astype(dtype)


# -- margins ---------------------------------------------------------------------------------------------------------

PAD = """
@T.prim_func
def f(A: T.Buffer((n, m), "float32"), B: T.Buffer((p, q), "float32")):
    n, m, p, q = T.int64(), T.int64(), T.int64(), T.int64()
    for i, j in T.grid(p, q):
        with T.sblock("B"):
            v, w = T.axis.remap("SS", [i, j])
            B[v, w] = {value}
"""


def padding(
    value: str, shape: tuple[int, int], padded: tuple[int, int], names: Sequence[str] = ()
) -> PrimFunc:
    """A kernel that pads `A` of a shape. The lengths among `names` are variables, the others numbers."""
    text = PAD
    for name, length in zip("nmpq", (*shape, *padded), strict=True):
        if name not in names:
            text = text.replace(f"({name},", f"({length},").replace(f", {name})", f", {length})")
    kept = ", ".join(names)
    head = (
        f"    {kept} = {', '.join(['T.int64()'] * len(names))}\n"
        if len(names) > 1
        else f"    {kept} = T.int64()\n"
        if names
        else ""
    )
    line = "    n, m, p, q = T.int64(), T.int64(), T.int64(), T.int64()\n"
    return parsed(text.replace(line, head).replace("{value}", value))


def inner(rows: str, columns: str, condition: str = "") -> str:
    return f"T.if_then_else({condition or f'{rows} and {columns}'}, A[v - 2, w - 3], T.float32(7))"


ROWS, COLUMNS = "2 <= v and v < {n} + 2", "3 <= w and w < {m} + 3"
MARGINS = {
    "both": inner(ROWS, COLUMNS),
    "strict": inner("1 < v and v <= {n} + 1", "2 < w and w <= {m} + 2"),
    "turned": inner("v >= 2 and {n} + 2 > v", "w > 2 and {m} + 3 > w"),
    "nested": f"T.if_then_else({ROWS}, T.if_then_else({COLUMNS}, A[v - 2, w - 3], T.float32(8)), T.float32(7))",
    "mirrored": "T.if_then_else(w < 3, A[T.max(T.min(v - 2, {n} - 1), 0), T.min(2 - w, {m} - 1)], "
    "T.if_then_else(3 <= w and w < {m} + 3, A[T.max(T.min(v - 2, {n} - 1), 0), w - 3], T.float32(7)))",
    "outside": f"T.if_then_else(not ({ROWS} and {COLUMNS}), T.float32(7), A[T.max(T.min(v - 2, {{n}} - 1), 0), T.max(T.min(w - 3, {{m}} - 1), 0)])",
    "odd": "T.if_then_else(v % 2 == 0 and 3 <= w and w < {m} + 3, A[T.max(T.min(v - 2, {n} - 1), 0), w - 3], T.float32(7))",
    "crossed": "T.if_then_else({m} + 3 <= w and w < 3, T.float32(1), T.float32(7) + T.Cast('float32', w))",
    "crossed, and read": "B[v, w] + T.if_then_else({m} + 3 <= w and w < 3, T.float32(1), T.float32(7))",
    "two sums": f"{inner(ROWS, COLUMNS)} + T.if_then_else(4 <= w, T.float32(1), T.float32(2))",
}  # fmt: skip


@pytest.mark.parametrize("name", MARGINS)
@pytest.mark.parametrize("shape", [(5, 6), (1, 1), (4, 40)])
def test_a_margin_has_its_values(name: str, shape: tuple[int, int]) -> None:
    padded = shape[0] + 5, shape[1] + 4
    value = MARGINS[name].format(n=shape[0], m=shape[1])
    arrays = [random(*shape), np.zeros(padded, "float32")]
    _, found = agree(padding(value, shape, padded), arrays, False)
    if name in ("both", "strict", "turned"):
        assert np.array_equal(found, np.pad(arrays[0], ((2, 3), (3, 1)), constant_values=7))


@pytest.mark.parametrize("name", ["both", "turned", "nested", "odd"])
def test_a_margin_of_lengths_with_names(name: str) -> None:
    fn = padding(MARGINS[name].format(n="n", m="m"), (0, 0), (0, 0), "nmpq")
    for shape, padded in [
        ((5, 6), (10, 10)),
        ((1, 1), (4, 7)),
        ((0, 0), (3, 3)),
        ((4, 4), (2, 2)),
        ((9, 30), (11, 40)),
    ]:
        agree(fn, [random(*shape), np.zeros(padded, "float32")], False)


@pytest.mark.parametrize("name", ["both", "strict", "turned"])
def test_no_part_of_a_margin_asks_where_it_is(name: str) -> None:
    fn = padding(MARGINS[name].format(n=5, m=6), (5, 6), (10, 10))
    parts = source(translate(fn).routine)
    assert " if " not in parts
    assert "at(" not in parts.partition("def ")[2]  # each index is known to lie inside
    assert parts.count("float32(7") == 4  # above, left, right, below
    assert source(translate(fn, trusting=False).routine).count("for ") == 2


def test_an_index_outside_is_told_as_ever(by_numba: bool) -> None:
    value = "T.if_then_else(2 <= w and w < 8, A[v, w * 2 - 4], T.float32(7))"  # up to 10 of 6 columns
    fn = padding(value, (10, 6), (10, 10))
    said = []
    for kernel in (compile_prim_func(fn, by_numba=by_numba), uncompiled(fn)):
        with pytest.raises(Failure) as caught:
            kernel(random(10, 6), np.zeros((10, 10), "float32"))
        said.append(str(caught.value.diagnostics[0]))
    assert said[0] == said[1]
    assert "index of buffer A is 6, its axis 1 has length 6" in said[0]
    assert "where i = 0, j = 5" in said[0]


def test_a_check_behind_a_margin_is_told_as_ever(by_numba: bool) -> None:
    """The numbers of its place follow those of the parts."""
    text = """
@T.prim_func
def f(A: T.Buffer((6,), "float32"), I: T.Buffer((4,), "int64"), B: T.Buffer((10,), "float32"), C: T.Buffer((4,), "float32")):
    for i in range(T.int64(10)):
        B[i] = T.if_then_else(T.int64(2) <= i and i < T.int64(8), A[i - T.int64(2)], T.float32(7))
    for i in range(T.int64(4)):
        C[i] = B[I[i]]
"""
    fn, arrays = (
        parsed(text),
        [random(6), np.array([1, 2, 10, 3]), np.zeros(10, "float32"), np.zeros(4, "float32")],
    )
    said = []
    for kernel in (compile_prim_func(fn, by_numba=by_numba), uncompiled(fn)):
        with pytest.raises(Failure) as caught:
            kernel(*[item.copy() for item in arrays])
        said.append(str(caught.value.diagnostics[0]))
    assert said[0] == said[1]
    assert "index of buffer B is 10" in said[0]


FIRST = {
    "margin": "for i in range(n + T.int64(4)):\n"
    "        B[i] = T.if_then_else(T.int64(2) <= i and i < n + T.int64(2), A[i - T.int64(2)], T.float32(7))",
    "few terms": "for i, k in T.grid(n, T.int64(3)):\n        with T.sblock('s'):\n            v, w = T.axis.remap('SR', [i, k])\n"
    "            with T.init():\n                B[v] = T.float32(0)\n            B[v] = B[v] + A[v] * T.Cast('float32', w)",
    "scan": "for i in range(n):\n        B[0] = T.Select(A[i] < B[0], B[0], A[i])",
    "scan up to a quotient": "for i in range((n + T.int64(3)) // T.int64(2)):\n        B[0] = T.Select(A[i] < B[0], B[0], A[i])",
}


@pytest.mark.parametrize("first", FIRST)
def test_places_keep_their_numbers(first: str, by_numba: bool) -> None:
    """The lengths make the text run that checks everything, which has no parts."""
    fn = parsed(
        f"""
@T.prim_func
def f(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n + 4",), "float32"), C: T.Buffer((50,), "float32")):
    n = T.int64()
    {FIRST[first]}
    for i in range(T.int64(50)):
        C[i] = A[i]
""".replace('("n + 4",)', "(n + 4,)")
    )
    said = []
    for kernel in (compile_prim_func(fn, by_numba=by_numba), uncompiled(fn)):
        with pytest.raises(Failure) as caught:
            kernel(random(20), np.zeros(24, "float32"), np.zeros(50, "float32"))
        said.append(str(caught.value.diagnostics[0]))
    assert said[0] == said[1]
    assert "index of buffer A is 20" in said[0]


# -- few terms -------------------------------------------------------------------------------------------------------

WINDOW = """
@T.prim_func
def f(A: T.Buffer((20, 30), "{dtype}"), W: T.Buffer((3, {k}), "{dtype}"), B: T.Buffer((18, 10), "{dtype}")):
    for i, j, k, l in T.grid(18, 10, 3, {k}):
        with T.sblock("B"):
            v, w, r, s = T.axis.remap("SSRR", [i, j, k, l])
            with T.init():
                B[v, w] = {start}
            B[v, w] = {value}
"""
WINDOWS = {
    "sum": ("B[v, w] + A[v + r, w * 2 + s] * W[r, s]", "0"),
    "product": ("B[v, w] * A[v + r, w * 2 + s]", "1"),
    "largest": ("T.max(B[v, w], A[v + r, w * 2 + s])", "-3"),
    "smallest": ("T.min(B[v, w], A[v + r, w * 2 + s])", "3"),
    "turned": ("A[v + r, w * 2 + s] + B[v, w]", "0"),
    "difference": ("B[v, w] - A[v + r, w * 2 + s]", "0"),
    "of itself": ("B[v, w] + A[v + r, w * 2 + s] * B[v, w]", "1"),
    "start": ("B[v, w] + A[v + r, w * 2 + s]", "A[v, w]"),
}


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize(("dtype", "count"), [("float32", 5), ("float64", 5), ("float32", 30), ("int32", 5)])
def test_few_terms_are_summed_in_their_order(name: str, dtype: str, count: int) -> None:
    value, start = WINDOWS[name]
    start = start if "A" in start else f'T.Cast("{dtype}", {start})'
    columns = 30 if count == 5 else 50
    text = WINDOW.format(dtype=dtype, k=count, value=value, start=start).replace(
        "(20, 30)", f"(20, {columns})"
    )
    fn, numbers = parsed(text), np.random.default_rng(count)
    arrays = [
        (numbers.standard_normal(shape) * 4).astype(dtype) for shape in ((20, columns), (3, count), (18, 10))
    ]
    agree(fn, arrays, False)
    is_plain = name not in ("turned", "difference", "of itself") and dtype != "int32"
    assert ("t1 = " in source(translate(fn).routine)) == (is_plain and count == 5)


def test_a_maximum_of_few_terms_finds_nan() -> None:
    value, start = WINDOWS["largest"]
    fn = parsed(WINDOW.format(dtype="float32", k=5, value=value, start=f"T.float32({start})"))
    arrays = [random(20, 30), random(3, 5), random(18, 10)]
    arrays[0][4, 7] = arrays[0][19, 29] = np.nan
    arrays[0][0, 0] = -0.0
    agree(fn, arrays, False)


# -- scans -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    ["R.argmax(x, axis=1)", "R.argmin(x, axis=1, keepdims=True)", "R.argmax(x)", "R.argmin(x, axis=0)"],
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("length", [1, 255, 257, 320])
def test_positions(value: str, dtype: str, length: int) -> None:
    shape = (length, 4) if "axis=0" in value else (4, length)
    text = f'@R.function\ndef main(x: R.Tensor({shape}, "{dtype}")):\n    r = {value}\n    return r\n'
    module = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "LegalizeOps")
    fn = next(fn for fn in module.functions.values() if type(fn) is PrimFunc)
    numbers = np.random.default_rng(length)
    for number in range(6):
        x = numbers.integers(-5, 5 + 1000 * (number % 2), shape).astype(dtype)
        if dtype != "int32" and number > 2:
            x.reshape(-1)[numbers.integers(0, x.size, number - 2)] = np.nan
        x = np.sort(x, -1)[..., :: 1 if number % 2 else -1].copy() if number == 5 else x
        out = [param for param in fn.params][1]
        result = np.zeros([dim.value for dim in out.shape], "int64")  # type: ignore[attr-defined,union-attr]  # lengths are numbers
        agree(fn, [x, result], False)


SCAN = """
@T.prim_func
def f(A: T.Buffer(("n",), "float32"), B: T.Buffer((2,), "float32"), C: T.Buffer((2,), "float32")):
    n = T.int64()
    for i in range(n):
        {first}
        {second}
"""
SCANS = {
    "the second reads the first": (
        "B[0] = T.Select(A[i] < T.float32(900), B[0], A[i])",
        "C[0] = T.Select(B[0] < T.float32(950), C[0], B[0] + A[i])",
    ),
    "the first reads the second": (
        "B[0] = T.Select(C[0] < A[i], A[i], B[0])",
        "C[0] = T.Select(A[i] <= C[0], C[0], A[i] - T.float32(1))",
    ),
    "a counter": (
        "B[0] = T.Select(A[i] < T.float32(900), B[0], B[0] + T.float32(1))",
        "C[1] = T.Select(B[0] < T.float32(3), C[1], A[i])",
    ),
    "another element": (
        "B[0] = T.Select(A[i] < T.float32(900), B[0], A[i])",
        "C[0] = T.Select(B[1] < A[i], C[0], B[0])",
    ),
    "nothing kept": ("B[0] = T.Select(A[i] < T.float32(900), A[i], B[1])", "C[0] = T.Select(A[i] < B[0], C[0], A[i])"),
    "unlike": ("B[0] = T.Select(A[i] < T.float32(900), B[0], T.Cast('float32', i))", "C[0] = T.Select(T.Cast('int64', B[0]) == i, A[i], C[0])"),
    "unlike, later": (
        "B[0] = T.Select(B[0] < T.float32(70), T.float32(70), B[0])",
        "C[0] = T.Select(i == T.Cast('int64', B[0]), A[i], C[0])",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SCANS)
def test_scans_that_keep_what_they_have(name: str) -> None:
    first, second = SCANS[name]
    fn = parsed(SCAN.format(first=first, second=second))
    for length in (0, 1, 63, 64, 65, 300):
        numbers = np.random.default_rng(length).integers(0, 1000, length).astype("float32")
        start = np.array([0.5, 500], "float32")
        agree(fn, [numbers, start, start + 1], False)


def test_a_scan_skips_blocks() -> None:
    texts = {
        name: source(translate(parsed(SCAN.format(first=a, second=b))).routine)
        for name, (a, b) in SCANS.items()
    }
    assert [name for name, text in texts.items() if "(64)" not in text] == ["another element", "nothing kept"]


# -- numba -----------------------------------------------------------------------------------------------------------


def test_numba_makes_the_same_of_a_margin() -> None:
    for name in ("both", "nested"):
        fn = padding(MARGINS[name].format(n=5, m=6), (5, 6), (10, 10))
        agree(fn, [random(5, 6), np.zeros((10, 10), "float32")], True)


@pytest.mark.parametrize("name", ["sum", "largest"])
def test_numba_makes_the_same_of_few_terms(name: str) -> None:
    value, start = WINDOWS[name]
    fn = parsed(WINDOW.format(dtype="float32", k=5, value=value, start=f"T.float32({start})"))
    agree(fn, [random(20, 30), random(3, 5), random(18, 10)], True)


@pytest.mark.parametrize("name", ["a counter", "unlike"])
def test_numba_makes_the_same_of_a_scan(name: str) -> None:
    first, second = SCANS[name]
    start = np.array([0.5, 500], "float32")
    agree(parsed(SCAN.format(first=first, second=second)), [random(300) * 20, start, start + 1], True)


# -- what is computed without need -----------------------------------------------------------------------------------

GUARDED = """
@T.prim_func
def f(A: T.Buffer((300,), "int64"), B: T.Buffer((300,), "int64"), C: T.Buffer((300,), "int64")):
    for i in range(T.int64(300)):
        C[i] = {value}
"""
GUARDS = {
    "a divisor, behind and": "T.if_then_else(B[i] != T.int64(0) and A[i] // B[i] > T.int64(1), T.int64(1), T.int64(2))",
    "a divisor, behind or": "T.if_then_else(B[i] == T.int64(0) or A[i] % B[i] == T.int64(1), T.int64(1), T.int64(2))",
    "a divisor, chosen": "T.if_then_else(B[i] == T.int64(0), T.int64(7), A[i] // B[i])",
    "an index, behind and": "T.if_then_else(B[i] > T.int64(0) and A[B[i] - T.int64(1)] > T.int64(1), T.int64(1), T.int64(2))",
    "an index, chosen": "T.if_then_else(B[i] > T.int64(0), A[B[i] - T.int64(1)], T.int64(7))",
    "a distance": "T.if_then_else(B[i] < T.int64(0), T.int64(7), T.shift_left(A[i], B[i]))",
    "cheap": "T.if_then_else(B[i] > A[i] or (A[i] > T.int64(3) and not B[i] == T.int64(2)), A[i] * B[i], B[i] - A[i])",
}


@pytest.mark.parametrize("name", GUARDS)
def test_what_may_stop_runs_only_where_it_is_needed(name: str) -> None:
    arrays = [random(300, dtype="int64"), random(300, dtype="int64") % 12 - 5, np.zeros(300, "int64")]
    agree(parsed(GUARDED.format(value=GUARDS[name])), arrays, False)


@pytest.mark.parametrize("name", ["a divisor, behind and", "a divisor, behind or", "a divisor, chosen"])
def test_so_does_a_division_of_unsigned_numbers(name: str) -> None:
    text = (
        GUARDED.format(value=GUARDS[name]).replace("int64", "uint64").replace("T.uint64(300)", "T.int64(300)")
    )
    numbers = np.random.default_rng(4).integers(0, 9, (2, 300)).astype("uint64")
    agree(parsed(text), [*numbers, np.zeros(300, "uint64")], False)


def test_a_condition_that_never_holds_still_stops_where_it_looks_outside() -> None:
    value = "T.if_then_else(A[B[i]] > T.int64(0) and i < T.int64(0), T.int64(1), T.int64(2))"
    fn, said = parsed(GUARDED.format(value=value)), []
    for kernel in (compile_prim_func(fn), uncompiled(fn)):
        with pytest.raises(Failure) as caught:
            kernel(random(300, dtype="int64"), np.full(300, 300), np.zeros(300, "int64"))
        said.append(str(caught.value.diagnostics[0]))
    assert said[0] == said[1]
    assert "index of buffer A is 300" in said[0]
