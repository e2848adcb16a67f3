"""The conditions of checks as people say them: why one remains, and what would remove it."""

from __future__ import annotations

from itertools import islice

from relax_explorer.core.arith.prove import Answer, equal
from relax_explorer.core.ir import prim as p
from relax_explorer.core.shapes.assumptions import Assumptions
from relax_explorer.core.shapes.value_terms import is_no_length, value_name


def words(condition: object) -> str:
    """A condition as people say it. Broadcasting demands that a product of differences is 0: that one of them is."""
    return " or ".join([f"{a} == {b}" for a, b in _ways(condition)]) or str(condition)


def _ways(condition: object) -> list[tuple[p.PrimExpr, p.PrimExpr]]:
    """The pairs of which one has to be equal so that a product of differences is 0, in order; none for another condition."""
    if not isinstance(condition, p.EQ) or not isinstance(condition.a, p.Mul):
        return []
    if not isinstance(condition.b, p.IntImm) or condition.b.value != 0:
        return []
    found: list[tuple[p.PrimExpr, p.PrimExpr]] = []
    stack: list[p.PrimExpr] = [condition.a]
    while stack:
        part = stack.pop()
        if isinstance(part, p.Mul):
            stack += [part.b, part.a]
        elif isinstance(part, p.Sub):
            found.append((part.a, part.b))
        else:
            return []
    return [(a, b) for a, b in found if equal(a, b) is not Answer.NO] or found  # 4 == 1 is no way out


def why_not(known: Assumptions, condition: p.PrimExpr) -> str:
    """Why a condition does not follow: lengths for which it fails, or only that no proof was found."""
    if is_no_length(condition):
        return "the StructInfo of the value does not tell"
    example = known.counterexample(condition)
    if not example:
        return "no proof was found"
    return f"it fails with {', '.join(f'{var} = {value}' for var, value in example.items())}"


def remedy(subject: str, condition: p.PrimExpr | None, known: Assumptions | None = None) -> str:
    """What the author can write so that the check vanishes, or happens once."""
    if condition is not None and known is not None:
        told = known.known(condition)
        if not _names_places(told):  # else a cast gave these lengths the names of the condition
            condition = told
    if condition is None or _names_places(condition):
        return f"annotate {subject} where its value is made, or cast it there once"
    if isinstance(condition, p.EQ):
        a, b = next(iter(_ways(condition)), (condition.a, condition.b))
        for var, value in ((a, b), (b, a)):
            if type(var) is p.PrimVar and var not in p.free_vars(value):
                return f"write {value} instead of {var} where {var} is bound, if they are always equal"
        if (quotient := _multiple_that_suffices(condition)) is not None:
            var, by = quotient.children()
            return f"write a multiple of {by}, such as j * {by}, instead of {var} where {var} is bound, if it always is one"
    return "cast the value once, where its length is made"


def _names_places(condition: p.PrimExpr) -> bool:
    """True if a condition is about lengths without names, such as `x.shape[0]`."""
    return any("[" in var.name or "." in var.name for var in p.free_vars(condition))


def _multiple_that_suffices(condition: p.PrimExpr) -> p.PrimExpr | None:
    """A quotient or rest in a condition, of a variable that has to be divisible for the condition to hold; None if that is not all."""
    parts: list[p.PrimExpr] = [condition]
    for part in islice(parts, _LARGEST):
        is_division = isinstance(part, (p.FloorDiv, p.FloorMod))
        var, by = part.children() if is_division else (None, None)
        if type(var) is p.PrimVar and type(by) is p.IntImm:
            divides = p.EQ(p.FloorMod(var, by), p.IntImm(0, var.dtype))
            if Assumptions().plus(divides).prove(condition) is Answer.YES:
                return part
        parts.extend(part.children())  # they are looked at, too
    return None


_LARGEST = 100  # parts of a condition that are looked at


def values_in(condition: p.PrimExpr | None) -> str:
    """The names of the values whose lengths a condition names by their place, such as `x.shape[0]`."""
    found = () if condition is None or is_no_length(condition) else p.free_vars(condition)
    return " and ".join(dict.fromkeys(value_name(var) for var in found if "[" in var.name))
