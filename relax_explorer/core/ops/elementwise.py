"""Operators that work element by element on one tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import BOOL, FLOAT32, DType
from relax_explorer.core.ops import rules
from relax_explorer.core.ops.decl import (
    REQUIRED,
    Fusion,
    NotLowered,
    Op,
    Prim,  # named in annotations
    Site,
    attr,
    operand,
)
from relax_explorer.core.ops.special import as_array, erf, keep_dtype, need_bits, sigmoid
from relax_explorer.core.ops.te import Te, Tensor, call, cast, where


class Unary(Op):
    """Base of the element-wise operators on one tensor: the result has the operand's shape and dtype."""

    x: Tensor = operand("the tensor")
    fusion = Fusion.ELEMENTWISE
    examples: ClassVar[tuple[str, ...]] = ("f32[n,4] -> f32[n,4]", "f32[] -> f32[]")
    floating = True
    intrinsic = ""

    @staticmethod
    def infer(at: Site, x: s.StructInfo) -> s.StructInfo:
        """The shape and dtype of the operand."""
        info = rules.tensor(at, x, "x")
        if at.op is not None and at.op.floating:  # type: ignore[attr-defined]  # every Unary has it
            rules.need_float(at, info, "x")
        return rules.like(info, info.dtype)


def _unary(
    name: str, function: Callable[[Any], Any], intrinsic: str, doc: str, floating: bool = True
) -> type[Unary]:
    """Declare a regular unary operator: numpy's function and TIR's intrinsic say all."""

    def legalize(te: Te, x: Tensor) -> Tensor:
        whole = x.dtype.is_int or x.dtype.is_bool  # rounding leaves integers as they are
        return te.compute("compute", x.shape, lambda *i: x[i] if whole else call(intrinsic, x[i]))

    def evaluate(x: Any) -> Any:
        return x.copy() if x.dtype.kind in "iub" else keep_dtype(function)(x)

    members = {
        "__doc__": doc,
        "__module__": __name__,
        "kernel": "" if intrinsic == "erf" else f"tir_{name.removeprefix('relax.')}",
        "floating": floating,
        "evaluate": staticmethod(evaluate),
        "legalize": staticmethod(legalize),
    }
    return type(name.split(".")[-1].title().replace("_", ""), (Unary,), members, name=name)


Exp = _unary("relax.exp", np.exp, "exp", "e to the power of each element (numpy.exp).")
Log = _unary("relax.log", np.log, "log", "Natural logarithm (numpy.log).")
Sqrt = _unary("relax.sqrt", np.sqrt, "sqrt", "Square root (numpy.sqrt).")
Rsqrt = _unary(
    "relax.rsqrt", lambda x: 1 / np.sqrt(x), "rsqrt", "One over the square root (ONNX Reciprocal of Sqrt)."
)
Sin = _unary("relax.sin", np.sin, "sin", "Sine of radians (numpy.sin).")
Cos = _unary("relax.cos", np.cos, "cos", "Cosine of radians (numpy.cos).")
Tan = _unary("relax.tan", np.tan, "tan", "Tangent of radians (numpy.tan).")
Asin = _unary("relax.asin", np.arcsin, "asin", "Inverse sine, in radians (numpy.arcsin).")
Acos = _unary("relax.acos", np.arccos, "acos", "Inverse cosine, in radians (numpy.arccos).")
Atan = _unary("relax.atan", np.arctan, "atan", "Inverse tangent, in radians (numpy.arctan).")
Sinh = _unary("relax.sinh", np.sinh, "sinh", "Hyperbolic sine (numpy.sinh).")
Cosh = _unary("relax.cosh", np.cosh, "cosh", "Hyperbolic cosine (numpy.cosh).")
Tanh = _unary("relax.tanh", np.tanh, "tanh", "Hyperbolic tangent (numpy.tanh).")
Asinh = _unary("relax.asinh", np.arcsinh, "asinh", "Inverse hyperbolic sine (numpy.arcsinh).")
Acosh = _unary("relax.acosh", np.arccosh, "acosh", "Inverse hyperbolic cosine (numpy.arccosh).")
Atanh = _unary("relax.atanh", np.arctanh, "atanh", "Inverse hyperbolic tangent (numpy.arctanh).")
Sigmoid = _unary("relax.sigmoid", sigmoid, "sigmoid", "Logistic function 1 / (1 + exp(-x)) (ONNX Sigmoid).")
Erf = _unary("relax.erf", erf, "erf", "Error function (DLMF 7.2.1).")
Ceil = _unary("relax.ceil", np.ceil, "ceil", "Smallest integer not below (numpy.ceil).", False)
Floor = _unary("relax.floor", np.floor, "floor", "Largest integer not above (numpy.floor).", False)
Round = _unary("relax.round", np.rint, "nearbyint", "Nearest integer, halves to even (numpy.rint).", False)
Trunc = _unary("relax.trunc", np.trunc, "trunc", "Integer part (numpy.trunc).", False)


class Abs(Unary, name="relax.abs"):
    """Absolute value; the smallest integer stays itself, as two's complement has it (numpy.abs)."""

    kernel = "tir_abs"
    floating = False
    evaluate = staticmethod(keep_dtype(np.abs))

    @staticmethod
    def legalize(te: Te, x: Tensor) -> Tensor:
        """One element at a time."""
        if x.dtype.is_float:
            return te.compute("compute", x.shape, lambda *i: call("fabs", x[i]))
        zero = p.as_prim(0, x.dtype)
        return te.compute("compute", x.shape, lambda *i: where(p.LT(x[i], zero), p.Sub(zero, x[i]), x[i]))


class Negative(Unary, name="relax.negative"):
    """Minus each element (numpy.negative)."""

    kernel = "tir_negative"
    floating = False
    evaluate = staticmethod(keep_dtype(lambda x: x if x.dtype.kind == "b" else np.negative(x)))

    @staticmethod
    def legalize(te: Te, x: Tensor) -> Tensor:
        """One element at a time."""
        if x.dtype.is_bool:
            return te.compute("compute", x.shape, lambda *i: x[i])
        if x.dtype.kind == "uint":  # TVM takes 0 - x for 0, since an unsigned x is never below it
            one = p.as_prim(1, x.dtype)
            return te.compute("compute", x.shape, lambda *i: call("bitwise_not", x[i]) + one)
        minus = p.as_prim(-1, x.dtype)
        return te.compute("compute", x.shape, lambda *i: x[i] * minus)


class Square(Unary, name="relax.square"):
    """Each element times itself (numpy.square)."""

    kernel = "tir_square"
    floating = False
    evaluate = staticmethod(keep_dtype(np.square))

    @staticmethod
    def legalize(te: Te, x: Tensor) -> Tensor:
        """One element at a time."""
        return te.compute("compute", x.shape, lambda *i: x[i] * x[i])


class Sign(Unary, name="relax.sign"):
    """-1, 0 or 1 by the sign of each element (numpy.sign); 0 of NaN, as TVM compares."""

    kernel = "tir_sign"
    floating = False
    evaluate = staticmethod(keep_dtype(lambda x: np.subtract(x > 0, x < 0, dtype=np.int8)))

    @staticmethod
    def legalize(te: Te, x: Tensor) -> Tensor:
        """One element at a time."""
        zero, one = (p.as_prim(n, x.dtype) for n in (0, 1))
        if x.dtype.is_bool or x.dtype.kind == "uint":
            return te.compute("T_sign", x.shape, lambda *i: p.Select(p.NE(zero, x[i]), one, zero))
        minus = p.as_prim(-1, x.dtype)

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            return p.Select(p.LT(zero, x[i]), one, p.Select(p.LT(x[i], zero), minus, zero))

        return te.compute("T_sign", x.shape, element)


class LogicalNot(Unary, name="relax.logical_not"):
    """Whether each element is false, or 0, in the tensor's dtype (numpy.logical_not)."""

    kernel = "tir_logical_not"
    floating = False
    examples: ClassVar[tuple[str, ...]] = ("bool[n] -> bool[n]", "i32[2,n] -> i32[2,n]")
    evaluate = staticmethod(keep_dtype(np.logical_not))

    @staticmethod
    def legalize(te: Te, x: Tensor) -> Tensor:
        """One element at a time."""
        if x.dtype is BOOL:
            return te.compute("compute", x.shape, lambda *i: p.Not(x[i]))
        zero = cast(p.IntImm(0), x.dtype)
        return te.compute("compute", x.shape, lambda *i: p.Cast(x.dtype, p.EQ(x[i], zero)))


class BitwiseNot(Unary, name="relax.bitwise_not"):
    """Each bit inverted (numpy.invert)."""

    kernel = "tir_bitwise_not"
    floating = False
    examples: ClassVar[tuple[str, ...]] = ("i32[n] -> i32[n]", "bool[] -> bool[]", "u8[n,4] -> u8[n,4]")

    @staticmethod
    def evaluate(x: Any) -> Any:
        """numpy.invert."""
        need_bits("x", x)
        return np.asarray(np.invert(x))

    @staticmethod
    def legalize(te: Te, x: Tensor) -> Tensor:
        """One element at a time."""
        if x.dtype.is_float:
            raise NotLowered(f"the elements are {x.dtype}, and these have no bits")
        return te.compute("compute", x.shape, lambda *i: call("bitwise_not", x[i]))


class Test(Unary):
    """Base of the tests of each element: the result is bool."""

    examples: ClassVar[tuple[str, ...]] = ("f32[n] -> bool[n]", "i32[2,m] -> bool[2,m]", "f64[] -> bool[]")

    @staticmethod
    def infer(at: Site, x: s.StructInfo) -> s.StructInfo:
        """A bool tensor of the operand's shape."""
        return rules.like(rules.tensor(at, x, "x"), BOOL)


def _test(name: str, function: Callable[[Any], Any], intrinsic: str, doc: str) -> type[Test]:
    def legalize(te: Te, x: Tensor) -> Tensor:
        return te.compute("compute", x.shape, lambda *i: p.PrimCall(intrinsic, (x[i],), BOOL))

    members = {
        "__doc__": doc,
        "__module__": __name__,
        "kernel": f"tir_{intrinsic}",
        "evaluate": staticmethod(as_array(function)),
        "legalize": staticmethod(legalize),
    }
    return type(name.split(".")[-1].title(), (Test,), members, name=name)


IsNan = _test("relax.isnan", np.isnan, "isnan", "Whether each element is NaN (numpy.isnan).")
IsInf = _test("relax.isinf", np.isinf, "isinf", "Whether each element is infinite (numpy.isinf).")
IsFinite = _test(
    "relax.isfinite", np.isfinite, "isfinite", "Whether each element is finite (numpy.isfinite)."
)


class Clip(Op, name="relax.clip"):
    """Each element moved into the interval from `min` to `max` (numpy.clip)."""

    kernel = "tir_clip"
    x: Tensor = operand("the tensor")
    min: Prim = operand("the smallest result")
    max: Prim = operand("the largest result")
    fusion = Fusion.ELEMENTWISE
    examples: ClassVar[tuple[str, ...]] = ("f32[n] 0.0 6.0 -> f32[n]", "i32[n,4] -1 1 -> i32[n,4]")

    @staticmethod
    def infer(at: Site, x: s.StructInfo, min: s.StructInfo, max: s.StructInfo) -> s.StructInfo:
        """The operand's own, whatever it is."""
        if x is s.OBJECT:
            return x
        info = rules.tensor(at, x, "x")
        return rules.like(info, info.dtype)

    @staticmethod
    def evaluate(x: Any, min: Any, max: Any) -> Any:
        """numpy.clip in the tensor's dtype."""
        low, high = np.asarray(min).astype(x.dtype), np.asarray(max).astype(x.dtype)
        below = np.where(x < high, x, high)
        return np.where(below > low, below, low)

    @staticmethod
    def legalize(te: Te, x: Tensor, min: p.PrimExpr, max: p.PrimExpr) -> Tensor:
        """One element at a time."""
        low, high = cast(min, x.dtype), cast(max, x.dtype)
        return te.compute("compute", x.shape, lambda *i: p.Max(p.Min(x[i], high), low))


class Astype(Op, name="relax.astype"):
    """Each element converted to another dtype (numpy.ndarray.astype)."""

    kernel = "cast"
    x: Tensor = operand("the tensor")
    dtype: DType = attr(REQUIRED, "the dtype to convert to")
    fusion = Fusion.ELEMENTWISE
    examples: ClassVar[tuple[str, ...]] = (
        'f32[n] dtype="float16" -> f16[n]',
        'f64[2,n] dtype="int8" -> i8[2,n]',
    )

    @staticmethod
    def infer(at: Site, x: s.StructInfo, dtype: Any) -> s.StructInfo:
        """The shape of the operand, the dtype asked for."""
        return rules.like(rules.tensor(at, x, "x"), dtype)

    @staticmethod
    def evaluate(x: Any, dtype: Any) -> Any:
        """Conversion as C does it: floats are cut off, integers wrap."""
        return x.astype(dtype.to_numpy())

    @staticmethod
    def legalize(te: Te, x: Tensor, dtype: Any) -> Tensor:
        """One element at a time."""
        return te.compute("compute", x.shape, lambda *i: cast(x[i], dtype), dtype)


class WrapParam(Op, name="relax.wrap_param"):
    """A parameter converted to the dtype that the program computes in (TVM)."""

    data: Tensor = operand("the parameter")
    dtype: DType = attr(FLOAT32, "the dtype to convert to")
    kernel = "cast"
    fusion = Fusion.ELEMENTWISE
    examples: ClassVar[tuple[str, ...]] = ("f16[n,4] -> f32[n,4]", 'f32[n] dtype="float16" -> f16[n]')

    @staticmethod
    def infer(at: Site, data: s.StructInfo, dtype: Any) -> s.StructInfo:
        """The shape of the parameter, the dtype asked for."""
        return rules.like(rules.tensor(at, data, "data"), dtype)

    @staticmethod
    def evaluate(data: Any, dtype: Any) -> Any:
        """As `astype`."""
        return Astype.evaluate(data, dtype)

    @staticmethod
    def legalize(te: Te, data: Tensor, dtype: Any) -> Tensor:
        """As `astype`."""
        return Astype.legalize(te, data, dtype)
