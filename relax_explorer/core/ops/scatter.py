"""Operators that replace some elements: where several updates meet one element, the last counts, or all are combined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops import rules
from relax_explorer.core.ops.decl import Fusion, Op, Prim, Site, Tensors, attr, operand
from relax_explorer.core.ops.gather import need_int
from relax_explorer.core.ops.te import Te, Tensor, where

_NO_EXPRESSION = (
    "an element is written where the indices say, which an expression of its own place can't tell"
)
_COMBINE: dict[str, Any] = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


class ScatterElements(Op, name="relax.scatter_elements"):
    """The data with updates at indices along an axis, in the shape of the data (ONNX ScatterElements)."""

    data: Tensor = operand("the tensor")
    indices: Tensor = operand("integers, of the rank of the data")
    updates: Tensor = operand("new elements, of the shape of the indices")
    axis: int = attr(0, "the axis")
    reduction: str = attr(
        "update", "update, add, mul, mean, max or min: how an update meets the element there"
    )
    no_legalize = _NO_EXPRESSION
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
        """The operand's own."""
        info, places = rules.tensor(at, data, "data"), rules.tensor(at, indices, "indices")
        new = rules.tensor(at, updates, "updates")
        rules.axis(at, axis, info.ndim)
        for name, given in (("indices", places), ("updates", new)):
            if info.ndim >= 0:
                rules.need_rank(at, given, info.ndim, name)
        need_int(at, places, "indices", ("int", "uint"))
        rules.same_dtype(at, data=info, updates=new)
        _need_reduction(at, reduction, "mean")
        _need_same(at, places.dims, new.dims, "indices", "updates")
        return info

    @staticmethod
    def evaluate(data: Any, indices: Any, updates: Any, axis: int, reduction: str) -> Any:
        """One index for each axis: the place itself, but along the axis what the indices say."""
        index = list(np.indices(indices.shape))
        index[axis] = indices
        return combined(data, tuple(index), updates, reduction)


class ScatterNd(Op, name="relax.scatter_nd"):
    """The data with updates at indices of several axes, in the shape of the data (ONNX ScatterND)."""

    data: Tensor = operand("the tensor")
    indices: Tensor = operand("integers; the last axis has one index for each axis of the data")
    updates: Tensor = operand("new parts: the shape of the indices but the last axis, then what has no index")
    reduction: str = attr("update", "update, add, mul, max or min: how an update meets the element there")
    no_legalize = _NO_EXPRESSION
    examples = (
        "f32[6,n] i64[m,1] f32[m,n] -> f32[6,n]",
        'f32[5,5] i64[3,2] f32[3] reduction="add" -> f32[5,5]',
        'i32[5,2] i32[1] i32[2] reduction="min" -> i32[5,2]',
    )

    @staticmethod
    def infer(
        at: Site, data: s.StructInfo, indices: s.StructInfo, updates: s.StructInfo, reduction: str
    ) -> s.StructInfo:
        """The operand's own."""
        info, places = rules.tensor(at, data, "data"), rules.tensor(at, indices, "indices")
        new = rules.tensor(at, updates, "updates")
        need_int(at, places, "indices", ("int", "uint"))
        if info.dtype is not new.dtype or info.dtype is None:
            labels = {"data": f"dtype {info.dtype}", "updates": f"dtype {new.dtype}"}
            raise at.fail(codes.DTYPES_DIFFER, "data and updates need one known dtype", **labels)
        _need_reduction(at, reduction)
        if places.ndim == 0:
            raise at.fail(codes.RANK_WRONG, "indices have at least one axis", indices=f"this is {places}")
        if info.dims is None or places.dims is None or new.dims is None:
            return info
        depth = places.dims[-1]
        if not isinstance(depth, p.IntImm) or depth.value > info.ndim:
            message = f"{depth} axes are indexed, data has rank {info.ndim}"
            raise at.fail(codes.RANK_WRONG, message, indices=f"this is {places}")
        wanted = (*places.dims[:-1], *info.dims[depth.value :])
        rules.need_rank(at, new, len(wanted), "updates")
        if any(at.equal(a, b) is not Answer.YES for a, b in zip(wanted, new.dims, strict=True)):
            message = f"the updates need the shape {rules.text(wanted)}"
            raise at.fail(codes.DIMS_DIFFER, message, updates=f"shape {rules.text(new.dims)}")
        return info

    @staticmethod
    def evaluate(data: Any, indices: Any, updates: Any, reduction: str) -> Any:
        """One index for each of the first axes."""
        return combined(data, tuple(np.moveaxis(indices, -1, 0)), updates, reduction)


class IndexPut(Op, name="relax.index_put"):
    """The data with values at data[i0, i1, …], in the shape of the data (torch.index_put, numpy assignment)."""

    data: Tensor = operand("the tensor")
    indices: Tensors = operand("a tuple of integer tensors, one for each axis")
    values: Tensor = operand("new elements, broadcast to the shape of the indices")
    accumulate: bool = attr(False, "whether values are added to what is there")
    no_legalize = _NO_EXPRESSION
    examples = (
        "f32[5,6] (i64[m],i64[m]) f32[m] -> f32[5,6]",
        "f32[5] (i64[7],) f32[7] accumulate=True -> f32[5]",
    )

    @staticmethod
    def infer(
        at: Site, data: s.StructInfo, indices: s.StructInfo, values: s.StructInfo, accumulate: bool
    ) -> s.StructInfo:
        """The operand's own."""
        info, new = rules.tensor(at, data, "data"), rules.tensor(at, values, "values")
        places = rules.tensors(at, indices, "indices")
        for place in places:
            need_int(at, place, "indices", ("int", "uint"))
            if place.ndim == 0:
                raise at.fail(codes.RANK_WRONG, "indices have at least one axis", indices=f"one is {place}")
        if info.ndim not in (-1, len(places)):
            message = f"{len(places)} axes are indexed, data has rank {info.ndim}"
            raise at.fail(codes.RANK_WRONG, message, data=f"this is {info}")
        rules.same_dtype(at, data=info, values=new)
        return info

    @staticmethod
    def evaluate(data: Any, indices: tuple[Any, ...], values: Any, accumulate: bool) -> Any:
        """numpy assignment, or numpy.add.at."""
        return combined(data, tuple(indices), values, "add" if accumulate else "update")


class SliceScatter(Op, name="relax.slice_scatter"):
    """The data with a slice along an axis replaced, in the shape of the data (torch.slice_scatter)."""

    input_tensor: Tensor = operand("the tensor")
    src: Tensor = operand("the new slice")
    start: Prim = operand("first index; negative counts from the end")
    end: Prim = operand("index after the last")
    step: Prim = operand("step, at least 1")
    axis: int = attr(0, "the axis")
    fusion = Fusion.INJECTIVE
    no_legalize = "a step that is no literal has no lowering"
    by_info = False
    examples = (
        "f32[8,n] f32[3,n] 2 5 1 -> f32[8,n]",
        "f32[2,8] f32[2,3] 1 7 2 axis=1 -> f32[2,8]",
        "f32[6] f32[1] 5 6 1 axis=-1 -> f32[6]",
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
        """The operand's own."""
        info, new = rules.tensor(at, input_tensor, "input_tensor"), rules.tensor(at, src, "src")
        rules.axis(at, axis, info.ndim)
        if info.ndim >= 0:
            rules.need_rank(at, new, info.ndim, "src")
        rules.same_dtype(at, input_tensor=info, src=new)
        for name, given in (("start", start), ("end", end), ("step", step)):
            if not isinstance(given, s.PrimStructInfo) or not given.dtype.is_int:
                raise at.fail(codes.WRONG_KIND, f"{name} is an integer", **{name: f"this is {given}"})
        by = step.value if isinstance(step, s.PrimStructInfo) else None
        if isinstance(by, p.IntImm) and by.value < 1:
            raise at.fail(codes.BAD_ATTRIBUTE, "the step is at least 1", step=f"this is {by.value}")
        if info.dims is not None and new.dims is not None:
            wanted = list(info.dims)
            wanted[axis] = _extent(wanted[axis], start, end, by) or new.dims[axis]
            _need_same(at, wanted, new.dims, "input_tensor", "src")
        return info

    @staticmethod
    def evaluate(input_tensor: Any, src: Any, start: Any, end: Any, step: Any, axis: int) -> Any:
        """numpy assignment to a slice."""
        made = input_tensor.copy()
        np.moveaxis(made, axis, 0)[int(start) : int(end) : int(step)] = np.moveaxis(src, axis, 0)
        return made

    @staticmethod
    def legalize(
        te: Te,
        input_tensor: Tensor,
        src: Tensor,
        start: p.PrimExpr,
        end: p.PrimExpr,
        step: p.PrimExpr,
        axis: int,
    ) -> Tensor | None:
        """By the place along the axis."""
        if not isinstance(step, p.IntImm):
            return None
        place = axis % input_tensor.ndim
        first, last = (_counted(item, input_tensor.shape[place]) for item in (start, end))

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            own = p.Sub(i[place], first)
            there = p.And(
                p.And(p.GE(i[place], first), p.LT(i[place], last)), p.EQ(p.FloorMod(own, step), rules.ZERO)
            )
            taken = src[(*i[:place], p.FloorDiv(own, step), *i[place + 1 :])]
            return where(there, taken, input_tensor[i])

        return te.compute("T_slice_scatter", input_tensor.shape, element)


def combined(data: Any, index: tuple[Any, ...], updates: Any, reduction: str) -> Any:
    """A copy of the data with updates at an index."""
    made = data.copy()
    if reduction == "update":
        made[index] = updates
    elif reduction == "mean":
        _halve(made, index, updates)
    else:
        _COMBINE[reduction].at(made, index, updates)
    return made


def _halve(made: Any, index: tuple[Any, ...], updates: Any) -> None:
    """Each update in turn averaged with what is there; one round does all that are the nth of their element."""
    lengths = zip(index, made.shape, strict=True)
    place = np.ravel_multi_index([(item % max(n, 1)).reshape(-1) for item, n in lengths], made.shape, "clip")
    flat, new = made.reshape(-1), updates.reshape(-1)
    order = np.argsort(place, kind="stable")
    sorted_place = place[order]
    nth = np.arange(place.size) - np.searchsorted(sorted_place, sorted_place)
    for turn in range(int(nth.max(initial=-1)) + 1):
        now = order[nth == turn]
        total = flat[place[now]] + new[now]
        flat[place[now]] = total / 2 if made.dtype.kind not in "iu" else np.trunc(total / 2)


def _counted(place: p.PrimExpr, length: p.PrimExpr) -> p.PrimExpr:
    """A position counted from 0 and moved into [0, length]."""
    if isinstance(place, p.IntImm):
        return rules.bounded(place, length) if place.value >= 0 else p.Max(p.Add(length, place), rules.ZERO)
    counted = where(p.LT(place, rules.ZERO), p.Add(place, length), place)
    return p.Min(p.Max(counted, rules.ZERO), length)


def _extent(
    length: p.PrimExpr, start: s.StructInfo, end: s.StructInfo, step: p.PrimExpr | None
) -> p.PrimExpr | None:
    """How long a slice is that stays inside; None when it is not known."""
    first, last = (item.value if isinstance(item, s.PrimStructInfo) else None for item in (start, end))
    if first is None or last is None or not isinstance(step, p.IntImm):
        return None
    low, high = (
        p.Add(length, item) if isinstance(item, p.IntImm) and item.value < 0 else item
        for item in (first, last)
    )
    return simplify(p.FloorDiv(p.Add(p.Sub(high, low), p.IntImm(step.value - 1)), step))


def _need_reduction(at: Site, reduction: str, *more: str) -> None:
    known = ("update", *_COMBINE, *more)
    if reduction not in known:
        raise at.fail(codes.BAD_ATTRIBUTE, f"reduction is {reduction}; it is one of {', '.join(known)}")


def _need_same(at: Site, a: Sequence[p.PrimExpr] | None, b: Sequence[p.PrimExpr] | None, *names: str) -> None:
    """Refuse shapes that are known to differ."""
    for left, right in zip(a or (), b or (), strict=False):
        if at.equal(left, right) is Answer.NO:
            labels = dict(zip(names, (f"length {left}", f"length {right}"), strict=True))
            raise at.fail(codes.DIMS_DIFFER, f"the lengths {left} and {right} differ", **labels)
