"""The middle element in order."""

from __future__ import annotations

import numpy as np

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.ops.kit import loops, rules
from relax_explorer.core.ops.kit.array_types import Array
from relax_explorer.core.ops.kit.decl import Axes, Fusion, Op, Site, Stops, attr, operand
from relax_explorer.core.ops.kit.special import BadValue
from relax_explorer.core.ops.kit.te import Te, Tensor
from relax_explorer.core.ops.tensor.manipulate import reshape_stage
from relax_explorer.core.ops.tensor.reduction import warn_of_nothing
from relax_explorer.core.ops.tensor.sort import order, order_stage
from relax_explorer.core.tir.stmt import Stmt


class Median(Op, name="relax.median"):
    """The middle element along axes, in ascending order; the lower one if there are two.

    NaN counts as the largest. The run stops if there are no elements.
    """

    source = "torch.median"
    raises = (codes.AXIS_RANGE, codes.AXIS_TWICE, codes.OF_NOTHING)
    stops = Stops.RANKS
    x: Tensor = operand("the tensor")
    axis: Axes | None = attr(
        None, "the axes to reduce, at least one; negative count from the last; all when None"
    )
    keepdims: bool = attr(False, "True keeps the reduced axes with length 1")
    fusion = Fusion.OPAQUE
    examples = (
        "f32[n,4] axis=[1] -> (f32[n],i64[n])",
        "f32[3,4] -> f32[]",
        "f32[3,n,2] axis=-1 keepdims=True -> (f32[3,n,1],i64[3,n,1])",
        "i32[2,3,n] axis=[0,1] -> i32[n]",
    )

    @staticmethod
    def infer(at: Site, x: s.StructInfo, axis: Axes | None, keepdims: bool) -> s.StructInfo:
        """The shape of x without the reduced axes, the dtype of x. If a single axis is given, a tuple with the int64 indices, too."""
        info = rules.tensor(at, x, "x")
        if axis == ():
            raise at.fail(
                codes.BAD_ATTRIBUTE,
                "axis is [], at least one axis is needed",
                help="leave axis out, or name one",
            )
        over = rules.axes(at, axis, info.ndim, "axis") if info.ndim >= 0 or axis is not None else []
        warn_of_nothing(at, x, tuple(over))
        values = _reduced(info, over, axis is None, keepdims)
        if axis is None or len(over) > 1:
            return values
        return s.TupleStructInfo((values, rules.like(values, INT64)))

    @staticmethod
    def evaluate(data: Array, axis: Axes | None, keepdims: bool) -> Array | tuple[Array, Array]:
        """The middle element of a stable sort."""
        single, over = _axes(axis, data.ndim)
        flat, place = _flattened(data, over)
        if flat.shape[place] == 0:
            text = ", ".join(map(str, over)) or "0"
            raise BadValue(f"axis {text} of x has length 0, and the median of no elements is undefined")
        index = np.take(order(flat, place, False), [(flat.shape[place] - 1) // 2], place)
        value = np.take_along_axis(flat, index, place)
        shape = tuple([1 if n in over else length for n, length in enumerate(data.shape)])
        if not keepdims:
            shape = tuple([length for n, length in enumerate(data.shape) if n not in over])
        medians = value.reshape(shape)
        return (medians, index.astype(np.int64).reshape(shape)) if single else medians

    @staticmethod
    def legalize(te: Te, data: Tensor, axis: Axes | None, keepdims: bool) -> Tensor | tuple[Tensor, Tensor]:
        """The axes are merged into one and sorted."""
        single, over = _axes(axis, data.ndim)
        kept = [n for n in range(data.ndim) if n not in over]
        x, place = data, over[0] if over else 0
        if not single:
            joined = rules.volume([data.shape[n] for n in over])
            turned = te.compute(
                "T_transpose",
                [data.shape[n] for n in (*kept, *over)],
                lambda *i: data[tuple([i[(*kept, *over).index(n)] for n in range(data.ndim)])],
            )
            x, place = reshape_stage(te, turned, (*[data.shape[n] for n in kept], joined)), len(kept)
        sorted_order = order_stage(te, x, place, False)
        middle = simplify(p.FloorDiv(p.Sub(x.shape[place], rules.ONE), p.IntImm(2)))
        shape = [rules.ONE if n in over else length for n, length in enumerate(data.shape)]
        shape = shape if keepdims else [data.shape[n] for n in kept]

        def at(i: tuple[p.PrimExpr, ...]) -> tuple[p.PrimExpr, ...]:
            outer = [i[n] for n in kept] if keepdims else list(i)
            return (*outer[:place], middle, *outer[place:])

        def value(*i: p.PrimExpr) -> p.PrimExpr:
            where = at(i)
            return x[(*where[:place], sorted_order[where], *where[place + 1 :])]

        values = loops.tensor(te, "T_median", shape, data.dtype)
        places = loops.tensor(te, "T_place", shape, INT64)

        def choose(*i: p.PrimExpr) -> Stmt:
            stores = [loops.store(values, i, value(*i))]
            stores += [loops.store(places, i, sorted_order[at(i)])] if single else []
            if not isinstance(x.shape[place], p.IntImm) or x.shape[place] is rules.ZERO:
                there = p.LT(rules.ZERO, x.shape[place])
                message = "the median of no elements is undefined: a reduced axis has length 0"
                stores.insert(0, loops.check(there, message))
            return loops.seq(*stores)

        loops.ordered(te, shape, (values, places) if single else (values,), choose)
        return (values, places) if single else values


def _axes(axis: Axes | None, ndim: int) -> tuple[bool, list[int]]:
    """True if a single axis is given, and the reduced axes."""
    if axis is None:
        return False, list(range(ndim))
    named = [item % ndim for item in (axis if isinstance(axis, tuple) else (axis,))]
    return len(named) == 1, sorted(named)


def _flattened(data: Array, over: list[int]) -> tuple[Array, int]:
    """The data with the reduced axes merged into one, and the number of that axis."""
    if len(over) == 1:
        return data, over[0]
    kept = [n for n in range(data.ndim) if n not in over]
    size = int(np.prod([data.shape[n] for n in over], dtype=np.int64))
    return np.transpose(data, (*kept, *over)).reshape((*[data.shape[n] for n in kept], size)), len(kept)


def _reduced(
    info: s.TensorStructInfo, over: list[int], everything: bool, keepdims: bool
) -> s.TensorStructInfo:
    if everything and (info.ndim >= 0 or not keepdims):
        return s.TensorStructInfo((rules.ONE,) * info.ndim if keepdims else (), info.dtype)
    if info.dims is None:
        left = -1 if info.ndim < 0 else info.ndim if keepdims else info.ndim - len(over)
        return s.TensorStructInfo(() if left == 0 else None, info.dtype, left)
    dims = [rules.ONE if n in over else dim for n, dim in enumerate(info.dims)]
    kept = dims if keepdims else [dim for n, dim in enumerate(info.dims) if n not in over]
    return s.TensorStructInfo(tuple(kept), info.dtype)
