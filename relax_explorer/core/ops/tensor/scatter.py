"""Operators that replace some elements. Several updates of one element are applied in order, or combined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.prim_text import tuple_text
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit import te as loops
from relax_explorer.core.ops.kit.binary_math import divide
from relax_explorer.core.ops.kit.decl import Fusion, NotLowered, Op, Prim, Site, Tensors, attr, operand
from relax_explorer.core.ops.kit.element_loops import Loop
from relax_explorer.core.ops.kit.ndarrays import Array, Number, OfNumpy
from relax_explorer.core.ops.kit.special import BadValue
from relax_explorer.core.ops.kit.te import Te, Tensor, cast, where
from relax_explorer.core.ops.tensor.gather import counted, inside, need_int, positions_along, stretched
from relax_explorer.core.tir.stmt import Stmt

_COMBINE = {
    "add": OfNumpy("add"),
    "mul": OfNumpy("multiply"),
    "max": OfNumpy("maximum"),
    "min": OfNumpy("minimum"),
}


class ScatterElements(Op, name="relax.scatter_elements"):
    """The data with each update written at its index along an axis, and at its own position in the other axes.

    Updates of one element are applied in order: with `update` the last one stays, with `mean` each one averages with the result. A
    negative index counts from the end; the run stops at an index out of bounds. The data itself is not changed.
    """

    source = "ONNX ScatterElements"
    raises = (codes.DTYPES_DIFFER, codes.AXIS_RANGE, codes.RANK_WRONG, codes.DIMS_DIFFER, codes.DTYPE_WRONG)
    data: Tensor = operand("the tensor")
    indices: Tensor = operand("integers, of the rank of data")
    updates: Tensor = operand("new elements, of the shape of indices and the dtype of data")
    axis: int = attr(0, "the axis; negative counts from the last")
    reduction: str = attr(
        "update", "how an update is combined with the element: update, add, mul, mean, max or min"
    )
    examples = (
        "f32[6,4] i64[2,4] f32[2,4] axis=0 -> f32[6,4]",
        'f32[3,n] i64[3,0] f32[3,0] axis=1 reduction="add" -> f32[3,n]',
        'f32[2,5] i32[2,7] f32[2,7] axis=-1 reduction="mul" -> f32[2,5]',
        'f32[5] i64[9] f32[9] reduction="mean" -> f32[5]',
        'i32[5] i64[3] i32[3] reduction="max" -> i32[5]',
    )

    @staticmethod
    def infer(
        at: Site, data: s.StructInfo, indices: s.StructInfo, updates: s.StructInfo, axis: int, reduction: str
    ) -> s.StructInfo:
        """The shape and dtype of data."""
        info, places = rules.tensor(at, data, "data"), rules.tensor(at, indices, "indices")
        new = rules.tensor(at, updates, "updates")
        rules.axis(at, axis, info.ndim)
        for name, operand_info in (("indices", places), ("updates", new)):
            if info.ndim >= 0:
                rules.need_rank(at, operand_info, info.ndim, name)
        need_int(at, places, "indices", ("int", "uint"))
        rules.same_dtype(at, data=info, updates=new)
        _need_reduction(at, reduction, "mean")
        _need_same(at, places.dims, new.dims, "indices", "updates")
        return info

    @staticmethod
    def evaluate(data: Array, indices: Array, updates: Array, axis: int, reduction: str) -> Array:
        """One index for each axis: the given index along `axis`, the element's own position along the others."""
        return combined(data, positions_along(indices, data.shape, axis), updates, reduction)

    @staticmethod
    def legalize(te: Te, data: Tensor, indices: Tensor, updates: Tensor, axis: int, reduction: str) -> Tensor:
        """A copy of the data, then one update after the other along the axis."""
        place, output = axis % data.ndim, _copied(te, data)

        def line(*i: p.PrimExpr) -> Stmt:
            def put(k: p.PrimVar) -> Stmt:
                at = (*i[:place], k, *i[place:])
                target: list[p.PrimExpr] = list(at)
                target[place] = counted(indices[at], data.shape[place])
                return _put(output, target, updates[at], reduction)

            return loops.loop(indices.shape[place], put)

        loops.ordered(te, (*indices.shape[:place], *indices.shape[place + 1 :]), (output,), line)
        return output


class ScatterNd(Op, name="relax.scatter_nd"):
    """The data with each update written at a row of indices, one index for each of the first axes.

    Updates of one element are applied in order: with `update` the last one stays. A negative index counts from the end; the
    run stops at an index out of bounds. The data itself is not changed.
    """

    source = "ONNX ScatterND"
    raises = (codes.DTYPES_DIFFER, codes.RANK_WRONG, codes.DIMS_DIFFER, codes.DTYPE_WRONG)
    data: Tensor = operand("the tensor")
    indices: Tensor = operand("integers; each row of the last axis is the indices of one element or slice")
    updates: Tensor = operand(
        "new elements or slices, of the dtype of data: the shape of indices without the last axis, "
        "then the axes of data without an index"
    )
    reduction: str = attr(
        "update", "how an update is combined with the element: update, add, mul, max or min"
    )
    examples = (
        "f32[6,n] i64[m,1] f32[m,n] -> f32[6,n]",
        'f32[5,5] i64[3,2] f32[3] reduction="add" -> f32[5,5]',
        'i32[5,2] i32[1] i32[2] reduction="min" -> i32[5,2]',
    )

    @staticmethod
    def infer(
        at: Site, data: s.StructInfo, indices: s.StructInfo, updates: s.StructInfo, reduction: str
    ) -> s.StructInfo:
        """The shape and dtype of data."""
        info, places = rules.tensor(at, data, "data"), rules.tensor(at, indices, "indices")
        new = rules.tensor(at, updates, "updates")
        need_int(at, places, "indices", ("int", "uint"))
        if info.dtype is not new.dtype or info.dtype is None:
            labels = {"data": f"dtype {info.dtype}", "updates": f"dtype {new.dtype}"}
            said = f"data is {info.dtype or 'of unknown dtype'}, updates is {new.dtype or 'of unknown dtype'}"
            raise at.fail(codes.DTYPES_DIFFER, f"{said}: one known dtype is needed", **labels)
        _need_reduction(at, reduction)
        if places.ndim == 0:
            text = "indices has rank 0, at least 1 is needed"
            raise at.fail(codes.RANK_WRONG, text, indices=f"this is {places}")
        if info.dims is None or places.dims is None or new.dims is None:
            return info
        depth = places.dims[-1]
        if not isinstance(depth, p.IntImm) or depth.value > info.ndim:
            message = f"{depth} axes are indexed, data has rank {info.ndim}"
            raise at.fail(codes.RANK_WRONG, message, indices=f"this is {places}")
        expected = (*places.dims[:-1], *info.dims[depth.value :])
        rules.need_rank(at, new, len(expected), "updates")
        if any(at.equal(a, b) is not Answer.YES for a, b in zip(expected, new.dims, strict=True)):
            message = f"updates has the shape {tuple_text(new.dims)}, {tuple_text(expected)} is needed"
            raise at.fail(codes.DIMS_DIFFER, message, updates=f"shape {tuple_text(new.dims)}")
        return info

    @staticmethod
    def evaluate(data: Array, indices: Array, updates: Array, reduction: str) -> Array:
        """One index for each of the first axes."""
        if not updates.size:  # nothing is written, whatever the indices are
            return np.array(data)
        positions = [inside(indices[..., n], data.shape, n, last=f", {n}") for n in range(indices.shape[-1])]
        return combined(data, tuple(positions), updates, reduction)

    @staticmethod
    def legalize(te: Te, data: Tensor, indices: Tensor, updates: Tensor, reduction: str) -> Tensor:
        """A copy of the data, then one update after the other, for each index of the axes without an index."""
        depth, outer = indices.shape[-1], indices.ndim - 1
        if not isinstance(depth, p.IntImm):
            raise NotLowered(f"how many axes the indices count along is {depth}, no literal")
        output, count = _copied(te, data), depth.value

        def part(*i: p.PrimExpr) -> Stmt:
            def put(*k: p.PrimExpr) -> Stmt:
                position = [counted(indices[(*k, p.IntImm(n))], data.shape[n]) for n in range(count)]
                return _put(output, [*position, *i], updates[(*k, *i)], reduction)

            return loops.grid(indices.shape[:outer], put)

        loops.ordered(te, data.shape[count:], (output,), part)
        return output


class IndexPut(Op, name="relax.index_put"):
    """The data with values written at data[i0, i1, …].

    Several values of one element are written in order: the last one stays, unless they are added. A negative index counts from the
    end; the run stops at an index out of bounds. The data itself is not changed.
    """

    source = "torch.Tensor.index_put"
    raises = (codes.DTYPES_DIFFER, codes.NOT_BROADCASTABLE, codes.RANK_WRONG, codes.DTYPE_WRONG)
    data: Tensor = operand("the tensor")
    indices: Tensors = operand("a tuple of integer tensors, one for each axis of data; they broadcast")
    values: Tensor = operand("new elements, of the dtype of data; they broadcast to the shape of the indices")
    accumulate: bool = attr(False, "True adds values to the elements; False replaces the elements")
    examples = (
        "f32[5,6] (i64[m],i64[m]) f32[m] -> f32[5,6]",
        "f32[5] (i64[7],) f32[7] accumulate=True -> f32[5]",
    )

    @staticmethod
    def infer(
        at: Site, data: s.StructInfo, indices: s.StructInfo, values: s.StructInfo, accumulate: bool
    ) -> s.StructInfo:
        """The shape and dtype of data."""
        info, new = rules.tensor(at, data, "data"), rules.tensor(at, values, "values")
        places = rules.tensors(at, indices, "indices")
        for place in places:
            need_int(at, place, "indices", ("int", "uint"))
            if place.ndim == 0:
                text = "a field of indices has rank 0, at least 1 is needed"
                raise at.fail(codes.RANK_WRONG, text, indices=f"one is {place}")
        if info.ndim not in (-1, len(places)):
            message = f"indices has {len(places)} fields, data has rank {info.ndim}"
            raise at.fail(codes.RANK_WRONG, message, data=f"this is {info}")
        rules.same_dtype(at, data=info, values=new)
        _need_broadcast(at, [place.dims for place in places], new.dims)
        return info

    @staticmethod
    def evaluate(data: Array, indices: tuple[Any, ...], values: Array, accumulate: bool) -> Array:
        """numpy assignment, or numpy.add.at."""
        positions = [inside(index, data.shape, n, f"indices[{n}]") for n, index in enumerate(indices)]
        return combined(data, tuple(positions), values, "add" if accumulate else "update")

    @staticmethod
    def legalize(te: Te, data: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool) -> Tensor:
        """A copy of the data, then one value after the other."""
        common: rules.Dims | None = ()
        for index in indices:
            common = rules.broadcast(Site(None), common, index.shape) if common is not None else None
        if common is None:
            raise NotLowered("the shapes of the indices are not known to broadcast")
        if len(values.shape) > len(common):
            raise NotLowered(f"the values have {len(values.shape)} axes, the indices {len(common)}")
        output = _copied(te, data)

        def put(*k: p.PrimExpr) -> Stmt:
            position = [
                counted(index[stretched(k, index)], length)
                for index, length in zip(indices, data.shape, strict=True)
            ]
            return _put(output, position, values[stretched(k, values)], "add" if accumulate else "update")

        loops.ordered(te, (), (output,), lambda: loops.grid(common, put))
        return output


def _need_one_side(at: Site, first: p.PrimExpr | None, last: p.PrimExpr | None) -> None:
    """Refuse a pair of positions if one counts from the start of the axis and the other from its end."""
    before = [isinstance(value, p.IntImm) and value.value < 0 for value in (first, last)]
    if first is not None and last is not None and before[0] != before[1]:
        text = f"start is {first} and end {last}, which count from different ends of the axis"
        raise at.fail(codes.BAD_ATTRIBUTE, text, help="count both from the start, or both from the end")


def _need_order(at: Site, first: p.PrimExpr | None, last: p.PrimExpr | None) -> None:
    """Refuse a slice that is known to end before it starts."""
    if not (isinstance(first, p.IntImm) and isinstance(last, p.IntImm)) or first.value <= last.value:
        return
    text = f"end is {last.value}, which is before start, {first.value}"
    raise at.fail(codes.BAD_ATTRIBUTE, text, help="give an end that is not before the start")


def _need_broadcast(at: Site, places: Sequence[rules.Dims | None], values: rules.Dims | None) -> None:
    """Refuse indices that don't broadcast with each other, and values that don't broadcast to them."""
    common: rules.Dims | None = ()
    for dims in places:
        if common is not None and dims is not None:
            common = rules.broadcast(at, common, dims, ("indices", "indices"))
        else:
            common = None
    if common is not None and values is not None:
        rules.broadcast(at, common, values, ("indices", "values"))


class SliceScatter(Op, name="relax.slice_scatter"):
    """The tensor with a slice along an axis replaced.

    Start and end both count from the start of the axis, or both from its end. Unlike in torch, they are not clamped to the
    axis: src has an element for every position from start to end by step; elements for positions outside the axis are dropped.
    """

    source = "torch.slice_scatter"
    raises = (codes.DTYPES_DIFFER, codes.AXIS_RANGE, codes.RANK_WRONG, codes.DIMS_DIFFER)
    input_tensor: Tensor = operand("the tensor; it is not changed")
    src: Tensor = operand(
        "the new slice, along the axis (end - start) / step long, rounded up; else the shape and dtype of the tensor"
    )
    start: Prim = operand("first index, an integer; negative counts from the end")
    end: Prim = operand("index after the last, an integer, not before start; negative counts from the end")
    step: Prim = operand("step, an integer of at least 1")
    axis: int = attr(0, "the axis; negative counts from the last")
    fusion = Fusion.INJECTIVE
    by_info = False
    examples = (
        "f32[8,n] f32[3,n] 2 5 1 -> f32[8,n]",
        "f32[2,8] f32[2,3] 1 7 2 axis=1 -> f32[2,8]",
        "f32[6] f32[3] 5 8 1 axis=-1 -> f32[6]",
    )

    @staticmethod
    def infer(
        at: Site,
        input_tensor: s.StructInfo,
        src: s.StructInfo,
        start: s.StructInfo,
        end: s.StructInfo,
        step: s.StructInfo,
        axis: int,
    ) -> s.StructInfo:
        """The shape and dtype of input_tensor."""
        info, new = rules.tensor(at, input_tensor, "input_tensor"), rules.tensor(at, src, "src")
        rules.axis(at, axis, info.ndim)
        if info.ndim >= 0:
            rules.need_rank(at, new, info.ndim, "src")
        rules.same_dtype(at, input_tensor=info, src=new)
        for name, bound_info in (("start", start), ("end", end), ("step", step)):
            if not isinstance(bound_info, s.PrimStructInfo) or not bound_info.dtype.is_int:
                text = f"{name} is {bound_info}, an integer is needed"
                raise at.fail(codes.WRONG_KIND, text, **{name: f"this is {bound_info}"})
        first, last, by = (
            item.value if isinstance(item, s.PrimStructInfo) else None for item in (start, end, step)
        )
        if isinstance(by, p.IntImm) and by.value < 1:
            text = f"step is {by.value}, at least 1 is needed"
            raise at.fail(codes.BAD_ATTRIBUTE, text, step=f"this is {by.value}")
        _need_one_side(at, first, last)
        if info.ndim >= 0:
            _need_order(at, first, last)
        if info.dims is not None and new.dims is not None:
            expected = list(info.dims)
            expected[axis] = _extent(expected[axis], first, last, by) or new.dims[axis]
            of = f"the slice along axis {axis}, from start to end by step,"
            _need_same(at, expected, new.dims, "input_tensor", "src", whole=of)
        return info

    @staticmethod
    def evaluate(
        input_tensor: Array, src: Array, start: Number, end: Number, step: Number, axis: int
    ) -> Array:
        """src at start, start + step, …; elements outside the axis are dropped."""
        if step < 1:
            raise BadValue(f"step is {step}, at least 1 is needed")
        length = input_tensor.shape[axis]
        first, last = (int(item) + (length if item < 0 else 0) for item in (start, end))
        positions = range(first, last, int(step))
        if len(positions) != src.shape[axis]:
            ends = f"start {start} to end {end} by step {step}"
            text = f"axis {axis} of input_tensor has length {length}: {ends} is {len(positions)} long"
            raise BadValue(f"src has length {src.shape[axis]}; {text}")
        places = np.array(positions, dtype=np.int64)
        there = (places >= 0) & (places < length)
        result = input_tensor.copy()
        np.moveaxis(result, axis, 0)[places[there]] = np.moveaxis(src, axis, 0)[there]
        return result

    @staticmethod
    def legalize(
        te: Te,
        input_tensor: Tensor,
        src: Tensor,
        start: p.PrimExpr,
        end: p.PrimExpr,
        step: p.PrimExpr,
        axis: int,
    ) -> Tensor:
        """The position along the axis decides."""
        place = axis % input_tensor.ndim
        first, last = (_counted(item, input_tensor.shape[place]) for item in (start, end))

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            offset = p.Sub(i[place], first)
            in_slice = p.And(
                p.And(p.GE(i[place], first), p.LT(i[place], last)), p.EQ(p.FloorMod(offset, step), rules.ZERO)
            )
            taken = src[(*i[:place], p.FloorDiv(offset, step), *i[place + 1 :])]
            return where(in_slice, taken, input_tensor[i])

        return te.compute("T_slice_scatter", input_tensor.shape, element)


def _copied(te: Te, data: Tensor) -> Tensor:
    """A tensor initialized with the data."""
    copy = loops.tensor(te, "T_scatter", data.shape, data.dtype)
    loops.ordered(te, data.shape, (copy,), lambda *i: loops.store(copy, i, data[i]))
    return copy


def _put(output: Tensor, place: Sequence[p.PrimExpr], update: p.PrimExpr, reduction: str) -> Stmt:
    """One update. An index out of bounds stops the run, so that no other memory is written."""
    old, two = output[tuple(place)], cast(p.as_prim(2), output.dtype)
    rules_of: dict[str, p.PrimExpr] = {
        "update": update,
        "add": p.Add(old, update),
        "mul": p.Mul(old, update),
        "max": p.Max(old, update),
        "min": p.Min(old, update),
        "mean": p.Div(p.Add(old, update), two),
    }
    checks = [
        loops.check_index(index, length)
        for index, length in zip(place, output.shape, strict=True)
        if not isinstance(index, p.PrimVar)
    ]
    return loops.seq(*checks, loops.store(output, place, rules_of[reduction]))


def combined(data: Array, index: tuple[Any, ...], updates: Array, reduction: str) -> Array:
    """A copy of the data with updates at an index."""
    result = data.copy()
    if reduction == "update":
        result[index] = updates
    elif reduction == "mean" or (reduction in _BETTER and result.dtype.kind not in "iub"):
        # like the comparisons of kernels: the next element replaces a NaN
        _in_turn(result, index, updates, reduction)
    else:
        _COMBINE[reduction].function.at(result, index, updates)
    return result


def _half_way(old: Array, new: Array) -> Array:
    """The mean of two elements; for integers it is truncated."""
    total = old + new
    return divide(total, np.asarray(2, total.dtype)) if total.dtype.kind in "iu" else total / 2


_BETTER: dict[str, Callable[[Any, Any], Any]] = {
    "max": lambda old, new: np.where(old > new, old, new),
    "min": lambda old, new: np.where(old < new, old, new),
    "mean": _half_way,
}


def _in_turn(result: Array, index: tuple[Any, ...], updates: Array, reduction: str) -> None:
    """Combine each update with its element, in order."""
    outer, inner = result.shape[: len(index)], result.shape[len(index) :]
    lengths = zip(index, outer, strict=True)
    place = np.ravel_multi_index([(item % max(n, 1)).reshape(-1) for item, n in lengths], outer, "clip")
    flat = result.reshape(int(np.prod(outer)), int(np.prod(inner)))
    _combined(flat, place, np.ascontiguousarray(updates).reshape(place.size, flat.shape[1]), reduction)


def _combined_rounds(flat: Array, place: Array, new: Array, reduction: str) -> None:
    """Round n applies the nth update of every element at once."""
    order = np.argsort(place, kind="stable")
    sorted_place = place[order]
    nth = np.arange(place.size) - np.searchsorted(sorted_place, sorted_place)
    for turn in range(int(nth.max(initial=-1)) + 1):
        now = order[nth == turn]
        flat[place[now]] = _BETTER[reduction](flat[place[now]], new[now])


def _combined_each(flat: Array, place: Array, new: Array, reduction: str) -> None:
    """`_combined_rounds`, one update after the other."""
    two = flat.dtype.type(2)
    for n in range(place.size):
        for k in range(flat.shape[1]):
            old, update = flat[place[n], k], new[n, k]
            if reduction == "mean":
                flat[place[n], k] = (old + update) / two
            elif not (old > update if reduction == "max" else old < update):
                flat[place[n], k] = update


def _rounds(flat: Array, place: Array, new: Array, reduction: str) -> int:
    """The number of updates, with the cost of a round as so many. The loop has the mean of floats only."""
    is_float = flat.dtype.kind == "f" and place.size
    return new.size + 256 * int(np.bincount(place).max()) if is_float else 0


_combined = Loop(_combined_rounds, _combined_each, _rounds, 1 << 19)


def _counted(place: p.PrimExpr, length: p.PrimExpr) -> p.PrimExpr:
    """A position counted from 0; it may be out of bounds."""
    if isinstance(place, p.IntImm):
        return p.Add(length, place) if place.value < 0 else place
    return where(p.LT(place, rules.ZERO), p.Add(place, length), place)


def _extent(
    length: p.PrimExpr, first: p.PrimExpr | None, last: p.PrimExpr | None, step: p.PrimExpr | None
) -> p.PrimExpr | None:
    """The number of positions from start to end by step, including those outside the axis; None if unknown."""
    if first is None or last is None or not isinstance(step, p.IntImm):
        return None
    low, high = (
        p.Add(length, item) if isinstance(item, p.IntImm) and item.value < 0 else item
        for item in (first, last)
    )
    return simplify(p.FloorDiv(p.Add(p.Sub(high, low), p.IntImm(step.value - 1)), step))


def _need_reduction(at: Site, reduction: str, *others: str) -> None:
    allowed = ("update", *_COMBINE, *others)
    if reduction not in allowed:
        raise at.fail(
            codes.BAD_ATTRIBUTE, f"reduction is {reduction!r}, it must be one of {', '.join(allowed)}"
        )


def _need_same(
    at: Site, a: Sequence[p.PrimExpr] | None, b: Sequence[p.PrimExpr] | None, *names: str, whole: str = ""
) -> None:
    """Refuse shapes that are known to differ; `whole` describes the first one in the message."""
    for left, right in zip(a or (), b or (), strict=False):
        if at.equal(left, right) is Answer.NO:
            labels = dict(zip(names, (f"length {left}", f"length {right}"), strict=True))
            message = f"{whole} has length {left}, and {names[1]} {right}"
            raise at.fail(
                codes.DIMS_DIFFER,
                message
                if whole
                else f"{names[0]} has length {left}, and {names[1]} {right} at the same axis",
                **labels,
            )
