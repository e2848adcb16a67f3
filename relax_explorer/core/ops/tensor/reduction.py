"""Reductions over axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from relax_explorer.core.arith.prove import product
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.diagnostics import Code
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT32, INT64, UINT64, DType
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit import te as loops
from relax_explorer.core.ops.kit.binary_math import divide, index
from relax_explorer.core.ops.kit.decl import FLOATS, Axes, Fusion, Op, Site, Stops, attr, operand
from relax_explorer.core.ops.kit.flop_count import FlopCount, each, together
from relax_explorer.core.ops.kit.ndarrays import Array, OfNumpy
from relax_explorer.core.ops.kit.special import wide
from relax_explorer.core.ops.kit.te import Te, Tensor, call, cast, flat_index, highest, lowest
from relax_explorer.core.tir.stmt import Stmt


class Reduction(Op):
    """Base of the reductions. The reduced axes are removed, or kept with length 1."""

    raises: ClassVar[tuple[Code, ...]] = (codes.AXIS_RANGE, codes.AXIS_TWICE)
    x: Tensor = operand("the tensor")
    axis: Axes | None = attr(None, "the axes to reduce, negative count from the last; all when None")
    keepdims: bool = attr(False, "True keeps the reduced axes with length 1")
    fusion = Fusion.REDUCE
    examples: ClassVar[tuple[str, ...]] = (
        "f32[n,4] axis=[1] -> f32[n]",
        "f32[n,4] axis=[1] keepdims=True -> f32[n,1]",
        "f32[n,4] -> f32[]",
    )

    @staticmethod
    def infer(at: Site, x: s.StructInfo, axis: Axes | None, keepdims: bool) -> s.StructInfo:
        """The shape of x without the reduced axes, the dtype of x."""
        info = rules.tensor(at, x, "x")
        gone = rules.axes(at, axis, info.ndim, "axis") if info.ndim >= 0 else []
        return s.TensorStructInfo(*reduced(info, axis, gone, keepdims))


def _doubt(x: Array, axis: int | Axes | None, keepdims: bool) -> str:
    """A warning if the reduced axis has length 0 at run time, but the result has elements."""
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    gone = {n % x.ndim for n in axes}
    empty = next((n for n in sorted(gone) if not x.shape[n]), None)
    if empty is None or 0 in [length for n, length in enumerate(x.shape) if n not in gone]:
        return ""
    return f"axis {empty} of x has length 0 here, and of no elements there is no such value"


class OfSome(Reduction):
    """Base of the reductions that are undefined for no elements."""

    raises = (codes.AXIS_RANGE, codes.AXIS_TWICE, codes.OF_NOTHING)
    stops = Stops.RANKS
    doubt = staticmethod(_doubt)

    @staticmethod
    def infer(at: Site, x: s.StructInfo, axis: Axes | None, keepdims: bool) -> s.StructInfo:
        """The shape of x without the reduced axes, the dtype of x."""
        result = Reduction.infer(at, x, axis, keepdims)
        warn_of_nothing(at, x, axis)
        return result


def reduced(
    info: s.TensorStructInfo, axis: int | Sequence[int] | None, gone: Sequence[int], keepdims: bool
) -> tuple[Any, Any, int]:
    """Shape, dtype and rank of a reduction; `gone` are the axes that `axis` names, where the rank is known."""
    if info.ndim < 0:
        return (() if axis is None and not keepdims else None), info.dtype, -1
    if info.dims is None and len(gone) == info.ndim:
        return (rules.ONE,) * info.ndim if keepdims else (), info.dtype, -1
    if info.dims is None:
        return None, info.dtype, info.ndim if keepdims else info.ndim - len(gone)
    if keepdims:
        return tuple([rules.ONE if n in gone else dim for n, dim in enumerate(info.dims)]), info.dtype, -1
    return tuple([dim for n, dim in enumerate(info.dims) if n not in gone]), info.dtype, -1


def warn_of_nothing(at: Site, x: s.StructInfo, axis: int | Sequence[int] | None) -> None:
    """Warn of a reduced axis that is known to have length 0."""
    if not isinstance(x, s.TensorStructInfo) or x.dims is None:
        return
    gone = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    empty = next((n % x.ndim for n in gone if x.dims[n] is rules.ZERO), None)
    if empty is not None:
        text = f"axis {empty} of x has length 0, and of no elements there is no such value"
        at.warn(codes.OF_NOTHING, text, x=f"this is {x}")


def reduce_stage(
    te: Te,
    x: Tensor,
    axis: Sequence[int] | None,
    keepdims: bool,
    name: str,
    combine: Callable[[p.PrimExpr, p.PrimExpr], p.PrimExpr],
    start: p.PrimExpr,
    element: Callable[[p.PrimExpr], p.PrimExpr] = lambda value: value,
) -> Tensor:
    """One stage that combines `element(x[…])` over the axes."""
    gone = [n % x.ndim for n in axis] if axis is not None else list(range(x.ndim))
    kept = [n for n in range(x.ndim) if n not in gone]
    shape = (
        [rules.ONE if n in gone else x.shape[n] for n in range(x.ndim)]
        if keepdims
        else [x.shape[n] for n in kept]
    )

    def body(*i: p.PrimExpr) -> p.PrimExpr:
        outer, inner = i[: len(shape)], iter(i[len(shape) :])
        places = iter([outer[n] for n in range(x.ndim) if n not in gone] if keepdims else outer)
        return element(x[tuple([next(inner) if n in gone else next(places) for n in range(x.ndim)])])

    return te.reduce(name, shape, [x.shape[n] for n in gone], body, combine, start, x.dtype)


def _axes(axis: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if axis is None else tuple(axis)


def _values(x: Array, axis: Axes | None, keepdims: bool, *, function: Callable[..., Any]) -> Array:
    """A function of numpy, or one like it, in the tensor's dtype."""
    return np.asarray(function(wide(x), _axes(axis), keepdims=keepdims)).astype(x.dtype, copy=False)


def _one_stage(
    te: Te,
    x: Tensor,
    axis: Axes | None,
    keepdims: bool,
    *,
    combine: Callable[[p.PrimExpr, p.PrimExpr], p.PrimExpr],
    start: Callable[[DType], p.PrimExpr],
) -> Tensor:
    """A reduction in one stage, which begins with `start` of the dtype."""
    return reduce_stage(te, x, axis, keepdims, f"{x.buffer.name}_red", combine, start(x.dtype))


def _most(dtype: DType) -> p.PrimExpr:
    """`highest` in a kernel. TVM can't read a literal above 2^63 - 1."""
    return p.PrimCall("bitwise_not", (p.IntImm(0, dtype),), dtype) if dtype is UINT64 else highest(dtype)


def _each_once(out: s.StructInfo, x: s.StructInfo, axis: Axes | None, keepdims: bool) -> FlopCount | None:
    """One FLOP for each element of x: of a reduction that combines each element with one operation."""
    return each(x, 1)


class Sum(Reduction, name="relax.sum"):
    """The sum of the elements along axes, in the dtype of x.

    The sum of no elements is 0; of bools, whether any is true. Integers wrap around in their dtype, unlike in numpy.
    """

    source = "numpy.sum"
    flops = staticmethod(_each_once)
    stops = Stops.RANKS
    examples = (*Reduction.examples, "bool[n,4] axis=[1] -> bool[n]")

    evaluate = staticmethod(partial(_values, function=OfNumpy("sum")))
    legalize = staticmethod(partial(_one_stage, combine=p.Add, start=partial(p.as_prim, 0)))


class Prod(Reduction, name="relax.prod"):
    """The product of the elements along axes, in the dtype of x.

    The product of no elements is 1; of bools, whether all are true. Integers wrap around in their dtype, unlike in numpy.
    """

    source = "numpy.prod"
    flops = staticmethod(_each_once)
    stops = Stops.RANKS

    evaluate = staticmethod(partial(_values, function=OfNumpy("prod")))
    legalize = staticmethod(partial(_one_stage, combine=p.Mul, start=partial(p.as_prim, 1)))


class Max(OfSome, name="relax.max"):
    """The largest of the elements along axes.

    For no elements the result is the least number of the dtype, with a warning. The element after a NaN replaces it: the result is
    the largest element after the last NaN, and NaN only if the last element is NaN. numpy returns NaN for any NaN.
    """

    source = "numpy.max"
    flops = staticmethod(_each_once)

    @staticmethod
    def evaluate(x: Array, axis: Axes | None, keepdims: bool) -> Array:
        """numpy.max."""
        return extreme(np.max, x, _axes(axis), keepdims, limit_of(lowest, x))

    legalize = staticmethod(partial(_one_stage, combine=p.Max, start=lowest))


class Min(OfSome, name="relax.min"):
    """The smallest of the elements along axes.

    For no elements the result is the largest number of the dtype, with a warning. The element after a NaN replaces it: the result
    is the smallest element after the last NaN, and NaN only if the last element is NaN. numpy returns NaN for any NaN.
    """

    source = "numpy.min"
    flops = staticmethod(_each_once)

    @staticmethod
    def evaluate(x: Array, axis: Axes | None, keepdims: bool) -> Array:
        """numpy.min."""
        return extreme(np.min, x, _axes(axis), keepdims, limit_of(highest, x))

    legalize = staticmethod(partial(_one_stage, combine=p.Min, start=_most))


def extreme(
    function: Callable[..., Any], x: Array, axes: tuple[int, ...] | None, keepdims: bool, start: Array
) -> Array:
    """numpy.max or numpy.min of the elements after the last NaN. TVM's chain of comparisons has this result."""
    result = np.asarray(function(x, axes, keepdims=keepdims, initial=start)).astype(x.dtype, copy=False)
    if x.dtype.kind in "iub" or not np.isnan(result).any():
        return result
    gone = range(x.ndim) if axes is None else sorted({n % x.ndim for n in axes})
    kept = [n for n in range(x.ndim) if n not in gone]
    rows = wide(np.transpose(x, (*kept, *gone))).reshape(*[x.shape[n] for n in kept], -1)
    border = np.asarray(-np.inf if function is np.max else np.inf, rows.dtype)
    last, behind = _behind_nan(rows, border)
    after = function(behind, -1, initial=border)
    row_results = np.where(
        last < 0, result.reshape(last.shape), np.where(last == rows.shape[-1] - 1, np.nan, after)
    )
    return row_results.reshape(result.shape).astype(x.dtype)


def limit_of(border: Callable[[Any], Any], x: Array) -> Array:
    """The least or largest number of an array's dtype, chosen by `border`."""
    from relax_explorer.core.ir.dtype import from_numpy

    return np.asarray(border(from_numpy(x.dtype)).value).astype(x.dtype)


def count(x: Tensor, axis: Sequence[int] | None) -> p.PrimExpr:
    """The number of elements that a reduction combines, as a scalar of the tensor's dtype."""
    dims = x.shape if axis is None else [x.shape[n % x.ndim] for n in axis]
    return cast(product(dims), x.dtype)


def _averaged(
    te: Te, x: Tensor, axis: Axes | None, keepdims: bool, *, stages: Callable[[Te, Tensor, Axes | None, bool], Tensor]
) -> Tensor:  # fmt: skip
    """Stages for numbers; bools become 0 and 1 before, and the result has the dtype of x."""
    kind = x.dtype
    if kind.is_bool:
        x = _converted(te, x, FLOAT32)
    result = stages(te, x, axis, keepdims)
    return result if result.dtype is kind else _converted(te, result, kind)


def _converted(te: Te, x: Tensor, kind: DType) -> Tensor:
    return te.compute("compute", x.shape, lambda *i: cast(x[i], kind))


def mean(x: Array, axis: Sequence[int] | None, keepdims: bool) -> Array:
    """The mean over axes; NaN for no elements. Sums of integers wrap around and the mean is truncated, as in the kernel."""
    x = x.astype(np.float32, copy=False) if x.dtype.kind == "b" else x
    total = np.asarray(np.sum(x, _axes(axis), x.dtype, keepdims=keepdims))
    number = x.size // total.size if total.size else 1
    counted = np.asarray(number).astype(x.dtype)
    if x.dtype.kind in "iu" and not number:
        raise ZeroDivisionError("x has no elements along the axis, and integers have no NaN")
    if x.dtype.kind in "iu" and not counted:
        raise ZeroDivisionError(
            f"{number} elements are as many as 0 in {x.dtype.name}, which divides their sum"
        )
    return divide(total, counted)


def variance(x: Array, axis: Sequence[int] | None, keepdims: bool) -> Array:
    """The mean squared distance from the mean over axes."""
    x = x.astype(np.float32, copy=False) if x.dtype.kind == "b" else x
    distance = x - mean(x, axis, True)
    return mean(distance * distance, axis, keepdims)


def deviation(x: Array, axis: Sequence[int] | None, keepdims: bool) -> Array:
    """The square root of the variance."""
    result: Array = np.sqrt(variance(x, axis, keepdims))
    return result


def mean_stages(te: Te, x: Tensor, axis: Axes | None, keepdims: bool, name: str = "") -> Tensor:
    """The sum, in a stage called `name`, then a division."""
    name = name or f"{x.buffer.name}_red"
    total = reduce_stage(te, x, axis, keepdims, name, p.Add, p.as_prim(0, x.dtype))
    return te.compute("T_divide", total.shape, lambda *i: p.Div(total[i], count(x, axis)))


def variance_stages(te: Te, x: Tensor, axis: Axes | None, keepdims: bool) -> Tensor:
    """Mean, squared distances, their mean."""
    mean = mean_stages(te, x, axis, True)

    def squared(*i: p.PrimExpr) -> p.PrimExpr:
        distance = p.Sub(x[i], index(mean, i, x.shape))
        return p.Mul(distance, distance)

    squares = te.compute("T_multiply", x.shape, squared)
    return mean_stages(te, squares, axis, keepdims, "T_multiply_red")


def deviation_stages(te: Te, x: Tensor, axis: Axes | None, keepdims: bool) -> Tensor:
    """The square root of the variance."""
    squares = variance_stages(te, x, axis, keepdims)
    return te.compute("compute", squares.shape, lambda *i: call("sqrt", squares[i]))


class Mean(OfSome, name="relax.mean"):
    """The arithmetic mean of the elements along axes, in the dtype of x.

    NaN for no elements, with a warning.
    Sums of integers wrap around and the quotient is truncated, unlike in numpy; for no elements the run stops.
    """

    source = "numpy.mean"
    defined_for = FLOATS

    @staticmethod
    def flops(out: s.StructInfo, x: s.StructInfo, axis: Axes | None, keepdims: bool) -> FlopCount | None:
        """An addition for each element of x, a division for each one of the result."""
        return together(each(x, 1), each(out, 1))

    evaluate = staticmethod(partial(_values, function=mean))
    legalize = staticmethod(partial(_averaged, stages=mean_stages))


class Variance(OfSome, name="relax.variance"):
    """The mean squared distance of the elements along axes from their mean, in the dtype of x.

    The divisor is the number of elements, not one less. NaN for no elements, with a warning.
    Sums of integers wrap around and the quotient is truncated, unlike in numpy; for no elements the run stops.
    """

    source = "numpy.var"
    by_kernel = True
    defined_for = FLOATS

    evaluate = staticmethod(partial(_values, function=variance))
    legalize = staticmethod(partial(_averaged, stages=variance_stages))


class Std(OfSome, name="relax.std"):
    """The standard deviation of the elements along axes, in the dtype of x.

    It is the square root of `variance`, whose divisor is the number of elements, not one less. NaN for no elements, with a warning.
    Sums of integers wrap around and the quotient is truncated, unlike in numpy; for no elements the run stops.
    """

    source = "numpy.std"
    by_kernel = True
    defined_for = FLOATS

    evaluate = staticmethod(partial(_values, function=deviation))
    legalize = staticmethod(partial(_averaged, stages=deviation_stages))


class Arg(Op):
    """Base of argmax and argmin: int64 positions."""

    raises = (codes.AXIS_RANGE, codes.OF_NOTHING)
    stops = Stops.RANKS
    x: Tensor = operand("the tensor")
    axis: int | None = attr(None, "the axis, negative counts from the last; the flattened tensor when None")
    keepdims: bool = attr(False, "True keeps the reduced axis with length 1; all axes if axis is None")
    fusion = Fusion.REDUCE
    doubt = staticmethod(_doubt)
    examples: ClassVar[tuple[str, ...]] = (
        "f32[n,4] axis=1 -> i64[n]",
        "f32[n,4] axis=-2 keepdims=True -> i64[1,4]",
        "i32[3,4] -> i64[]",
    )

    @staticmethod
    def infer(at: Site, x: s.StructInfo, axis: int | None, keepdims: bool) -> s.StructInfo:
        """The shape of x without the axis, int64."""
        info = rules.tensor(at, x, "x")
        gone = range(info.ndim) if axis is None else (rules.axis(at, axis, info.ndim),)
        shape, _, ndim = reduced(info, axis, gone, keepdims)
        warn_of_nothing(at, x, axis)
        return s.TensorStructInfo(shape, INT64, ndim)


def _position(x: Array, axis: int | None, keepdims: bool, *, function: OfNumpy) -> Array:
    """numpy.argmax or numpy.argmin among the elements after the last NaN, or the position of a NaN at the end (TVM)."""
    if not x.size:
        return np.asarray(np.sum(x, axis, keepdims=keepdims)).astype(np.int64) - 1
    positions = np.asarray(function(x, axis, keepdims=keepdims), dtype=np.int64)
    if x.dtype.kind in "iub" or not _has_nan(x, axis, positions):
        return positions
    rows = wide(x.reshape(-1) if axis is None else np.moveaxis(x, axis, -1))  # float8 has no infinity
    border = np.asarray(-np.inf if function.name == "argmax" else np.inf, rows.dtype)
    last, behind = _behind_nan(rows, border)
    after = np.minimum(np.maximum(function(behind, -1), last + 1), rows.shape[-1] - 1)
    result: Array = after.reshape(positions.shape).astype(np.int64)
    return result


def _has_nan(x: Array, axis: int | None, positions: Array) -> bool:
    """True if an element is NaN: numpy finds the first one of a row, so that only what it found is looked at."""
    if x.dtype.name not in ("float32", "float64"):
        return bool(np.isnan(x).any())
    if axis is None:
        return bool(np.isnan(x.reshape(-1)[positions]).any())
    places = positions.reshape([1 if n == axis % x.ndim else length for n, length in enumerate(x.shape)])
    return bool(np.isnan(np.take_along_axis(x, places, axis)).any())


def _behind_nan(rows: Array, border: Array) -> tuple[Array, Array]:
    """The position of the last NaN of each row (-1 for none), and the rows with `border` up to it."""
    none = np.isnan(rows)
    last = np.where(none.any(-1), rows.shape[-1] - 1 - np.argmax(none[..., ::-1], -1), -1)
    return last, np.where(np.arange(rows.shape[-1]) > last[..., None], rows, border)


def _position_stages(
    te: Te, x: Tensor, axis: int | None, keepdims: bool, *, better: Callable[..., p.PrimExpr], start: Callable[[DType], p.PrimExpr]
) -> Tensor:  # fmt: skip
    """A scan that keeps the best element with its position; of equal elements the first."""
    gone = list(range(x.ndim)) if axis is None else [axis % x.ndim]
    kept = [n for n in range(x.ndim) if n not in gone]
    shape = [rules.ONE if n in gone else x.shape[n] for n in range(x.ndim) if keepdims or n in kept]
    positions = loops.tensor(te, "T_position", shape, INT64)
    best = loops.tensor(te, f"{x.buffer.name}_red", shape, x.dtype)
    over = [x.shape[n] for n in gone]

    def place(*i: p.PrimExpr) -> Stmt:
        outer = dict(zip(kept, [i[n] for n in kept] if keepdims else i, strict=True))

        def step(*k: p.PrimExpr) -> Stmt:
            inner = dict(zip(gone, k, strict=True))
            element = x[tuple([inner[n] if n in inner else outer[n] for n in range(x.ndim)])]
            first_wins = p.Or(better(best[i], element), p.EQ(best[i], element))
            stays = p.And(first_wins, p.LE(rules.ZERO, positions[i]))  # each step reads the element
            return loops.seq(
                loops.store(positions, i, p.Select(stays, positions[i], flat_index(k, over))),
                loops.store(best, i, p.Select(p.EQ(positions[i], flat_index(k, over)), element, best[i])),
            )

        return loops.seq(
            loops.store(positions, i, p.IntImm(-1)),
            loops.store(best, i, start(x.dtype)),
            loops.grid(over, step),
        )

    loops.ordered(te, shape, (positions, best), place)
    return positions


class Argmax(Arg, name="relax.argmax"):
    """The index of the largest element along an axis; of equal elements, the first.

    -1 for no elements, with a warning. The element after a NaN replaces it, as in `max`.
    """

    source = "numpy.argmax"
    evaluate = staticmethod(partial(_position, function=OfNumpy("argmax")))
    legalize = staticmethod(partial(_position_stages, better=lambda a, b: p.LT(b, a), start=lowest))


class Argmin(Arg, name="relax.argmin"):
    """The index of the smallest element along an axis; of equal elements, the first.

    -1 for no elements, with a warning. The element after a NaN replaces it, as in `min`.
    """

    source = "numpy.argmin"
    evaluate = staticmethod(partial(_position, function=OfNumpy("argmin")))
    legalize = staticmethod(partial(_position_stages, better=p.LT, start=_most))
