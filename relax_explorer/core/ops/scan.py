"""Running sums and products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ops import rules
from relax_explorer.core.ops.decl import Fusion, Op, Site, attr, operand
from relax_explorer.core.ops.manipulate import reshape_stage
from relax_explorer.core.ops.special import wide
from relax_explorer.core.ops.te import Te, Tensor, cast, where


class Scan(Op):
    """Base of the running reductions along an axis."""

    data: Tensor = operand("the tensor")
    axis: int | None = attr(None, "the axis; the flattened tensor when None")
    dtype: DType | None = attr(None, "dtype of the result; that of the data when None")
    exclusive: bool = attr(False, "whether an element counts only for those after it")
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
        """The shape of the data, or a vector of all its elements."""
        info = rules.tensor(at, data, "data")
        kind = dtype or info.dtype
        if axis is not None:
            rules.axis(at, axis, info.ndim)
            return rules.like(info, kind)
        if info.dims is None:
            return s.TensorStructInfo(None, kind, info.ndim)
        return s.TensorStructInfo((rules.volume(info.dims),), kind)


def _scan(function: Any, start: int) -> Callable[..., Any]:
    def evaluate(data: Any, axis: int | None, dtype: DType | None, exclusive: bool) -> Any:
        kind = dtype.to_numpy() if dtype is not None else data.dtype
        x, place = (data.reshape(-1), 0) if axis is None else (data, axis)
        made = function(wide(x.astype(kind)), place)
        if exclusive:
            made = (
                np.concatenate([np.full_like(np.take(made, [0], place), start), made], place)
                if made.size
                else made
            )
            made = np.take(made, range(x.shape[place]), place)
        return made.astype(kind)

    return evaluate


def _stage(
    te: Te, data: Tensor, axis: int | None, dtype: DType | None, exclusive: bool, combine: Any, start: int
) -> Tensor:
    """Each element combines all before it: quadratic in the axis, but a reduction like any other."""
    x = reshape_stage(te, data, (rules.volume(data.shape),)) if axis is None else data
    place, kind = (axis or 0) % x.ndim, dtype or data.dtype
    neutral = p.as_prim(start, kind)

    def body(*i: p.PrimExpr) -> p.PrimExpr:
        k, own = i[-1], i[place]
        taken = cast(x[(*i[:place], k, *i[place + 1 : -1])], kind)
        return where(p.LT(k, own) if exclusive else p.LE(k, own), taken, neutral)

    return te.reduce("T_scan", x.shape, (simplify(x.shape[place]),), body, combine, neutral, kind)


class Cumsum(Scan, name="relax.cumsum"):
    """Sums of the elements up to each (numpy.cumsum)."""

    evaluate = staticmethod(_scan(np.cumsum, 0))

    @staticmethod
    def legalize(te: Te, data: Tensor, axis: int | None, dtype: DType | None, exclusive: bool) -> Tensor:
        """A reduction for each element."""
        return _stage(te, data, axis, dtype, exclusive, p.Add, 0)


class Cumprod(Scan, name="relax.cumprod"):
    """Products of the elements up to each (numpy.cumprod)."""

    evaluate = staticmethod(_scan(np.cumprod, 1))

    @staticmethod
    def legalize(te: Te, data: Tensor, axis: int | None, dtype: DType | None, exclusive: bool) -> Tensor:
        """A reduction for each element."""
        return _stage(te, data, axis, dtype, exclusive, p.Mul, 1)
