"""Values of scalar expressions of PrimFuncs, computed one by one in the arithmetic of their dtypes.

Integers are Python numbers, wrapped into their dtype after each operation. Floats are numpy scalars; elements of float16,
bfloat16 and float8 are computed as float32, as in compiled kernels. `reference_kernel` runs the statements.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.kernel_memory import HEAD
from relax_explorer.core.exec.loop_expr import Site, narrow_form, reinterprets
from relax_explorer.core.exec.values import Value, fault
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import HANDLE, DType
from relax_explorer.core.ir.literals import wrap
from relax_explorer.core.ops.machine.inspect import NDIM, SHAPE, STRIDES
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.intervals import limits
from relax_explorer.core.tir.prim_expr import BufferLoad, BufferPtr, Let
from relax_explorer.core.tir.stmt import Buffer

MATH: dict[str, Callable[..., Any]] = {
    "exp": np.exp, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt, "tanh": np.tanh,
    "erf": math.erf, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "atan2": np.arctan2,
    "pow": np.power, "power": np.power, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint,
    "nearbyint": np.rint, "fabs": np.abs, "abs": np.abs, "fmod": np.fmod, "exp2": np.exp2, "expm1": np.expm1,
}  # fmt: skip
TESTS: dict[str, Callable[[Any], Any]] = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}
BITS: dict[str, Callable[[Any, Any], Any]] = {
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
}
COUNTS: dict[str, Callable[[int, int], int]] = {
    "clz": lambda number, bits: bits - (number & ((1 << bits) - 1)).bit_length(),
    "popcount": lambda number, bits: (number & ((1 << bits) - 1)).bit_count(),
}  # of an integer of so many bits
_WHOLE = frozenset({"floor", "ceil", "trunc", "round", "nearbyint"})  # integers stay


class Stopped(Exception):
    """A check of a kernel failed: its place, the value, its bound, and the loop variables."""

    def __init__(self, site: Site, value: int, bound: int, loops: tuple[int, ...]) -> None:
        super().__init__(site.kind)
        self.site, self.value, self.bound, self.loops = site, value, bound, loops


def refusal(fn: t.PrimFunc, what: str, place: t.Stmt | None) -> Failure:
    """The failure for a part of a PrimFunc that can't be evaluated."""
    where = place if getattr(place, "span", None) is not None else fn
    return fault(codes.NO_KERNEL, f"{what} can't be evaluated", where)


def scalar(dtype: DType) -> type[np.floating[Any]]:
    """The numpy type in which floats of a dtype are computed."""
    return np.float64 if dtype.name == "float64" else np.float32


def poison(dtype: DType) -> Value:
    """The content of memory that was not written, as in compiled kernels."""
    if dtype.is_bool:
        return True
    return limits(dtype)[0 if dtype.kind == "int" else 1] if dtype.is_int else scalar(dtype)(np.nan)


def whole(value: float, dtype: DType) -> int:
    """A float as an integer. A value that does not fit becomes the least integer, as on x86."""
    bits = 32 if dtype.bits < 32 or dtype.name == "int32" else 64
    limit = 1 << (bits - 1)
    if dtype.name == "uint64" and limit <= value < 2 * limit:
        return int(value)
    return wrap(int(value) if -limit <= value < limit else -limit, dtype)


class Values:
    """The variables and buffers of a running PrimFunc, and the values of expressions over them."""

    def __init__(self, fn: t.PrimFunc) -> None:
        self.fn = fn
        self.numbers: dict[Any, Any] = {}  # variables; scalar buffers; pointers, as flat arrays
        self.arrays: dict[Buffer, np.ndarray[Any, Any]] = {}
        self.loops: dict[p.PrimVar, int] = {}  # around the current statement
        self.pointers: dict[p.PrimExpr, p.PrimExpr] = {}  # the values of pointer variables
        self.statement_now: t.Stmt | None = None

    def refuse(self, what: str, place: t.Stmt | None = None) -> Failure:
        """The failure for a part that can't be evaluated."""
        return refusal(self.fn, what, place)

    def stop(
        self, kind: str, value: int, bound: int = 0, buffer: Buffer | None = None, axis: int = 0
    ) -> Stopped:
        """The exception for a check that failed at the current statement."""
        site = Site(kind, self.statement_now, tuple(self.loops), buffer, axis)
        return Stopped(site, value, bound, tuple(self.loops.values()))

    def of(self, expr: p.PrimExpr) -> Value:
        """The value of an expression: an int, a bool, or a numpy float."""
        rule = _RULES.get(type(expr))
        if rule is None or expr.dtype.lanes != 1:
            raise self.refuse(f"the expression {type(expr).__name__} of dtype {expr.dtype}")
        return rule(self, expr)

    # -- elements -------------------------------------------------------------------------------------------------

    def place(self, buffer: Buffer, indices: tuple[p.PrimExpr, ...]) -> tuple[int, ...]:
        """The checked indices of an element."""
        array, places = self.arrays[buffer], []
        for axis, index in enumerate(indices):
            place, length = int(self.of(index)), array.shape[axis]
            if not 0 <= place < length:
                raise self.stop("index", place, length, buffer, axis)
            places.append(place)
        return tuple(places)

    def _load(self, expr: BufferLoad) -> Value:
        buffer = expr.buffer
        if buffer.is_scalar:
            return self.numbers[buffer]
        return self._element(buffer.dtype, self.arrays[buffer][self.place(buffer, expr.indices)])

    def _element(self, dtype: DType, element: Value) -> Value:
        if dtype.is_bool:
            return bool(element)
        return int(element) if dtype.is_int else scalar(dtype)(element)

    # -- expressions ----------------------------------------------------------------------------------------------

    def _literal(self, expr: p.IntImm | p.FloatImm) -> Value:
        if expr.dtype.is_bool:
            return bool(expr.value)
        return expr.value if isinstance(expr, p.IntImm) else scalar(expr.dtype)(expr.value)

    def _arithmetic(self, expr: p.Binary) -> Value:
        result = _ARITHMETIC[type(expr)](self.of(expr.a), self.of(expr.b))
        return wrap(result, expr.dtype) if expr.dtype.is_int else result

    def _division(self, expr: p.Binary) -> Value:
        a, b = self.of(expr.a), self.of(expr.b)
        if not expr.dtype.is_int:
            return _OF_FLOATS[type(expr)](a, b)
        if b == 0:
            raise self.stop("division", 0)
        return wrap(_OF_INTEGERS[type(expr)](a, b), expr.dtype)

    def _comparison(self, expr: p.Binary) -> bool:
        return bool(_COMPARISONS[type(expr)](self.of(expr.a), self.of(expr.b)))

    def _cast(self, expr: p.Cast) -> Value:
        value, source, dtype = self.of(expr.value), expr.value.dtype, expr.dtype
        if dtype is HANDLE:
            raise self.refuse(f"the expression {expr}")
        if dtype.is_bool:
            return bool(value != 0)
        if dtype.is_int:
            return whole(value, dtype) if source.is_float else wrap(int(value), dtype)
        if source.is_int:  # numpy rounds once, Python's numbers pass through float64
            value = np.uint64(value) if source.kind == "uint" else np.int64(value)
        return (
            narrowed(dtype, float(value)) if dtype.bits < 32 and source is not dtype else scalar(dtype)(value)
        )

    def _choice(self, condition: p.PrimExpr, yes: p.PrimExpr, no: p.PrimExpr) -> Value:
        return self.of(yes if self.of(condition) else no)

    def _let(self, expr: Let) -> Value:
        self.numbers[expr.var] = self.of(expr.value)
        return self.of(expr.body)

    def _pointer(self, expr: BufferPtr) -> Value:
        if expr.how != "data":
            raise self.refuse(f"the expression {expr}")
        return self.arrays[expr.buffer].reshape(-1)

    # -- intrinsics -----------------------------------------------------------------------------------------------

    def _call(self, expr: p.PrimCall) -> Value:
        if expr.op == "if_then_else":
            return self._choice(*expr.args)
        if expr.op == "tvm_struct_get":
            return self._field(expr)
        if expr.op == "isnullptr" and expr.args[0] in self.pointers:
            return False  # buffers, lengths and strides always have memory
        if expr.op in ("shift_left", "shift_right") and expr.dtype.is_int:
            return self._shift(expr)
        if expr.op == "reinterpret" and reinterprets(expr):
            source = np.dtype(expr.args[1].dtype.name).type(self.of(expr.args[1]))
            bits = source.view(np.dtype(expr.dtype.name))
            return int(bits) if expr.dtype.is_int else bits
        if not all(type(arg) in _RULES for arg in expr.args):
            raise self.refuse(f"the intrinsic T.{expr.op}")
        args = [self.of(arg) for arg in expr.args]
        if expr.op == "likely":
            return args[0]
        if expr.op in BITS:
            return BITS[expr.op](*args)
        if expr.op == "bitwise_not":
            return not args[0] if expr.dtype.is_bool else wrap(~args[0], expr.dtype)
        return self._of_integers(expr, args) if expr.dtype.is_int else self._of_floats(expr, args)

    def _of_floats(self, expr: p.PrimCall, args: list[Value]) -> Value:
        number = scalar(expr.dtype)
        if expr.op in TESTS:
            return bool(TESTS[expr.op](args[0]))
        if expr.op == "rsqrt":
            return number(number(1) / np.sqrt(args[0]))
        if expr.op == "sigmoid":
            return number(number(1) / (number(1) + np.exp(-args[0])))
        if expr.op not in MATH:
            raise self.refuse(f"the intrinsic T.{expr.op}")
        return number(MATH[expr.op](*args))

    def _of_integers(self, expr: p.PrimCall, args: list[int]) -> int:
        first = args[0]
        if expr.op in _WHOLE:
            return first
        if expr.op in COUNTS:
            return COUNTS[expr.op](first, expr.args[0].dtype.bits)
        if expr.op in ("abs", "fabs"):
            return wrap(abs(first), expr.dtype)
        if expr.op in ("pow", "power"):
            return wrap(_power(first, args[1], expr.dtype.bits), expr.dtype)
        if expr.op == "fmod":
            if args[1] == 0:
                raise self.stop("division", 0)
            return _remainder(first, args[1])
        if expr.op not in MATH:
            raise self.refuse(f"the intrinsic T.{expr.op}")
        return whole(float(MATH[expr.op](*map(float, args))), expr.dtype)

    def _shift(self, expr: p.PrimCall) -> int:
        value, by = self.of(expr.args[0]), self.of(expr.args[1])
        if not 0 <= by < expr.dtype.bits:
            raise self.stop("shift", by, expr.dtype.bits)
        return wrap(value << by if expr.op == "shift_left" else value >> by, expr.dtype)

    def _field(self, expr: p.PrimCall) -> Value:
        """A field of the description of a tensor (`kernel_memory`)."""
        handle, _, place, _ = expr.args
        if not isinstance(place, p.IntImm) or handle not in self.numbers:
            raise self.refuse(f"the expression {expr}")
        description, rank = self.numbers[handle], int(self.numbers[handle][NDIM])
        parts = {SHAPE: description[HEAD : HEAD + rank], STRIDES: description[HEAD + rank :]}
        return parts[place.value] if expr.dtype is HANDLE else wrap(int(description[place.value]), expr.dtype)


def narrowed(dtype: DType, value: float) -> Value:
    """A float rounded to a dtype of 16 bits or fewer, as a float32."""
    from relax_explorer.core.exec.loop_runtime import narrow

    return narrow.py_func(value, *narrow_form(dtype))


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) is (b < 0) else -quotient


def _remainder(a: int, b: int) -> int:
    return a - b * _truncated(a, b)


def _power(base: int, exponent: int, bits: int) -> int:
    """An integer power. For a negative exponent, division rounds towards 0."""
    if exponent >= 0:
        return pow(base, exponent, 1 << bits)
    return base**-exponent if base in (1, -1) else 0


_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    p.Add: operator.add, p.Sub: operator.sub, p.Mul: operator.mul,
    p.Max: lambda a, b: a if a > b else b, p.Min: lambda a, b: a if a < b else b,
}  # fmt: skip
_OF_FLOATS: dict[type, Callable[[Any, Any], Any]] = {
    p.FloorDiv: operator.floordiv, p.FloorMod: operator.mod, p.Div: operator.truediv, p.Mod: np.fmod,
}  # fmt: skip
_OF_INTEGERS: dict[type, Callable[[int, int], int]] = {
    p.FloorDiv: operator.floordiv, p.FloorMod: operator.mod, p.Div: _truncated, p.Mod: _remainder,
}  # fmt: skip
_COMPARISONS: dict[type, Callable[[Any, Any], Any]] = {
    p.EQ: operator.eq, p.NE: operator.ne, p.LT: operator.lt, p.LE: operator.le, p.GT: operator.gt, p.GE: operator.ge,
}  # fmt: skip
_RULES: dict[type, Callable[[Values, Any], Any]] = {
    p.PrimVar: lambda v, x: v.numbers[x],
    p.IntImm: Values._literal,
    p.FloatImm: Values._literal,
    BufferLoad: Values._load,
    BufferPtr: Values._pointer,
    p.Not: lambda v, x: not v.of(x.a),
    p.And: lambda v, x: v.of(x.a) and v.of(x.b),
    p.Or: lambda v, x: v.of(x.a) or v.of(x.b),
    p.Cast: Values._cast,
    p.Select: lambda v, x: v._choice(x.condition, x.true_value, x.false_value),
    p.PrimCall: Values._call,
    Let: Values._let,
    **dict.fromkeys(_ARITHMETIC, Values._arithmetic),
    **dict.fromkeys(_OF_INTEGERS, Values._division),
    **dict.fromkeys(_COMPARISONS, Values._comparison),
}
