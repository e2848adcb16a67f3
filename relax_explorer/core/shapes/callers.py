"""Checks of private functions that every call proves: the lengths of the arguments decide them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.walk import exprs
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.shapes.assumptions import Assumptions, Fact
from relax_explorer.core.shapes.value_names import Given
from relax_explorer.core.shapes.value_terms import rare_elements, said


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call of a function of the module: the lengths that its parameters bind, what its arguments are, and what is known there."""

    callee: str
    caller: str
    place: object
    lengths: Mapping[p.PrimVar, p.PrimExpr]
    given: Given
    known: Assumptions
    is_reached: bool

    def value(self, var: p.PrimVar) -> p.PrimExpr | None:
        """What a variable of the callee is there."""
        return self.lengths.get(var) or self.given(var)


@dataclass(frozen=True, slots=True)
class Judged:
    """What the calls of a private function tell of a condition in it.

    `proof` has what each call gives, and the facts that prove the condition there. It is empty if one call does not prove it:
    `call` has the words of the first such call. `refuting` has the calls under which the condition never holds. The answer is NO if
    these are all.
    """

    answer: Answer
    proof: tuple[Fact, ...]
    call: str
    refuting: tuple[CallSite, ...]


class Callers:
    """The calls of those private functions of which every use is a call that is looked at.

    Functions that call themselves, or are used as values, are left out.
    """

    def __init__(self, module: IRModule, functions: Collection[str], sites: Sequence[CallSite]) -> None:
        self.sites: dict[str, list[CallSite]] = {}
        private = {name for name in functions if module.relax_functions[name].is_private}
        if not private:
            return
        mentions = Counter(
            part.name
            for fn in module.relax_functions.values()
            for part in exprs(fn)
            if isinstance(part, e.GlobalVar)
        )
        for site in sites:
            if site.callee in private:
                self.sites.setdefault(site.callee, []).append(site)
        for name, found in list(self.sites.items()):
            is_seen = mentions[name] == len(found) and all(site.caller != name for site in found)
            if not is_seen:
                del self.sites[name]

    def judged(self, function: str, condition: p.PrimExpr) -> Judged:
        """What the calls of a function tell of a condition in it."""
        facts: list[Fact] = []
        refuting: list[CallSite] = []
        answers: set[Answer] = set()
        against: str | None = None
        for site in self.sites.get(function, ()):
            if not site.is_reached:
                continue
            found = {var: site.value(var) for var in p.free_vars(condition) if var not in rare_elements()}
            values = {var: value for var, value in found.items() if value is not None}
            if len(values) < len(found):
                answers.add(Answer.UNKNOWN)
                against = "" if against is None else against
                continue
            there = p.substitute(condition, values)
            answer = site.known.prove(there)
            answers.add(answer)
            call = _in_words(site, values)
            if answer is Answer.NO:
                refuting.append(site)
                call = f"{call}, where it always fails"
            if answer is not Answer.YES:
                against = call if against is None else against
                continue
            facts.append(Fact(condition, call, site.place))
            facts += site.known.reasons(there)
        answer = answers.pop() if len(answers) == 1 else Answer.UNKNOWN
        return Judged(answer, tuple(facts) if against is None else (), against or "", tuple(refuting))


def _in_words(site: CallSite, values: Mapping[p.PrimVar, p.PrimExpr]) -> str:
    """A call, and what it gives."""
    given = ", ".join([said(p.EQ(var, value)).replace(" == ", " = ") for var, value in values.items()])
    line = getattr(getattr(site.place, "span", None), "line", None)
    return f"{site.caller} calls it with {given}{f' in line {line}' if line else ''}"
