"""Binary operations on elements, for numpy and for kernels. Both follow TVM in division, wrap-around and NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_explorer.core.arith.prove import Answer, equal
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import FLOAT64, INT64, from_numpy
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.decl import NotLowered, Site
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.ops.kit.special import NotDefined, need_bits, wide
from relax_explorer.core.ops.kit.te import Tensor, call, cast, where

# -- broadcasting ----------------------------------------------------------------------------------------------------
# Broadcasting in kernels: the shape of the result, and the index of the operand's element for each element of it.


def index(x: Tensor | p.PrimExpr, i: tuple[p.PrimExpr, ...], shape: rules.Dims) -> p.PrimExpr:
    """The element of `x` for element `i` of a result of `shape`."""
    if isinstance(x, p.PrimExpr):
        return x
    offset = len(shape) - x.ndim
    return x[tuple([repeated(dim, shape[n + offset], i[n + offset]) for n, dim in enumerate(x.shape)])]


def repeated(dim: p.PrimExpr, length: p.PrimExpr, place: p.PrimExpr) -> p.PrimExpr:
    """The index into an axis of length `dim`, broadcast to `length`. If it is unknown whether `dim` is 1, the kernel tests it."""
    if dim is rules.ONE:
        return place if length is rules.ONE else p.IntImm(0)
    if isinstance(dim, p.IntImm) or equal(dim, length) is Answer.YES:
        return place
    return where(p.EQ(dim, rules.ONE), p.IntImm(0), place)


def result_shape(*operands: Tensor | p.PrimExpr) -> rules.Dims:
    """The broadcast shape of operands that inference accepted."""
    shape: rules.Dims = ()
    for x in operands:
        if isinstance(x, Tensor):
            broadcast = rules.broadcast(Site(None), shape, x.shape)
            shape = x.shape if broadcast is None else broadcast
    return shape


# -- binary math -----------------------------------------------------------------------------------------------------


Element = Callable[[p.PrimExpr, p.PrimExpr], p.PrimExpr]
Function = Callable[[Any, Any], Any]


def subtract(a: Array, b: Array) -> Array:
    """The difference. As in numpy, bool operands are refused."""
    if a.dtype.kind == "b":
        raise NotDefined(
            "x1 is bool, and bool values can't be subtracted",
            "use R.not_equal to compare them, or convert them with R.astype to subtract numbers",
        )
    return np.subtract(a, b)


def difference(a: p.PrimExpr, b: p.PrimExpr) -> p.PrimExpr:
    """`subtract` in a kernel."""
    if a.dtype.is_bool:
        raise NotLowered("bool values can't be subtracted")
    return p.Sub(a, b)


def _gives_none(a: Array, b: Array) -> bool:
    """True if the result has no elements. Then no element is read, so none can be invalid."""
    return not np.broadcast(a, b).size


def divide(a: Array, b: Array) -> Array:
    """True division of floats. Integers are truncated towards zero and wrap around."""
    if a.dtype.kind not in "iu":
        return np.divide(a, b)
    if not np.all(b) and not _gives_none(a, b):
        raise ZeroDivisionError("an element of x2 is 0")
    quotient = a // b
    rest = (a - quotient * b != 0) & ((a < 0) != (b < 0))
    result: Array = (quotient + rest).astype(a.dtype, copy=False)
    return result


def checked(function: Function) -> Function:
    """`function`, but integer division by 0 is refused. Floats follow IEEE 754."""

    def divide(a: Array, b: Array) -> Array:
        if a.dtype.kind in "iu" and not np.all(b) and not _gives_none(a, b):
            raise ZeroDivisionError("an element of x2 is 0")
        result: Array = function(a, b)
        return result

    return divide


def of_bits(function: Function) -> Function:
    """`function`, restricted to integers and bool."""

    def combine(a: Array, b: Array) -> Array:
        need_bits("x1", a)
        result: Array = function(a, b)
        return result

    return combine


def shifted(function: Function) -> Function:
    """`function`, restricted to shifts by less than the bit width. Processors disagree about larger shifts."""

    def shift(a: Array, b: Array) -> Array:
        need_bits("x1", a, "iu")
        width = from_numpy(a.dtype).bits
        if (np.any(b < 0) or np.any(b >= width)) and not _gives_none(a, b):
            raise ZeroDivisionError(f"an element of x2 is below 0 or not below {width}, the bits of x1")
        result: Array = function(a, b)
        return result

    return shift


def power(a: Array, b: Array) -> Array:
    """The power. Floats use numpy; integers are computed as float64 and converted to int64, as in TVM."""
    if a.dtype.kind not in "iub":
        return np.power(a, b)
    return np.power(a.astype(np.float64), b).astype(np.int64).astype(a.dtype)  # wraps as integers do


def floor_quotient(a: Array, b: Array) -> Array:
    """The quotient rounded down. Floats are rounded after the division, as in TVM, so an infinite quotient stays infinite."""
    return np.floor_divide(a, b) if a.dtype.kind in "iub" else np.floor(np.divide(wide(a), wide(b)))


def floor_rest(a: Array, b: Array) -> Array:
    """The remainder of `floor_quotient`; NaN where the quotient or b is infinite."""
    if a.dtype.kind in "iub":
        return np.mod(a, b)
    left, right = wide(a), wide(b)
    result: Array = left - np.floor(np.divide(left, right)) * right
    return result


def as_floats(function: Function) -> Function:
    """`function`, computed in float64 for integers and float32 for narrow floats, then converted back to the operands' dtype."""

    def evaluate(a: Array, b: Array) -> Array:
        if a.dtype.kind in "iub":
            result: Array = np.trunc(function(a.astype(np.float64), b.astype(np.float64))).astype(a.dtype)
            return result
        result = function(wide(a), wide(b)).astype(a.dtype, copy=False)
        return result

    return evaluate


def floated(element: Element) -> Element:
    """`element`, computed in float64 for integers and truncated to their dtype."""

    def combined(a: p.PrimExpr, b: p.PrimExpr) -> p.PrimExpr:
        if a.dtype.is_float:
            return element(a, b)
        in_float64 = element(p.Cast(FLOAT64, a), p.Cast(FLOAT64, b))
        # 0.8 is truncated to 0, not converted to true
        cut = p.Cast(INT64, in_float64) if a.dtype.is_bool else in_float64
        return p.Cast(a.dtype, cut)

    return combined


def log_add_exp(a: Array, b: Array) -> Array:
    """log(exp(a) + exp(b)). For integers from 0 on this is the larger one: the other adds less than 1, which is truncated."""
    if a.dtype.kind not in "iub":
        result: Array = as_floats(np.logaddexp)(a, b)
        return result
    most = np.maximum(a, b)
    return np.where(most < 0, as_floats(np.logaddexp)(a, b), most) if a.dtype.kind == "i" else most


def log_sum(a: p.PrimExpr, b: p.PrimExpr) -> p.PrimExpr:
    """`log_add_exp` in a kernel."""
    if a.dtype.is_float:
        return _log_sum(a, b)
    if a.dtype.kind != "int":
        return p.Max(a, b)
    most = p.Max(a, b)
    return where(p.LT(most, p.as_prim(0, a.dtype)), floated(_log_sum)(a, b), most)


def _log_sum(a: p.PrimExpr, b: p.PrimExpr) -> p.PrimExpr:
    """max(a, b) + log(1 + exp(-|a - b|)). Equal operands are handled apart, since they may be infinite."""
    one = p.as_prim(1, a.dtype)
    apart = call("fabs", p.Sub(a, b))
    correction = call("log", p.Add(one, call("exp", p.Sub(p.as_prim(0, a.dtype), apart))))
    return where(p.EQ(a, b), p.Add(a, call("log", p.Add(one, one))), p.Add(p.Max(a, b), correction))


def floor_divide(a: p.PrimExpr, b: p.PrimExpr) -> p.PrimExpr:
    """The quotient rounded down, in a kernel."""
    return call("floor", p.Div(a, b)) if a.dtype.is_float else p.FloorDiv(a, b)


def raised(a: p.PrimExpr, b: p.PrimExpr) -> p.PrimExpr:
    """`power` in a kernel."""
    if a.dtype.is_float:
        return p.PrimCall("pow", (a, b), a.dtype)
    in_float64 = p.PrimCall("pow", (p.Cast(FLOAT64, a), p.Cast(FLOAT64, b)), FLOAT64)
    return cast(p.Cast(INT64, in_float64), a.dtype)


def floor_mod(a: p.PrimExpr, b: p.PrimExpr) -> p.PrimExpr:
    """The remainder of `floor_divide`, in a kernel."""
    return p.Sub(a, p.Mul(call("floor", p.Div(a, b)), b)) if a.dtype.is_float else p.FloorMod(a, b)


def bits(name: str) -> Element:
    """A TIR intrinsic of two integers, such as a bitwise operation."""
    return lambda a, b: p.PrimCall(name, (a, b), a.dtype)


def truth(element: Element) -> Element:
    """`element`, applied to the conditions `x != 0`; the result has the operands' dtype."""

    def combined(a: p.PrimExpr, b: p.PrimExpr) -> p.PrimExpr:
        if a.dtype.is_bool:
            return element(a, b)
        zero = cast(p.IntImm(0), a.dtype)
        return p.Cast(a.dtype, element(p.NE(a, zero), p.NE(b, zero)))

    return combined


def larger(a: Array, b: Array) -> Array:
    """The larger one; b where either is NaN, like TIR's max."""
    return np.where(a > b, a, b)


def smaller(a: Array, b: Array) -> Array:
    """The smaller one; b where either is NaN, like TIR's min."""
    return np.where(a < b, a, b)
