"""Scalar expressions as TVMScript text, with as few parentheses as Python's grammar needs."""

from __future__ import annotations

import math
from collections.abc import Callable

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import INT64, DType
from relax_explorer.core.ir.fold import fold

Name = Callable[[p.PrimVar], str]
# Python's binding strengths; a right operand of equal strength needs parentheses, for all of these associate to the left.
STRENGTH: dict[type, int] = {
    p.Or: 1, p.And: 2, p.Not: 3, p.EQ: 4, p.NE: 4, p.LT: 4, p.LE: 4, p.GT: 4, p.GE: 4,
    p.Add: 9, p.Sub: 9, p.Mul: 10, p.Div: 10, p.FloorDiv: 10, p.FloorMod: 10,
}  # fmt: skip
ATOM = 20
UNARY = 11


class PrimText:
    """Writes expressions; `bare_int` is the integer dtype whose literals need no `T.` around them."""

    def __init__(self, name: Name | None = None, bare_int: DType = INT64) -> None:
        self.name = name or (lambda var: var.name)
        self.bare_int = bare_int

    def write(self, expr: p.PrimExpr) -> str:
        """`expr` as text."""
        return self._write(expr)[0]

    def _write(self, expr: p.PrimExpr) -> tuple[str, int]:
        writer = WRITERS.get(type(expr))
        if writer is None:
            raise TypeError(f"no text form for {type(expr).__name__}")
        return writer(self, expr)

    def operand(self, expr: p.PrimExpr, strength: int) -> str:
        """`expr` in a place that binds with `strength`."""
        text, own = self._write(expr)
        return text if own >= strength else f"({text})"

    def listed(self, exprs: tuple[p.PrimExpr, ...]) -> str:
        """Expressions with commas between them."""
        return ", ".join(self.write(expr) for expr in exprs)


def _var(out: PrimText, expr: p.PrimVar) -> tuple[str, int]:
    return out.name(expr), ATOM


def _int(out: PrimText, expr: p.IntImm) -> tuple[str, int]:
    if expr.dtype.is_bool and out.bare_int is INT64:
        return str(bool(expr.value)), ATOM
    if expr.dtype.is_bool:
        return f"T.bool({bool(expr.value)})", ATOM
    if expr.dtype is out.bare_int:
        return str(expr.value), ATOM if expr.value >= 0 else UNARY
    return f"T.{expr.dtype}({expr.value})", ATOM


def _any_dim(out: PrimText, expr: p.AnyDim) -> tuple[str, int]:
    return "R.any_dim", ATOM


# TVM reads no larger number as the argument of a dtype, be it a float64.
_MOST = 3.4028234663852886e38


def _float(out: PrimText, expr: p.FloatImm) -> tuple[str, int]:
    if math.isfinite(expr.value) and abs(expr.value) > _MOST:
        return f'T.FloatImm("{expr.dtype}", {float_text(expr.value)})', ATOM
    return f"T.{expr.dtype}({float_text(expr.value)})", ATOM


def float_text(value: float) -> str:
    """A float as TVM writes it (17 significant digits, which read back bit for bit); infinities and NaN in quotes."""
    if math.isnan(value):
        return '"nan"'
    if math.isinf(value):
        return '"inf"' if value > 0 else '"-inf"'
    text = f"{value:.17g}"
    return text if any(c in text for c in ".en") else text + ".0"


def _string(out: PrimText, expr: p.PrimString) -> tuple[str, int]:
    return quoted(expr.value), ATOM


def quoted(text: str) -> str:
    """A string literal in double quotes that Python reads back; control characters are escaped."""
    body = repr(text)[1:-1]
    if repr(text)[0] == "'":
        body = body.replace("\\'", "'").replace('"', '\\"')
    return f'"{body}"'


def _binary(out: PrimText, expr: p.Binary) -> tuple[str, int]:
    decided = isinstance(expr, (p.And, p.Or)) and any(type(x) is p.IntImm for x in (expr.a, expr.b))
    if decided or fold(type(expr), expr.a, expr.b) is not None:  # the symbol would not read back
        return _function(type(expr).__name__)(out, expr)
    strength = STRENGTH[type(expr)]
    left = strength + 1 if expr.compares and strength == 4 else strength  # a < b < c would be a chain
    return f"{out.operand(expr.a, left)} {expr.symbol} {out.operand(expr.b, strength + 1)}", strength


def _div(out: PrimText, expr: p.Div) -> tuple[str, int]:
    if expr.dtype.is_float:
        return _binary(out, expr)
    return f"T.Div({out.listed((expr.a, expr.b))})", ATOM


def _choice(name: str) -> Callable[[PrimText, p.Binary], tuple[str, int]]:
    """`T.min(a, b)`; by the name of the node when that would be folded."""
    plain = _function(name)
    return lambda out, expr: (
        plain(out, expr)
        if fold(type(expr), expr.a, expr.b) is None
        else _function(type(expr).__name__)(out, expr)
    )


def _function(name: str) -> Callable[[PrimText, p.PrimExpr], tuple[str, int]]:
    return lambda out, expr: (f"T.{name}({out.listed(expr.children())})", ATOM)


def _not(out: PrimText, expr: p.Not) -> tuple[str, int]:
    return f"not {out.operand(expr.a, STRENGTH[p.Not])}", STRENGTH[p.Not]


def _cast(out: PrimText, expr: p.Cast) -> tuple[str, int]:
    return f'T.Cast("{expr.dtype}", {out.write(expr.value)})', ATOM


def _call(out: PrimText, expr: p.PrimCall) -> tuple[str, int]:
    keywords = [
        f"{key}={list(value) if isinstance(value, tuple) else value!r}" for key, value in expr.keywords
    ]
    name = expr.op if expr.op.startswith(p.OF_MODULE) else f"T.{expr.op}"
    return f"{name}({', '.join([out.write(arg) for arg in expr.args] + keywords)})", ATOM


# TIR adds its own node kinds to this table (tir/expr.py).
WRITERS: dict[type, Callable[..., tuple[str, int]]] = {
    p.PrimVar: _var, p.AnyDim: _any_dim, p.IntImm: _int, p.FloatImm: _float, p.PrimString: _string, p.Div: _div, p.Not: _not, p.Cast: _cast,
    p.PrimCall: _call, p.Mod: _choice("truncmod"), p.Min: _choice("min"), p.Max: _choice("max"),
    p.Select: _function("Select"),
    **dict.fromkeys(
        (p.Add, p.Sub, p.Mul, p.FloorDiv, p.FloorMod, p.EQ, p.NE, p.LT, p.LE, p.GT, p.GE, p.And, p.Or), _binary
    ),
}  # fmt: skip


def prim_text(expr: p.PrimExpr, name: Name | None = None, bare_int: DType = INT64) -> str:
    """One scalar expression as text; `bare_int` is int64 in Relax, int32 in PrimFuncs."""
    return PrimText(name, bare_int).write(expr)
