"""Translate scalar expressions of PrimFuncs to the language of kernels (`loop_ir`), in the arithmetic of their dtypes.

Integers are signed numbers of 64 bits, except uint64, which is unsigned. An operation wraps its result only if it may leave its
dtype. That an operation keeps its dtype, or that an index lies inside its axis, is a fact. Facts are decided for sample
values of the length variables, and decided again for the values of each call (`compiled_kernel`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec import kernel_memory
from relax_explorer.core.exec.loop_functions import BY_NAME, on_float32
from relax_explorer.core.exec.loop_ir import (
    Apply,
    Bits,
    Check,
    Choice,
    Const,
    Convert,
    Element,
    Expr,
    Flat,
    Inside,
    Length,
    Narrow,
    Op,
    Var,
    Whole,
    parts,
)
from relax_explorer.core.exec.values import fault
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import HANDLE, DType
from relax_explorer.core.ir.node import DEEP
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.intervals import Intervals
from relax_explorer.core.tir.prim_expr import BufferLoad, BufferPtr, Let, PointerType
from relax_explorer.core.tir.stmt import Buffer

NOTE = 3  # the loop variables of a note come after its site, index and length
DEEPEST = 64  # the maximal number of loops in a note
_MATH: dict[str, str] = {
    "exp": "math.exp", "log": "np.log", "log2": "np.log2", "log10": "np.log10", "log1p": "np.log1p", "sqrt": "np.sqrt", "tanh": "math.tanh",
    "erf": "math.erf", "sin": "math.sin", "cos": "math.cos", "tan": "math.tan", "asin": "np.arcsin", "acos": "np.arccos",
    "atan": "math.atan", "sinh": "math.sinh", "cosh": "math.cosh", "asinh": "math.asinh", "acosh": "np.arccosh", "atanh": "np.arctanh",
    "atan2": "math.atan2", "pow": "np.power", "power": "np.power", "floor": "np.floor", "ceil": "np.ceil", "trunc": "np.trunc",
    "round": "np.rint", "nearbyint": "np.rint", "fabs": "abs", "abs": "abs", "fmod": "np.fmod", "exp2": "np.exp2", "expm1": "np.expm1",
}  # fmt: skip
_ROUNDING = frozenset({"floor", "ceil", "trunc", "round", "nearbyint"})  # integers stay
_OF_INTEGERS = frozenset({"fabs", "abs", "pow", "power"}) | _ROUNDING
_BITS: dict[str, str] = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}
_TESTS: dict[str, str] = {"isnan": "np.isnan", "isinf": "np.isinf", "isfinite": "np.isfinite"}
_WRAPPING: dict[type, str] = {p.Add: "add", p.Sub: "sub", p.Mul: "mul"}
_SUMS = frozenset({p.Add, p.Sub})
_DIVISIONS: dict[type, str] = {
    p.FloorDiv: "floor_div",
    p.FloorMod: "floor_mod",
    p.Div: "trunc_div",
    p.Mod: "trunc_mod",
}


def element(dtype: DType) -> str:
    """The name of the numpy type of an element in the arrays of a kernel."""
    if dtype.is_bool:
        return "bool_"
    if dtype.is_int:
        return f"{dtype.kind}{max(dtype.bits, 8)}"
    return "float64" if dtype.name == "float64" else "float32"


def reinterprets(expr: p.PrimCall) -> bool:
    """True if a kernel holds the bits that `T.reinterpret` reads: those of floats below 32 bits are computed as float32."""
    if len(expr.args) != 2:
        return False
    dtypes = (expr.dtype, expr.args[1].dtype)
    held = all(x.lanes == 1 and (x.is_int or (x.is_float and x.bits >= 32)) for x in dtypes)
    return held and dtypes[0].bits == dtypes[1].bits and dtypes[0].bits in (8, 16, 32, 64)


def narrow_form(dtype: DType) -> tuple[int, int, float, float]:
    """The bits behind the first one, the least normal exponent, the largest number, and what lies beyond it."""
    import ml_dtypes

    form = ml_dtypes.finfo(dtype.to_numpy())
    beyond = float(np.float32(np.inf).astype(dtype.to_numpy()).astype(np.float32))
    return int(form.nmant), int(form.minexp), float(form.max), beyond


@dataclass(frozen=True)
class Site:
    """A place of a kernel that may trap (an index of a buffer, a division, a shift, a step), with the loops around it."""

    kind: str
    statement: t.Stmt | None
    loops: tuple[p.PrimVar, ...]
    buffer: Buffer | None = None
    axis: int = 0


class Expressions:
    """Translates expressions. Facts and sites are in the order of the text."""

    def __init__(self, fn: t.PrimFunc, samples: Sequence[Intervals], trusting: bool) -> None:
        self.fn, self.samples, self.trusting = fn, samples, trusting
        self.names: dict[Any, str] = {}
        self.facts: list[bool] = []
        self.sites: list[Site] = []
        self.loops: list[p.PrimVar] = []  # around the current statement
        self.statement_now: t.Stmt | None = None
        self.lengths: dict[Buffer, list[list[int]]] = {}  # the least lengths of the axes, for each sample
        self.pointers: dict[p.PrimExpr, p.PrimExpr] = {}  # the values of pointer variables
        self.in_index = 0  # how many indices are around the current expression
        self.hides = False  # the text reads `ones`

    def name(self, node: object) -> str:
        """The name of a variable or buffer."""
        name = self.names.get(node)
        if name is None:
            name = self.names[node] = f"{'b' if isinstance(node, Buffer) else 'v'}{len(self.names)}"
        return name

    def refuse(self, what: str, place: object = None) -> Failure:
        """The failure for a part without translation."""
        where = place if getattr(place, "span", None) is not None else self.fn
        return fault(codes.NO_KERNEL, f"{what} has no translation to machine code", where)

    def fact(self, holds: Callable[[Intervals], bool]) -> bool:
        """True if the text may rely on a fact: it holds for every sample."""
        answer = all([holds(sample) for sample in self.samples])
        self.facts.append(answer)
        return answer and self.trusting

    def site(self, kind: str, buffer: Buffer | None = None, axis: int = 0) -> tuple[int, tuple[str, ...]]:
        """A new site: its number, and the loops around it. It is also made where nothing is checked, so that numbers stay."""
        loops = tuple(self.loops[:DEEPEST])
        self.sites.append(Site(kind, self.statement_now, loops, buffer, axis))
        return len(self.sites) - 1, tuple([self.name(var) for var in loops])

    def measure(self, buffer: Buffer) -> None:
        """Record the least lengths of the axes of a buffer, at its definition."""
        bounds = []
        for sample in self.samples:
            parts = [sample.of(dim) for dim in buffer.shape]
            bounds.append([0 if part is None else part[0] for part in parts])
        self.lengths[buffer] = bounds

    @contextmanager
    def index(self) -> Iterator[None]:
        """Around an index, or the value of an integer variable, which may be part of one."""
        self.in_index += 1
        yield
        self.in_index -= 1

    def hidden(self, value: Expr, dtype: DType | None = None) -> Expr:
        """An integer whose value LLVM can't know.

        LLVM 20 to 22 vectorize a loop over `a[i % 256]` and `b[i % 4]` as if `i % 4` counted up to 255, and so read foreign memory:
        that a number of 8 bits does not wrap was taken to imply the same of 2 bits. Where masks, casts and shifts of indices are
        unknown, LLVM does not ask for this.
        """
        self.hides = True
        ones: Expr = Var("ones")
        return _op(
            "&", value, Convert("uint64", ones) if dtype is not None and dtype.name == "uint64" else ones
        )

    def into(self, dtype: DType, value: Expr) -> Expr:
        """An integer converted to a dtype, in an index with hidden masks."""
        if not self.in_index or dtype.bits >= 64:
            return Convert(element(dtype), value)
        kept = _op("&", Convert("int64", value), self.hidden(Const((1 << dtype.bits) - 1)))
        sign = Const(1 << (dtype.bits - 1))
        return kept if dtype.kind == "uint" else _op("-", _op("^", kept, sign), sign)

    # -- elements -------------------------------------------------------------------------------------------------

    def place(self, buffer: Buffer, indices: tuple[p.PrimExpr, ...]) -> Element | Var:
        """An element of a buffer. Each index is checked, unless it is known to lie inside."""
        if buffer.is_scalar:
            if not all(isinstance(index, p.IntImm) and index.value == 0 for index in indices):
                raise self.refuse(f"an element of the scalar {buffer.name}")
            return Var(self.name(buffer))
        parts = [self._index(buffer, axis, index) for axis, index in enumerate(indices)]
        return Element(self.name(buffer), element(buffer.dtype), tuple(parts))

    def _index(self, buffer: Buffer, axis: int, index: p.PrimExpr) -> Expr:
        if not (index.dtype.is_int or index.dtype.is_bool):
            raise self.refuse(f"an index of dtype {index.dtype}")
        with self.index():
            value = self.expr(index) if index.dtype.is_int else Convert("int64", self.expr(index))
        site, known = self.site("index", buffer, axis), self.lengths.get(buffer)
        lengths = iter([] if known is None else [row[axis] for row in known])
        if self.fact(lambda sample: sample.lies(index, (0, next(lengths, 0) - 1))):
            return Inside(value)
        return Check("index", value, *site, Length(self.name(buffer), axis))

    # -- expressions ----------------------------------------------------------------------------------------------

    def expr(self, expr: p.PrimExpr) -> Expr:
        """Translate an expression."""
        rule = _EXPRESSIONS.get(type(expr))
        if rule is None or expr.dtype.lanes != 1:
            raise self.refuse(f"the expression {type(expr).__name__} of dtype {expr.dtype}")
        return rule(self, expr)

    def typed(self, expr: p.PrimExpr, value: Expr) -> Expr:
        """Float arithmetic, converted to the dtype of the computation."""
        wide = expr.dtype.name in ("float32", "float64", "bool") or not expr.dtype.is_float
        return value if wide else Convert(element(expr.dtype), value)

    def _literal(self, expr: p.IntImm | p.FloatImm) -> Expr:
        if expr.dtype.is_bool:
            return Const(bool(expr.value))
        if isinstance(expr, p.IntImm):
            value = Const(int(expr.value))
            return Convert("uint64", value) if expr.dtype.name == "uint64" else value
        return Convert(element(expr.dtype), Const(float(expr.value)))

    def _binary(self, expr: p.Binary) -> Expr:
        return self.typed(expr, _op(expr.symbol, self.expr(expr.a), self.expr(expr.b)))

    def _arithmetic(self, expr: p.Binary) -> Expr:
        dtype = expr.dtype
        if not dtype.is_int:
            return self._binary(expr)
        if expr.size > DEEP and type(expr) in _SUMS:
            return self._long_sum(expr)
        a, b = self.expr(expr.a), self.expr(expr.b)
        keeps = self.fact(lambda sample: sample.keeps(expr))
        if keeps or dtype.name == "uint64":
            value = _op(expr.symbol, a, b)
            return self.hidden(value, dtype) if self.in_index and _has_quotient(expr) else value
        if dtype.bits == 64:
            return Apply(_WRAPPING[type(expr)], (a, b))
        if dtype.name == "uint32" and type(expr) is p.Mul:
            return self.into(dtype, Apply("mul", (a, b)))
        return self.into(dtype, _op(expr.symbol, a, b))

    def _long_sum(self, expr: p.Binary) -> Expr:
        """A left-nested sum of many terms. Each partial sum is checked for overflow like a short one."""
        sums: list[p.Binary] = []
        first: p.PrimExpr = expr
        while isinstance(first, (p.Add, p.Sub)):
            sums.append(first)
            first = first.a
        value, wrapping = self.expr(first), 0
        for part in reversed(sums):
            whole = _op(part.symbol, value, b := self.expr(part.b))
            if self.fact(partial(_keeps, part)) or part.dtype.name == "uint64":
                value = whole
                continue
            wrapping += 1
            if wrapping > DEEP:
                raise self.refuse("a sum of so many terms that may overflow")
            is_long = part.dtype.bits == 64
            value = Apply(_WRAPPING[type(part)], (value, b)) if is_long else self.into(part.dtype, whole)
        return value

    def _division(self, expr: p.Binary) -> Expr:
        a, b = self.expr(expr.a), self.expr(expr.b)
        name = _DIVISIONS[type(expr)]
        if not expr.dtype.is_int:
            return self.typed(
                expr, Apply("np.fmod", (a, b)) if name == "trunc_mod" else _op(expr.symbol, a, b)
            )
        natural = self.fact(lambda sample: sample.lies(expr.a, _NATURAL) and sample.lies(expr.b, _POSITIVE))
        divides = self.fact(
            lambda sample: sample.lies(expr.b, _POSITIVE) or sample.lies(expr.b, (-(1 << 63), -1))
        )
        keeps = self.fact(lambda sample: sample.keeps(expr))
        site = self.site("division")
        if _is_whole_quotient(expr):
            return a
        if self.in_index and (mask := _mask(expr)):
            return self._rest(a, expr, mask)
        divisor = b if natural or divides else Check("divisor", b, *site)
        if natural or expr.dtype.name == "uint64":
            return Apply("quotient" if name.endswith("div") else "rest", (a, divisor))
        value = Apply(name, (a, divisor))
        return (
            value if keeps or expr.dtype.bits == 64 or name.endswith("mod") else self.into(expr.dtype, value)
        )

    def _rest(self, a: Expr, expr: p.Binary, mask: int) -> Expr:
        """A rest in an index, for a divisor `mask + 1` that is a power of 2."""
        if expr.dtype.name == "uint64":
            return _op("&", a, self.hidden(Convert("uint64", Const(mask)), expr.dtype))
        if type(expr) is p.FloorMod or self.fact(lambda sample: sample.lies(expr.a, _NATURAL)):
            return _op("&", a, self.hidden(Const(mask)))
        return Apply("trunc_mod", (a, self.hidden(Const(mask + 1))))

    def _extreme(self, expr: p.Binary) -> Expr:
        return Apply("larger" if type(expr) is p.Max else "smaller", (self.expr(expr.a), self.expr(expr.b)))

    def _cast(self, expr: p.Cast) -> Expr:
        value, source, dtype = self.expr(expr.value), expr.value.dtype, expr.dtype
        if dtype is HANDLE:
            raise self.refuse(f"the expression {expr}")
        if dtype.is_bool:
            return value if source.is_bool else _op("!=", value, Const(0))
        if not dtype.is_int:
            is_narrow = dtype.bits < 32 and source is not dtype
            return Narrow(value, narrow_form(dtype)) if is_narrow else Convert(element(dtype), value)
        if source.is_float:
            return Whole(element(dtype), value)
        keeps = self.fact(lambda sample: sample.keeps(expr))
        if keeps and dtype.name != "uint64":
            return Convert("int64", value) if source.is_bool or source.name == "uint64" else value
        return self.into(dtype, value)

    def _select(self, expr: p.Select) -> Expr:
        yes, condition, no = (self.expr(part) for part in (expr.true_value, expr.condition, expr.false_value))
        return Choice(condition, yes, no)

    # -- intrinsics -----------------------------------------------------------------------------------------------

    def _call(self, expr: p.PrimCall) -> Expr:
        read = kernel_memory.field(expr, self.name) if expr.op == "tvm_struct_get" else None
        if read is not None:
            return read
        if expr.op == "reinterpret" and reinterprets(expr):
            return Bits(element(expr.args[1].dtype), element(expr.dtype), self.expr(expr.args[1]))
        if any(isinstance(arg, (p.PrimString, PointerType)) for arg in expr.args):
            raise self.refuse(f"the intrinsic T.{expr.op}")
        if expr.op in ("shift_left", "shift_right"):
            return self._shift(expr)
        if expr.op == "isnullptr" and type(expr.args[0]) is p.PrimVar and expr.args[0] in self.pointers:
            return Const(False)  # buffers, lengths and strides always have memory
        return self._function(expr, [self.expr(arg) for arg in expr.args])

    def _function(self, expr: p.PrimCall, args: list[Expr]) -> Expr:
        if expr.op == "if_then_else":
            return self._chosen(expr.args[0], *args)
        if expr.op == "likely":
            return args[0]
        if expr.op in BY_NAME and expr.dtype.is_float and element(expr.dtype) == "float32":
            return on_float32(expr.op, args[0])
        if expr.dtype.is_float and expr.op in ("rsqrt", "sigmoid"):
            return _inverse(expr, args[0])
        if expr.dtype.is_int and (expr.op in _OF_INTEGERS or expr.op in _MATH):
            return self._integer_function(expr, args)
        if expr.op in _MATH:
            return Convert(element(expr.dtype), Apply(_MATH[expr.op], tuple(args)))
        if expr.op in _TESTS:
            return Apply(_TESTS[expr.op], (args[0],))
        if expr.op in _BITS:
            value = _op(_BITS[expr.op], *args)
            return self.hidden(value, expr.dtype) if self.in_index and expr.dtype.is_int else value
        if expr.op == "bitwise_not":
            return _op("not", args[0]) if expr.dtype.is_bool else self.into(expr.dtype, _op("~", args[0]))
        raise self.refuse(f"the intrinsic T.{expr.op}")

    def _chosen(self, condition: p.PrimExpr, test: Expr, yes: Expr, no: Expr) -> Expr:
        """One of two values. Both were translated, so that facts and sites stay the same where the condition is known."""
        is_true = self.fact(lambda sample: sample.lies(condition, (1, 1)))
        is_false = self.fact(lambda sample: sample.lies(condition, (0, 0)))
        if (is_true or is_false) and not any(type(part) is Check for part in parts(test)):
            return yes if is_true else no
        return Choice(test, yes, no)

    def _integer_function(self, expr: p.PrimCall, args: list[Expr]) -> Expr:
        is_size = expr.op in ("abs", "fabs")
        if is_size and expr.dtype.kind == "uint":
            return args[0]
        if expr.op in _OF_INTEGERS:
            value = args[0] if expr.op in _ROUNDING else Apply("power", tuple(args))
            value = Apply("larger", (args[0], Apply("sub", (Const(0), args[0])))) if is_size else value
            return self.into(expr.dtype, value)
        if expr.op == "fmod":
            return Apply("trunc_mod", (args[0], Check("divisor", args[1], *self.site("division"))))
        return Whole(element(expr.dtype), Apply(_MATH[expr.op], tuple(args)))

    def _shift(self, expr: p.PrimCall) -> Expr:
        if not expr.dtype.is_int:
            raise self.refuse(f"T.{expr.op} of {expr.dtype}")
        bits, by = expr.dtype.bits, expr.args[1]
        value, distance = self.expr(expr.args[0]), self.expr(by)
        site, fits = self.site("shift"), self.fact(lambda sample: sample.lies(by, (0, bits - 1)))
        keeps = self.fact(lambda sample: sample.keeps(expr))
        distance = Convert("int64", distance) if fits else Check("distance", distance, *site, Const(bits))
        distance = self.hidden(distance) if self.in_index else distance
        if expr.op == "shift_right":
            return Apply("right_unsigned" if expr.dtype.name == "uint64" else "right", (value, distance))
        shifted = Apply("left", (value, distance))
        return shifted if keeps or bits == 64 else self.into(expr.dtype, shifted)

    def _pointer(self, expr: BufferPtr) -> Expr:
        if expr.how != "data":
            raise self.refuse(f"the expression {expr}")
        return Flat(self.name(expr.buffer))

    def _let_expr(self, expr: Let) -> Expr:
        return self.expr(p.substitute(expr.body, {expr.var: expr.value}))


def _op(symbol: str, *args: Expr) -> Op:
    return Op(symbol, args)


def _inverse(expr: p.PrimCall, value: Expr) -> Expr:
    """A function that is 1 divided by something."""
    kind = element(expr.dtype)
    one = Convert(kind, Const(1))
    if expr.op == "rsqrt":
        return _op("/", one, Apply("np.sqrt", (value,)))
    return _op("/", one, _op("+", one, Convert(kind, Apply("math.exp", (_op("neg", value),)))))


def _keeps(expr: p.PrimExpr, sample: Intervals) -> bool:
    return sample.keeps(expr)


_NATURAL, _POSITIVE = (0, (1 << 64) - 1), (1, (1 << 64) - 1)
_EXPRESSIONS: dict[type, Callable[[Expressions, Any], Expr]] = {
    p.PrimVar: lambda g, x: Var(g.name(x)),
    p.IntImm: Expressions._literal,
    p.FloatImm: Expressions._literal,
    BufferLoad: lambda g, x: g.place(x.buffer, x.indices),
    BufferPtr: Expressions._pointer,
    p.Max: Expressions._extreme,
    p.Min: Expressions._extreme,
    p.Not: lambda g, x: _op("not", g.expr(x.a)),
    p.Cast: Expressions._cast,
    p.Select: Expressions._select,
    p.PrimCall: Expressions._call,
    Let: Expressions._let_expr,
    **dict.fromkeys(_WRAPPING, Expressions._arithmetic),
    **dict.fromkeys(_DIVISIONS, Expressions._division),
    **dict.fromkeys((p.EQ, p.NE, p.LT, p.LE, p.GT, p.GE, p.And, p.Or), Expressions._binary),
}


def _mask(expr: p.Binary) -> int:
    """One less than the divisor of a rest by a power of 2; 0 for anything else."""
    if type(expr) not in (p.FloorMod, p.Mod) or not isinstance(expr.b, p.IntImm):
        return 0
    divisor = expr.b.value
    return divisor - 1 if divisor > 1 and divisor & (divisor - 1) == 0 else 0


def _has_quotient(expr: p.Binary) -> bool:
    """True for a product with a quotient: subtracted from its dividend, it gives a rest."""
    quotients = [part for part in (expr.a, expr.b) if isinstance(part, p.FloorDiv | p.Div)]
    return type(expr) is p.Mul and not all(map(_is_whole_quotient, quotients))


def _is_whole_quotient(expr: p.Binary) -> bool:
    """True for a quotient by 1, as in convolutions with as many groups as channels."""
    return isinstance(expr, p.FloorDiv | p.Div) and isinstance(expr.b, p.IntImm) and expr.b.value == 1
