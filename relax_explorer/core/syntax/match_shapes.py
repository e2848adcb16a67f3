"""Reads `R.match_shape(x, [n, m])`, the statement of note 004 (Test I) that compares the shape of a value and binds variables.

It is a match_cast to lengths alone. `R.match_shape(x, [n, m], [n, m * 4])` names its new variables. A match_cast binds whole
dimensions only (errata E-41), so `m * 4` takes three: of the length, of m as the quotient, and of the pattern.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from relax_explorer.core.arith.form import CANONICAL
from relax_explorer.core.arith.polynomial import rebuild
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.source import Span
from relax_explorer.core.syntax.context import Skip
from relax_explorer.core.syntax.parse_info import InfoReader
from relax_explorer.core.syntax.written import dotted

MATCH_SHAPE = "R.match_shape"
_LISTS = (ast.List, ast.Tuple)
_FORMS = (
    "write R.match_shape(x, [n, m]), or R.match_shape(x, [n, m], [n, m * 4]) with the new variables first"
)


@dataclass(frozen=True)
class MatchShape:
    """What was read: the value, its pattern, and the variables that no whole dimension binds, with the axes that tell them."""

    value: ast.expr
    pattern: tuple[p.PrimExpr, ...]
    solved: tuple[tuple[p.PrimVar, int], ...] = ()

    def casts(self, value: e.Expr, annotation: s.StructInfo | None, span: Span | None) -> list[e.MatchCast]:
        """The match_casts that compare the value and bind all variables."""
        lengths, quotients = list(self.pattern), []
        for new, axis in self.solved:
            lengths[axis] = length = p.PrimVar(f"{new.name}_length")
            quotients.append((new, _solved(self.pattern[axis], new, length)))
        found = []
        if quotients:
            found.append(e.MatchCast(None, value, _lengths_of(value, tuple(lengths)), None, span, True))
        for new, quotient in quotients:
            number = e.ShapeExpr((quotient,), None, span)
            found.append(e.MatchCast(None, number, s.ShapeStructInfo((new,)), None, span))
        return [*found, e.MatchCast(None, value, _lengths_of(value, self.pattern), annotation, span, True)]


def _lengths_of(value: e.Expr, pattern: tuple[p.PrimExpr, ...]) -> s.StructInfo:
    """The StructInfo of a pattern; the normalizer knows more of the value."""
    info = s.ShapeStructInfo() if isinstance(value, e.ShapeExpr) else value.struct_info
    return s.with_lengths(info, pattern)


def read_match_shape(info: InfoReader, call: ast.Call) -> MatchShape:
    """The statement; `info` reads its dimensions. Names in the first of two lists, else those without a meaning, are new."""
    if len(call.args) not in (2, 3) or call.keywords:
        raise info.ctx.fail(codes.BAD_CALL, "match_shape takes a value and a shape", call, help=_FORMS)
    value, *named, shape = call.args
    new = [_new_variable(info, name) for names in named for name in _listed(info, names)]
    _listed(info, shape)
    names = {part.id for part in ast.walk(shape) if isinstance(part, ast.Name)}
    before = [info.resolve(name) for name in names]
    outside = info.in_signature, info.in_quotes
    info.in_signature = info.in_quotes = not named
    try:
        pattern = info.shape_argument(shape)
    finally:
        info.in_signature, info.in_quotes = outside
    if not isinstance(pattern, tuple):
        raise _no_list(info, shape)
    new += [var for var in p.free_vars(*pattern) if not any(var is known for known in before)]
    unbound = [var for var in dict.fromkeys(new) if not any(var is dim for dim in pattern)]
    solved: list[tuple[p.PrimVar, int]] = []
    while unbound:
        found = next(
            ((v, n) for v in unbound for n, dim in enumerate(pattern) if _tells(dim, v, unbound)), None
        )
        if found is None:
            text = f"no dimension of the pattern tells {unbound[0]}"
            fix = "a dimension such as n, n * 4 or n * 4 + 3 tells n"
            raise info.ctx.fail(codes.BAD_CALL, text, call, help=fix)
        solved.append(found)
        unbound.remove(found[0])
    return MatchShape(value, pattern, tuple(solved))


def _listed(info: InfoReader, node: ast.expr) -> list[ast.expr]:
    """The items of a list, a tuple, or `R.shape` of one."""
    if isinstance(node, ast.Call) and dotted(node.func) == "R.shape" and len(node.args) == 1:
        node = node.args[0]
    if not isinstance(node, _LISTS):
        raise _no_list(info, node)
    return node.elts


def _no_list(info: InfoReader, node: ast.expr) -> Skip:
    text = f"{ast.unparse(node)[:40]!r} is no list of dimensions"
    return info.ctx.fail(codes.BAD_CALL, text, node, help=_FORMS)


def _new_variable(info: InfoReader, node: ast.expr) -> p.PrimVar:
    if not isinstance(node, ast.Name):
        text = f"{ast.unparse(node)[:40]!r} is not the name of a new shape variable"
        raise info.ctx.fail(codes.BAD_CALL, text, node, help=_FORMS)
    return info.define(node.id, INT64)


def _tells(dim: p.PrimExpr, var: p.PrimVar, unbound: list[p.PrimVar]) -> bool:
    """True if a dimension is a multiple of a variable plus something without variables that are not known yet."""
    parts = dict(CANONICAL.polynomial(dim))
    factor = parts.pop((var,), 0)
    others = p.free_vars(*(atom for monomial in parts for atom in monomial))
    return factor > 0 and not any(other is new for other in others for new in unbound)


def _solved(dim: p.PrimExpr, var: p.PrimVar, length: p.PrimVar) -> p.PrimExpr:
    """The largest value of a variable that is no negative length, for which `dim` is not more than `length`."""
    parts = dict(CANONICAL.polynomial(dim))
    factor = parts.pop((var,))
    rest = simplify(p.Sub(length, rebuild(parts, var.dtype))) if parts else length
    known = p.Max(rest, p.IntImm(0)) if parts else rest
    return p.FloorDiv(known, p.IntImm(factor))
