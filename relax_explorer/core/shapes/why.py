"""Questions about lengths: why is this length what it is, why do two differ, and what if a shape variable had a value?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from relax_explorer.core.arith.bounds import ATOM_LIMIT
from relax_explorer.core.arith.polynomial import size
from relax_explorer.core.arith.prove import Answer, division_by_zero
from relax_explorer.core.arith.simplify import brevity, simplify
from relax_explorer.core.check.wildcards import map_lengths
from relax_explorer.core.codes import relations as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import all_dims, bindings, substitute_info
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.shapes.assumptions import Assumptions, assuming
from relax_explorer.core.shapes.length_names import LengthNames, read_conditions, scopes
from relax_explorer.core.shapes.origins import Explanation, Origins, Step, parting, paths
from relax_explorer.core.shapes.residual import (
    ALL,
    PARAMETERS,
    ShapeCheck,
    Visible,
    checks_at,
    shape_checks,
    visit_facts,
)

# -- shortest --------------------------------------------------------------------------------------------------------
# The shortest expression that is equal to a length under the facts of a place.


_DIVISIONS = (p.FloorDiv, p.FloorMod, p.Div, p.Mod)
_DECIDABLE = (*_DIVISIONS, p.Min, p.Max)
_ZERO, _ONE = p.IntImm(0), p.IntImm(1)


def shortest(length: p.PrimExpr, facts: Assumptions, visible: Visible) -> p.PrimExpr:
    """The shortest form that was found of a length; of equally short ones, the length as it is written.

    A variable that is not in the length must be visible. A length stays if a division in it may stop the run.
    """
    if type(length) is p.IntImm or length.dtype.kind != "int" or size(length) > ATOM_LIMIT:
        return length
    if type(length) is p.PrimVar and facts.value(length) is None:
        return length
    if any(_may_stop(part, facts) for part in _parts(length, facts)):
        return length
    written = set(p.free_vars(length))
    told = simplify(decided(length, facts))
    forms = [length, simplify(length), told, facts.substitute(told)]
    forms += [_named(form, facts, visible) for form in forms]
    allowed = [form for form in forms if all(var in written or var in visible for var in p.free_vars(form))]
    return min(allowed, key=brevity)


def _parts(expr: p.PrimExpr, facts: Assumptions) -> list[p.PrimExpr]:
    """All subexpressions that may be evaluated, each before its operands."""
    found = [expr]
    for part in found:
        children = part.children()
        answer = facts.prove(children[0]) if _is_choice(part) else Answer.UNKNOWN
        taken = {Answer.YES: children[:2], Answer.NO: children[::2], Answer.UNKNOWN: children}
        found.extend(taken[answer])
    return found


def _may_stop(part: p.PrimExpr, facts: Assumptions) -> bool:
    """True for a division by what may be 0, and for an intrinsic, which may divide, too."""
    if isinstance(part, p.PrimCall):
        return not _is_choice(part)
    if not isinstance(part, _DIVISIONS):
        return False
    return facts.prove(p.NE(part.b, p.IntImm(0, part.b.dtype))) is not Answer.YES


def _is_choice(expr: p.PrimExpr) -> bool:
    """True for a condition with two values."""
    return isinstance(expr, p.Select) or (isinstance(expr, p.PrimCall) and expr.op == "if_then_else")


def decided(expr: p.PrimExpr, facts: Assumptions) -> p.PrimExpr:
    """An expression with each minimum, choice, quotient and remainder replaced that the facts tell."""
    children = expr.children()
    new = tuple([decided(child, facts) for child in children])
    if new != children:
        expr = expr.with_children(new)
    if _is_choice(expr):
        condition, yes, no = new
        answer = facts.prove(condition)
        return expr if answer is Answer.UNKNOWN else yes if answer is Answer.YES else no
    if not isinstance(expr, _DECIDABLE):
        return expr
    values = (
        one for one in (*new, _ZERO, _ONE) if one.dtype is expr.dtype and facts.equal(expr, one) is Answer.YES
    )
    return next(values, expr)


def _named(expr: p.PrimExpr, facts: Assumptions, visible: Visible) -> p.PrimExpr:
    """An expression with the visible variables put in the place of equal parts."""
    if expr.dtype.kind == "int" and type(expr) is not p.IntImm:
        for var in facts.names(expr):
            if var in visible and var.dtype is expr.dtype:
                return var
    children = expr.children()
    new = tuple([_named(child, facts, visible) for child in children])
    return expr if new == children else expr.with_children(new)


# -- why -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mismatch:
    """A check that is not proved, the origins of both lengths, and the nearest step that both follow from."""

    check: ShapeCheck
    sides: tuple[Explanation, Explanation]
    common: Step | None


@dataclass(frozen=True)
class Why:
    """The lengths of a value, explained, and the checks at its binding that are not proved."""

    function: str
    value: str
    lengths: tuple[Explanation, ...]
    mismatches: tuple[Mismatch, ...]
    within: tuple[str, ...] = ()  # the nested functions that were named

    @property
    def owner(self) -> str:
        """The function of the value: `main`, or `main.inner` of a nested one."""
        return ".".join((self.function, *self.within))


def why(module: IRModule, entry: str, text: str) -> Why:
    """Explain `FUNCTION.VALUE.N`, or all lengths of a value. Without a function it is `entry`; N is a field or an axis.

    `main.inner.y` is a value of a nested function. `result` is what the function returns, unless a value has this name.

    Raises Failure for a name or a number that does not exist.
    """
    names = text.replace("[", ".").replace("]", "").split(".")
    name = names.pop(0) if names[0] in module.relax_functions and len(names) > 1 else entry
    if name not in module.relax_functions:
        raise _unknown(
            f"there is no Relax function {name!r}", f"The functions are {', '.join(module.relax_functions)}."
        )
    origins = Origins(module, name)
    within, fn = origins.nested(names)
    value, *numbers = names
    var = origins.named(value, within)
    shown: e.Expr | None = var
    place: object = var if var is None else origins.made.get(var, var)
    if value == "result" and (var is None or origins.path(var) != within):
        shown, place = fn.body.body, fn
    if not isinstance(shown, (e.Var, e.Tuple)):
        known = origins.names(within)
        raise _unknown(
            f"{'.'.join((name, *within))} has no value {value!r}",
            f"It has {', '.join(known[:20])}{', …' * (len(known) > 20)}.",
        )
    found = [(part, path) for at, part, path in _fields(shown) if at[: len(numbers)] == numbers]
    mismatches = _mismatches(module, origins, place)
    if not found and (numbers or not mismatches):
        raise _unknown(f"no length {text!r} is known", f"{value} is {shown.struct_info}.")
    return Why(name, value, tuple(origins.explain(part, path) for part, path in found), mismatches, within)


def why_at(module: IRModule, function: str, place: e.Binding | e.Function) -> Why:
    """Explain the lengths of what a binding makes, or of the result of a function, nested or not: `function` is that of the module.

    Raises Failure if no length is known there.
    """
    origins = Origins(module, function)
    shown: e.Expr | None = place.body.body if isinstance(place, e.Function) else place.var
    value = "result" if isinstance(place, e.Function) else getattr(shown, "name", "the value")
    found = () if shown is None else tuple([origins.explain(part, path) for _, part, path in _fields(shown)])
    mismatches = _mismatches(module, origins, place)
    if not found and not mismatches:
        info = "" if shown is None else f"{value} is {shown.struct_info}."
        raise _unknown(f"no length of {value} is known", info or "Nothing here compares two lengths.")
    return Why(function, value, found, mismatches, origins.around(place))


def _fields(expr: e.Expr, place: tuple[int, ...] = ()) -> Iterator[tuple[list[str], e.Var, tuple[int, ...]]]:
    """The lengths of the values of a tuple: their places in the tuple, the values, and the places in these."""
    if isinstance(expr, e.Tuple):
        for number, field in enumerate(expr.fields):
            yield from _fields(field, (*place, number))
    elif isinstance(expr, e.Var):
        for path, _ in paths(expr.struct_info):
            yield [str(n) for n in (*place, *path)], expr, path


def _operands(place: object) -> Sequence[e.Expr]:
    """The operands that the checks of a place compare."""
    if isinstance(place, e.Function):
        return (place.body.body,)
    if not isinstance(place, (e.VarBinding, e.MatchCast)):
        return ()
    return place.value.args if isinstance(place.value, e.Call) else (place.value,)


def _unknown(message: str, help: str) -> Failure:
    return Failure(Diagnostic(codes.UNBOUND, message, help=help))


def _mismatches(module: IRModule, origins: Origins, place: object) -> tuple[Mismatch, ...]:
    """The checks at a place that compare two lengths, and are not proved."""
    found, operands = [], _operands(place)
    for check in checks_at(module, place):
        compared = None if check.answer is Answer.YES else _compared(check.condition)
        if compared is not None and check.kind != PARAMETERS:
            a, b = (
                origins.explain_length(length, operands, getattr(place, "span", None)) for length in compared
            )
            found.append(Mismatch(check, (a, b), parting(a, b)))
    return tuple(found)


def _compared(condition: p.PrimExpr | None) -> tuple[p.PrimExpr, p.PrimExpr] | None:
    """The two lengths that a check compares. Broadcasting compares them in the first factor of a product."""
    if type(condition) is not p.EQ:
        return None
    part = condition.a
    while isinstance(part, p.Mul):
        part = part.a
    is_product = isinstance(condition.a, p.Mul) and isinstance(part, p.Sub)
    return (part.children()[0], part.children()[1]) if is_product else (condition.a, condition.b)


@dataclass(frozen=True)
class Becomes:
    """A value whose StructInfo is more precise under a condition, or that no run has then: `impossible` tells why."""

    value: str
    place: object
    before: s.StructInfo
    after: s.StructInfo
    impossible: tuple[str, ...] = ()


@dataclass(frozen=True)
class WhatIf:
    """What follows in a function from a condition: values, and checks that it decides, with their answers.

    `given` is the condition with the whole names of its shape variables, and those of the same names that it is not about.
    """

    function: str
    given: str
    values: tuple[Becomes, ...]
    decided: tuple[ShapeCheck, ...]


def what_if(module: IRModule, function: str, text: str) -> WhatIf:
    """What the lengths of a function become under conditions such as `n = 7, m <= 2 * n`.

    Conditions on another function, `layer.n = 7`, ask what becomes of that one. Raises Failure for a mistake in them, and for
    conditions on several functions.
    """
    names = LengthNames(module, function)
    asked = read_conditions(text, names)
    if len(asked) > 1:
        help = "Ask for one function at a time."
        raise Failure(
            Diagnostic(codes.NOTATION, f"these conditions are about {' and '.join(asked)}", help=help)
        )
    ((function, conditions),) = asked.items()
    given = names.text_of(conditions)
    fn = module.relax_functions.get(function)
    if fn is None:
        return WhatIf(function, given, (), ())
    before, after = _infos(module, function, fn, ()), _infos(module, function, fn, conditions)
    values = [
        Becomes(var.name, there.place, before[var].info, there.info, there.impossible)
        for var, there in after.items()
        if there.is_reached
        and (there.info is not before[var].info or there.impossible != before[var].impossible)
    ]
    return WhatIf(function, given, tuple(values), tuple(_decided(module, function, conditions)))


class _There(NamedTuple):
    """A value at its place: with the lengths that are known there, and why some cannot be."""

    place: object
    info: s.StructInfo
    impossible: tuple[str, ...]
    is_reached: bool  # contradictory facts would tell everything of it


def _infos(
    module: IRModule, name: str, fn: e.Function, conditions: Sequence[p.PrimExpr]
) -> dict[e.Var, _There]:
    """The places and the StructInfo of all values of a function, in order, with the lengths that are known there."""
    own = {var for variables in scopes(name, fn).values() for var in variables.values()}
    inside = set(bindings(fn))
    found: dict[e.Var, _There] = {}

    waiting: list[e.Binding] = []  # the last binding: what it checks is known at the next place

    def note(var: e.Var | None, place: object, facts: Assumptions) -> None:
        if var is None or var.struct_info is None:
            return
        values = {dim: facts.substitute(dim) for dim in all_dims(var.struct_info)}
        values = {dim: value for dim, value in values.items() if own.issuperset(p.free_vars(value))}
        info = substitute_info(var.struct_info, values)
        if info is not var.struct_info:
            info = map_lengths(info, simplify)
        impossible = tuple(_impossible(var.struct_info, facts))
        told = info if impossible else map_lengths(info, lambda dim: _told(dim, facts))
        is_reached = told is info or not facts.are_contradictory
        found[var] = _There(place, told, impossible, is_reached)

    def visit(place: e.Binding | e.SeqExpr, facts: Assumptions, visible: Visible) -> None:
        while waiting:
            before = waiting.pop()
            note(before.var, before, facts)
        if isinstance(place, e.SeqExpr) or place not in inside:
            return
        if isinstance(place.value, (e.If, e.Function)):  # the next place is inside of it
            note(place.var, place, facts)
            for param in place.value.params if isinstance(place.value, e.Function) else ():
                note(param, param, facts)
        else:
            waiting.append(place)

    assumed = assuming(conditions)
    for param in fn.params:
        note(param, param, assumed)
    visit_facts(module, visit, ALL, {name: conditions})
    return found


def _told(dim: p.PrimExpr, facts: Assumptions) -> p.PrimExpr:
    """A length without the minima, choices and quotients that facts tell."""
    told = decided(dim, facts)
    return dim if told is dim else simplify(told)


def _impossible(info: s.StructInfo, facts: Assumptions) -> Iterator[str]:
    """Why no run has a value with these lengths, in words. Nothing is said of a place that no run gets to."""

    def holds(condition: p.PrimExpr) -> bool:
        return facts.prove(condition) is Answer.YES and not facts.are_contradictory

    for dim in dict.fromkeys(dim for _, dim in paths(info) if dim.children()):
        part = _undefined(dim, facts)
        if part is not None and not facts.are_contradictory:
            divisor = "" if isinstance(part.b, p.IntImm) else f" by {part.b}, which is 0"
            yield f"{part} divides{divisor or ' by 0'}"
        elif part is None and dim.dtype.is_int and holds(p.LT(dim, p.IntImm(0, dim.dtype))):
            yield (
                f"{dim} is {facts.substitute(dim)}"
                if facts.substitute(dim).is_literal
                else f"{dim} is negative"
            )


def _undefined(expr: p.PrimExpr, facts: Assumptions) -> p.Binary | None:
    """The part of an expression that divides by what facts tell to be 0."""
    return division_by_zero(expr, lambda by: facts.prove(p.EQ(by, p.IntImm(0, by.dtype))) is Answer.YES)


def _decided(module: IRModule, function: str, conditions: Sequence[p.PrimExpr]) -> list[ShapeCheck]:
    """The checks of a function that the conditions decide; not those of lengths that divide by 0 then, or that no run gets to."""
    before, after = (
        [check for check in shape_checks(module, given) if check.function == function]
        for given in (None, {function: conditions})
    )
    open_ = {(id(check.place), check.kind, check.text) for check in before if check.answer is Answer.UNKNOWN}
    return [
        check
        for check in after
        if check.answer is not Answer.UNKNOWN
        and (id(check.place), check.kind, check.text) in open_
        and (check.condition is None or _undefined(check.condition, check.facts) is None)
        and not check.facts.are_contradictory
    ]
