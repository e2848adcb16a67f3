"""Facts about lengths, each with its reason, and what follows from them.

Operators, casts and calls demand conditions; what passed before is known after. An `Assumptions` never changes: `plus` gives a
new one, so that branches share what holds before them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, product

from relax_explorer.core.arith.assume import prove_under
from relax_explorer.core.arith.prove import Answer, equal
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.arith.witness import number
from relax_explorer.core.ir import prim as p

_MOST = 24  # facts that a proof considers: the latest of those that share variables with the question
_SEEN = 256  # of these, the latest: a proof costs the same however long the program is
_COMPARED = (p.EQ, p.NE, p.LT, p.LE, p.GT, p.GE)


@dataclass(frozen=True, eq=False)
class Fact:
    """A condition that holds, the reason in words, and the node or span that it comes from."""

    condition: p.PrimExpr
    why: str = ""
    place: object = None
    is_definition: bool = (
        False  # it only gives a variable its value, which `Assumptions.known` puts in its place
    )

    @cached_property
    def names(self) -> frozenset[p.PrimVar]:
        """The variables of the condition."""
        return frozenset(p.free_vars(self.condition))

    def __str__(self) -> str:
        return f"{self.condition}" + (f" ({self.why})" if self.why else "")


@dataclass(frozen=True, eq=False)
class Assumptions:
    """Facts in the order in which they became known. `defined` has the variables that a fact equates with an expression."""

    facts: tuple[Fact, ...] = ()
    defined: dict[p.PrimVar, p.PrimExpr] = field(default_factory=dict)
    has_others: bool = False  # True if a fact is no definition

    def plus(self, condition: p.PrimExpr, why: str = "", place: object = None) -> Assumptions:
        """These facts and one more."""
        found = _definition(self.known(condition))
        defined = self.defined if found is None else self.defined | dict([found])
        fact = Fact(condition, why, place, found is not None)
        return Assumptions((*self.facts, fact), defined, self.has_others or found is None)

    def known(self, expr: p.PrimExpr) -> p.PrimExpr:
        """An expression with the variables that are known replaced by their values, simplified."""
        return simplify(self._in_values(expr))

    def _in_values(self, expr: p.PrimExpr) -> p.PrimExpr:
        """An expression with the variables that are known replaced by their values."""
        used = {var: self.defined[var] for var in p.free_vars(expr) if var in self.defined}
        while (
            used
        ):  # a value may have variables that became known later; a variable is never part of its own value
            expr = p.substitute(expr, used)
            used = {var: self.defined[var] for var in p.free_vars(expr) if var in self.defined}
        return expr

    def prove(self, condition: p.PrimExpr) -> Answer:
        """YES if a condition follows from the facts, NO if it contradicts them, else UNKNOWN."""
        question = self._in_values(condition)
        at_once = _decided(question)
        if at_once is not Answer.UNKNOWN:
            return at_once
        # Definitions are in the question by now. Without other facts, an equation is decided by its two sides.
        if not self.has_others and type(question) is p.EQ:
            return Answer.UNKNOWN
        question = simplify(question)
        if len(self.facts) <= _FEW:
            rest = _sharing(self._others, question)
        else:
            chosen = [fact for fact in self._relevant(question) if not fact.is_definition]
            rest = _undecided([self.known(fact.condition) for fact in chosen])
        # Most questions are open: two attempts that part settle that in a tenth of the time of a proof. One rules out an answer.
        possible = {Answer.YES, Answer.NO}
        for _, holds in _examples(question, rest, _TRIED_FIRST):
            possible.discard(Answer.NO if holds else Answer.YES)
            if not possible:
                return Answer.UNKNOWN
        return prove_under(rest, question, possible)

    @cached_property
    def _others(self) -> list[p.PrimExpr]:
        """The facts that are no definitions, in terms of the variables that have no value."""
        return _undecided([self.known(fact.condition) for fact in self.facts if not fact.is_definition])

    def equal(self, a: p.PrimExpr, b: p.PrimExpr) -> Answer:
        """Whether two lengths are equal under the facts."""
        return self.prove(p.EQ(a, b))

    @property
    def are_contradictory(self) -> bool:
        """True if no assignment fulfils the facts, so that nothing after them is reached."""
        return (
            bool(self.facts)
            and prove_under([fact.condition for fact in self.facts[-_MOST:]], _FALSE) is Answer.YES
        )

    def reasons(self, condition: p.PrimExpr) -> list[Fact]:
        """Facts that suffice to decide a condition; none of them can be dropped."""
        answer = self.prove(condition)
        if answer is Answer.UNKNOWN:
            return []
        kept = self._relevant(condition)
        for fact in list(kept):
            fewer = [other for other in kept if other is not fact]
            if from_facts(fewer).prove(condition) is answer:
                kept = fewer
        return kept

    def counterexample(self, condition: p.PrimExpr) -> dict[p.PrimVar, int]:
        """Lengths that fulfil the facts and not the condition; {} if a few attempts find none."""
        facts = [fact.condition for fact in self._relevant(condition)]
        asked = set(p.free_vars(condition))
        for values, holds in _examples(condition, facts):
            if not holds:
                return {var: value for var, value in values.items() if var in asked}
        return {}

    def _relevant(self, question: p.PrimExpr) -> list[Fact]:
        """The latest facts that share variables with a question, directly or through other facts, in order."""
        wanted = set(p.free_vars(question))
        # A fact about a defined variable matters to questions about the variables of its value.
        rest = [(fact, self._names(fact)) for fact in self.facts[-_SEEN:]]
        chosen: list[Fact] = []
        is_growing = True
        while is_growing and len(chosen) < _MOST:
            new = [item for item in reversed(rest) if item[1] & wanted][: _MOST - len(chosen)]
            chosen += [fact for fact, _ in new]
            wanted.update(*(names for _, names in new))
            ids = {id(fact) for fact in chosen}
            rest = [item for item in rest if id(item[0]) not in ids]
            is_growing = bool(new)
        places = {id(fact): n for n, fact in enumerate(self.facts)}
        return sorted(chosen, key=lambda fact: places[id(fact)])

    def _names(self, fact: Fact) -> frozenset[p.PrimVar]:
        """The variables of a fact, and those of the values of these."""
        if self.defined.keys().isdisjoint(fact.names):
            return fact.names
        return fact.names.union(p.free_vars(self.known(fact.condition)))

    def __iter__(self) -> Iterator[Fact]:
        return iter(self.facts)


_TRIED = (3, 4, 1, 7, 2, 5)
_TRIED_FIRST = 6
_FEW = 8  # so few facts are all written in terms of variables without a value, once


def _undecided(conditions: list[p.PrimExpr]) -> list[p.PrimExpr]:
    """The conditions that depend on variables."""
    return [one for one in conditions if _decided(one) is Answer.UNKNOWN]


def _sharing(conditions: list[p.PrimExpr], question: p.PrimExpr) -> list[p.PrimExpr]:
    """The conditions that share variables with a question, directly or through others, in order."""
    wanted = set(p.free_vars(question))
    open_ = [(one, set(p.free_vars(one))) for one in conditions]
    chosen: set[p.PrimExpr] = set()
    while new := [item for item in open_ if item[0] not in chosen and not wanted.isdisjoint(item[1])]:
        chosen.update(one for one, _ in new)
        wanted.update(*(names for _, names in new))
    return [one for one in conditions if one in chosen]


def _attempts(names: list[p.PrimVar]) -> Iterator[dict[p.PrimVar, int]]:
    """Assignments to try: distinct lengths, equal ones, and some between."""
    for shift in range(len(_TRIED)):
        yield {var: _TRIED[(n + shift) % len(_TRIED)] for n, var in enumerate(names)}
    yield dict.fromkeys(names, 4)
    for choice in islice(product(_TRIED[:4], repeat=len(names)), 256):
        yield dict(zip(names, choice, strict=True))


def _examples(
    question: p.PrimExpr, facts: list[p.PrimExpr], most: int = 300
) -> Iterator[tuple[dict[p.PrimVar, int], bool]]:
    """Lengths that fulfil the facts, and whether the question holds for them."""
    for values in islice(_attempts(p.free_vars(question, *facts)), most):
        if all(number(fact, values) == 1 for fact in facts):
            answer = number(question, values)
            if answer is not None:
                yield values, bool(answer)


_FALSE = p.LT(p.IntImm(1), p.IntImm(0))


def from_facts(facts: list[Fact]) -> Assumptions:
    """The assumptions of some facts."""
    found = Assumptions()
    for fact in facts:
        found = found.plus(fact.condition, fact.why, fact.place)
    return found


def _decided(condition: p.PrimExpr) -> Answer:
    """The answer to a condition without facts, where that is quick."""
    if isinstance(condition, p.IntImm):
        return Answer.YES if condition.value else Answer.NO
    if type(condition) is p.EQ:
        return equal(condition.a, condition.b)
    if isinstance(condition, _COMPARED) and type(condition.a) is p.IntImm and type(condition.b) is p.IntImm:
        return prove_under((), condition)
    return Answer.UNKNOWN


def _definition(condition: p.PrimExpr) -> tuple[p.PrimVar, p.PrimExpr] | None:
    """The variable and its value if a condition is an equation of that kind."""
    if type(condition) is not p.EQ:
        return None
    for var, value in ((condition.a, condition.b), (condition.b, condition.a)):
        if type(var) is p.PrimVar and var not in p.free_vars(value):
            return var, value
    return None
