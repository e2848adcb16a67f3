"""Facts about lengths, each with its reason, and what follows from them.

Operators, casts and calls demand conditions; what passed before is known after. An `Assumptions` never changes: `plus` gives a
new one, so that branches share what holds before them. Along a path all of them are prefixes of one log, so that a fact costs
the same however many there are; a second branch copies the log.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice, product
from typing import NamedTuple

from relax_explorer.core.arith.assume import is_zero_under, is_zero_with, prove_under
from relax_explorer.core.arith.form import CANONICAL
from relax_explorer.core.arith.polynomial import (
    TERM_LIMIT,
    Polynomial,
    combine,
    evaluate,
    over_variables,
    replaced,
)
from relax_explorer.core.arith.prove import Answer, equal, never_zero, prover_in_use
from relax_explorer.core.arith.simplify import number, simplify
from relax_explorer.core.ir import prim as p
from relax_explorer.core.shapes.value_terms import condition_text

_MOST = 24  # facts that a proof considers: the latest of those that share variables with the question
_SEEN = 256  # facts that are looked up by a variable, the latest: a proof costs the same however long the program is
_COMPARED = (p.EQ, p.NE, p.LT, p.LE, p.GT, p.GE)


@dataclass(frozen=True, eq=False)
class Fact:
    """A condition that holds, the reason in words, and the node or span that it comes from."""

    condition: p.PrimExpr
    why: str = ""
    place: object = None
    is_definition: bool = False  # it only gives a variable its value, which `substitute` puts in its place

    @cached_property
    def names(self) -> frozenset[p.PrimVar]:
        """The variables of the condition."""
        return frozenset(p.free_vars(self.condition))

    def __str__(self) -> str:
        return condition_text(self.condition) + (f" ({self.why})" if self.why else "")


class _Reduced(NamedTuple):
    """A fact in terms of the variables that had no value when so many facts were known, and these variables."""

    after: int
    condition: p.PrimExpr
    names: frozenset[p.PrimVar]
    is_open: bool  # False if it holds anyway


class _Log:
    """Facts in order, with indices by their numbers."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self.reduced: list[_Reduced] = []  # as they were needed last
        self.defined: dict[p.PrimVar, tuple[int, p.PrimExpr]] = {}
        self.about: dict[p.PrimVar, list[int]] = {}  # the facts about a variable or its value
        self.others: dict[p.PrimVar, list[int]] = {}  # of these, the ones that are no definitions
        self.first_other: int | None = None
        self._names: dict[p.PrimExpr, list[tuple[int, p.PrimVar]]] = {}
        self._named = 0  # the definitions that `names` has seen

    def up_to(self, count: int) -> _Log:
        """A copy of the first facts."""
        copy = _Log()
        copy.facts = self.facts[:count]
        for fact, entry in zip(copy.facts, self.reduced, strict=False):
            names = fact.names if entry.after > count else entry.names
            copy.reduced.append(
                entry if entry.after <= count else _Reduced(count, fact.condition, names, True)
            )
        copy.defined = {var: entry for var, entry in self.defined.items() if entry[0] < count}
        for mine, theirs in ((copy.about, self.about), (copy.others, self.others)):
            mine.update({var: numbers[: bisect_left(numbers, count)] for var, numbers in theirs.items()})
        if self.first_other is not None and self.first_other < count:
            copy.first_other = self.first_other
        return copy

    def add(self, fact: Fact, reduced: p.PrimExpr, definition: tuple[p.PrimVar, p.PrimExpr] | None) -> None:
        """Add a fact; `reduced` is its condition in terms of the variables without values."""
        number = len(self.facts)
        self.facts.append(fact)
        self.reduced.append(_reduced(number, reduced))
        names = fact.names | self.reduced[-1].names
        for var in names:
            self.about.setdefault(var, []).append(number)
        if definition is None:
            if self.first_other is None:
                self.first_other = number
            for var in names:
                self.others.setdefault(var, []).append(number)
            return
        var, value = definition
        self.defined[var] = number, value
        if var in self.others:  # they are about the variables of the value from now on
            for name in p.free_vars(value):
                merged = sorted({*self.others.get(name, ()), *self.others[var]})
                self.others[name] = merged[-_SEEN:]

    def names(self) -> dict[p.PrimExpr, list[tuple[int, p.PrimVar]]]:
        """The variables with each value, in canonical form, with the numbers of their definitions."""
        for var, (defined_by, value) in islice(self.defined.items(), self._named, None):
            self._names.setdefault(CANONICAL.simple(value), []).append((defined_by, var))
        self._named = len(self.defined)
        return self._names


@dataclass(frozen=True, eq=False)
class Assumptions:
    """Facts in the order in which they became known."""

    _log: _Log = field(default_factory=_Log)
    count: int = 0

    def plus(self, condition: p.PrimExpr, why: str = "", place: object = None) -> Assumptions:
        """These facts and one more."""
        reduced = self.substitute(condition)
        found = _definition(reduced)
        log = self._log if len(self._log.facts) == self.count else self._log.up_to(self.count)
        log.add(Fact(condition, why, place, found is not None), reduced, found)
        return Assumptions(log, self.count + 1)

    def value(self, var: p.PrimVar) -> p.PrimExpr | None:
        """The expression that a fact equates a variable with."""
        number, value = self._log.defined.get(var, (self.count, None))
        return value if number < self.count else None

    def substitute(self, expr: p.PrimExpr) -> p.PrimExpr:
        """An expression with the variables that are known replaced by their values, simplified."""
        return simplify(self._in_values(expr))

    def _in_values(self, expr: p.PrimExpr) -> p.PrimExpr:
        """An expression with the variables that are known replaced by their values."""
        # A value may have variables that became known later. A variable is never part of its own value.
        while used := self._values(expr):
            expr = p.substitute(expr, used)
        return expr

    def _values(self, expr: p.PrimExpr) -> dict[p.PrimVar, p.PrimExpr]:
        """The values of the variables of an expression that have one."""
        if not self._log.defined:
            return {}
        found = ((var, self.value(var)) for var in p.free_vars(expr))
        return {var: value for var, value in found if value is not None}

    def names(self, expr: p.PrimExpr) -> list[p.PrimVar]:
        """The variables that the facts equate with an expression, in order."""
        if not self._log.defined:
            return []
        found = self._log.names().get(CANONICAL.simple(self.substitute(expr)), ())
        return [var for number, var in found if number < self.count]

    @property
    def _has_others(self) -> bool:
        """True if a fact is no definition."""
        first = self._log.first_other
        return first is not None and first < self.count

    def prove(self, condition: p.PrimExpr) -> Answer:
        """YES if a condition follows from the facts, NO if it contradicts them, else UNKNOWN."""
        difference = self._difference(condition)
        if difference is not None:
            return self._is_zero(difference)
        question = self._in_values(condition)
        at_once = _decided(question)
        if at_once is not Answer.UNKNOWN:
            return at_once
        # Definitions are in the question by now. Without other facts, an equation is decided by its two sides.
        if not self._has_others and type(question) is p.EQ:
            return Answer.UNKNOWN
        question = simplify(question)
        rest = self._sharing(p.free_vars(question))
        # Most questions are open: two attempts that part settle that in a tenth of the time of a proof. One rules out an answer.
        possible = {Answer.YES, Answer.NO}
        names = p.free_vars(question, *rest)
        for _, holds in _examples(question, rest, islice(_attempts(names), _TRIED_FIRST)):
            possible.discard(Answer.NO if holds else Answer.YES)
            if not possible:
                return Answer.UNKNOWN
        return prove_under(rest, question, possible)

    def _difference(self, condition: p.PrimExpr) -> Polynomial | None:
        """Both sides of an equation subtracted, in terms of variables without values, if that is a polynomial over variables."""
        poly = _as_polynomial(condition) if prover_in_use() == "arithmetic" else None
        while poly is not None and len(poly) <= TERM_LIMIT:
            names = over_variables(poly)
            if names is None or not self._log.defined:
                return None if names is None else poly
            values = {var: self.value(var) for var in names}
            known: dict[p.PrimExpr, Polynomial] = {
                var: CANONICAL.polynomial(value) for var, value in values.items() if value is not None
            }
            if not known:
                return poly
            poly = replaced(poly, known)
        return None

    def _is_zero(self, poly: Polynomial) -> Answer:
        """Whether a polynomial over variables without values is 0."""
        if not poly:
            return Answer.YES
        if never_zero(poly):
            return Answer.NO
        if not self._has_others or self._is_free(poly):
            return Answer.UNKNOWN
        names = over_variables(poly) or []
        zeros = self._zeros if self.count <= _FEW else None
        if zeros is not None:
            return _zero_with(zeros, poly, names)
        rest = self._sharing(names)
        possible = {Answer.YES, Answer.NO}
        for values in _fulfilling(
            rest, islice(_attempts(list(dict.fromkeys([*names, *p.free_vars(*rest)]))), _TRIED_FIRST)
        ):
            possible.discard(Answer.YES if evaluate(poly, values) else Answer.NO)
            if not possible:
                return Answer.UNKNOWN
        return is_zero_under(rest, poly, possible)

    def _is_free(self, poly: Polynomial) -> bool:
        """True for `x - q` if nothing is known of x, and q is no negative length: x may be q or not."""
        for monomial, coefficient in poly.items():
            if len(monomial) == 1 and abs(coefficient) == 1 and self._nothing_about(monomial[0]):
                others = {other: c * -coefficient for other, c in poly.items() if other is not monomial}
                if all(c > 0 and monomial[0] not in other for other, c in others.items()):
                    return True
        return False

    def _nothing_about(self, atom: p.PrimExpr) -> bool:
        """True if no fact is about a variable, apart from those that give others a value."""
        numbers = self._log.others.get(atom) if type(atom) is p.PrimVar else None
        return type(atom) is p.PrimVar and (not numbers or numbers[0] >= self.count)

    def _sharing(self, names: list[p.PrimVar]) -> list[p.PrimExpr]:
        """What is known of variables without values, in terms of such variables."""
        if not self._has_others:
            return []
        if self.count <= _FEW:
            return _sharing(self._others, names)
        found = map(self._reduced, self._relevant(names, self._log.others))
        return [entry.condition for entry in found if entry.is_open]

    @cached_property
    def _others(self) -> list[p.PrimExpr]:
        """The facts that are no definitions, in terms of the variables that have no value."""
        found = (self._reduced(n) for n, fact in enumerate(self) if not fact.is_definition)
        return [entry.condition for entry in found if entry.is_open]

    @cached_property
    def _zeros(self) -> list[Polynomial] | None:
        """The facts that are no definitions as polynomials that are 0; None if one is another condition."""
        found = []
        for fact in self:
            poly = None if fact.is_definition else self._difference(fact.condition)
            if poly is None and not fact.is_definition:
                return None
            if poly and not never_zero(poly):  # what never holds proves nothing here, as elsewhere
                found.append(poly)
        return found

    def _reduced(self, number: int) -> _Reduced:
        """A fact in terms of the variables that have no value. Most are as they were for the last question."""
        entry = self._log.reduced[number]
        if entry.after <= self.count and all(self.value(var) is None for var in entry.names):
            return entry
        new = _reduced(self.count, self.substitute(self._log.facts[number].condition))
        if entry.after <= self.count:
            self._log.reduced[number] = new
        return new

    def equal(self, a: p.PrimExpr, b: p.PrimExpr) -> Answer:
        """Whether two lengths are equal under the facts."""
        return self.prove(p.EQ(a, b))

    @property
    def are_contradictory(self) -> bool:
        """True if no assignment fulfils the facts, so that nothing after them is reached."""
        latest = self._log.facts[max(0, self.count - _MOST) : self.count]
        return bool(latest) and prove_under([fact.condition for fact in latest], _FALSE) is Answer.YES

    def reasons(self, condition: p.PrimExpr) -> list[Fact]:
        """Facts that suffice to decide a condition; none of them can be dropped."""
        answer = self.prove(condition)
        if answer is Answer.UNKNOWN:
            return []
        names = [*p.free_vars(condition), *p.free_vars(self._in_values(condition))]
        kept = [self._log.facts[n] for n in self._relevant(names, self._log.about)]
        for fact in kept:  # `kept` becomes another list
            fewer = [other for other in kept if other is not fact]
            if from_facts(fewer).prove(condition) is answer:
                kept = fewer
        return kept

    def counterexample(self, condition: p.PrimExpr) -> dict[p.PrimVar, int]:
        """Lengths that fulfil the facts and not the condition; {} if a few attempts find none."""
        question = self._in_values(condition)
        facts = self._sharing(p.free_vars(question))
        names = p.free_vars(question, *facts)
        attempts = chain(islice(_attempts(names), _TRIED_AT_LAST), _near([question, *facts], names))
        for values, holds in _examples(question, facts, attempts):
            if not holds:
                found = ((var, number(self._in_values(var), values)) for var in p.free_vars(condition))
                return {var: value for var, value in found if value is not None}
        return {}

    def _relevant(self, names: list[p.PrimVar], index: dict[p.PrimVar, list[int]]) -> list[int]:
        """The numbers of the latest facts of an index that are about variables, directly or through other facts, in order."""
        facts, chosen, asked, wanted = self._log.facts, set[int](), set[p.PrimVar](), set(names)
        while (new_names := wanted - asked) and len(chosen) < _MOST:
            new: set[int] = set()
            for var in new_names:
                numbers = index.get(var, ())
                end = bisect_left(numbers, self.count)
                new.update(numbers[max(0, end - _MOST) : end])
            latest = sorted(new - chosen)[len(chosen) - _MOST :]
            chosen.update(latest)
            asked = set(wanted)
            for n in latest:
                wanted |= facts[n].names | self._reduced(n).names
        return sorted(chosen)

    def __iter__(self) -> Iterator[Fact]:
        return islice(self._log.facts, self.count)


_Values = dict[p.PrimExpr, int]  # of variables
_TRIED = (3, 4, 1, 7, 2, 5)
_TRIED_FIRST = 6
_TRIED_AT_LAST = 300
_MOST_NEAR, _LARGEST = 512, 200  # assignments, and parts of conditions that are looked at for them
_FEW = 8  # so few facts are all written in terms of variables without a value, once


def _reduced(count: int, reduced: p.PrimExpr) -> _Reduced:
    """A fact that is known so after so many facts."""
    return _Reduced(count, reduced, frozenset(p.free_vars(reduced)), _decided(reduced) is Answer.UNKNOWN)


def _sharing(conditions: list[p.PrimExpr], names: list[p.PrimVar]) -> list[p.PrimExpr]:
    """The conditions about variables, directly or through others, in order."""
    wanted = set(names)
    open_ = [(one, set(p.free_vars(one))) for one in conditions]
    chosen: set[p.PrimExpr] = set()
    while new := [item for item in open_ if item[0] not in chosen and not wanted.isdisjoint(item[1])]:
        chosen.update(one for one, _ in new)
        wanted.update(*(names for _, names in new))
    return [one for one in conditions if one in chosen]


def _zero_with(zeros: list[Polynomial], poly: Polynomial, names: list[p.PrimVar]) -> Answer:
    """Whether a polynomial over variables is 0 where others are. Lengths for which it is (not) rule an answer out."""
    rest = [(each, over_variables(each) or []) for each in zeros]
    wanted, chosen = dict.fromkeys(names), list[Polynomial]()
    while True:  # those that share variables, directly or through others
        near = [item for item in rest if not wanted.keys().isdisjoint(item[1])]
        if not near:
            break
        rest = [item for item in rest if item not in near]
        for each, own in near:
            chosen.append(each)
            wanted.update(dict.fromkeys(own))
    possible = {Answer.YES, Answer.NO}
    for values in islice(_attempts(list(wanted)), _TRIED_FIRST):
        if not any(evaluate(each, values) for each in chosen):
            possible.discard(Answer.YES if evaluate(poly, values) else Answer.NO)
            if not possible:
                return Answer.UNKNOWN
    return is_zero_with(chosen, poly, possible)


def _attempts(names: list[p.PrimVar]) -> Iterator[_Values]:
    """Assignments to try: distinct lengths, equal ones, and some between."""
    for shift in range(len(_TRIED)):
        yield {var: _TRIED[(n + shift) % len(_TRIED)] for n, var in enumerate(names)}
    yield {var: 4 for var in names}
    for choice in islice(product(_TRIED[:4], repeat=len(names)), 256):
        yield {var: length for var, length in zip(names, choice, strict=True)}


def _examples(
    question: p.PrimExpr, facts: list[p.PrimExpr], attempts: Iterable[_Values]
) -> Iterator[tuple[_Values, bool]]:
    """The attempts that fulfil the facts, and whether the question holds for them."""
    for values in _fulfilling(facts, attempts):
        answer = number(question, values)
        if answer is not None:
            yield values, bool(answer)


def _near(conditions: list[p.PrimExpr], names: list[p.PrimVar]) -> Iterator[_Values]:
    """Assignments of lengths near the numbers in conditions, such as 9 for `T.min(m, 8) == m`, and of 0 and 1."""
    numbers, parts = set[int](), list(conditions)
    for part in islice(parts, _LARGEST):
        if type(part) is p.IntImm:
            numbers.update(range(max(part.value - 1, 2), part.value + 2))
        parts.extend(part.children())  # they are looked at, too
    choices = [*sorted(numbers, reverse=True)[:6], 0, 1]
    for choice in islice(product(choices, repeat=len(names)), _MOST_NEAR):
        yield dict(zip(names, choice, strict=True))


def _fulfilling(facts: list[p.PrimExpr], attempts: Iterable[_Values]) -> Iterator[_Values]:
    """The attempts that fulfil the facts."""
    equations, others = [], []
    for fact in facts:
        poly = _as_polynomial(fact)
        if poly is None or over_variables(poly) is None:
            others.append(fact)
        else:
            equations.append(poly)
    for values in attempts:
        is_fulfilled = not any(evaluate(poly, values) for poly in equations)
        if is_fulfilled and all(number(fact, values) == 1 for fact in others):
            yield values


def _as_polynomial(condition: p.PrimExpr) -> Polynomial | None:
    """Both sides of an equation of integers subtracted; None for any other condition."""
    if type(condition) is not p.EQ or not condition.a.dtype.kind == condition.b.dtype.kind == "int":
        return None
    return combine(CANONICAL.polynomial(condition.a), CANONICAL.polynomial(condition.b), -1)


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


def assuming(conditions: Sequence[p.PrimExpr]) -> Assumptions:
    """The assumptions that conditions are taken for granted."""
    facts = Assumptions()
    for condition in conditions:
        facts = facts.plus(condition, "given")
    return facts


def all_of(answers: Iterable[Answer]) -> Answer:
    """Whether all of some conditions hold; not known if there are none."""
    found = set(answers)
    if Answer.NO in found:
        return Answer.NO
    return Answer.YES if found == {Answer.YES} else Answer.UNKNOWN


# -- entail ----------------------------------------------------------------------------------------------------------
# A list of assertions under assumptions: which follow, which always fail, which remain (note 004, "Simplification").


@dataclass(frozen=True)
class Verdict:
    """An assertion with its answer (YES: it follows, NO: it always fails, UNKNOWN: it remains) and the facts that decide it."""

    condition: p.PrimExpr
    answer: Answer
    reasons: tuple[Fact, ...] = ()


def entail(assumptions: Assumptions, assertions: Sequence[p.PrimExpr]) -> list[Verdict]:
    """The verdict of each assertion, in order. It may use the assertions before it, never those after it."""
    verdicts = []
    for condition in assertions:
        answer = assumptions.prove(condition)
        verdicts.append(Verdict(condition, answer, tuple(assumptions.reasons(condition))))
        if answer is Answer.UNKNOWN:
            assumptions = assumptions.plus(condition, "asserted before")
    return verdicts


def residual(assumptions: Assumptions, assertions: Sequence[p.PrimExpr]) -> list[p.PrimExpr]:
    """The assertions that remain, in order. One that always fails is kept: the run ends there."""
    return [item.condition for item in entail(assumptions, assertions) if item.answer is not Answer.YES]
