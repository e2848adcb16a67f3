"""Running sums and products, and sums that undo a broadcast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, ClassVar

import numpy as np

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ir.prim_text import tuple_text
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit import te as loops
from relax_explorer.core.ops.kit.decl import Fusion, Op, Shape, Site, Stops, attr, operand
from relax_explorer.core.ops.kit.ndarrays import Array, OfNumpy
from relax_explorer.core.ops.kit.special import wide
from relax_explorer.core.ops.kit.te import Te, Tensor, cast
from relax_explorer.core.ops.tensor.manipulate import reshape_stage
from relax_explorer.core.tir.stmt import Stmt

# -- collapse --------------------------------------------------------------------------------------------------------
# Sums over the axes along which a tensor was broadcast: the gradients of broadcasting.


class CollapseSumLike(Op, name="relax.collapse_sum_like"):
    """The data, summed along the axes in which the target would be broadcast.

    This gives the gradient of a broadcast operand.
    """

    source = "TVM"
    raises = (codes.NOT_BROADCASTABLE, codes.RANK_WRONG)
    stops = Stops.LENGTHS
    data: Tensor = operand("the tensor")
    collapse_target: Tensor = operand(
        "the target; only its shape is used, which must broadcast to the shape of data"
    )
    kernel = "collapse_sum"
    fusion = Fusion.REDUCE
    examples = ("f32[n,4] f32[4] -> f32[4]", "f32[2,n,4] f32[n,1] -> f32[n,1]")

    @staticmethod
    def infer(at: Site, data: s.StructInfo, collapse_target: s.StructInfo) -> s.StructInfo:
        """The shape of collapse_target, the dtype of data."""
        info = rules.tensor(at, data, "data")
        target = rules.tensor(at, collapse_target, "collapse_target")
        _need_collapsible(at, info, target.dims, target.ndim, "collapse_target")
        return s.TensorStructInfo(target.shape, info.dtype, target.ndim)

    @staticmethod
    def evaluate(data: Array, collapse_target: Array) -> Array:
        """numpy.sum over the axes that the target lacks or has with length 1."""
        return collapsed(data, collapse_target.shape)

    @staticmethod
    def legalize(te: Te, data: Tensor, collapse_target: Tensor) -> Tensor:
        """A sum over those axes."""
        return _stage(te, data, collapse_target.shape)


class CollapseSumTo(Op, name="relax.collapse_sum_to"):
    """The data, summed along the axes in which the given shape would be broadcast.

    This gives the gradient of a broadcast operand.
    """

    source = "TVM"
    raises = (codes.NOT_BROADCASTABLE, codes.RANK_WRONG)
    stops = Stops.LENGTHS
    data: Tensor = operand("the tensor")
    shape: Shape = operand("the shape of the result; it must broadcast to the shape of data")
    kernel = "collapse_sum"
    fusion = Fusion.REDUCE
    examples = ("f32[n,4] (4,) -> f32[4]", "f32[2,n,4] (n,1) -> f32[n,1]", "i32[3,4] () -> i32[]")

    @staticmethod
    def infer(at: Site, data: s.StructInfo, shape: s.StructInfo) -> s.StructInfo:
        """The given shape, the dtype of data."""
        info = rules.tensor(at, data, "data")
        shape = rules.shape(at, shape, "shape")
        _need_collapsible(at, info, shape.values, shape.ndim, "shape")
        return rules.of_shape(at, "shape", info.dtype)

    @staticmethod
    def evaluate(data: Array, shape: tuple[int, ...]) -> Array:
        """numpy.sum over the axes that the shape lacks or has with length 1."""
        return collapsed(data, shape)

    @staticmethod
    def legalize(te: Te, data: Tensor, shape: Sequence[p.PrimExpr]) -> Tensor:
        """A sum over those axes."""
        return _stage(te, data, tuple(shape))


def collapsed(data: Array, shape: Sequence[int]) -> Array:
    """The data summed to a shape."""
    lead = data.ndim - len(shape)
    over = [n for n, length in enumerate(data.shape) if n < lead or (shape[n - lead] == 1 and length != 1)]
    kept = data.shape[lead:]
    if lead < 0 or any(length not in (1, old) for length, old in zip(shape, kept, strict=True)):
        raise ValueError(f"a tensor of shape {tuple(shape)} is not broadcast to {data.shape}")
    total = np.sum(wide(data), axis=tuple(over), dtype=wide(data).dtype)
    return np.asarray(total).astype(data.dtype).reshape(tuple(shape))


def _stage(te: Te, data: Tensor, shape: rules.Dims) -> Tensor:
    lead = data.ndim - len(shape)
    over = [
        n
        for n, length in enumerate(data.shape)
        if n < lead or (shape[n - lead] is rules.ONE and length is not rules.ONE)
    ]

    def element(*i: p.PrimExpr) -> p.PrimExpr:
        summed = dict(zip(over, i[len(shape) :], strict=True))
        return data[tuple([summed[n] if n in summed else i[n - lead] for n in range(data.ndim)])]

    if not over:
        return te.compute("T_identity", shape, element)
    return te.sum("T_red", shape, [data.shape[n] for n in over], element, data.dtype)


def _need_collapsible(
    at: Site, data: s.TensorStructInfo, shape: rules.Dims | None, ndim: int, name: str
) -> None:
    """Refuse a shape that is not proven to broadcast to the shape of the data."""
    if 0 <= data.ndim < ndim:
        text = f"{name} has rank {ndim}, at most {data.ndim}, that of data, is needed"
        raise at.fail(codes.RANK_WRONG, text, data=f"this is {data}")
    if data.dims is None or shape is None:
        return
    trailing = data.dims[len(data.dims) - len(shape) :]
    for length, target in zip(trailing, shape, strict=True):
        if target is not rules.ONE and at.equal(length, target, or_one=(target,)) is not Answer.YES:
            verdict = (
                "does not"
                if isinstance(target, p.IntImm) and isinstance(length, p.IntImm)
                else "is not known to"
            )
            text = f"{name} has the length {target}, which {verdict} broadcast to {length}, that of data"
            labels = {"data": f"shape {tuple_text(data.dims)}", name: f"shape {tuple_text(shape)}"}
            raise at.fail(codes.NOT_BROADCASTABLE, text, **labels)


# -- scan ------------------------------------------------------------------------------------------------------------


class Scan(Op):
    """Base of the running reductions along an axis."""

    raises = (codes.AXIS_RANGE,)
    stops = Stops.RANKS
    data: Tensor = operand("the tensor")
    axis: int | None = attr(None, "the axis, negative counts from the last; the flattened tensor when None")
    dtype: DType | None = attr(
        None, "dtype of the result, to which elements are converted first; None means the dtype of data"
    )
    exclusive: bool = attr(False, "True excludes the element itself from its sum or product")
    fusion = Fusion.OPAQUE
    examples: ClassVar[tuple[str, ...]] = (
        "f32[n,4] axis=1 -> f32[n,4]",
        'f32[n,4] dtype="float64" exclusive=True -> f64[n*4]',
        "i32[5] axis=0 exclusive=True -> i32[5]",
    )

    @staticmethod
    def infer(
        at: Site, data: s.StructInfo, axis: int | None, dtype: DType | None, exclusive: bool
    ) -> s.StructInfo:
        """The shape of data, or a vector of all its elements if axis is None; the dtype is dtype."""
        info = rules.tensor(at, data, "data")
        element = dtype or info.dtype
        if axis is not None:
            rules.axis(at, axis, info.ndim)
            return rules.like(info, element)
        if info.dims is None:
            return s.TensorStructInfo(None, element, 1)
        return s.TensorStructInfo((rules.volume(info.dims),), element)


def _scan(
    data: Array,
    axis: int | None,
    dtype: DType | None,
    exclusive: bool,
    *,
    function: OfNumpy,
    start: int,
) -> Array:
    """The results of a function of numpy so far; if exclusive, `start` comes first and the last result is dropped."""
    element = dtype.to_numpy() if dtype is not None else data.dtype
    x, place = (data.reshape(-1), 0) if axis is None else (data, axis)
    scanned = _scanned(wide(x.astype(element, copy=False)), place, function.function)
    if exclusive:
        scanned = (
            np.concatenate([np.full_like(np.take(scanned, [0], place), start), scanned], place)
            if scanned.size
            else scanned
        )
        scanned = np.take(scanned, range(x.shape[place]), place)
    result: Array = scanned.astype(element, copy=False)
    return result


_ENOUGH = 256  # elements side by side, for which a call of numpy pays


def _scanned(x: Array, axis: int, function: np.ufunc) -> Array:
    """`function.accumulate`. Elements that lie side by side are taken together, which numpy does not do."""
    beside = prod(x.shape[axis % x.ndim + 1 :])
    if beside < _ENOUGH or x.dtype.kind != "f" or not x.size:
        return np.asarray(
            np.cumsum(x, axis) if function is np.add else np.cumprod(x, axis)
        )  # they widen integers
    result = np.empty_like(x)
    terms, sums = np.moveaxis(x, axis, 0), np.moveaxis(result, axis, 0)
    sums[0] = terms[0]
    for k in range(1, len(terms)):
        function(sums[k - 1], terms[k], out=sums[k])
    return result


def _scan_stage(
    te: Te,
    data: Tensor,
    axis: int | None,
    dtype: DType | None,
    exclusive: bool,
    *,
    combine: Callable[..., p.PrimExpr],
    start: int,
) -> Tensor:
    """A scan along the axis: each result combines the previous result with the element, or with the previous element if exclusive."""
    x = reshape_stage(te, data, (rules.volume(data.shape),)) if axis is None else data
    place, element = (axis or 0) % x.ndim, dtype or data.dtype
    output = loops.tensor(te, "T_scan", x.shape, element)

    def row(*i: p.PrimExpr) -> Stmt:
        def at(k: p.PrimExpr | int) -> tuple[p.PrimExpr | int, ...]:
            return (*i[:place], k, *i[place:])

        def step(k: p.PrimVar) -> Stmt:
            before = p.Sub(k, rules.ONE)
            current = cast(x[at(before if exclusive else k)], element)
            first: Any = p.as_prim(start, element) if exclusive else current
            return loops.when(
                p.EQ(k, rules.ZERO),
                loops.store(output, at(k), first),
                loops.store(output, at(k), combine(output[at(before)], current)),
            )

        return loops.loop(simplify(x.shape[place]), step)

    loops.ordered(te, (*x.shape[:place], *x.shape[place + 1 :]), (output,), row)
    return output


class Cumsum(Scan, name="relax.cumsum"):
    """The running sum along an axis.

    If exclusive, the first result is 0. Integers wrap around in their dtype.
    """

    source = "numpy.cumsum"
    evaluate = staticmethod(partial(_scan, function=OfNumpy("add"), start=0))
    legalize = staticmethod(partial(_scan_stage, combine=p.Add, start=0))


class Cumprod(Scan, name="relax.cumprod"):
    """The running product along an axis.

    If exclusive, the first result is 1. Integers wrap around in their dtype.
    """

    source = "numpy.cumprod"
    evaluate = staticmethod(partial(_scan, function=OfNumpy("multiply"), start=1))
    legalize = staticmethod(partial(_scan_stage, combine=p.Mul, start=1))
