"""Proofs from assumed conditions (entailment), and solving an equation for a variable."""

from __future__ import annotations

from collections.abc import Container, Sequence
from math import gcd

from relax_explorer.core.arith.bounds import ATOM_LIMIT, monomial_bounds
from relax_explorer.core.arith.cases import Case, at_least, both, equals, holds, impossible
from relax_explorer.core.arith.form import CANONICAL
from relax_explorer.core.arith.polynomial import Polynomial, combine, over_variables, rebuild, replaced, size
from relax_explorer.core.arith.prove import Answer, equal, never_zero
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.ir.prim import (
    EQ,
    FloorMod,
    IntImm,
    Mod,
    PrimExpr,
    PrimVar,
    free_vars,
    substitute,
)

_MOST_FACTORS, _MOST_TERMS, _FEW_TERMS = (
    6,
    40,
    5,
)  # in a question, and in an equation that tells an atom of it


def prove(condition: PrimExpr) -> Answer:
    """YES if `condition` holds for all values of the variables, NO if for none, else UNKNOWN."""
    return prove_under((), condition)


def prove_under(
    facts: Sequence[PrimExpr], condition: PrimExpr, possible: Container[Answer] = (Answer.YES, Answer.NO)
) -> Answer:
    """YES if `condition` holds wherever all of `facts` hold, NO if it never does, else UNKNOWN.

    Facts and condition are bools, for example `n > 2` (`GT(n, IntImm(2))`). Contradictory facts prove everything. Values for
    which an expression can't be computed are no counterexamples. `possible` has the answers that the caller has not ruled out.
    """
    facts, condition = _with_values(list(facts), condition)
    premises = [holds(fact, True) for fact in facts]
    if type(condition) is EQ and condition.a.dtype.kind == "int":
        sides = CANONICAL.polynomial(condition.a), CANONICAL.polynomial(condition.b)
        told = _by_equations(premises, combine(*sides, -1))
        if told in possible:
            return told
    for answer, opposite in ((Answer.YES, False), (Answer.NO, True)):
        if answer in possible and all(map(impossible, both([*premises, holds(condition, opposite)]))):
            return answer
    return Answer.UNKNOWN


def is_zero_under(
    facts: Sequence[PrimExpr], poly: Polynomial, possible: Container[Answer] = (Answer.YES, Answer.NO)
) -> Answer:
    """The answer of `prove_under` for the condition that a polynomial is 0."""
    return _is_zero([holds(fact, True) for fact in facts], poly, possible)


def is_zero_with(
    zeros: Sequence[Polynomial], poly: Polynomial, possible: Container[Answer] = (Answer.YES, Answer.NO)
) -> Answer:
    """The answer to whether a polynomial is 0 wherever all of some others, the `zeros`, are 0."""
    return _is_zero([[Case((), (each,))] for each in zeros], poly, possible)


def _is_zero(premises: Sequence[list[Case]], poly: Polynomial, possible: Container[Answer]) -> Answer:
    told = _by_equations(premises, poly)
    if told in possible:
        return told
    if Answer.YES in possible and _is_unbound(poly, premises):
        # It takes any sign where the facts hold, so that only contradictory facts prove that it is 0. Values for which it is 0
        # were found, or may exist: then the facts are not contradictory.
        is_never = Answer.NO in possible and all(map(impossible, both([*premises, [equals(poly, {})]])))
        if not is_never:
            return Answer.UNKNOWN
    refutations = {Answer.YES: [at_least(poly, {}, 1), at_least({}, poly, 1)], Answer.NO: [equals(poly, {})]}
    for answer, cases in refutations.items():
        if answer in possible and all(map(impossible, both([*premises, cases]))):
            return answer
    return Answer.UNKNOWN


def _by_equations(premises: Sequence[list[Case]], poly: Polynomial) -> Answer:
    """Whether a polynomial is 0, with the atoms that equations tell replaced: in products, too, which `impossible` does not see."""
    if not 1 < max(map(len, poly), default=0) <= _MOST_FACTORS:
        return Answer.UNKNOWN  # `impossible` sees all of sums
    equations = [each for cases in premises if len(cases) == 1 for each in cases[0].zero]
    while equations and len(poly) <= _MOST_TERMS:
        atom, value = _told_by(equations.pop(0))
        if atom is not None:
            poly, *equations = [replaced(each, {atom: value}) for each in (poly, *equations)]
    if poly and (not never_zero(poly) or all(map(impossible, both(premises)))):
        return Answer.UNKNOWN  # contradictory facts prove everything, so that it is for the caller
    return Answer.NO if poly else Answer.YES


def _told_by(equation: Polynomial) -> tuple[PrimExpr | None, Polynomial]:
    """An atom of an equation and what it is, if that is short; None if no atom stands alone. A common factor is dropped."""
    common = gcd(*equation.values())
    for monomial, coefficient in equation.items() if len(equation) <= _FEW_TERMS else ():
        if len(monomial) == 1 and abs(coefficient) == common:
            (atom,) = monomial
            others = {one: c * -1 // coefficient for one, c in equation.items() if one is not monomial}
            return atom, others
    return None, {}


def _is_unbound(poly: Polynomial, premises: Sequence[Sequence[Case]]) -> bool:
    """True if a product of variables in a polynomial is as large as one likes, whatever the premises are: none mentions it."""
    others = [each for cases in premises for case in cases for each in (*case.at_least_zero, *case.zero)]
    if any(over_variables(each) is None for each in (poly, *others)):
        return False
    return any(
        monomial and monomial_bounds(monomial)[1] is None and not any(monomial in each for each in others)
        for monomial in poly
    )


def _with_values(facts: list[PrimExpr], condition: PrimExpr) -> tuple[list[PrimExpr], PrimExpr]:
    """Substitute variables that a fact equates with an expression or a multiple, so that their products are known, too."""
    exprs = [*facts, condition]
    if any(size(expr) > ATOM_LIMIT for expr in exprs):
        return facts, condition
    for n in range(len(facts)):
        definition = _definition(exprs[n])
        if definition is not None and size(definition[1]) == 1:
            exprs = [fact if i == n else substitute(fact, dict([definition])) for i, fact in enumerate(exprs)]
    for n in range(len(facts)):  # the last ones, for their values are no variables
        multiple = _multiple(exprs[n])
        if multiple is not None:
            exprs = [substitute(expr, dict([multiple])) for expr in exprs]
    return exprs[:-1], exprs[-1]


def _multiple(fact: PrimExpr) -> tuple[PrimVar, PrimExpr] | None:
    """The variable of which a fact tells that a number divides it, `n % 4 == 0`, and what it is then: 4 times another one."""
    if type(fact) is not EQ:
        return None
    for rest, zero in ((fact.a, fact.b), (fact.b, fact.a)):
        if type(zero) is IntImm and zero.value == 0 and isinstance(rest, (FloorMod, Mod)):
            var, by = rest.a, rest.b
            if type(var) is PrimVar and type(by) is IntImm and by.value > 0:
                return var, PrimVar(f"{var.name} // {by}", var.dtype) * by
    return None


def _definition(fact: PrimExpr) -> tuple[PrimVar, PrimExpr] | None:
    if type(fact) is not EQ or fact.a is fact.b:
        return None
    if type(fact.a) is PrimVar:
        return fact.a, fact.b
    return (fact.b, fact.a) if type(fact.b) is PrimVar else None


def solve(equation: EQ, var: PrimVar) -> PrimExpr | Answer:
    """The value of `var` that solves an equation; NO if there is none, UNKNOWN if none was found."""
    if equal(equation.a, equation.b) is Answer.NO:
        return Answer.NO
    difference = combine(CANONICAL.polynomial(equation.a), CANONICAL.polynomial(equation.b), -1)
    factor = difference.pop((var,), 0)
    if not factor or any(c % factor for c in difference.values()):
        return Answer.UNKNOWN
    value = rebuild({monomial: -c // factor for monomial, c in difference.items()}, var.dtype)
    return Answer.UNKNOWN if var in free_vars(value) else simplify(value)
