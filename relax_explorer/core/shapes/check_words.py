"""The conditions of checks as people say them: why one remains, and what would remove it."""

from __future__ import annotations

from itertools import islice

from relax_explorer.core.arith.prove import Answer, equal
from relax_explorer.core.ir import prim as p
from relax_explorer.core.shapes.assumptions import Assumptions
from relax_explorer.core.shapes.value_terms import is_no_length, value_name


def words(condition: object) -> str:
    """A condition as people say it. Broadcasting demands that a product of differences is 0: that one of them is."""
    if not isinstance(condition, p.EQ) or not isinstance(condition.a, p.Mul):
        return str(condition)
    parts, possible = [], []
    stack: list[p.PrimExpr] = [condition.a]
    while stack:
        part = stack.pop()
        if isinstance(part, p.Mul):
            stack += [part.b, part.a]
        elif isinstance(part, p.Sub):
            parts.append(f"{part.a} == {part.b}")
            if equal(part.a, part.b) is not Answer.NO:  # 4 == 1 is no way out
                possible.append(parts[-1])
        else:
            return str(condition)
    return " or ".join(possible or parts)


def why_not(known: Assumptions, condition: p.PrimExpr) -> str:
    """Why a condition does not follow: lengths for which it fails, or only that no proof was found."""
    if is_no_length(condition):
        return "the StructInfo of the value does not tell"
    example = known.counterexample(condition)
    if not example:
        return "no proof was found"
    return f"it fails with {', '.join(f'{var} = {value}' for var, value in example.items())}"


def remedy(subject: str, condition: p.PrimExpr | None) -> str:
    """What the author can write so that the check vanishes, or happens once."""
    if condition is None or any("[" in var.name or "." in var.name for var in p.free_vars(condition)):
        return f"annotate {subject} where its value is made, or cast it there once"
    if isinstance(condition, p.EQ):
        for a, b in ((condition.a, condition.b), (condition.b, condition.a)):
            if type(a) is p.PrimVar and a not in p.free_vars(b):
                return f"write {b} instead of {a} where {a} is bound, if they are always equal"
        if (quotient := _multiple_that_suffices(condition)) is not None:
            var, by = quotient.children()
            return f"write a multiple of {by}, such as j * {by}, instead of {var} where {var} is bound, if it always is one"
    return "cast the value once, where its length is made"


def _multiple_that_suffices(condition: p.PrimExpr) -> p.PrimExpr | None:
    """A quotient in a condition, of a variable that has to be divisible for the condition to hold; None if that is not all."""
    parts: list[p.PrimExpr] = [condition]
    for part in islice(parts, _LARGEST):
        if isinstance(part, p.FloorDiv) and type(part.a) is p.PrimVar and type(part.b) is p.IntImm:
            divides = p.EQ(p.FloorMod(part.a, part.b), p.IntImm(0, part.a.dtype))
            if Assumptions().plus(divides).prove(condition) is Answer.YES:
                return part
        parts.extend(part.children())  # they are looked at, too
    return None


_LARGEST = 100  # parts of a condition that are looked at


def values_in(condition: p.PrimExpr | None) -> str:
    """The names of the values whose lengths a condition names by their place, such as `x.shape[0]`."""
    found = () if condition is None or is_no_length(condition) else p.free_vars(condition)
    return " and ".join(dict.fromkeys(value_name(var) for var in found if "[" in var.name))
