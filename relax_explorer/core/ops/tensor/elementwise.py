"""Operators that work element by element on one tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import BOOL, FLOAT32, DType
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.decl import (  # named in annotations
    INTEGERS,
    REQUIRED,
    Fusion,
    NotLowered,
    Op,
    Prim,
    Site,
    Stops,
    attr,
    operand,
)
from relax_explorer.core.ops.kit.flop_count import FUNCTIONS, each
from relax_explorer.core.ops.kit.ndarrays import UFUNCS, Array, Number, OfNumpy
from relax_explorer.core.ops.kit.special import as_array, erf, keep_dtype, need_bits, sigmoid, whole
from relax_explorer.core.ops.kit.te import Te, Tensor, call, cast, where
from relax_explorer.core.ops.kit.te import erf as te_erf


class Unary(Op):
    """Base of the element-wise operators on one tensor: the result has the operand's shape and dtype."""

    stops = Stops.DTYPES
    x: Tensor = operand("the tensor")
    fusion = Fusion.ELEMENTWISE
    examples: ClassVar[tuple[str, ...]] = ("f32[n,4] -> f32[n,4]", "f32[] -> f32[]")

    @staticmethod
    def infer(at: Site, x: s.StructInfo) -> s.StructInfo:
        """The shape and dtype of x."""
        info = rules.tensor(at, x, "x")
        return rules.like(info, info.dtype)


class Floating(Unary):
    """Base of the operators that take only floating point tensors."""

    raises = (codes.DTYPE_WRONG,)
    x: Tensor = operand("the tensor, floating point")

    @staticmethod
    def infer(at: Site, x: s.StructInfo) -> s.StructInfo:
        """The shape and dtype of x."""
        rules.need_float(at, rules.tensor(at, x, "x"), "x")
        return Unary.infer(at, x)


def _unary(
    name: str,
    function: Callable[[Any], Any],
    intrinsic: str,
    doc: str,
    base: type[Unary] = Floating,
    *,
    source: str,
) -> type[Unary]:
    """Declare a regular unary operator from numpy's function and TIR's intrinsic."""

    def legalize(te: Te, x: Tensor) -> Tensor:
        whole = x.dtype.is_int or x.dtype.is_bool  # rounding does not change integers
        element = te_erf if intrinsic == "erf" else lambda value: call(intrinsic, value)
        return te.compute("compute", x.shape, lambda *i: x[i] if whole else element(x[i]))

    of_floats = keep_dtype(function)

    def evaluate(x: Array) -> Array:
        return x.copy() if x.dtype.kind in "iub" else of_floats(x)

    if issubclass(base, Floating) and isinstance(function, OfNumpy):
        UFUNCS[evaluate] = function
    members = {
        "__doc__": doc,
        "source": source,
        "__module__": __name__,
        "by_kernel": intrinsic in ("erf", "sigmoid"),
        "kernel": "" if intrinsic == "erf" else f"tir_{name.removeprefix('relax.')}",
        "evaluate": staticmethod(evaluate),
        "legalize": staticmethod(legalize),
        "flops": staticmethod(lambda out, x: each(out, functions=int(intrinsic in FUNCTIONS))),
    }
    return type(name.split(".")[-1].title().replace("_", ""), (base,), members, name=name)


Exp = _unary("relax.exp", OfNumpy("exp"), "exp", "e to the power of each element.", source="numpy.exp")
Log = _unary(
    "relax.log",
    OfNumpy("log"),
    "log",
    "Natural logarithm of each element.\n-inf for 0, NaN for negative elements.",
    source="numpy.log",
)
Sqrt = _unary(
    "relax.sqrt",
    OfNumpy("sqrt"),
    "sqrt",
    "Square root of each element.\nNaN for negative elements.",
    source="numpy.sqrt",
)
Rsqrt = _unary(
    "relax.rsqrt",
    lambda x: 1 / np.sqrt(x),
    "rsqrt",
    "1 divided by the square root of each element.\ninf for 0, NaN for negative elements.",
    source="torch.rsqrt",
)
Sin = _unary(
    "relax.sin", OfNumpy("sin"), "sin", "Sine of each element, an angle in radians.", source="numpy.sin"
)
Cos = _unary(
    "relax.cos", OfNumpy("cos"), "cos", "Cosine of each element, an angle in radians.", source="numpy.cos"
)
Tan = _unary(
    "relax.tan", OfNumpy("tan"), "tan", "Tangent of each element, an angle in radians.", source="numpy.tan"
)
Asin = _unary(
    "relax.asin",
    OfNumpy("arcsin"),
    "asin",
    "Inverse sine of each element, in radians from -pi/2 to pi/2.\nNaN for elements below -1 or above 1.",
    source="numpy.arcsin",
)
Acos = _unary(
    "relax.acos",
    OfNumpy("arccos"),
    "acos",
    "Inverse cosine of each element, in radians from 0 to pi.\nNaN for elements below -1 or above 1.",
    source="numpy.arccos",
)
Atan = _unary(
    "relax.atan",
    OfNumpy("arctan"),
    "atan",
    "Inverse tangent of each element, in radians from -pi/2 to pi/2.",
    source="numpy.arctan",
)
Sinh = _unary("relax.sinh", OfNumpy("sinh"), "sinh", "Hyperbolic sine of each element.", source="numpy.sinh")
Cosh = _unary(
    "relax.cosh", OfNumpy("cosh"), "cosh", "Hyperbolic cosine of each element.", source="numpy.cosh"
)
Tanh = _unary(
    "relax.tanh", OfNumpy("tanh"), "tanh", "Hyperbolic tangent of each element.", source="numpy.tanh"
)
Asinh = _unary(
    "relax.asinh",
    OfNumpy("arcsinh"),
    "asinh",
    "Inverse hyperbolic sine of each element.",
    source="numpy.arcsinh",
)
Acosh = _unary(
    "relax.acosh",
    OfNumpy("arccosh"),
    "acosh",
    "Inverse hyperbolic cosine of each element.\nNaN for elements below 1.",
    source="numpy.arccosh",
)
Atanh = _unary(
    "relax.atanh",
    OfNumpy("arctanh"),
    "atanh",
    "Inverse hyperbolic tangent of each element.\nInfinite for -1 and 1, NaN for elements below or above.",
    source="numpy.arctanh",
)
Sigmoid = _unary(
    "relax.sigmoid",
    sigmoid,
    "sigmoid",
    "Logistic function of each element: 1 / (1 + exp(-x)).",
    source="ONNX Sigmoid",
)
Erf = _unary(
    "relax.erf",
    erf,
    "erf",
    "Error function of each element: 2 / sqrt(pi) times the integral of exp(-t * t) from 0 to x.",
    source="DLMF 7.2.1",
)
Ceil = _unary(
    "relax.ceil",
    OfNumpy("ceil"),
    "ceil",
    "Smallest integer not below each element, in the dtype of x.",
    Unary,
    source="numpy.ceil",
)
Floor = _unary(
    "relax.floor",
    OfNumpy("floor"),
    "floor",
    "Largest integer not above each element, in the dtype of x.",
    Unary,
    source="numpy.floor",
)
Round = _unary(
    "relax.round",
    OfNumpy("rint"),
    "nearbyint",
    "Integer nearest to each element, in the dtype of x; halves are rounded to even.",
    Unary,
    source="numpy.rint",
)
Trunc = _unary(
    "relax.trunc",
    OfNumpy("trunc"),
    "trunc",
    "Each element rounded towards zero to an integer, in the dtype of x.",
    Unary,
    source="numpy.trunc",
)


class Abs(Unary, name="relax.abs"):
    """Absolute value of each element.

    The smallest integer of a signed dtype stays unchanged: int8 has -128 but no 128.
    """

    source = "numpy.abs"
    kernel = "tir_abs"
    evaluate = staticmethod(keep_dtype(OfNumpy("abs")))

    @staticmethod
    def legalize(te: Te, x: Tensor) -> Tensor:
        """One element at a time."""
        if x.dtype.is_float:
            return te.compute("compute", x.shape, lambda *i: call("fabs", x[i]))
        zero = p.as_prim(0, x.dtype)
        return te.compute("compute", x.shape, lambda *i: where(p.LT(x[i], zero), p.Sub(zero, x[i]), x[i]))


class Negative(Unary, name="relax.negative"):
    """Each element negated.

    Unsigned integers wrap around: 1 becomes the largest value. Bools stay unchanged.
    """

    source = "numpy.negative"
    kernel = "tir_negative"
    evaluate = staticmethod(keep_dtype(lambda x: x if x.dtype.kind == "b" else np.negative(x)))

    @staticmethod
    def legalize(te: Te, x: Tensor) -> Tensor:
        """One element at a time."""
        if x.dtype.is_bool:
            return te.compute("compute", x.shape, lambda *i: x[i])
        if x.dtype.kind == "uint":  # TVM folds 0 - x to 0, since an unsigned x is never below 0
            one = p.as_prim(1, x.dtype)
            return te.compute("compute", x.shape, lambda *i: call("bitwise_not", x[i]) + one)
        minus = p.as_prim(-1, x.dtype)
        return te.compute("compute", x.shape, lambda *i: x[i] * minus)


class Square(Unary, name="relax.square"):
    """Each element times itself."""

    source = "numpy.square"
    kernel = "tir_square"
    evaluate = staticmethod(keep_dtype(OfNumpy("square")))

    @staticmethod
    def legalize(te: Te, x: Tensor) -> Tensor:
        """One element at a time."""
        return te.compute("compute", x.shape, lambda *i: x[i] * x[i])


class Sign(Unary, name="relax.sign"):
    """-1, 0 or 1 by the sign of each element, in the dtype of x.

    NaN gives 0, while numpy gives NaN.
    """

    source = "numpy.sign"
    kernel = "tir_sign"
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
    """Whether each element is 0, or false, as 1 or 0 in the dtype of x."""

    source = "numpy.logical_not"
    kernel = "tir_logical_not"
    examples: ClassVar[tuple[str, ...]] = ("bool[n] -> bool[n]", "i32[2,n] -> i32[2,n]")
    evaluate = staticmethod(keep_dtype(OfNumpy("logical_not")))

    @staticmethod
    def legalize(te: Te, x: Tensor) -> Tensor:
        """One element at a time."""
        if x.dtype is BOOL:
            return te.compute("compute", x.shape, lambda *i: p.Not(x[i]))
        zero = cast(p.IntImm(0), x.dtype)
        return te.compute("compute", x.shape, lambda *i: p.Cast(x.dtype, p.EQ(x[i], zero)))


class BitwiseNot(Unary, name="relax.bitwise_not"):
    """Each element with all its bits inverted; for bool, the negation.

    A floating point tensor passes inference, as in TVM, but can't be computed: bitwise operations are not defined for floats.
    """

    source = "numpy.invert"
    defined_for = INTEGERS
    kernel = "tir_bitwise_not"
    examples: ClassVar[tuple[str, ...]] = ("i32[n] -> i32[n]", "bool[] -> bool[]", "u8[n,4] -> u8[n,4]")

    @staticmethod
    def evaluate(x: Array) -> Array:
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
        """The shape of x, bool."""
        return rules.like(rules.tensor(at, x, "x"), BOOL)


def _test(name: str, function: Callable[[Any], Any], intrinsic: str, doc: str, *, source: str) -> type[Test]:
    def legalize(te: Te, x: Tensor) -> Tensor:
        return te.compute("compute", x.shape, lambda *i: p.PrimCall(intrinsic, (x[i],), BOOL))

    members = {
        "__doc__": doc,
        "source": source,
        "__module__": __name__,
        "kernel": f"tir_{intrinsic}",
        "evaluate": staticmethod(as_array(function)),
        "legalize": staticmethod(legalize),
    }
    return type(name.split(".")[-1].title(), (Test,), members, name=name)


IsNan = _test(
    "relax.isnan",
    OfNumpy("isnan"),
    "isnan",
    "Whether each element is NaN.\nIntegers never are.",
    source="numpy.isnan",
)
IsInf = _test(
    "relax.isinf",
    OfNumpy("isinf"),
    "isinf",
    "Whether each element is infinite, positive or negative.\nIntegers never are.",
    source="numpy.isinf",
)
IsFinite = _test(
    "relax.isfinite",
    OfNumpy("isfinite"),
    "isfinite",
    "Whether each element is neither infinite nor NaN.\nIntegers always are.",
    source="numpy.isfinite",
)


class Clip(Op, name="relax.clip"):
    """Each element limited to the range from `min` to `max`.

    Both bounds are converted to the dtype of x first; for integers they are truncated. As in TVM, unlike numpy, NaN becomes
    `max`, and if `min` is above `max`, every element becomes `min`.
    """

    source = "numpy.clip"
    by_kernel = True
    stops = Stops.DTYPES
    kernel = "tir_clip"
    x: Tensor = operand("the tensor")
    min: Prim = operand("the lower bound")
    max: Prim = operand("the upper bound")
    fusion = Fusion.ELEMENTWISE
    examples: ClassVar[tuple[str, ...]] = ("f32[n] 0.0 6.0 -> f32[n]", "i32[n,4] -1 1 -> i32[n,4]")

    @staticmethod
    def infer(at: Site, x: s.StructInfo, min: s.StructInfo, max: s.StructInfo) -> s.StructInfo:
        """The shape and dtype of x; an object if x is an object."""
        if x is s.OBJECT:
            return x
        info = rules.tensor(at, x, "x")
        return rules.like(info, info.dtype)

    @staticmethod
    def evaluate(x: Array, min: Number, max: Number) -> Array:
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
    """Each element converted to another dtype.

    For an integer dtype, floats are truncated towards zero and integers wrap around. A float that does not fit, or NaN, becomes
    the least int32 (for `int64`, `uint32` and `uint64`: int64), which then wraps around. For bool, every element other than 0 is true.
    """

    source = "numpy.ndarray.astype"
    stops = Stops.DTYPES
    kernel = "cast"
    x: Tensor = operand("the tensor")
    dtype: DType = attr(REQUIRED, "the dtype to convert to")
    fusion = Fusion.ELEMENTWISE
    examples: ClassVar[tuple[str, ...]] = (
        'f32[n] dtype="float16" -> f16[n]',
        'f64[2,n] dtype="int8" -> i8[2,n]',
    )

    @staticmethod
    def infer(at: Site, x: s.StructInfo, dtype: DType) -> s.StructInfo:
        """The shape of x, the given dtype."""
        return rules.like(rules.tensor(at, x, "x"), dtype)

    @staticmethod
    def evaluate(x: Array, dtype: DType) -> Array:
        """Conversion as in C: floats are truncated, integers wrap around."""
        is_narrowed = dtype.is_int and x.dtype.kind not in "biu"
        return whole(x, dtype) if is_narrowed else x.astype(dtype.to_numpy())

    @staticmethod
    def legalize(te: Te, x: Tensor, dtype: DType) -> Tensor:
        """One element at a time."""
        return te.compute("compute", x.shape, lambda *i: cast(x[i], dtype), dtype)


class WrapParam(Op, name="relax.wrap_param"):
    """A parameter converted to the dtype that the program computes in, as `astype` does."""

    source = "TVM"
    stops = Stops.DTYPES
    data: Tensor = operand("the parameter")
    dtype: DType = attr(FLOAT32, "the dtype to convert to")
    kernel = "cast"
    fusion = Fusion.ELEMENTWISE
    examples: ClassVar[tuple[str, ...]] = ("f16[n,4] -> f32[n,4]", 'f32[n] dtype="float16" -> f16[n]')

    @staticmethod
    def infer(at: Site, data: s.StructInfo, dtype: DType) -> s.StructInfo:
        """The shape of data, the given dtype."""
        return rules.like(rules.tensor(at, data, "data"), dtype)

    @staticmethod
    def evaluate(data: Array, dtype: DType) -> Array:
        """Like `astype`."""
        return Astype.evaluate(data, dtype)

    @staticmethod
    def legalize(te: Te, data: Tensor, dtype: DType) -> Tensor:
        """Like `astype`."""
        return Astype.legalize(te, data, dtype)
