"""Answers of the prover while a test runs, confirmed by z3 at its end: no lengths may fulfil the facts and contradict the answer."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from importlib.util import find_spec
from unittest.mock import patch

from relax_explorer.core.arith.prove import Answer, at_least, equal
from relax_explorer.core.ir import prim as p
from relax_explorer.core.shapes.assumptions import Assumptions

MOST = 120  # questions of a test that are asked
FACTS = 60  # a question under more facts is left out
MILLISECONDS = 100


class Refuted(AssertionError):
    """An answer for which z3 has a counterexample."""


Question = tuple[tuple[p.PrimExpr, ...], p.PrimExpr, Answer]


@dataclass
class Proofs:
    """The decided questions of a test, each once."""

    asked: dict[Question, None] = field(default_factory=dict)

    def confirm(self, most: int = MOST) -> Counter[str]:
        """Ask z3, and count what it says. Raises Refuted for a wrong answer."""
        counts: Counter[str] = Counter()
        if find_spec("z3") is None:
            return Counter({"not asked, for z3 is not installed": len(self.asked)})
        for facts, condition, answer in list(self.asked)[:most]:
            counts[_confirmed(facts, condition, answer)] += 1
        return counts


@contextmanager
def recorded() -> Iterator[Proofs]:
    """Record what `Assumptions.prove` decides from facts."""
    proofs, prove = Proofs(), Assumptions.prove

    @wraps(prove)
    def noting(self: Assumptions, condition: p.PrimExpr) -> Answer:
        answer = prove(self, condition)
        if answer is not Answer.UNKNOWN and 0 < self.count <= FACTS:
            proofs.asked[tuple([fact.condition for fact in self]), condition, answer] = None
        return answer

    with patch.object(Assumptions, "prove", noting):
        yield proofs


def _confirmed(facts: tuple[p.PrimExpr, ...], condition: p.PrimExpr, answer: Answer) -> str:
    """What z3 says of an answer: "confirmed", "too hard", or "not asked" for an expression that it does not know."""
    from tests.support import z3_terms  # 0.2 s, which tests without proofs need not wait for

    lengths = z3_terms.lengths(p.free_vars(*facts, condition))
    try:
        outcome, known = z3_terms.meaning(condition, lengths)
        given = [part for fact in facts for part in z3_terms.meaning(fact, lengths)]
    except KeyError:
        return "not asked"
    contradiction = z3_terms.z3.Not(outcome) if answer is Answer.YES else outcome
    result = z3_terms.found(lengths.values(), known, *given, contradiction, milliseconds=MILLISECONDS)
    if result == z3_terms.z3.sat:
        raise Refuted(
            f"{condition} is {answer.value} under {', '.join(map(str, facts))}: z3 has a counterexample"
        )
    return "confirmed" if result == z3_terms.z3.unsat else "too hard"


@contextmanager
def inferring() -> Iterator[Proofs]:
    """Record what `equal` and `at_least` decide without facts, in every module that has imported them."""
    proofs = Proofs()

    def noting_equal(a: p.PrimExpr, b: p.PrimExpr) -> Answer:
        answer = equal(a, b)
        if answer is not Answer.UNKNOWN and a is not b and a.dtype.kind == b.dtype.kind == "int":
            proofs.asked[(), p.EQ(a, b), answer] = None
        return answer

    def noting_at_least(a: p.PrimExpr, bound: int) -> Answer:
        answer = at_least(a, bound)
        if answer is not Answer.UNKNOWN and not isinstance(a, p.IntImm):
            proofs.asked[(), p.GE(a, p.IntImm(bound, a.dtype)), answer] = None
        return answer

    with ExitStack() as stack:
        for name, original, noting in (
            ("equal", equal, noting_equal),
            ("at_least", at_least, noting_at_least),
        ):
            for module in [one for key, one in sys.modules.items() if key.startswith("relax_explorer.")]:
                if getattr(module, name, None) is original:
                    stack.enter_context(patch.object(module, name, noting))
        yield proofs
