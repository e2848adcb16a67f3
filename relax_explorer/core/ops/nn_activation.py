"""Activations and softmax."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops import rules
from relax_explorer.core.ops.decl import Fusion, Op, Site, attr, operand
from relax_explorer.core.ops.reduction import reduce_stage
from relax_explorer.core.ops.special import erf, keep_dtype, sigmoid, wide
from relax_explorer.core.ops.te import Te, Tensor, call, lowest


class Activation(Op):
    """Base of the activations: the shape and dtype of the operand."""

    data: Tensor = operand("the tensor")
    fusion = Fusion.ELEMENTWISE
    examples = ("f32[n,4] -> f32[n,4]",)

    @staticmethod
    def infer(at: Site, data: s.StructInfo, **attrs: Any) -> s.StructInfo:
        """The operand's own; all but relu need a floating point tensor."""
        info = rules.tensor(at, data, "data")
        if at.op is not Relu:
            rules.need_float(at, info, "data")
        return rules.like(info, info.dtype)


class Relu(Activation, name="relax.nn.relu"):
    """The element, or 0 where it is negative (Nair and Hinton 2010)."""

    @staticmethod
    def evaluate(data: Any) -> Any:
        """The larger of the element and 0."""
        zero = np.zeros((), data.dtype)
        return np.where(data > zero, data, zero)

    @staticmethod
    def legalize(te: Te, data: Tensor) -> Tensor:
        """One element at a time."""
        zero = p.as_prim(0, data.dtype)
        return te.compute("compute", data.shape, lambda *i: p.Max(data[i], zero))


class LeakyRelu(Activation, name="relax.nn.leakyrelu"):
    """The element, or `alpha` times it where it is negative."""

    kernel = "leaky_relu"
    alpha: float = attr(0.01, "slope of the negative side")
    examples = ("f32[n,4] alpha=0.02 -> f32[n,4]",)

    @staticmethod
    def evaluate(data: Any, alpha: float) -> Any:
        """By the sign."""
        return np.where(data > 0, data, data * np.asarray(alpha, data.dtype))

    @staticmethod
    def legalize(te: Te, data: Tensor, alpha: float) -> Tensor:
        """One element at a time."""
        zero, slope = p.as_prim(0, data.dtype), p.as_prim(float(alpha), data.dtype)
        return te.compute(
            "compute", data.shape, lambda *i: p.Select(p.LT(zero, data[i]), data[i], p.Mul(data[i], slope))
        )


class Gelu(Activation, name="relax.nn.gelu"):
    """x times the normal distribution function of x (Hendrycks and Gimpel 2016), by the error function."""

    evaluate = staticmethod(keep_dtype(lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2)))))

    @staticmethod
    def legalize(te: Te, data: Tensor) -> Tensor:
        """One element at a time."""
        half, root = (p.FloatImm(v, data.dtype) for v in (0.5, math.sqrt(0.5)))

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            return p.Mul(data[i], p.Add(half, p.Mul(call("erf", p.Mul(data[i], root)), half)))

        return te.compute("T_multiply", data.shape, element)


class GeluTanh(Activation, name="relax.nn.gelu_tanh"):
    """Gelu by its tanh approximation (Hendrycks and Gimpel 2016, section 2)."""

    evaluate = staticmethod(
        keep_dtype(lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))
    )

    @staticmethod
    def legalize(te: Te, data: Tensor) -> Tensor:
        """One element at a time."""
        half, one, scale, cube = (
            p.FloatImm(v, data.dtype) for v in (0.5, 1.0, math.sqrt(2 / math.pi), 0.044715)
        )

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            x = data[i]
            inner = p.Mul(scale, p.Add(x, p.Mul(cube, p.Mul(x, p.Mul(x, x)))))
            return p.Mul(p.Mul(half, x), p.Add(one, call("tanh", inner)))

        return te.compute("T_multiply", data.shape, element)


class Silu(Activation, name="relax.nn.silu"):
    """x times the logistic function of x (Elfwing and others 2017)."""

    evaluate = staticmethod(keep_dtype(lambda x: x * sigmoid(x)))

    @staticmethod
    def legalize(te: Te, data: Tensor) -> Tensor:
        """The logistic function, then the product."""
        share = te.compute("compute", data.shape, lambda *i: call("sigmoid", data[i]))
        return te.compute("T_multiply", data.shape, lambda *i: p.Mul(data[i], share[i]))


class Softmax(Activation, name="relax.nn.softmax"):
    """exp(x) divided by its sum along an axis, computed from x minus its maximum."""

    axis: int = attr(-1, "the axis")
    fusion = Fusion.OUT_ELEMENTWISE
    examples = ("f32[n,4] axis=-1 -> f32[n,4]",)

    @staticmethod
    def infer(at: Site, data: s.StructInfo, axis: int) -> s.StructInfo:  # type: ignore[override]  # attributes are passed by name
        """The operand's own."""
        info = rules.tensor(at, data, "data")
        rules.need_float(at, info, "data")
        rules.axis(at, axis, info.ndim)
        return rules.like(info, info.dtype)

    @staticmethod
    def evaluate(data: Any, axis: int) -> Any:
        """Shifted by the maximum."""
        x = wide(data)
        power = np.exp(x - np.max(x, axis, keepdims=True, initial=-np.inf)) if x.size else x
        return (power / np.sum(power, axis, keepdims=True)).astype(data.dtype)

    @staticmethod
    def legalize(te: Te, data: Tensor, axis: int) -> Tensor:
        """Maximum, powers, sum, quotient."""
        power, total, drop = _powers(te, data, axis)
        notes = {"axis": axis % data.ndim}
        return te.compute(
            "T_softmax_norm", data.shape, lambda *i: p.Div(power[i], total[drop(i)]), None, notes
        )


def _powers(te: Te, data: Tensor, axis: int) -> tuple[Tensor, Tensor, Any]:
    place = axis % data.ndim

    def drop(i: tuple[p.PrimExpr, ...]) -> tuple[p.PrimExpr, ...]:
        return (*i[:place], *i[place + 1 :])

    largest = reduce_stage(te, data, (place,), False, "T_softmax_maxelem", p.Max, lowest(data.dtype))
    power = te.compute("T_softmax_exp", data.shape, lambda *i: call("exp", p.Sub(data[i], largest[drop(i)])))
    total = reduce_stage(te, power, (place,), False, "T_softmax_expsum", p.Add, p.as_prim(0, data.dtype))
    return power, total, drop


class LogSoftmax(Softmax, name="relax.nn.log_softmax"):
    """The logarithm of softmax, without leaving its range."""

    @staticmethod
    def evaluate(data: Any, axis: int) -> Any:
        """Shifted by the maximum."""
        x = wide(data)
        moved = x - np.max(x, axis, keepdims=True, initial=-np.inf) if x.size else x
        return (moved - np.log(np.sum(np.exp(moved), axis, keepdims=True))).astype(data.dtype)

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


class Dropout(Op, name="relax.nn.dropout"):
    """The tensor as it is, with a mask of ones: dropout has no effect on inference (Srivastava and others 2014)."""

    data: Tensor = operand("the tensor")
    rate: float = attr(0.5, "share of elements that training drops", unit="1")
    examples = ("f32[n,4] rate=0.5 -> (f32[n,4],f32[n,4])",)
    no_legalize = "it is removed before lowering"

    @staticmethod
    def infer(at: Site, data: s.StructInfo, rate: float) -> s.StructInfo:
        """The tensor and its mask."""
        info = rules.tensor(at, data, "data")
        return s.TupleStructInfo((info, info))

    @staticmethod
    def evaluate(data: Any, rate: float) -> Any:
        """The tensor and ones."""
        return data, np.ones_like(data)
