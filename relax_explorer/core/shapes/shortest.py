"""The shortest expression that is equal to a length under the facts of a place."""

from __future__ import annotations

from relax_explorer.core.arith.bounds import ATOM_LIMIT
from relax_explorer.core.arith.polynomial import size
from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.arith.simplify import brevity, simplify
from relax_explorer.core.ir import prim as p
from relax_explorer.core.shapes.assumptions import Assumptions
from relax_explorer.core.shapes.residual import Visible

_DIVISIONS = (p.FloorDiv, p.FloorMod, p.Div, p.Mod)
_DECIDABLE = (*_DIVISIONS, p.Min, p.Max)
_ZERO, _ONE = p.IntImm(0), p.IntImm(1)


def shortest(length: p.PrimExpr, known: Assumptions, visible: Visible) -> p.PrimExpr:
    """The shortest form that was found of a length; of equally short ones, the length as it is written.

    A variable that is not in the length must be visible. A length stays if a division in it may stop the run.
    """
    if type(length) is p.IntImm or length.dtype.kind != "int" or size(length) > ATOM_LIMIT:
        return length
    if type(length) is p.PrimVar and known.value(length) is None:
        return length
    if any(_may_stop(part, known) for part in _parts(length, known)):
        return length
    written = set(p.free_vars(length))
    told = simplify(decided(length, known))
    forms = [length, simplify(length), told, known.known(told)]
    forms += [_named(form, known, visible) for form in forms]
    allowed = [form for form in forms if all(var in written or var in visible for var in p.free_vars(form))]
    return min(allowed, key=brevity)


def _parts(expr: p.PrimExpr, known: Assumptions) -> list[p.PrimExpr]:
    """All subexpressions that may be evaluated, each before its operands."""
    found = [expr]
    for part in found:
        children = part.children()
        answer = known.prove(children[0]) if _is_choice(part) else Answer.UNKNOWN
        taken = {Answer.YES: children[:2], Answer.NO: children[::2], Answer.UNKNOWN: children}
        found.extend(taken[answer])
    return found


def _may_stop(part: p.PrimExpr, known: Assumptions) -> bool:
    """True for a division by what may be 0, and for an intrinsic, which may divide, too."""
    if isinstance(part, p.PrimCall):
        return not _is_choice(part)
    if not isinstance(part, _DIVISIONS):
        return False
    return known.prove(p.NE(part.b, p.IntImm(0, part.b.dtype))) is not Answer.YES


def _is_choice(expr: p.PrimExpr) -> bool:
    """True for a condition with two values."""
    return isinstance(expr, p.Select) or (isinstance(expr, p.PrimCall) and expr.op == "if_then_else")


def decided(expr: p.PrimExpr, known: Assumptions) -> p.PrimExpr:
    """An expression with each minimum, choice, quotient and remainder replaced that the facts tell."""
    children = expr.children()
    new = tuple([decided(child, known) for child in children])
    if new != children:
        expr = expr.with_children(new)
    if _is_choice(expr):
        condition, yes, no = new
        answer = known.prove(condition)
        return expr if answer is Answer.UNKNOWN else yes if answer is Answer.YES else no
    if not isinstance(expr, _DECIDABLE):
        return expr
    values = (
        one for one in (*new, _ZERO, _ONE) if one.dtype is expr.dtype and known.equal(expr, one) is Answer.YES
    )
    return next(values, expr)


def _named(expr: p.PrimExpr, known: Assumptions, visible: Visible) -> p.PrimExpr:
    """An expression with the visible variables put in the place of equal parts."""
    if expr.dtype.kind == "int" and type(expr) is not p.IntImm:
        for var in known.names(expr):
            if var in visible and var.dtype is expr.dtype:
                return var
    children = expr.children()
    new = tuple([_named(child, known, visible) for child in children])
    return expr if new == children else expr.with_children(new)
