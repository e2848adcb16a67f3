"""A list of assertions under assumptions: which follow, which always fail, which remain (note 004, "Simplification")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.ir import prim as p
from relax_explorer.core.shapes.assumptions import Assumptions, Fact


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
