"""Running sums and products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ops.kit import loops, rules
from relax_explorer.core.ops.kit.array_types import Array
from relax_explorer.core.ops.kit.decl import Fusion, Op, Site, Stops, attr, operand
from relax_explorer.core.ops.kit.special import wide
from relax_explorer.core.ops.kit.te import Te, Tensor, cast
from relax_explorer.core.ops.tensor.manipulate import reshape_stage
from relax_explorer.core.tir.stmt import Stmt


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


def _scan(function: Any, start: int) -> Callable[..., Any]:
    def evaluate(data: Array, axis: int | None, dtype: DType | None, exclusive: bool) -> Array:
        element = dtype.to_numpy() if dtype is not None else data.dtype
        x, place = (data.reshape(-1), 0) if axis is None else (data, axis)
        scanned = function(wide(x.astype(element, copy=False)), place)
        if exclusive:
            scanned = (
                np.concatenate([np.full_like(np.take(scanned, [0], place), start), scanned], place)
                if scanned.size
                else scanned
            )
            scanned = np.take(scanned, range(x.shape[place]), place)
        result: Array = scanned.astype(element, copy=False)
        return result

    return evaluate


def _stage(
    te: Te, data: Tensor, axis: int | None, dtype: DType | None, exclusive: bool, combine: Any, start: int
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
    evaluate = staticmethod(_scan(np.cumsum, 0))

    @staticmethod
    def legalize(te: Te, data: Tensor, axis: int | None, dtype: DType | None, exclusive: bool) -> Tensor:
        """One step for each element."""
        return _stage(te, data, axis, dtype, exclusive, p.Add, 0)


class Cumprod(Scan, name="relax.cumprod"):
    """The running product along an axis.

    If exclusive, the first result is 1. Integers wrap around in their dtype.
    """

    source = "numpy.cumprod"
    evaluate = staticmethod(_scan(np.cumprod, 1))

    @staticmethod
    def legalize(te: Te, data: Tensor, axis: int | None, dtype: DType | None, exclusive: bool) -> Tensor:
        """One step for each element."""
        return _stage(te, data, axis, dtype, exclusive, p.Mul, 1)
