"""Contractions are computed by BLAS, with the values of the loops. Nests that only look like one keep their loops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec import kernel_pieces
from relax_explorer.core.exec import kernel_pieces as module
from relax_explorer.core.exec.compiled_kernel import compile_prim_func, uncompiled
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.exec.kernel_pieces import Views
from relax_explorer.core.ops.kit.ndarrays import dense
from relax_explorer.core.tir.stmt import PrimFunc

NEST = """
@T.prim_func(s_tir=True)
def f({params}):
{before}
    for {loops} in T.grid({extents}):
        with T.sblock("sum"):
            {names} = T.axis.remap("{kinds}", [{loops}])
            with T.init():
                C[{c}] = {zero}
            C[{c}] = {value}
{after}
"""


@pytest.fixture(autouse=True)
def products(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shapes of the results that BLAS computed. Small ones count as large here."""
    seen: list[tuple[int, ...]] = []
    multiply = Views._multiply
    monkeypatch.setattr(Views, "_multiply", lambda self: (seen.append(self.out.shape), multiply(self))[1])
    monkeypatch.setattr(kernel_pieces, "WORTHWHILE", 1)
    return seen


def nest(
    axes: str,
    shapes: dict[str, str],
    c: str,
    value: str,
    *,
    before: str = "",
    after: str = "",
    zero: str = "0",
    dtype: str = "float32",
) -> PrimFunc:
    """A PrimFunc with one nest. `axes` is like `i:4 j:5 k:6R`; the loop of axis `i` is `li`."""
    pairs = [axis.split(":") for axis in axes.split()]
    params = ", ".join(f'{name}: T.Buffer({shape}, "{dtype}")' for name, shape in shapes.items())
    text = NEST.format(
        params=params,
        before="\n".join(f"    {line}" for line in before.splitlines()),
        after="\n".join(f"    {line}" for line in after.splitlines()),
        loops=", ".join(f"l{name}" for name, _ in pairs),
        names=", ".join(name for name, _ in pairs),
        extents=", ".join(extent.rstrip("R") for _, extent in pairs),
        kinds="".join("R" if extent.endswith("R") else "S" for _, extent in pairs),
        c=c, value=value, zero=zero,
    )  # fmt: skip
    text = text.replace("(li)", "(li,)") if len(pairs) == 1 else text
    return rxe.parse(text)["f"]


def both(
    fn: PrimFunc, shapes: Sequence[tuple[int, ...]], dtype: str = "float32"
) -> tuple[np.ndarray, np.ndarray]:
    """The last parameter after the compiled kernel, and after the reference evaluator."""
    results = []
    for kernel in (compile_prim_func(fn), uncompiled(fn)):
        random = np.random.default_rng(1)
        arrays = [random.integers(-3, 4, shape).astype(dtype) for shape in shapes]
        kernel(*arrays)
        results.append(arrays[-1])
    return results[0], results[1]


PRODUCTS = {
    "matmul": ("i:4 j:5 k:6R", ["(4, 6)", "(6, 5)", "(4, 5)"], "i, j", "C[i, j] + A[i, k] * B[k, j]"),
    "product first": ("i:4 j:5 k:6R", ["(4, 6)", "(6, 5)", "(4, 5)"], "i, j", "A[i, k] * B[k, j] + C[i, j]"),
    "right factor first": ("i:4 j:5 k:6R", ["(4, 6)", "(6, 5)", "(4, 5)"], "i, j", "C[i, j] + B[k, j] * A[i, k]"),
    "transposed": ("i:4 j:5 k:6R", ["(4, 6)", "(5, 6)", "(4, 5)"], "i, j", "C[i, j] + A[i, k] * B[j, k]"),
    "result transposed": ("i:4 j:5 k:6R", ["(4, 6)", "(5, 6)", "(5, 4)"], "j, i", "C[j, i] + A[i, k] * B[j, k]"),
    "batch": ("b:2 i:4 j:5 k:6R", ["(2, 4, 6)", "(2, 6, 5)", "(2, 4, 5)"], "b, i, j", "C[b, i, j] + A[b, i, k] * B[b, k, j]"),
    "batch inside": ("i:4 b:2 j:5 k:6R", ["(2, 4, 6)", "(6, 2, 5)", "(4, 2, 5)"], "i, b, j", "C[i, b, j] + A[b, i, k] * B[k, b, j]"),
    "shared right": ("b:2 i:4 j:5 k:6R", ["(2, 4, 6)", "(6, 5)", "(2, 4, 5)"], "b, i, j", "C[b, i, j] + A[b, i, k] * B[k, j]"),
    "one row": ("i:1 j:5 k:6R", ["(1, 6)", "(6, 5)", "(1, 5)"], "i, j", "C[i, j] + A[i, k] * B[k, j]"),
    "dot": ("k:6R", ["(6,)", "(6,)", "(1,)"], "0", "C[0] + A[k] * B[k]"),
    "rank 0": ("k:6R", ["(6,)", "(6,)", "()"], "()", "C[()] + A[k] * B[k]"),
    "diagonal": ("i:4 j:5 k:4R", ["(4, 4)", "(4, 5)", "(4, 5)"], "i, j", "C[i, j] + A[k, i] * B[k, j]"),
    "main diagonal": ("i:4 k:5R", ["(4, 4)", "(4, 5)", "(4,)"], "i", "C[i] + A[i, i] * B[i, k]"),
    "two sums": ("i:4 j:5 k:2R m:3R", ["(4, 2, 3)", "(3, 2, 5)", "(4, 5)"], "i, j", "C[i, j] + A[i, k, m] * B[m, k, j]"),
    "conv1d": ("f:3 x:6 c:2R r:3R", ["(2, 8)", "(3, 2, 3)", "(3, 6)"], "f, x", "C[f, x] + A[c, x + r] * B[f, c, r]"),
    "conv1d of one channel": ("f:3 x:6 r:3R", ["(8,)", "(3, 3)", "(3, 6)"], "f, x", "C[f, x] + A[x + r] * B[f, r]"),
    "conv2d": (
        "n:2 f:3 y:2 x:3 c:4R r:2R s:3R", ["(2, 4, 5, 9)", "(3, 4, 2, 3)", "(2, 3, 2, 3)"],
        "n, f, y, x", "C[n, f, y, x] + A[n, c, y * 2 + r * 2, x * 2 + s + 1] * B[f, c, r, s]",
    ),
    "window": ("i:4 j:5 k:6R", ["(6, 9)", "(6, 7)", "(5, 7)"], "i + 1, j + 2", "C[i + 1, j + 2] + A[i + 2, k + 3] * B[k, j + 1]"),
}  # fmt: skip


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_contraction_is_computed_by_blas(name: str, dtype: str, products: list[tuple[int, ...]]) -> None:
    axes, shapes, c, value = PRODUCTS[name]
    zero = f"T.{dtype}(0)"
    fn = nest(axes, dict(zip("ABC", shapes, strict=True)), c, value, zero=zero, dtype=dtype)
    fast, slow = both(fn, [eval(shape) for shape in shapes], dtype)  # shapes of this file
    np.testing.assert_array_equal(fast, slow)  # small integers: every order of adding gives the same
    if name == "main diagonal":  # B alone is summed
        assert not products
    else:
        assert len(products) == 1


LOOPS = {
    "subtracts": "C[i, j] - A[i, k] * B[k, j]",
    "another element before": "C[j, i] + A[i, k] * B[k, j]",
    "another buffer before": "A[i, j] + A[i, k] * B[k, j]",
    "one factor": "C[i, j] + A[i, k]",
    "a sum of factors": "C[i, j] + (A[i, k] + B[k, j])",
    "three factors": "C[i, j] + A[i, k] * B[k, j] * A[i, k]",
    "the result as a factor": "C[i, j] + C[i, k] * B[k, j]",
    "a function of a factor": "C[i, j] + T.exp(A[i, k] * T.float32(0)) * B[k, j]",
    "an index modulo": "C[i, j] + A[i, k % 2] * B[k, j]",
    "a product of axes": "C[i, j] + A[i, k * j % 4] * B[k, j]",
    "a negative step": "C[i, j] + A[i, 3 - k] * B[k, j]",
}


@pytest.mark.parametrize("name", LOOPS)
def test_other_nests_keep_their_loops(name: str, products: list[tuple[int, ...]]) -> None:
    shape = "(4, 4)"
    fn = nest("i:4 j:4 k:4R", dict.fromkeys("ABC", shape), "i, j", LOOPS[name], zero="T.float32(0)")
    np.testing.assert_array_equal(*both(fn, [(4, 4)] * 3))
    assert not products


SQUARE = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    for li, lj, lk in T.grid(4, 4, 4):
        with T.sblock("sum"):
            i, j, k = T.axis.remap("SSR", [li, lj, lk])
            with T.init():
                C[i, j] = T.float32(0)
            C[i, j] = C[i, j] + A[i, k] * B[k, j]
"""
OTHERS: dict[str, list[tuple[str, str]]] = {
    "another start": [("C[i, j] = T.float32(0)", "C[i, j] = T.float32(1)")],
    "another element started": [("C[i, j] = T.float32(0)", "C[j, i] = T.float32(0)")],
    "another buffer started": [("C[i, j] = T.float32(0)", "A[i, j] = T.float32(0)")],
    "a predicate": [("            with T.init", "            T.where(li < 2)\n            with T.init")],
    "a loop that is no axis": [("T.grid(4, 4, 4)", "T.grid(4, 4, 4, 2)"), ("lk in", "lk, again in")],
    "an axis in no index": [
        ("T.grid(4, 4, 4)", "T.grid(4, 4, 4, 2)"), ("lk in", "lk, lm in"), ("j, k =", "j, k, m ="), ("SSR", "SSRR"), ("lj, lk]", "lj, lk, lm]")
    ],
    "a loop for two axes": [("[li, lj, lk]", "[li, li, lk]")],
    "narrow floats": [("float32", "float16")],
    "a loop from 1": [("for li, lj, lk in T.grid(4, 4, 4)", "for li in range(1, 4):\n     for lj, lk in T.grid(4, 4)")],
    "a loop with a step": [("for li, lj, lk in T.grid(4, 4, 4)", "for li in T.serial(0, 4, step=2):\n     for lj, lk in T.grid(4, 4)")],
    "a triangle": [("for li, lj, lk in T.grid(4, 4, 4)", "for li in range(4):\n     for lj in range(4):\n      for lk in range(li + 1)")],
    "every second element": [("C[i, j]", "C[i, j * 2 // 2]")],
    "a diagonal of the result": [("C[i, j]", "C[i, i]"), ("B[k, j]", "B[k, i]")],
    "the sum of two axes": [("C[i, j]", "C[i, j + i]"), ("T.grid(4, 4, 4)", "T.grid(2, 2, 4)")],
    "twice an axis": [("C[i, j]", "C[i, j * 2]"), ("T.grid(4, 4, 4)", "T.grid(4, 2, 4)")],
    "a product of two axes": [("A[i, k]", "A[i, k * j // 4]")],
    "the result as a factor": [("B[k, j]\n", "C[i, j]\n")],
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_a_nest_with_other_parts_keeps_its_loops(name: str, products: list[tuple[int, ...]]) -> None:
    text = SQUARE
    for old, new in OTHERS[name]:
        assert old in text
        text = text.replace(old, new)
    dtype = "float16" if "16" in text else "float32"
    np.testing.assert_array_equal(*both(rxe.parse(text)["f"], [(4, 4)] * 3, dtype))
    assert not products


def test_threads_are_no_contraction() -> None:
    text = SQUARE.replace(
        "for li, lj, lk in T.grid(4, 4, 4)",
        'for li in T.thread_binding(4, thread="threadIdx.x"):\n     for lj, lk in T.grid(4, 4)',
    )
    assert kernel_pieces.pieces(rxe.parse(text)["f"]) is None


def test_integer_factors_that_are_cast_keep_their_loops(products: list[tuple[int, ...]]) -> None:
    text = SQUARE.replace('B: T.Buffer((4, 4), "float32")', 'B: T.Buffer((4, 4), "int32")')
    fn = rxe.parse(text.replace("B[k, j]", 'T.Cast("float32", B[k, j])'))["f"]
    compile_prim_func(fn)(np.ones((4, 4), "float32"), np.ones((4, 4), "int32"), np.ones((4, 4), "float32"))
    assert not products


def test_a_constant_axis_and_shared_memory(products: list[tuple[int, ...]]) -> None:
    """An axis may be a constant. Such a nest keeps its order too where memory is shared."""
    axes = ["i = T.axis.spatial(1, 2)", "j = T.axis.spatial(4, lj)", "k = T.axis.reduce(4, lk)"]
    text = SQUARE.replace("for li, lj", "for lj").replace("T.grid(4, 4, 4)", "T.grid(4, 4)")
    text = text.replace('i, j, k = T.axis.remap("SSR", [li, lj, lk])', ("\n" + " " * 12).join(axes))
    fn = rxe.parse(text)["f"]
    np.testing.assert_array_equal(*both(fn, [(4, 4)] * 3))
    assert products == [(4,)]
    results = []
    for kernel in (compile_prim_func(fn), uncompiled(fn)):
        x = np.arange(16, dtype=np.float32).reshape(4, 4)
        kernel(x, x.copy(), x)
        results.append(x)
    np.testing.assert_array_equal(*results)
    assert len(products) == 1


def test_a_result_keeps_the_loops(products: list[tuple[int, ...]]) -> None:
    text = SQUARE.replace('"float32")):', '"float32")) -> T.int32:') + "    return 7\n"
    fn = rxe.parse(text)["f"]
    assert fn.ret_type is not None
    assert compile_prim_func(fn)(*[np.ones((4, 4), "float32")] * 2, np.ones((4, 4), "float32")) == 7
    assert not products


def test_views_keep_the_loops(products: list[tuple[int, ...]]) -> None:
    view = '    V = T.decl_buffer((4, 4), "float32", data=A.data)\n    for li'
    fn = rxe.parse(SQUARE.replace("    for li", view).replace("A[i, k]", "V[i, k]"))["f"]
    np.testing.assert_array_equal(*both(fn, [(4, 4)] * 3))
    assert not products


def test_memory_beyond_the_limit_is_refused_as_by_the_loops(products: list[tuple[int, ...]]) -> None:
    text = SQUARE.replace("(4, 4)", "(n, 4)", 1).replace(
        "    for li",
        """    P = T.sblock_alloc_buffer((n * 100000000, 4000), "float32")
    for a, b in T.grid(n * 100000000, 4000):
        with T.sblock("fill"):
            va, vb = T.axis.remap("SS", [a, b])
            P[va, vb] = T.float32(0)
    for li""",
    )
    with pytest.raises(rxe.Failure, match="too much memory"):
        compile_prim_func(rxe.parse(text)["f"])(*[np.ones((4, 4), "float32") for _ in range(3)])
    assert not products


def test_kernels_between_get_scalars_and_shape_variables(products: list[tuple[int, ...]]) -> None:
    text = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((n, m), "float32"), B: T.Buffer((m, 5), "float32"), C: T.Buffer((n, 5), "float32"), s: T.int32, D: T.Buffer((n, 5), "float32")):
    for li, lj, lk in T.grid(n, 5, m):
        with T.sblock("sum"):
            i, j, k = T.axis.remap("SSR", [li, lj, lk])
            with T.init():
                C[i, j] = T.float32(0)
            C[i, j] = C[i, j] + A[i, k] * B[k, j]
    for a, b in T.grid(n, 5):
        with T.sblock("scale"):
            va, vb = T.axis.remap("SS", [a, b])
            L = T.sblock_alloc_buffer((1,), "float32")
            L[0] = C[va, vb] * T.Cast("float32", s)
            D[va, vb] = L[0] + T.Cast("float32", m)
"""
    fn, results = rxe.parse(text)["f"], []
    for kernel in (compile_prim_func(fn), uncompiled(fn)):
        d = np.zeros((3, 5), "float32")
        kernel(np.ones((3, 4), "float32"), np.ones((4, 5), "float32"), np.zeros((3, 5), "float32"), 7, d)
        results.append(d)
    np.testing.assert_array_equal(*results)
    assert results[0][0, 0] == 4 * 7 + 4
    assert products == [(3, 5)]


def test_repeated_calls_of_a_large_product_multiply_by_blas(products: list[tuple[int, ...]]) -> None:
    """Straight lines of equal calls run as one text, unless BLAS is faster. No other test has a kernel of this size, which would be known."""
    calls = "".join(f"            v{n + 1} = R.matmul(v{n}, w)\n" for n in range(40))
    head = 'def main(v0: R.Tensor((19, 19), "float32"), w: R.Tensor((19, 19), "float32")):'
    text = f"@I.ir_module\nclass M:\n    @R.function\n    {head}\n        with R.dataflow():\n{calls}            R.output(v40)\n        return v40\n"
    program = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "LegalizeOps")
    rxe.run(program, "main", [np.eye(19, dtype="float32")] * 2)
    assert len(products) == 40


SEQUENCES = {
    "elements written twice": ("i:4 k:3R", "(4, 3)", "(4,)", "i // 2", "C[i // 2] + A[i, k]"),
    "an axis that no index names": ("i:4 j:2 k:3R", "(4, 3)", "(4,)", "i", "C[i] + A[i, k]"),
    "a neighbour is read": ("i:4 k:3R", "(4, 3)", "(4,)", "i", "C[i] + A[i, k] + C[T.max(i - 1, 0)]"),
    "an index that is read": ("i:4 k:3R", "(4, 3)", "(4,)", "T.Cast('int32', C[i]) * 0 + i", "C[T.Cast('int32', C[i]) * 0 + i] + A[i, k]"),
    "moved": ("i:3 k:3R", "(4, 3)", "(4,)", "i + 1", "C[i + 1] + A[i, k]"),
}  # fmt: skip


@pytest.mark.parametrize("name", SEQUENCES)
def test_sums_that_depend_on_their_order_are_computed_in_order(name: str) -> None:
    axes, a, c, index, value = SEQUENCES[name]
    fn = nest(axes, {"A": a, "C": c}, index, value, zero="T.float32(0)")
    np.testing.assert_array_equal(*both(fn, [eval(a), eval(c)]))  # shapes of this file


def test_integers_keep_their_loops(products: list[tuple[int, ...]]) -> None:
    fn = nest(
        "i:4 j:4 k:4R", dict.fromkeys("ABC", "(4, 4)"), "i, j", "C[i, j] + A[i, k] * B[k, j]", dtype="int32"
    )
    np.testing.assert_array_equal(*both(fn, [(4, 4)] * 3, "int32"))
    assert not products


def test_an_index_outside_is_reported_as_by_the_loops(products: list[tuple[int, ...]]) -> None:
    shapes = {"A": "(n, m)", "B": "(m, 5)", "C": "(n, 5)"}
    fn = nest("i:n j:5 k:mR", shapes, "i, j", "C[i, j] + A[i, k + 1] * B[k, j]", zero="T.float32(0)")
    with pytest.raises(rxe.Failure, match="RX0"):
        compile_prim_func(fn)(*[np.ones(s, "float32") for s in ((4, 6), (6, 5), (4, 5))])
    assert not products


def test_the_lengths_of_a_call_decide(
    products: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_pieces, "WORTHWHILE", 100)
    shapes = {"A": "(n, m)", "B": "(m, 5)", "C": "(n, 5)"}
    fn = nest("i:n j:5 k:mR", shapes, "i, j", "C[i, j] + A[i, k] * B[k, j]", zero="T.float32(0)")
    for n, m, count in ((2, 2, 0), (7, 3, 1), (0, 3, 1), (3, 0, 1), (40, 2, 2)):
        np.testing.assert_array_equal(*both(fn, [(n, m), (m, 5), (n, 5)]))
        assert len(products) == count, (n, m)


def test_shared_memory_keeps_the_loops(products: list[tuple[int, ...]]) -> None:
    fn = nest(
        "i:4 j:4 k:4R",
        dict.fromkeys("ABC", "(4, 4)"),
        "i, j",
        "C[i, j] + A[i, k] * B[k, j]",
        zero="T.float32(0)",
    )
    results = []
    for kernel in (compile_prim_func(fn), uncompiled(fn)):
        x = np.arange(16, dtype=np.float32).reshape(4, 4)
        kernel(x, x.copy(), x)
        results.append(x)
    np.testing.assert_array_equal(*results)
    assert not products


BEFORE = """T.func_attr({"global_symbol": "f"})
P = T.sblock_alloc_buffer((6, 8), "float32")
for a, b in T.grid(6, 8):
    with T.sblock("pad"):
        va, vb = T.axis.remap("SS", [a, b])
        P[va, vb] = T.if_then_else(va < 4 and vb < 6, A[va, vb], T.float32(0))"""
AFTER = """for a, b in T.grid(6, 5):
    with T.sblock("bias"):
        va, vb = T.axis.remap("SS", [a, b])
        D[va, vb] = C[va, vb] + B[0, vb]"""
FUSED = {"A": "(4, 6)", "B": "(8, 5)", "C": "(6, 5)", "D": "(6, 5)"}


def test_statements_before_and_after_run_as_kernels(products: list[tuple[int, ...]]) -> None:
    value = "C[i, j] + P[i, k] * B[k, j]"
    fn = nest("i:6 j:5 k:8R", FUSED, "i, j", value, before=BEFORE, after=AFTER, zero="T.float32(0)")
    np.testing.assert_array_equal(*both(fn, [(4, 6), (8, 5), (6, 5), (6, 5)]))
    assert products == [(6, 5)]


def test_shared_memory_in_repeated_calls_keeps_the_order() -> None:
    fn = rxe.parse(SQUARE)["f"]
    x = np.ones((4, 4), "float32")
    assert compile_prim_func(fn).prepared([x, x.copy(), x], 2) is None


def test_memory_that_is_read_before_it_is_filled_keeps_the_loops(products: list[tuple[int, ...]]) -> None:
    value = "C[i, j] + P[i, k] * B[k, j]"
    before = BEFORE.replace("T.grid(6, 8)", "T.grid(4, 8)")
    fn = nest("i:6 j:5 k:8R", FUSED, "i, j", value, before=before, after=AFTER, zero="T.float32(0)")
    arrays = [np.ones(s, "float32") for s in ((4, 6), (8, 5), (6, 5), (6, 5))]
    compile_prim_func(fn)(*arrays)
    assert np.isnan(arrays[-1][4:]).all()
    assert not products


def test_a_trap_beside_a_contraction_is_the_one_of_the_loops() -> None:
    value = "C[i, j] + P[i, k] * B[k, j]"
    after = AFTER.replace("B[0, vb]", "B[va * 2, vb]")
    said = []
    fn = nest("i:6 j:5 k:8R", FUSED, "i, j", value, before=BEFORE, after=after, zero="T.float32(0)")
    for kernel in (compile_prim_func(fn), uncompiled(fn)):
        with pytest.raises(rxe.Failure) as caught:
            kernel(*[np.ones(s, "float32") for s in ((4, 6), (8, 5), (6, 5), (6, 5))])
        said.append(str(caught.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("narrow", ["float16", "float32"])
def test_factors_may_be_cast(narrow: str, products: list[tuple[int, ...]]) -> None:
    text = f"""
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4, 6), "float32"), B: T.Buffer((6, 5), "{narrow}"), C: T.Buffer((4, 5), "float64")):
    for li, lj, lk in T.grid(4, 5, 6):
        with T.sblock("sum"):
            i, j, k = T.axis.remap("SSR", [li, lj, lk])
            with T.init():
                C[i, j] = T.float64(0)
            C[i, j] = C[i, j] + T.Cast("float64", A[i, k]) * T.Cast("float64", B[k, j])
"""
    fn, results = rxe.parse(text)["f"], []
    for kernel in (compile_prim_func(fn), uncompiled(fn)):
        a, b, c = np.full((4, 6), 1 / 3, "float32"), np.full((6, 5), 3, narrow), np.zeros((4, 5))
        kernel(a, b, c)
        results.append(c)
    np.testing.assert_allclose(*results, rtol=1e-14)
    assert len(products) == (narrow == "float32")  # narrow floats are held in wider memory


def test_large_products_are_computed_in_parts(
    monkeypatch: pytest.MonkeyPatch, products: list[tuple[int, ...]]
) -> None:
    monkeypatch.setattr(module, "MOST_AT_ONCE", 40)
    for name in ("batch inside", "result transposed", "shared right", "conv2d"):
        axes, shapes, c, value = PRODUCTS[name]
        fn = nest(axes, dict(zip("ABC", shapes, strict=True)), c, value, zero="T.float32(0)")
        products.clear()
        np.testing.assert_array_equal(*both(fn, [eval(shape) for shape in shapes]))  # shapes of this file
        assert len(products) > 3


def test_a_cancelled_run_stops_between_parts(
    monkeypatch: pytest.MonkeyPatch, products: list[tuple[int, ...]]
) -> None:
    monkeypatch.setattr(module, "MOST_AT_ONCE", 40)
    axes, shapes, c, value = PRODUCTS["matmul"]
    fn = nest(axes, dict(zip("ABC", shapes, strict=True)), c, value, zero="T.float32(0)")
    interrupt = Interrupt()
    multiply = Views._multiply
    monkeypatch.setattr(Views, "_multiply", lambda self: (interrupt.cancel(), multiply(self))[1])
    with pytest.raises(Cancelled):
        compile_prim_func(fn)(*[np.ones(s, "float32") for s in ((4, 6), (6, 5), (4, 5))], interrupt=interrupt)
    assert len(products) == 1


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("step", [1, 2])
def test_every_matrix_suits_blas(transposed: bool, step: int) -> None:
    whole = np.zeros((8, 12), np.float32)[::step, ::step]
    matrix = dense(whole.T if transposed else whole)
    assert matrix.itemsize in matrix.strides
    overlapping = np.lib.stride_tricks.as_strided(np.zeros(9, np.float32), (4, 3), (4, 4))
    assert dense(overlapping).flags.c_contiguous


def test_lowered_models_multiply_by_blas(
    monkeypatch: pytest.MonkeyPatch, products: list[tuple[int, ...]]
) -> None:
    text = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3, 8, 8), "float32"), w: R.Tensor((4, 3, 3, 3), "float32"), d: R.Tensor((5, 8), "float32")):
        with R.dataflow():
            a = R.nn.conv2d(x, w, strides=[2, 1], padding=[1, 1, 1, 1])
            b = R.matmul(a, R.permute_dims(d))
            R.output(b)
        return b
"""
    monkeypatch.setattr(kernel_pieces, "WORTHWHILE", 1 << 9)
    module_ = rxe.normalize(rxe.parse(text))
    random = np.random.default_rng(0)
    args = [random.standard_normal(s).astype("float32") for s in ((2, 3, 8, 8), (4, 3, 3, 3), (5, 8))]
    expected = rxe.run(module_, "main", args)
    lowered = rxe.apply_pass(module_, "LegalizeOps")
    np.testing.assert_allclose(rxe.run(lowered, "main", args), expected, rtol=2e-5, atol=1e-5)
    assert sorted(products) == [(2, 4, 4, 5), (2, 4, 8, 4)]
    products.clear()
    np.testing.assert_allclose(
        rxe.run(lowered, "main", args, engine="reference"), expected, rtol=2e-5, atol=1e-5
    )
    assert not products
