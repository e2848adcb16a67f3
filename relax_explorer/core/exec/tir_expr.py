"""Translate scalar expressions of PrimFuncs to Python text for numba, in the arithmetic of their dtypes.

Integers are signed numbers of 64 bits, except uint64, which is unsigned. An operation wraps its result only if it may leave its
dtype. That an operation keeps its dtype, or that an index lies inside its axis, is a fact. Facts are decided for sample
values of the length variables, and decided again for the values of each call (`tir_numba`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label
from relax_explorer.core.exec import tir_memory
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
_OF_INTEGERS: dict[str, str] = {
    "fabs": "larger({0}, sub(0, {0}))", "abs": "larger({0}, sub(0, {0}))", "pow": "power({0}, {1})", "power": "power({0}, {1})",
    **dict.fromkeys(("floor", "ceil", "trunc", "round", "nearbyint"), "{0}"),
}  # fmt: skip
_BITS: dict[str, str] = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}
_FORMS: dict[str, str] = {
    "if_then_else": "({1} if {0} else {2})", "likely": "{0}", "rsqrt": "({one} / np.sqrt({0}))",
    "sigmoid": "({one} / ({one} + {dtype}(math.exp(-{0}))))",
}  # fmt: skip
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
    """The numpy scalar type of an element in the arrays of a kernel."""
    if dtype.is_bool:
        return "np.bool_"
    if dtype.is_int:
        return f"np.{dtype.kind}{max(dtype.bits, 8)}"
    return "np.float64" if dtype.name == "float64" else "np.float32"


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

    form = ml_dtypes.finfo(dtype.to_numpy())  # type: ignore[no-untyped-call]  # ml_dtypes has no types
    beyond = float(np.float32(np.inf).astype(dtype.to_numpy()).astype(np.float32))
    return int(form.nmant), int(form.minexp), float(form.max), beyond


def narrowed(dtype: DType, value: str) -> str:
    """The text that rounds `value` to an element of `dtype`, as a float32."""
    mantissa, least, most, beyond = narrow_form(dtype)
    limits = f"{mantissa}, {least}, {most!r}"
    return f"narrow(np.float64({value}), {limits}, np.{'inf' if math.isinf(beyond) else 'nan'})"


def into(dtype: DType, text: str) -> str:
    """An integer of any numba type, converted to a dtype."""
    if dtype.kind == "uint" and dtype.bits < 64:
        return f"np.int64({element(dtype)}({text}))"
    return f"{element(dtype)}({text})"


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

    def name(self, node: Any) -> str:
        """The name of a variable or buffer."""
        name = self.names.get(node)
        if name is None:
            name = self.names[node] = f"{'b' if isinstance(node, Buffer) else 'v'}{len(self.names)}"
        return name

    def refuse(self, what: str, place: Any = None) -> Failure:
        """The failure for a part without translation."""
        where = place if getattr(place, "span", None) is not None else self.fn
        text = f"{what} has no translation to numba"
        return Failure(Diagnostic(codes.NO_KERNEL, text, (Label(where, "", True),), help=codes.NO_KERNEL.fix))

    def fact(self, holds: Callable[[Intervals], bool]) -> bool:
        """True if the text may rely on a fact: it holds for every sample."""
        answer = all([holds(sample) for sample in self.samples])
        self.facts.append(answer)
        return answer and self.trusting

    def site(self, kind: str, buffer: Buffer | None = None, axis: int = 0) -> str:
        """A new site, as the last arguments of a check. It is also created if the text does not check, so that numbers stay."""
        loops = tuple(self.loops[:DEEPEST])
        self.sites.append(Site(kind, self.statement_now, loops, buffer, axis))
        return ", ".join(["note", str(len(self.sites) - 1), *map(self.name, loops)])

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

    def hidden(self, text: str, dtype: DType | None = None) -> str:
        """An integer whose value LLVM can't know.

        LLVM 20 to 22 vectorize a loop over `a[i % 256]` and `b[i % 4]` as if `i % 4` counted up to 255, and so read foreign memory:
        that a number of 8 bits does not wrap was taken to imply the same of 2 bits. Where masks, casts and shifts of indices are
        unknown, LLVM does not ask for this.
        """
        self.hides = True
        return f"({text} & {'np.uint64(ones)' if dtype is not None and dtype.name == 'uint64' else 'ones'})"

    def into(self, dtype: DType, text: str) -> str:
        """An integer converted to a dtype, in an index with hidden masks."""
        if not self.in_index or dtype.bits >= 64:
            return into(dtype, text)
        kept = f"(np.int64({text}) & {self.hidden(str((1 << dtype.bits) - 1))})"
        sign = 1 << (dtype.bits - 1)
        return kept if dtype.kind == "uint" else f"(({kept} ^ {sign}) - {sign})"

    # -- elements -------------------------------------------------------------------------------------------------

    def place(self, buffer: Buffer, indices: tuple[p.PrimExpr, ...]) -> str:
        """An element of a buffer. Each index is checked, unless it is known to lie inside."""
        if buffer.is_scalar:
            if not all(isinstance(index, p.IntImm) and index.value == 0 for index in indices):
                raise self.refuse(f"an element of the scalar {buffer.name}")
            return self.name(buffer)
        if not buffer.shape:
            return f"{self.name(buffer)}[()]"
        parts = [self._index(buffer, axis, index) for axis, index in enumerate(indices)]
        return f"{self.name(buffer)}[{', '.join(parts)}]"

    def _index(self, buffer: Buffer, axis: int, index: p.PrimExpr) -> str:
        if not (index.dtype.is_int or index.dtype.is_bool):
            raise self.refuse(f"an index of dtype {index.dtype}")
        with self.index():
            text = self.expr(index) if index.dtype.is_int else f"np.int64({self.expr(index)})"
        site, known = self.site("index", buffer, axis), self.lengths.get(buffer)
        lengths = iter([] if known is None else [row[axis] for row in known])
        if self.fact(lambda sample: sample.lies(index, (0, next(lengths, 0) - 1))):
            return f"inside({text})"
        return f"at({text}, {self.name(buffer)}.shape[{axis}], {site})"

    def _load(self, expr: BufferLoad) -> str:
        text, dtype = self.place(expr.buffer, expr.indices), expr.buffer.dtype
        bare = expr.buffer.is_scalar or not dtype.is_int or (dtype.bits >= 8 and dtype.kind == "int")
        return text if bare or dtype.name == "uint64" else f"np.int64({text})"

    # -- expressions ----------------------------------------------------------------------------------------------

    def expr(self, expr: p.PrimExpr) -> str:
        """Translate an expression."""
        rule = _EXPRESSIONS.get(type(expr))
        if rule is None or expr.dtype.lanes != 1:
            raise self.refuse(f"the expression {type(expr).__name__} of dtype {expr.dtype}")
        return rule(self, expr)

    def typed(self, expr: p.PrimExpr, text: str) -> str:
        """Float arithmetic, converted to the dtype of the computation."""
        wide = expr.dtype.name in ("float32", "float64", "bool") or not expr.dtype.is_float
        return f"({text})" if wide else f"{element(expr.dtype)}({text})"

    def _literal(self, expr: p.IntImm | p.FloatImm) -> str:
        if expr.dtype.is_bool:
            return str(bool(expr.value))
        if isinstance(expr, p.IntImm):
            return f"np.uint64({expr.value})" if expr.dtype.name == "uint64" else f"({expr.value})"
        text = repr(float(expr.value))
        special = {"inf": "np.inf", "-inf": "-np.inf", "nan": "np.nan"}.get(text, text)
        return f"{element(expr.dtype)}({special})"

    def _binary(self, expr: p.Binary) -> str:
        return self.typed(expr, f"{self.expr(expr.a)} {expr.symbol} {self.expr(expr.b)}")

    def _arithmetic(self, expr: p.Binary) -> str:
        dtype = expr.dtype
        if not dtype.is_int:
            return self._binary(expr)
        if expr.size > DEEP and type(expr) in _SUMS:
            return self._long_sum(expr)
        a, b = self.expr(expr.a), self.expr(expr.b)
        keeps = self.fact(lambda sample: sample.keeps(expr))
        if keeps or dtype.name == "uint64":
            text = f"({a} {expr.symbol} {b})"
            return self.hidden(text, dtype) if self.in_index and _has_quotient(expr) else text
        if dtype.bits == 64:
            return f"{_WRAPPING[type(expr)]}({a}, {b})"
        if dtype.name == "uint32" and type(expr) is p.Mul:
            return self.into(dtype, f"mul({a}, {b})")
        return self.into(dtype, f"{a} {expr.symbol} {b}")

    def _long_sum(self, expr: p.Binary) -> str:
        """A left-nested sum of many terms, with few parentheses. Each partial sum is checked for overflow like a short one."""
        sums: list[p.Binary] = []
        first: p.PrimExpr = expr
        while isinstance(first, (p.Add, p.Sub)):
            sums.append(first)
            first = first.a
        text, wrapping = self.expr(first), 0
        for part in reversed(sums):
            b = self.expr(part.b)
            if self.fact(partial(_keeps, part)) or part.dtype.name == "uint64":
                text = f"{text} {part.symbol} {b}"
                continue
            wrapping += 1
            if wrapping > DEEP:
                raise self.refuse("a sum of so many terms that may overflow")
            whole = f"{text} {part.symbol} {b}"
            text = (
                f"{_WRAPPING[type(part)]}({text}, {b})"
                if part.dtype.bits == 64
                else self.into(part.dtype, whole)
            )
        return f"({text})"

    def _division(self, expr: p.Binary) -> str:
        a, b = self.expr(expr.a), self.expr(expr.b)
        name = _DIVISIONS[type(expr)]
        if not expr.dtype.is_int:
            return self.typed(expr, f"np.fmod({a}, {b})" if name == "trunc_mod" else f"{a} {expr.symbol} {b}")
        natural = self.fact(lambda sample: sample.lies(expr.a, _NATURAL) and sample.lies(expr.b, _POSITIVE))
        divides = self.fact(
            lambda sample: sample.lies(expr.b, _POSITIVE) or sample.lies(expr.b, (-(1 << 63), -1))
        )
        keeps = self.fact(lambda sample: sample.keeps(expr))
        site = self.site("division")
        if self.in_index and (mask := _mask(expr)):
            return self._rest(a, expr, mask)
        divisor = b if natural or divides else f"nonzero({b}, {site})"
        if natural or expr.dtype.name == "uint64":
            return f"{'quotient' if name.endswith('div') else 'rest'}({a}, {divisor})"
        text = f"{name}({a}, {divisor})"
        return text if keeps or expr.dtype.bits == 64 or name.endswith("mod") else self.into(expr.dtype, text)

    def _rest(self, a: str, expr: p.Binary, mask: int) -> str:
        """A rest in an index, for a divisor `mask + 1` that is a power of 2."""
        if expr.dtype.name == "uint64":
            return f"({a} & {self.hidden(f'np.uint64({mask})', expr.dtype)})"
        if type(expr) is p.FloorMod or self.fact(lambda sample: sample.lies(expr.a, _NATURAL)):
            return f"({a} & {self.hidden(str(mask))})"
        return f"trunc_mod({a}, {self.hidden(str(mask + 1))})"

    def _extreme(self, expr: p.Binary) -> str:
        return f"{'larger' if type(expr) is p.Max else 'smaller'}({self.expr(expr.a)}, {self.expr(expr.b)})"

    def _cast(self, expr: p.Cast) -> str:
        value, source, dtype = self.expr(expr.value), expr.value.dtype, expr.dtype
        if dtype is HANDLE:
            raise self.refuse(f"the expression {expr}")
        if dtype.is_bool:
            return f"({value} != 0)"
        if not dtype.is_int:
            is_narrow = dtype.bits < 32 and source is not dtype
            return narrowed(dtype, value) if is_narrow else f"{element(dtype)}({value})"
        if source.is_float:
            return self._whole(dtype, value)
        keeps = self.fact(lambda sample: sample.keeps(expr))
        if keeps and dtype.name != "uint64":
            return f"np.int64({value})" if source.is_bool or source.name == "uint64" else value
        return self.into(dtype, value)

    def _whole(self, dtype: DType, value: str) -> str:
        text = f"whole({element(dtype)}(0), {value})"
        return f"np.int64({text})" if dtype.kind == "uint" and dtype.bits < 64 else text

    def _select(self, expr: p.Select) -> str:
        return f"({self.expr(expr.true_value)} if {self.expr(expr.condition)} else {self.expr(expr.false_value)})"

    # -- intrinsics -----------------------------------------------------------------------------------------------

    def _call(self, expr: p.PrimCall) -> str:
        read = tir_memory.field(expr, self.name) if expr.op == "tvm_struct_get" else None
        if read is not None:
            return f"np.int64({read})" if expr.dtype.kind == "uint" else read
        if expr.op == "reinterpret" and reinterprets(expr):
            value = f"{element(expr.args[1].dtype)}({self.expr(expr.args[1])}).view({element(expr.dtype)})"
            return f"np.int64({value})" if expr.dtype.kind == "uint" and expr.dtype.bits < 64 else value
        if any(isinstance(arg, (p.PrimString, PointerType)) for arg in expr.args):
            raise self.refuse(f"the intrinsic T.{expr.op}")
        if expr.op in ("shift_left", "shift_right"):
            return self._shift(expr)
        if expr.op == "isnullptr" and type(expr.args[0]) is p.PrimVar and expr.args[0] in self.pointers:
            return "False"  # buffers, lengths and strides always have memory
        return self._function(expr, [self.expr(arg) for arg in expr.args])

    def _function(self, expr: p.PrimCall, args: list[str]) -> str:
        if expr.op in _FORMS:
            return _FORMS[expr.op].format(*args, one=f"{element(expr.dtype)}(1)", dtype=element(expr.dtype))
        if expr.dtype.is_int and (expr.op in _OF_INTEGERS or expr.op in _MATH):
            return self._integer_function(expr, args)
        if expr.op in _MATH:
            return f"{element(expr.dtype)}({_MATH[expr.op]}({', '.join(args)}))"
        if expr.op in _TESTS:
            return f"{_TESTS[expr.op]}({args[0]})"
        if expr.op in _BITS:
            text = f"({args[0]} {_BITS[expr.op]} {args[1]})"
            return self.hidden(text, expr.dtype) if self.in_index and expr.dtype.is_int else text
        if expr.op == "bitwise_not":
            return f"(not {args[0]})" if expr.dtype.is_bool else self.into(expr.dtype, f"~{args[0]}")
        raise self.refuse(f"the intrinsic T.{expr.op}")

    def _integer_function(self, expr: p.PrimCall, args: list[str]) -> str:
        if expr.op in ("abs", "fabs") and expr.dtype.kind == "uint":
            return args[0]
        if expr.op in _OF_INTEGERS:
            return self.into(expr.dtype, _OF_INTEGERS[expr.op].format(*args))
        if expr.op == "fmod":
            return f"trunc_mod({args[0]}, nonzero({args[1]}, {self.site('division')}))"
        return self._whole(expr.dtype, f"{_MATH[expr.op]}({', '.join(args)})")

    def _shift(self, expr: p.PrimCall) -> str:
        if not expr.dtype.is_int:
            raise self.refuse(f"T.{expr.op} of {expr.dtype}")
        bits, by = expr.dtype.bits, expr.args[1]
        value, distance = self.expr(expr.args[0]), self.expr(by)
        site, fits = self.site("shift"), self.fact(lambda sample: sample.lies(by, (0, bits - 1)))
        keeps = self.fact(lambda sample: sample.keeps(expr))
        distance = f"np.int64({distance})" if fits else f"distance({distance}, {bits}, {site})"
        distance = self.hidden(distance) if self.in_index else distance
        if expr.op == "shift_right":
            name = "right_unsigned" if expr.dtype.name == "uint64" else "right"
            return f"{name}({value}, {distance})"
        text = f"left({value}, {distance})"
        return text if keeps or bits == 64 else self.into(expr.dtype, text)

    def _pointer(self, expr: BufferPtr) -> str:
        if expr.how != "data":
            raise self.refuse(f"the expression {expr}")
        return f"{self.name(expr.buffer)}.reshape(-1)"

    def _let_expr(self, expr: Let) -> str:
        return self.expr(p.substitute(expr.body, {expr.var: expr.value}))


def _keeps(expr: p.PrimExpr, sample: Intervals) -> bool:
    return sample.keeps(expr)


_NATURAL, _POSITIVE = (0, (1 << 64) - 1), (1, (1 << 64) - 1)
_EXPRESSIONS: dict[type, Callable[[Expressions, Any], str]] = {
    p.PrimVar: lambda g, x: g.name(x),
    p.IntImm: Expressions._literal,
    p.FloatImm: Expressions._literal,
    BufferLoad: Expressions._load,
    BufferPtr: Expressions._pointer,
    p.Max: Expressions._extreme,
    p.Min: Expressions._extreme,
    p.Not: lambda g, x: f"(not {g.expr(x.a)})",
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
    return type(expr) is p.Mul and any(type(part) in (p.FloorDiv, p.Div) for part in (expr.a, expr.b))
