"""Activations, softmax, and two operators of training: dropout and flattening."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.diagnostics import Code
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import BFLOAT16
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.binary_math import repeated
from relax_explorer.core.ops.kit.decl import Fusion, Op, Site, Stops, attr, operand
from relax_explorer.core.ops.kit.flop_count import FlopCount, each
from relax_explorer.core.ops.kit.ndarrays import Array, by_rows
from relax_explorer.core.ops.kit.special import erf, keep_dtype, sigmoid, wide
from relax_explorer.core.ops.kit.te import Te, Tensor, call, cast, lowest
from relax_explorer.core.ops.kit.te import erf as te_erf
from relax_explorer.core.ops.tensor.manipulate import reshape_stage
from relax_explorer.core.ops.tensor.reduction import reduce_stage

_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


class Activation(Op):
    """Base of the activations. The result has the shape and dtype of the operand."""

    raises: ClassVar[tuple[Code, ...]] = (codes.DTYPE_WRONG,)
    stops = Stops.DTYPES
    data: Tensor = operand("the tensor, floating point")
    fusion = Fusion.ELEMENTWISE
    examples: ClassVar[tuple[str, ...]] = ("f32[n,4] -> f32[n,4]", "f32[] -> f32[]")

    @staticmethod
    def infer(at: Site, data: s.StructInfo, **attrs: object) -> s.StructInfo:
        """The shape and dtype of data."""
        info = rules.tensor(at, data, "data")
        rules.need_float(at, info, "data")
        return rules.like(info, info.dtype)


class Relu(Activation, name="relax.nn.relu"):
    """Each element; 0 if it is negative or NaN."""

    source = "Nair and Hinton 2010"
    raises = ()
    data: Tensor = operand("the tensor")

    @staticmethod
    def infer(at: Site, data: s.StructInfo, **attrs: object) -> s.StructInfo:
        """The shape and dtype of data."""
        info = rules.tensor(at, data, "data")
        return rules.like(info, info.dtype)

    @staticmethod
    def evaluate(data: Array) -> Array:
        """The larger of the element and 0."""
        zero = np.zeros((), data.dtype)
        if data.dtype.char not in "fd":  # float32, float64
            return np.where(data > zero, data, zero)
        larger = np.fmax(data, zero, out=np.empty(data.shape, data.dtype))
        larger += zero  # of the two zeros, fmax may give the negative one
        return larger

    @staticmethod
    def legalize(te: Te, data: Tensor) -> Tensor:
        """One element at a time."""
        zero = p.as_prim(0, data.dtype)
        return te.compute("compute", data.shape, lambda *i: p.Max(data[i], zero))


class LeakyRelu(Activation, name="relax.nn.leakyrelu"):
    """Each element x, but alpha * x where it is negative."""

    source = "Maas et al. 2013"
    by_kernel = True
    kernel = "leaky_relu"
    alpha: float = attr(0.01, "factor of negative elements")
    examples = ("f32[n,4] alpha=0.02 -> f32[n,4]", "f32[n] alpha=-0.5 -> f32[n]")

    @staticmethod
    def evaluate(data: Array, alpha: float) -> Array:
        """Chosen by the sign."""
        return np.where(data > 0, data, data * np.asarray(alpha, data.dtype))

    @staticmethod
    def legalize(te: Te, data: Tensor, alpha: float) -> Tensor:
        """One element at a time."""
        zero, slope = p.as_prim(0, data.dtype), p.as_prim(float(alpha), data.dtype)
        return te.compute(
            "compute", data.shape, lambda *i: p.Select(p.LT(zero, data[i]), data[i], p.Mul(data[i], slope))
        )


class Gelu(Activation, name="relax.nn.gelu"):
    """0.5 * x * (1 + erf(x / sqrt(2))) of each element x."""

    source = "Hendrycks and Gimpel 2016"
    by_kernel = True
    evaluate = staticmethod(keep_dtype(lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2)))))

    @staticmethod
    def legalize(te: Te, data: Tensor) -> Tensor:
        """One element at a time."""
        half, root = (p.FloatImm(v, data.dtype) for v in (0.5, math.sqrt(0.5)))

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            return p.Mul(data[i], p.Add(half, p.Mul(te_erf(p.Mul(data[i], root)), half)))

        return te.compute("T_multiply", data.shape, element)


class GeluTanh(Activation, name="relax.nn.gelu_tanh"):
    """0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) of each element x.

    An approximation of `nn.gelu`.
    """

    source = "Hendrycks and Gimpel 2016"
    by_kernel = True
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
    """x / (1 + exp(-x)) of each element x."""

    source = "Elfwing et al. 2017"
    by_kernel = True
    evaluate = staticmethod(keep_dtype(lambda x: x * sigmoid(x)))

    @staticmethod
    def legalize(te: Te, data: Tensor) -> Tensor:
        """The logistic function, then the product."""
        share = te.compute("compute", data.shape, lambda *i: call("sigmoid", data[i]))
        return te.compute("T_multiply", data.shape, lambda *i: p.Mul(data[i], share[i]))


class Selu(Activation, name="relax.nn.selu"):
    """scale * x of each element x, but scale * alpha * (exp(x) - 1) where it is negative.

    The scale is 1.0507009873554805, alpha is 1.6732632423543772.
    """

    source = "Klambauer et al. 2017"
    by_kernel = True
    evaluate = staticmethod(
        keep_dtype(lambda x: _SELU_SCALE * np.where(x > 0, x, _SELU_ALPHA * np.expm1(np.minimum(x, 0))))
    )

    @staticmethod
    def legalize(te: Te, data: Tensor) -> Tensor:
        """One element at a time: the positive part and the negative one."""
        zero, one, scale, alpha = (p.FloatImm(v, data.dtype) for v in (0.0, 1.0, _SELU_SCALE, _SELU_ALPHA))

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            negative = p.Mul(alpha, p.Sub(call("exp", data[i]), one))
            return p.Mul(scale, p.Add(p.Max(data[i], zero), p.Min(zero, negative)))

        return te.compute("T_multiply", data.shape, element)


class Softplus(Activation, name="relax.nn.softplus"):
    """log(1 + exp(beta * x)) / beta of each element x, but x where beta * x is above threshold."""

    source = "torch.nn.Softplus"
    beta: float = attr(1.0, "how sharp the bend at 0 is; not 0")
    threshold: float = attr(20.0, "if beta * x is above it, the result is x itself")
    examples = ("f32[n,4] -> f32[n,4]", "f32[n] beta=2.0 threshold=3.0 -> f32[n]")

    @staticmethod
    def infer(at: Site, data: s.StructInfo, beta: float, threshold: float) -> s.StructInfo:  # type: ignore[override]  # attributes are passed by name
        """The shape and dtype of data."""
        if not beta:
            raise at.fail(
                codes.BAD_ATTRIBUTE,
                "beta is 0, but the logarithm is divided by beta; a number other than 0 is needed",
            )
        return Activation.infer(at, data)

    @staticmethod
    def evaluate(data: Array, beta: float, threshold: float) -> Array:
        """Computed at least in float32."""
        x = wide(data)
        steep = x * np.asarray(beta, x.dtype)
        bent = np.logaddexp(np.zeros((), x.dtype), steep) / np.asarray(beta, x.dtype)
        return np.where(steep > threshold, x, bent).astype(data.dtype, copy=False)

    @staticmethod
    def legalize(te: Te, data: Tensor, beta: float, threshold: float) -> Tensor:
        """One element at a time."""
        one, steep, bend, border = (
            p.FloatImm(float(v), data.dtype) for v in (1.0, beta, 1 / beta, threshold)
        )

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            x = p.Mul(steep, data[i])
            bent = p.Mul(bend, call("log", p.Add(one, call("exp", x))))
            return p.Select(p.LT(border, x), data[i], bent)

        return te.compute("compute", data.shape, element)


class PRelu(Op, name="relax.nn.prelu"):
    """Each element x, but alpha * x where it is negative, with an alpha for each channel."""

    source = "He et al. 2015"
    raises = (codes.AXIS_RANGE, codes.RANK_WRONG, codes.DIMS_DIFFER, codes.DTYPE_WRONG)
    stops = Stops.RELATIONS
    data: Tensor = operand("the tensor, float16, float32 or float64")
    alpha: Tensor = operand(
        "factors of negative elements: a vector of one for each channel, or of one for all"
    )
    axis: int = attr(1, "the axis of channels; negative counts from the last")
    fusion = Fusion.ELEMENTWISE
    examples = ("f32[n,4,3] f32[4] -> f32[n,4,3]", "f32[n,4] f32[1] axis=-1 -> f32[n,4]")

    @staticmethod
    def infer(at: Site, data: s.StructInfo, alpha: s.StructInfo, axis: int) -> s.StructInfo:
        """The shape and dtype of data."""
        info, slopes = rules.tensor(at, data, "data"), rules.tensor(at, alpha, "alpha")
        rules.need_float(at, info, "data")
        if info.dtype is BFLOAT16:  # TVM accepts bfloat16 for all other activations
            text = "data is bfloat16, float16, float32 or float64 is needed"
            raise at.fail(codes.DTYPE_WRONG, text, data="dtype bfloat16")
        place = rules.axis(at, axis, info.ndim)
        if slopes.ndim not in (1, -1):
            text = f"alpha is {slopes}, a vector is needed"
            raise at.fail_by_spec(codes.RANK_WRONG, text, alpha=f"this is {slopes}")
        length = slopes.dims[0] if slopes.dims else None
        if info.dims is not None and length is not None and length is not rules.ONE:
            channels = info.dims[place]
            if at.equal(channels, length, or_one=(length,)) is Answer.NO:
                text = f"alpha has {length} factors, 1 or {channels}, the length of axis {axis} of data, are needed"
                labels = {"data": f"this is {info}", "alpha": f"this is {slopes}"}
                raise at.fail_by_spec(codes.DIMS_DIFFER, text, **labels)
        return rules.like(info, info.dtype)

    @staticmethod
    def evaluate(data: Array, alpha: Array, axis: int) -> Array:
        """Chosen by the sign."""
        x = wide(data)
        slopes = alpha.astype(x.dtype).reshape([-1 if n == axis % x.ndim else 1 for n in range(x.ndim)])
        return np.where(x > 0, x, x * slopes).astype(data.dtype, copy=False)

    @staticmethod
    def legalize(te: Te, data: Tensor, alpha: Tensor, axis: int) -> Tensor:
        """One element at a time."""
        zero, channel = p.as_prim(0, data.dtype), axis % data.ndim

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            slope = cast(alpha[repeated(alpha.shape[0], data.shape[channel], i[channel])], data.dtype)
            return p.Select(p.LT(zero, data[i]), data[i], p.Mul(data[i], slope))

        return te.compute("compute", data.shape, element)


class BatchFlatten(Op, name="relax.nn.batch_flatten"):
    """The same elements with all axes after the first merged into one."""

    source = "TVM"
    raises = (codes.RANK_WRONG,)
    stops = Stops.RANKS
    data: Tensor = operand("the tensor, of rank 2 at least")
    kernel = "reshape"
    fusion = Fusion.INJECTIVE
    examples = ("f32[n,3,4] -> f32[n,12]", "i8[n,m,2] -> i8[n,m*2]")

    @staticmethod
    def infer(at: Site, data: s.StructInfo) -> s.StructInfo:
        """The first length of data and the product of the others, the dtype of data."""
        info = rules.tensor(at, data, "data")
        if 0 <= info.ndim < 2:
            text = f"data has rank {info.ndim}, at least 2 is needed"
            raise at.fail(codes.RANK_WRONG, text, data=f"this is {info}")
        if info.dims is None:
            return s.TensorStructInfo(None, info.dtype, 2)
        return s.TensorStructInfo((info.dims[0], rules.volume(info.dims[1:])), info.dtype)

    @staticmethod
    def evaluate(data: Array) -> Array:
        """numpy.reshape."""
        return data.reshape(data.shape[0], math.prod(data.shape[1:])).copy()

    @staticmethod
    def legalize(te: Te, data: Tensor) -> Tensor:
        """The element at the same position."""
        return reshape_stage(te, data, (data.shape[0], rules.volume(data.shape[1:])))


class Dropout(Op, name="relax.nn.dropout"):
    """The tensor unchanged, and a mask of ones: elements are dropped only in training."""

    source = "Srivastava et al. 2014"
    stops = Stops.RANKS
    data: Tensor = operand("the tensor")
    rate: float = attr(0.5, "the fraction of elements that training would drop, from 0 to 1", unit="1")
    examples = ("f32[n,4] rate=0.5 -> (f32[n,4],f32[n,4])", "f32[] rate=0.0 -> (f32[],f32[])")
    fusion = Fusion.ELEMENTWISE

    @staticmethod
    def infer(at: Site, data: s.StructInfo, rate: float) -> s.StructInfo:
        """A tuple of two tensors, both of the shape and dtype of data."""
        info = rules.tensor(at, data, "data")
        if not 0 <= rate <= 1:
            raise at.fail_by_spec(
                codes.BAD_ATTRIBUTE, f"rate is {rate}, a fraction from 0 to 1 is needed", help="0.5 is usual"
            )
        return s.TupleStructInfo((info, info))

    @staticmethod
    def evaluate(data: Array, rate: float) -> tuple[Array, Array]:
        """The tensor and ones."""
        return data, np.ones_like(data)

    @staticmethod
    def legalize(te: Te, data: Tensor, rate: float) -> list[Tensor]:
        """A copy, and ones."""
        one = p.as_prim(1, data.dtype)
        same = te.compute("T_identity", data.shape, lambda *i: data[i])
        return [same, te.compute("T_full_like", data.shape, lambda *i: one)]


# -- softmax ---------------------------------------------------------------------------------------------------------
# Softmax and its logarithm.


def _shares(x: Array, out: Array, axis: int) -> None:
    np.subtract(x, np.maximum.reduce(x, axis, keepdims=True, initial=-np.inf), out=out)
    np.exp(out, out=out)
    out /= np.add.reduce(out, axis, keepdims=True)


def _logarithms(x: Array, out: Array, axis: int) -> None:
    np.subtract(x, np.maximum.reduce(x, axis, keepdims=True, initial=-np.inf), out=out)
    out -= np.log(np.add.reduce(np.exp(out), axis, keepdims=True))


def _by_rows(data: Array, axis: int, *, rows: Callable[..., None]) -> Array:
    """Shifted by the maximum; computed at least in float32."""
    result: Array = by_rows(partial(rows, axis=axis), wide(data), (axis,)).astype(data.dtype, copy=False)
    return result


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
    by_kernel = True

    @classmethod
    def runs_by_kernel(cls, attrs: Mapping[str, Any]) -> bool:
        """If the axis is the last one, so that sums run along memory."""
        return bool(attrs.get("axis", -1) == -1)

    @staticmethod
    def infer(at: Site, data: s.StructInfo, axis: int) -> s.StructInfo:  # type: ignore[override]  # attributes are passed by name
        """The shape and dtype of data."""
        info = rules.tensor(at, data, "data")
        rules.need_float(at, info, "data")
        rules.axis(at, axis, info.ndim)
        return rules.like(info, info.dtype)

    @staticmethod
    def flops(out: s.StructInfo, data: s.StructInfo, axis: int) -> FlopCount | None:
        """Maximum, difference, exp, sum and quotient of each element."""
        return each(data, 4, functions=1)

    evaluate = staticmethod(partial(_by_rows, rows=_shares))

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
    """The natural logarithm of softmax along an axis.

    It is computed from x minus its maximum along the axis, so that exp does not overflow.
    """

    source = "ONNX LogSoftmax"

    @staticmethod
    def flops(out: s.StructInfo, data: s.StructInfo, axis: int) -> FlopCount | None:
        """Maximum (which two stages take), exp of a difference, sum, two differences and the log of the sum for each element."""
        return each(data, 6, functions=2)

    evaluate = staticmethod(partial(_by_rows, rows=_logarithms))

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
