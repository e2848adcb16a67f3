"""Operators that rearrange a tensor without changing its elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from relax_explorer.core.arith.prove import Answer, factors, product
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.prim_text import tuple_text
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.binary_math import index
from relax_explorer.core.ops.kit.decl import (
    REQUIRED,
    Axes,
    Fusion,
    IntList,
    Op,
    Shape,
    Site,
    Stops,
    attr,
    operand,
)
from relax_explorer.core.ops.kit.ndarrays import Array, dense
from relax_explorer.core.ops.kit.te import Te, Tensor, flat_index, unflatten


class PermuteDims(Op, name="relax.permute_dims"):
    """The same elements with the axes in another order."""

    source = "numpy.transpose"
    raises = (codes.AXIS_RANGE, codes.AXIS_TWICE, codes.RANK_WRONG)
    stops = Stops.RANKS
    kernel = "transpose"
    takes_views = True
    x: Tensor = operand("the tensor")
    axes: IntList | None = attr(None, "for each axis of the result, the axis of x; None reverses the order")
    fusion = Fusion.INJECTIVE
    examples = ("f32[n,4] -> f32[4,n]", "f32[2,3,4] axes=[1,0,2] -> f32[3,2,4]")

    @staticmethod
    def infer(at: Site, x: s.StructInfo, axes: tuple[int, ...] | None) -> s.StructInfo:
        """The lengths of x in the new order, the dtype of x."""
        info = rules.tensor(at, x, "x")
        if axes is None:
            order = list(range(info.ndim))[::-1] if info.ndim >= 0 else []
        else:
            if info.ndim < 0:
                text = "the rank of x is not known, and axes names its axes"
                hint = "state it with R.match_cast(…, R.Tensor(ndim=2))"
                raise at.fail(codes.RANK_WRONG, text, x=f"this is {info}", help=hint)
            order = rules.axes(at, axes, info.ndim)
            if info.ndim >= 0 and len(order) != info.ndim:
                text = f"axes has {len(order)} entries, {info.ndim} are needed, one for each axis of x"
                raise at.fail(codes.RANK_WRONG, text, x=f"this is {info}", help="name each axis once")
        if info.dims is None:
            return s.TensorStructInfo(None, info.dtype, info.ndim)
        return s.TensorStructInfo(tuple([info.dims[n] for n in order]), info.dtype)

    @staticmethod
    def evaluate(x: Array, axes: tuple[int, ...] | None) -> Array:
        """numpy.transpose, copied to new memory."""
        return np.ascontiguousarray(x.transpose(axes)) if x.ndim else x

    @classmethod
    def runs_by_kernel(cls, attrs: Mapping[str, Any]) -> bool:
        """If the last axis moves: NumPy reads along columns then, and the kernel in tiles."""
        axes = attrs.get("axes")
        return axes is None or axes[-1] % len(axes) != len(axes) - 1

    @staticmethod
    def view(x: Array, axes: tuple[int, ...] | None) -> Array:
        """numpy.transpose, copied only where BLAS does not take the matrices as they are."""
        return dense(x.transpose(axes)) if x.ndim > 1 else x

    @staticmethod
    def legalize(te: Te, x: Tensor, axes: tuple[int, ...] | None) -> Tensor:
        """Each element from its old position."""
        order = [n % x.ndim for n in axes] if axes is not None else list(range(x.ndim))[::-1]
        back = [order.index(n) for n in range(x.ndim)]
        return te.compute(
            "T_transpose", [x.shape[n] for n in order], lambda *i: x[tuple([i[n] for n in back])]
        )


def reshape_stage(te: Te, x: Tensor, shape: Sequence[p.PrimExpr]) -> Tensor:
    """The elements of `x` in row-major order in another shape."""
    return te.compute("T_reshape", shape, lambda *i: x[unflatten(flat_index(i, shape), x.shape)])


class Reshape(Op, name="relax.reshape"):
    """The same elements in row-major order, in another shape.

    The result shares the memory of x. One length may be -1: it is computed from the others. A length of 0 means that of x at the same
    place, as in ONNX, unlike numpy.
    """

    source = "numpy.reshape"
    raises = (codes.SIZE_MISMATCH, codes.BAD_ATTRIBUTE)
    shares = ("x",)
    stops = Stops.RELATIONS
    x: Tensor = operand("the tensor")
    shape: Shape = operand("the new shape, with the same number of elements")
    fusion = Fusion.INJECTIVE
    leaves_length = True
    examples = ("f32[n,4] (n*4,) -> f32[n*4]", "f32[2,6] (3,4) -> f32[3,4]")

    @staticmethod
    def infer(at: Site, x: s.StructInfo, shape: s.StructInfo) -> s.StructInfo:
        """The new shape, the dtype of x."""
        info = rules.tensor(at, x, "x")
        shape = rules.shape(at, shape, "shape")
        if shape.values is None:
            return rules.of_shape(at, "shape", info.dtype)
        values = _new_lengths(at, info, list(shape.values))
        if info.dims is None or any(_is(value, -1) for value in values):
            lengths = [p.AnyDim() if _is(value, -1) else value for value in values]
            return s.TensorStructInfo(tuple(lengths), info.dtype)
        have, want = product(info.dims), product(values)
        if at.equal(have, want) is Answer.NO:
            text = f"x has {have} elements, the new shape {want}"
            raise at.fail(
                codes.SIZE_MISMATCH,
                text,
                x=f"shape {tuple_text(info.dims)}",
                shape=f"shape {tuple_text(values)}",
            )
        return s.TensorStructInfo(tuple(values), info.dtype)

    @staticmethod
    def refine(call: e.Call, infos: list[s.StructInfo]) -> e.Call:
        """A length 0 replaced by the operand's length at that position, and -1 by the remaining length."""
        target, info = call.args[1], infos[0]
        if type(target) is not e.ShapeExpr or not isinstance(info, s.TensorStructInfo) or info.dims is None:
            return call
        values = list(target.values)
        for n, value in enumerate(values[: len(info.dims)]):
            if value is rules.ZERO and type(info.dims[n]) is not p.AnyDim:
                values[n] = info.dims[n]
        if not _is_partial(info):
            values = _completed(list(info.dims), values)
        if tuple(values) == target.values:
            return call
        shape = e.ShapeExpr(tuple(values), None, target.span)
        return e.Call(call.op, (call.args[0], shape), call.attrs, call.sinfo_args, None, call.span)

    @staticmethod
    def evaluate(x: Array, shape: tuple[int, ...]) -> Array:
        """numpy.reshape."""
        return x.reshape(tuple(shape))

    @staticmethod
    def legalize(te: Te, x: Tensor, shape: Sequence[p.PrimExpr]) -> Tensor:
        """Each element from its position in row-major order."""
        return reshape_stage(te, x, shape)


def _new_lengths(at: Site, info: s.TensorStructInfo, values: list[p.PrimExpr]) -> list[p.PrimExpr]:
    """The new shape of a tensor, without -1 and 0 if they can be computed. A wildcard among its lengths leaves -1."""
    is_partial = _is_partial(info)
    if info.dims is not None and not is_partial:  # a run gets here, where lengths are numbers
        values = _completed(list(info.dims), values)
    literals = [value.value for value in values if isinstance(value, p.IntImm)]
    if literals.count(-1) > 1:
        raise at.fail(codes.BAD_ATTRIBUTE, "more than one length is -1", shape=f"shape {tuple_text(values)}")
    least = -1 if is_partial else 0
    shape = at.arg("shape")
    # Only a 0 that stands in the call copies a length: that of a variable, or of a named shape, may be 0.
    written = shape.values if type(shape) is e.ShapeExpr else ()
    copied = [n for n, value in enumerate(written) if _is(value, 0)]
    open_ = next((n for n in literals if n < least or (n == 0 and info.dims is None and copied)), None)
    if open_ is not None:
        text = f"the length {open_} needs an operand of known shape"
        if open_ < -1:
            text = f"a length of the new shape is {open_}"
        elif info.dims is not None:
            text = "the new shape has -1 beside a length of 0, so that any number would do"
        raise at.fail(codes.BAD_ATTRIBUTE, text, x=f"this is {info}", shape=f"shape {tuple_text(values)}")
    beyond = [n for n in copied if values[n] is rules.ZERO and 0 <= info.ndim <= n]
    if beyond and info.dims is not None:
        raise at.fail(
            codes.BAD_ATTRIBUTE,
            f"length {beyond[0]} of the new shape is 0: x has no such axis to take the length from",
            x=f"rank {info.ndim}",
            shape=f"shape {tuple_text(values)}",
        )
    return values


def _completed(dims: list[p.PrimExpr], values: list[p.PrimExpr]) -> list[p.PrimExpr]:
    """A new shape for a tensor of lengths `dims`, with the length that is left over in place of a single -1."""
    open_ = [n for n, value in enumerate(values) if _is(value, -1)]
    others = [value for value in values if not _is(value, -1)]
    if len(open_) == 1 and product(others) is not rules.ZERO:
        values[open_[0]] = _left_over(dims, others)
    return values


def _is(value: p.PrimExpr, number: int) -> bool:
    return isinstance(value, p.IntImm) and value.value == number


def _is_partial(info: s.TensorStructInfo) -> bool:
    """True if some of the lengths are wildcards, so that their product is not known."""
    return any(type(dim) is p.AnyDim for dim in info.dims or ())


def _left_over(dims: list[p.PrimExpr], others: list[p.PrimExpr]) -> p.PrimExpr:
    """The product of `dims` divided by the product of `others`; common shape variables are cancelled."""
    above, below = factors(dims), []
    for other in factors(others):
        if isinstance(other, p.PrimVar) and other in above:
            above.remove(other)
        else:
            below.append(other)
    whole, rest = product(above), product(below)
    return simplify(whole if rest is rules.ONE else p.FloorDiv(whole, rest))


class Flatten(Op, name="relax.flatten"):
    """All elements as a vector, in row-major order."""

    source = "numpy.ravel"
    stops = Stops.RANKS
    kernel = "reshape"
    x: Tensor = operand("the tensor")
    fusion = Fusion.INJECTIVE
    examples = ("f32[n,4] -> f32[n*4]", "f32[] -> f32[1]")

    @staticmethod
    def infer(at: Site, x: s.StructInfo) -> s.StructInfo:
        """A vector of as many elements, the dtype of x."""
        info = rules.tensor(at, x, "x")
        if info.dims is None:
            return (
                s.TensorStructInfo((rules.ONE,), info.dtype)
                if info.ndim == 0
                else s.TensorStructInfo(None, info.dtype, 1)
            )
        return s.TensorStructInfo((rules.volume(info.dims),), info.dtype)

    @staticmethod
    def evaluate(x: Array) -> Array:
        """numpy.reshape to one axis."""
        return x.reshape(-1)

    @staticmethod
    def legalize(te: Te, x: Tensor) -> Tensor:
        """Like reshape."""
        return reshape_stage(te, x, (rules.volume(x.shape),))


class Squeeze(Op, name="relax.squeeze"):
    """The same elements without axes of length 1.

    A listed axis of another known length stays, as in PyTorch, unlike numpy; a length that is not known
    must be 1 at run time.
    """

    source = "numpy.squeeze"
    raises = (codes.AXIS_RANGE, codes.AXIS_TWICE)
    stops = Stops.RELATIONS
    x: Tensor = operand("the tensor")
    axis: Axes | None = attr(None, "the axes, negative count from the last; all of length 1 when None")
    fusion = Fusion.INJECTIVE
    examples = ("f32[1,n,1] axis=[0] -> f32[n,1]", "f32[1,4,1] -> f32[4]")

    @classmethod
    def stops_with(cls, attrs: Mapping[str, Any]) -> Stops:
        """Without an axis only axes of length 1 go, which every tensor allows."""
        return Stops.DTYPES if attrs.get("axis") is None else cls.stops

    @staticmethod
    def infer(at: Site, x: s.StructInfo, axis: tuple[int, ...] | None) -> s.StructInfo:
        """The lengths of the axes that stay, the dtype of x."""
        info = rules.tensor(at, x, "x")
        if axis is None:
            if info.dims is None or not all(isinstance(dim, p.IntImm) for dim in info.dims):
                return s.TensorStructInfo(None, info.dtype)
            return s.TensorStructInfo(tuple([dim for dim in info.dims if dim is not rules.ONE]), info.dtype)
        dropped = rules.axes(at, axis, info.ndim, "axis")
        if info.dims is None:
            return s.TensorStructInfo(None, info.dtype, info.ndim - len(dropped) if info.ndim >= 0 else -1)
        for n in dropped:
            at.equal(info.dims[n], rules.ONE)  # the type says so
        kept = [dim for n, dim in enumerate(info.dims) if n not in dropped or _stays(dim)]
        return s.TensorStructInfo(tuple(kept), info.dtype)

    @staticmethod
    def evaluate(x: Array, axis: tuple[int, ...] | None) -> Array:
        """numpy.squeeze; an axis of another length stays."""
        return np.squeeze(x, axis if axis is None else tuple([n for n in axis if x.shape[n] == 1]))

    @staticmethod
    def legalize(te: Te, x: Tensor, axis: tuple[int, ...] | None) -> Tensor:
        """Index 0 along the removed axes."""
        named = range(x.ndim) if axis is None else [n % x.ndim for n in axis]
        kept = [n for n, dim in enumerate(x.shape) if n not in named or _stays(dim)]

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            return x[tuple([i[kept.index(n)] if n in kept else p.IntImm(0) for n in range(x.ndim)])]

        return te.compute("T_squeeze", [x.shape[n] for n in kept], element)


def _stays(dim: p.PrimExpr) -> bool:
    """True if a length is known to differ from 1. TVM keeps such an axis, like PyTorch."""
    return isinstance(dim, p.IntImm) and dim.value != 1


class ExpandDims(Op, name="relax.expand_dims"):
    """The same elements with new axes of length 1."""

    source = "numpy.expand_dims"
    raises = (codes.AXIS_RANGE, codes.AXIS_TWICE)
    stops = Stops.RANKS
    x: Tensor = operand("the tensor")
    axis: Axes = attr(REQUIRED, "positions of the new axes in the result; negative ones count from the last")
    fusion = Fusion.BROADCAST
    examples = ("f32[n,4] axis=[1] -> f32[n,1,4]", "f32[4] axis=[-1] -> f32[4,1]")

    @staticmethod
    def infer(at: Site, x: s.StructInfo, axis: tuple[int, ...]) -> s.StructInfo:
        """The lengths of x with a 1 at each new axis, the dtype of x."""
        info = rules.tensor(at, x, "x")
        if info.ndim < 0:
            return s.TensorStructInfo(None, info.dtype)
        rank = info.ndim + len(axis)
        new = rules.axes(at, axis, rank, "axis")
        if info.dims is None:
            return s.TensorStructInfo(None, info.dtype, rank)
        rest = iter(info.dims)
        return s.TensorStructInfo(
            tuple([rules.ONE if n in new else next(rest) for n in range(rank)]), info.dtype
        )

    @staticmethod
    def evaluate(x: Array, axis: tuple[int, ...]) -> Array:
        """numpy.expand_dims."""
        return np.expand_dims(x, axis)

    @staticmethod
    def legalize(te: Te, x: Tensor, axis: tuple[int, ...]) -> Tensor:
        """The element at the indices without those of new axes."""
        rank = x.ndim + len(axis)
        new = [n % rank for n in axis]
        rest = iter(x.shape)
        shape = [rules.ONE if n in new else next(rest) for n in range(rank)]
        return te.compute(
            "expand_dims", shape, lambda *i: x[tuple([v for n, v in enumerate(i) if n not in new])]
        )


class BroadcastTo(Op, name="relax.broadcast_to"):
    """The tensor repeated along its axes of length 1, and along new first axes, to a shape."""

    source = "numpy.broadcast_to"
    raises = (codes.NOT_BROADCASTABLE, codes.RANK_WRONG)
    stops = Stops.RELATIONS
    x: Tensor = operand("the tensor")
    shape: Shape = operand("the shape of the result")
    fusion = Fusion.BROADCAST
    examples = ("f32[1,4] (3,4) -> f32[3,4]", "i8[n,1] (2,n,4) -> i8[2,n,4]")

    @staticmethod
    def infer(at: Site, x: s.StructInfo, shape: s.StructInfo) -> s.StructInfo:
        """The given shape, the dtype of x."""
        info = rules.tensor(at, x, "x")
        shape = rules.shape(at, shape, "shape")
        if shape.values is None:
            return rules.of_shape(at, "shape", info.dtype)
        if info.ndim > len(shape.values):
            raise at.fail(
                codes.RANK_WRONG,
                f"x has rank {info.ndim}, the shape only {len(shape.values)}",
                x=f"this is {info}",
            )
        for length, target in zip(reversed(info.dims or ()), reversed(shape.values), strict=False):
            if length is not rules.ONE and at.equal(length, target, or_one=(length,)) is Answer.NO:
                raise at.fail(
                    codes.NOT_BROADCASTABLE,
                    f"an axis of x has length {length}, shape has {target} there; only length 1 can be repeated",
                    x=f"this is {info}",
                )
        return s.TensorStructInfo(shape.values, info.dtype)

    @staticmethod
    def evaluate(x: Array, shape: tuple[int, ...]) -> Array:
        """numpy.broadcast_to, copied to new memory."""
        return np.array(np.broadcast_to(x, tuple(shape)))

    @staticmethod
    def legalize(te: Te, x: Tensor, shape: Sequence[p.PrimExpr]) -> Tensor:
        """The element at the broadcast index."""
        return te.compute("T_broadcast_to", shape, lambda *i: index(x, i, tuple(shape)))


class Flip(Op, name="relax.flip"):
    """The elements in reverse order along an axis."""

    source = "numpy.flip"
    raises = (codes.AXIS_RANGE,)
    stops = Stops.RANKS
    data: Tensor = operand("the tensor")
    axis: int = attr(REQUIRED, "the axis; negative counts from the last")
    fusion = Fusion.INJECTIVE
    examples = ("f32[n,4] axis=1 -> f32[n,4]", "i8[2,n,3] axis=-2 -> i8[2,n,3]")

    @staticmethod
    def infer(at: Site, data: s.StructInfo, axis: int) -> s.StructInfo:
        """The shape and dtype of data."""
        info = rules.tensor(at, data, "data")
        rules.axis(at, axis, info.ndim)
        return info

    @staticmethod
    def evaluate(data: Array, axis: int) -> Array:
        """numpy.flip."""
        return np.ascontiguousarray(np.flip(data, axis))

    @staticmethod
    def legalize(te: Te, data: Tensor, axis: int) -> Tensor:
        """The element counted from the other end."""
        place = axis % data.ndim
        last = simplify(p.Sub(data.shape[place], p.IntImm(1)))
        return te.compute(
            "T_reverse_sequence",
            data.shape,
            lambda *i: data[(*i[:place], p.Sub(last, i[place]), *i[place + 1 :])],
        )
