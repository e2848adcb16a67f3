"""Softmax and its logarithm."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.array_types import Array
from relax_explorer.core.ops.kit.by_rows import by_rows
from relax_explorer.core.ops.kit.decl import Fusion, Site, Stops, attr
from relax_explorer.core.ops.kit.special import wide
from relax_explorer.core.ops.kit.te import Te, Tensor, call, lowest
from relax_explorer.core.ops.nn.activation import Activation
from relax_explorer.core.ops.tensor.reduction import reduce_stage


class Softmax(Activation, name="relax.nn.softmax"):
    """exp(x) of each element x, divided by its sum along an axis.

    It is computed from x minus its maximum along the axis, so that exp does not overflow.
    """

    stops = Stops.RANKS
    source = "ONNX Softmax"
    raises = (codes.AXIS_RANGE, codes.DTYPE_WRONG)
    axis: int = attr(-1, "the axis; negative counts from the last")
    fusion = Fusion.OUT_ELEMENTWISE
    examples = ("f32[n,4] axis=-1 -> f32[n,4]", "f32[2,n,3] axis=1 -> f32[2,n,3]")

    @staticmethod
    def infer(at: Site, data: s.StructInfo, axis: int) -> s.StructInfo:  # type: ignore[override]  # attributes are passed by name
        """The shape and dtype of data."""
        info = rules.tensor(at, data, "data")
        rules.need_float(at, info, "data")
        rules.axis(at, axis, info.ndim)
        return rules.like(info, info.dtype)

    @staticmethod
    def evaluate(data: Array, axis: int) -> Array:
        """Shifted by the maximum."""
        x = wide(data)
        result: Array = by_rows(partial(_shares, axis=axis), x, (axis,)).astype(data.dtype, copy=False)
        return result

    @staticmethod
    def legalize(te: Te, data: Tensor, axis: int) -> Tensor:
        """Maximum, powers, sum, quotient."""
        power, total, drop = _powers(te, data, axis)
        notes = {"axis": axis % data.ndim}
        return te.compute(
            "T_softmax_norm", data.shape, lambda *i: p.Div(power[i], total[drop(i)]), None, notes
        )


def _shares(x: Array, out: Array, axis: int) -> None:
    np.subtract(x, np.max(x, axis, keepdims=True, initial=-np.inf), out=out)
    np.exp(out, out=out)
    out /= np.sum(out, axis, keepdims=True)


def _logarithms(x: Array, out: Array, axis: int) -> None:
    np.subtract(x, np.max(x, axis, keepdims=True, initial=-np.inf), out=out)
    out -= np.log(np.sum(np.exp(out), axis, keepdims=True))


def _powers(te: Te, data: Tensor, axis: int) -> tuple[Tensor, Tensor, Any]:
    place = axis % data.ndim

    def drop(i: tuple[p.PrimExpr, ...]) -> tuple[p.PrimExpr, ...]:
        return (*i[:place], *i[place + 1 :])

    largest = reduce_stage(te, data, (place,), False, "T_softmax_maxelem", p.Max, lowest(data.dtype))
    power = te.compute("T_softmax_exp", data.shape, lambda *i: call("exp", p.Sub(data[i], largest[drop(i)])))
    total = reduce_stage(te, power, (place,), False, "T_softmax_expsum", p.Add, p.as_prim(0, data.dtype))
    return power, total, drop


class LogSoftmax(Softmax, name="relax.nn.log_softmax"):
    """The natural logarithm of softmax along an axis.

    It is computed from x minus its maximum along the axis, so that exp does not overflow.
    """

    source = "ONNX LogSoftmax"

    @staticmethod
    def evaluate(data: Array, axis: int) -> Array:
        """Shifted by the maximum."""
        x = wide(data)
        result: Array = by_rows(partial(_logarithms, axis=axis), x, (axis,)).astype(data.dtype, copy=False)
        return result

    @staticmethod
    def legalize(te: Te, data: Tensor, axis: int) -> Tensor:
        """Maximum, powers, sum, difference."""
        place = axis % data.ndim
        _, total, drop = _powers(te, data, axis)
        largest = reduce_stage(te, data, (place,), False, "T_softmax_maxelem", p.Max, lowest(data.dtype))
        return te.compute(
            "compute",
            data.shape,
            lambda *i: p.Sub(p.Sub(data[i], largest[drop(i)]), call("log", total[drop(i)])),
        )
