"""Operations of tensor cores on tiles run as loops, and a view of a region is what it shows: CUDA's wmma, Metal's simdgroups."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.compiled_kernel import compile_prim_func, uncompiled
from relax_explorer.core.exec.kernel_code import NEVER
from relax_explorer.core.exec.kernel_walk import KernelWalk
from relax_explorer.core.tir.matched_views import without_views
from relax_explorer.core.tir.stmt import PrimFunc, SBlock
from relax_explorer.core.tir.traverse import statements

Compile = Callable[[PrimFunc], Callable[..., object]]
SCHEDULES = Path(__file__).parent.parent / "data" / "tensor_cores"
ENGINES = pytest.mark.parametrize(
    "kernel",
    [compile_prim_func, lambda fn: compile_prim_func(fn, None, True), uncompiled],
    ids=["llvm", "numba", "reference"],
)


# -- schedules of TVM ----------------------------------------------------------------------------------------------------


def _as_operators(name: str, x: np.ndarray, w: np.ndarray, *rest: np.ndarray) -> np.ndarray:
    """The program of a schedule in float64, without its roundings."""
    x, w = x.astype(float), w.astype(float)
    if name == "wmma_nn":
        return np.maximum(x @ w, 0)
    return x @ w.T + rest[0].astype(float)


@pytest.mark.parametrize("length", [1, 5, 130])
@pytest.mark.parametrize("engine", ["llvm", "numba"])
@pytest.mark.parametrize("name", ["wmma_nt", "wmma_nn", "simdgroup"])
def test_a_product_that_tvm_scheduled_for_tensor_cores_has_its_values(
    name: str, engine: str, length: int
) -> None:
    module = rxe.parse((SCHEDULES / f"{name}.py").read_text(encoding="utf-8"))
    assert "match_buffer" in module.script()
    random = np.random.default_rng(length)
    inner, outer = (64, 128) if name == "simdgroup" else (128, 128)
    shapes = [(1, length, inner), (inner, outer) if name == "wmma_nn" else (outer, inner)]
    shapes += [] if name == "wmma_nn" else [(outer,)]
    args = [random.standard_normal(shape).astype("float16") for shape in shapes]
    found = rxe.run(module, "main", args, engine=engine)
    right = _as_operators(name, *args)
    np.testing.assert_allclose(found, right, rtol=1e-2, atol=0.15 if name != "wmma_nn" else 1e-4)


# -- operations ----------------------------------------------------------------------------------------------------------

HEAD = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((2, 4, 4), "float32"), B: T.Buffer((2, 4, 4), "float32"), C: T.Buffer((2, 4, 4), "float32")):
"""
BLOCK = (
    HEAD
    + """    for i in range(2):
        with T.sblock("tile"):
            v = T.axis.spatial(2, i)
            a = T.match_buffer(A[v, 0:4, 0:4], (4, 4), "float32", strides=("s1", "s0"), offset_factor=4)
            b = T.match_buffer(B[v, 0:4, 0:4], (4, 4), "float32", strides=("t1", "t0"), offset_factor=4)
            c = T.match_buffer(C[v, 0:4, 0:4], (4, 4), "float32", strides=("u1", "u0"), offset_factor=4)
            {operation}
"""
)
ACCESS = 'T.tvm_access_ptr(T.type_annotation("float32"), {0}.data, {0}.elem_offset, {0}.strides[0] * 4, {1})'


def _load(layout: str) -> str:
    pointer = ACCESS.format("a", 1)
    return f'T.tvm_load_matrix_sync(c.data, 4, 4, 4, c.elem_offset, {pointer}, a.strides[0], "{layout}")'


def _store(layout: str) -> str:
    pointer = ACCESS.format("c", 2)
    return f'T.tvm_store_matrix_sync(a.data, 4, 4, 4, a.elem_offset, {pointer}, c.strides[0], "{layout}")'


def _simdgroup(name: str, of: str, at: str, transpose: bool) -> str:
    pointer = ACCESS.format(at, 1)
    return f"T.metal.simdgroup_{name}({of}.data, 0, {pointer}, {at}.strides[0], 4, 4, T.bool({transpose}))"


def _mma(name: str, *operands: str) -> str:
    return f"T.{name}({', '.join(f'{operand}.data, {operand}.elem_offset' for operand in operands)})"


Value = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
OPERATIONS: dict[str, tuple[str, Value]] = {
    "fill": (
        "T.tvm_fill_fragment(c.data, 4, 4, 4, c.elem_offset, T.float32(2.5))",
        lambda a, b, c: np.full_like(c, 2.5),
    ),
    "load by rows": (_load("row_major"), lambda a, b, c: a),
    "load by columns": (_load("col_major"), lambda a, b, c: a.swapaxes(1, 2)),
    "store by rows": (_store("row_major"), lambda a, b, c: a),
    "store by columns": (_store("col_major"), lambda a, b, c: a.swapaxes(1, 2)),
    "multiply": (_mma("tvm_mma_sync", "c", "a", "b", "c"), lambda a, b, c: c + a @ b),
    "make filled": (
        "T.metal.make_filled_simdgroup_matrix(c.data, 0, T.float32(-1), 4, 4)",
        lambda a, b, c: np.full_like(c, -1),
    ),
    "load": (_simdgroup("load", "c", "a", False), lambda a, b, c: a),
    "load transposed": (_simdgroup("load", "c", "a", True), lambda a, b, c: a.swapaxes(1, 2)),
    "store": (_simdgroup("store", "a", "c", False), lambda a, b, c: a),
    "store transposed": (_simdgroup("store", "a", "c", True), lambda a, b, c: a.swapaxes(1, 2)),
    "multiply and accumulate": (
        _mma("metal.simdgroup_multiply_accumulate", "c", "b", "a", "c"),
        lambda a, b, c: c + b @ a,
    ),
    # views alone
    "elements": (
        "for j, k in T.grid(4, 4):\n                c[k, j] = a[j, k] - b[k, 3]",
        lambda a, b, c: (a - b[:, :, 3][:, None, :]).swapaxes(1, 2),
    ),
    "a view of a view": (
        'with T.sblock("inner"):\n'
        '                row = T.match_buffer(c[2, 1:3], (2,), "float32", offset_factor=1)\n'
        "                row[0] = a[0, 0]\n                row[1] = row[0] + a[3, 3]",
        lambda a, b, c: _changed(c, [(2, 1, a[:, 0, 0]), (2, 2, a[:, 0, 0] + a[:, 3, 3])]),
    ),
}


def _changed(c: np.ndarray, places: list[tuple[int, int, np.ndarray]]) -> np.ndarray:
    c = c.copy()
    for row, column, value in places:
        c[:, row, column] = value
    return c


def given() -> list[np.ndarray]:
    random = np.random.default_rng(3)
    return [random.integers(-4, 5, (2, 4, 4)).astype("float32") for _ in range(3)]


def kernel_of(text: str) -> PrimFunc:
    fn = rxe.parse(text)["f"]
    assert isinstance(fn, PrimFunc)
    return fn


@ENGINES
@pytest.mark.parametrize(("operation", "value"), OPERATIONS.values(), ids=OPERATIONS)
def test_an_operation_on_tiles_computes_what_the_hardware_does(
    operation: str, value: Value, kernel: Compile
) -> None:
    a, b, c = given()
    right = value(a, b, c.copy())
    kernel(kernel_of(BLOCK.format(operation=operation)))(a, b, c)
    np.testing.assert_array_equal(c, right)


@ENGINES
def test_a_sum_is_kept_in_the_dtype_of_its_tile(kernel: Compile) -> None:
    """Halves are multiplied as the numbers of the tile that they are added to."""
    text = BLOCK.replace('A: T.Buffer((2, 4, 4), "float32"), B: T.Buffer((2, 4, 4), "float32")', "{halves}")
    text = text.replace('(4, 4), "float32", strides=("s1"', '(4, 4), "float16", strides=("s1"')
    text = text.replace('(4, 4), "float32", strides=("t1"', '(4, 4), "float16", strides=("t1"')
    halves = 'A: T.Buffer((2, 4, 4), "float16"), B: T.Buffer((2, 4, 4), "float16")'
    a, b = [np.full((2, 4, 4), number, "float16") for number in (300.0, 301.0)]  # their product is no half
    c = np.zeros((2, 4, 4), "float32")
    kernel(kernel_of(text.format(halves=halves, operation=OPERATIONS["multiply"][0])))(a, b, c)
    assert c.tolist() == np.full((2, 4, 4), 4 * 300.0 * 301.0).tolist()


WRONG = {
    "a layout that nobody knows": _load("tile_major"),
    "a sum in another tile": _mma("tvm_mma_sync", "c", "a", "b", "a"),
    "another operation": "T.evaluate(T.tvm_bmma_sync(c.data, 0, a.data, 0, b.data, 0, c.data, 0))",
    "the offset of a view": "c[0, a.elem_offset] = T.float32(0)",
    "a stride": "c[0, a.strides[0]] = T.float32(0)",
}


@ENGINES
@pytest.mark.parametrize("operation", WRONG.values(), ids=WRONG)
def test_what_is_not_understood_is_refused(operation: str, kernel: Compile) -> None:
    with pytest.raises(rxe.Failure, match="match_buffer inside a block"):
        kernel(kernel_of(BLOCK.format(operation=operation)))(*given())


def test_an_operation_in_a_loop_over_lanes_is_refused() -> None:
    """A warp makes it once, a loop would make it for each lane."""
    text = BLOCK.format(operation=OPERATIONS["multiply"][0])
    by_lanes = text.replace("for i in range(2)", 'for i in T.thread_binding(2, thread="threadIdx.x")')
    with pytest.raises(rxe.Failure, match="match_buffer inside a block"):
        compile_prim_func(kernel_of(by_lanes))
    by_warps = text.replace("for i in range(2)", 'for i in T.thread_binding(2, thread="threadIdx.y")')
    compile_prim_func(kernel_of(by_warps))


@pytest.mark.parametrize(
    ("shape", "region"),
    [
        ('(2, 8), "float32"', "v, 0:4, 0:4"),
        ('(4, 4), "float32"', "0:2, 0:4, 0:4"),
        ('(4,), "float32"', "v, 0:4, 0:4"),
        ('(4, 4), "int32"', "v, 0:4, 0:4"),
    ],
)
def test_a_view_of_another_form_is_left(shape: str, region: str) -> None:
    text = BLOCK.format(operation="c[0, 0] = T.float32(1)")
    view = 'A[v, 0:4, 0:4], (4, 4), "float32", strides=("s1", "s0")'
    text = text.replace(view, f"A[{region}], {shape}")
    fn = kernel_of(text)
    assert [node.match_buffers for node in statements(without_views(fn).body) if type(node) is SBlock][-1]


@pytest.mark.parametrize("layout", ["row_major", "col_major"])
def test_tiles_of_other_lengths_are_refused(layout: str) -> None:
    text = BLOCK.replace(
        "a = T.match_buffer(A[v, 0:4, 0:4], (4, 4)", "a = T.match_buffer(A[v, 0:2, 0:4], (2, 4)"
    )
    with pytest.raises(rxe.Failure, match="match_buffer inside a block"):
        compile_prim_func(kernel_of(text.format(operation=_load(layout))))


def test_a_kernel_without_views_stays_the_same_object() -> None:
    fn = kernel_of(HEAD + "    A[0, 0, 0] = T.float32(1)\n")
    assert without_views(fn) is fn
    tiles = kernel_of(BLOCK.format(operation=OPERATIONS["fill"][0]))
    assert without_views(tiles) is without_views(tiles) is not tiles


def test_work_on_tiles_is_counted() -> None:
    cost = rxe.cost(rxe.parse((SCHEDULES / "wmma_nn.py").read_text(encoding="utf-8")), "main")
    assert not cost.unknown
    assert str(cost.flops) == f"{2 * 128**3 + 128 * 128:,}·(n + 127) // 128"


def test_a_walk_goes_through_the_loops_of_an_operation() -> None:
    """One step for each product, at the line of the operation."""
    fn = kernel_of(BLOCK.format(operation=OPERATIONS["multiply"][0]))
    walk = KernelWalk(fn, "f", uncompiled(fn).passed(given()), NEVER)
    steps = 0
    while walk.step():
        steps += 1
        assert {"C", "row", "column", "inner"} <= set(walk.names)
    assert steps == 2 * 4 * 4 * 4
