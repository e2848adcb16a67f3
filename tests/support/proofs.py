"""Answers of the prover while a test runs, confirmed by z3 at its end: no lengths may fulfil the facts and contradict the answer."""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from importlib.util import find_spec
from unittest.mock import patch

from relax_explorer.core.arith.prove import Answer, at_least, equal
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.ir import prim as p
from relax_explorer.core.shapes.assumptions import Assumptions

MOST = 120  # questions of a test that are asked
OF_EACH = 4  # answers without facts that one test adds to the sample of the session
SECONDS = 8.0  # for the sample of a process
FACTS = 60  # a question under more facts is left out
MILLISECONDS = 100


class Refuted(AssertionError):
    """An answer for which z3 has a counterexample."""


Tree = tuple[object, ...]
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
            names: dict[p.PrimExpr, int] = {}
            key = tuple([_tree(expr, names) for expr in (condition, *facts)]), answer
            found = CONFIRMED.get(key) or _confirmed(facts, condition, answer)
            if found == "confirmed":
                CONFIRMED[key] = found
            counts[found] += 1
        return counts


CONFIRMED: dict[tuple[tuple[Tree, ...], Answer], str] = {}
"""The questions of this process that z3 confirmed. Two of three come again in another test, with other names."""


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
    """What z3 says of an answer: "confirmed", "too hard", or "not asked" for an expression that it does not know.

    An answer is confirmed if it holds whatever the unknown parts of the expression are, and without the facts that z3 does not know.
    """
    from tests.support import z3_terms  # 0.2 s, which tests without proofs need not wait for

    parts = z3_terms.opaque(*facts, condition)
    names = p.free_vars(*facts, condition)
    unknown = [part for part in parts if type(part) is not p.AnyDim]
    terms = z3_terms.lengths([*names, *parts])
    try:
        outcome, known = z3_terms.meaning(condition, terms)
    except KeyError:
        return "not asked"
    given, left_out = z3_terms.given(facts, terms)
    contradiction = z3_terms.z3.Not(outcome) if answer is Answer.YES else outcome
    lengths = [term for part, term in terms.items() if part not in unknown]
    result = z3_terms.decided(lengths, known, *given, contradiction, milliseconds=MILLISECONDS)
    if result == z3_terms.z3.sat and (unknown or left_out):
        return "not asked"
    if result == z3_terms.z3.sat:
        raise Refuted(
            f"{condition} is {answer.value} under {', '.join(map(str, facts)) or 'no fact'}: z3 has a counterexample"
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
                if getattr(module, name, None) in (original, SAMPLE.noting[name]):
                    stack.enter_context(patch.object(module, name, noting))
        yield proofs


class Sample:
    """Answers of `equal`, `at_least` and `simplify` in all tests of a session, each once, some of each test.

    They are kept as trees, because expressions that are kept alive would disturb tests about memory.
    """

    def __init__(self) -> None:
        self.trees: dict[tuple[Tree, Answer], None] = {}
        self.left = 0  # answers that the current test may still add
        self.noting: dict[str, object] = {
            "equal": self._equal, "at_least": self._at_least, "simplify": self._simplify,
        }  # fmt: skip

    def begin(self) -> None:
        """A test begins."""
        self.left = OF_EACH

    def note(self, condition: p.PrimExpr, answer: Answer) -> None:
        """Keep an answer, unless it is known already."""
        if condition.size > 60 or not _is_known(condition):
            return
        key = _tree(condition, {}), answer
        if key not in self.trees:
            self.trees[key] = None
            self.left -= 1

    def listen(self) -> None:
        """Record from now on, in every module that has imported the prover, or will."""
        for name, noting in self.noting.items():
            original = globals()[name]
            for module in [one for key, one in sys.modules.items() if key.startswith("relax_explorer.core")]:
                if getattr(module, name, None) is original:
                    setattr(module, name, noting)

    def _equal(self, a: p.PrimExpr, b: p.PrimExpr) -> Answer:
        answer = equal(a, b)
        if (
            self.left > 0
            and a is not b
            and answer is not Answer.UNKNOWN
            and a.dtype.is_int
            and b.dtype.is_int
        ) and not (a.is_literal and b.is_literal):
            self.note(p.EQ(a, b), answer)
        return answer

    def _at_least(self, a: p.PrimExpr, bound: int) -> Answer:
        answer = at_least(a, bound)
        if self.left > 0 and not a.is_literal and answer is not Answer.UNKNOWN:
            self.note(p.GE(a, p.IntImm(bound, a.dtype)), answer)
        return answer

    def _simplify(self, expr: p.PrimExpr) -> p.PrimExpr:
        result = simplify(expr)
        if self.left > 0 and expr.dtype.is_bool and type(result) is p.IntImm and not expr.is_literal:
            self.note(expr, Answer.YES if result.value else Answer.NO)
        return result

    def confirm(self) -> Counter[str]:
        """Ask z3 about the sample as long as there is time, and count what it says. Raises Refuted for a wrong answer."""
        if find_spec("z3") is None:
            return Counter({"not asked, for z3 is not installed": len(self.trees)})
        counts: Counter[str] = Counter()
        questions = list(self.trees)
        random.Random(0).shuffle(questions)
        end = time.monotonic() + SECONDS
        for number, (tree, answer) in enumerate(questions):
            if time.monotonic() > end:
                counts["left out, for lack of time"] += len(questions) - number
                break
            counts[_confirmed((), _expression(tree, {}), answer)] += 1
        return counts


def _is_known(expr: p.PrimExpr) -> bool:
    """True if z3 can be asked about an expression."""
    if isinstance(expr, (p.IntImm, p.PrimVar)):
        return True
    known = isinstance(expr, (p.Binary, p.Not, p.Select)) or _is_choice(expr)
    return known and all(map(_is_known, expr.children()))


def _is_choice(expr: p.PrimExpr) -> bool:
    return isinstance(expr, p.PrimCall) and expr.op == "if_then_else"


def _tree(expr: p.PrimExpr, numbers: dict[p.PrimExpr, int]) -> Tree:
    """An expression as a tree; variables, and what else z3 knows nothing of, are numbered by their first places."""
    if isinstance(expr, p.IntImm):
        return "number", expr.value, expr.dtype
    if isinstance(expr, p.PrimVar):
        return "variable", numbers.setdefault(expr, len(numbers)), expr.dtype
    if _is_choice(expr) or isinstance(expr, (p.Binary, p.Not, p.Select)):
        kind = p.Select if _is_choice(expr) else type(expr)
        return kind, *[_tree(part, numbers) for part in expr.children()]
    return "unknown", numbers.setdefault(expr, len(numbers)), expr.dtype, type(expr)


def _expression(tree: Tree, variables: dict[object, p.PrimVar]) -> p.PrimExpr:
    """The expression of a tree, with new variables."""
    kind, *parts = tree
    if kind == "number":
        return p.IntImm(*parts)  # type: ignore[arg-type]  # as `_tree` wrote it
    if kind == "variable":
        number, element = parts
        return variables.setdefault(number, p.PrimVar(f"v{number}", element))  # type: ignore[arg-type]  # likewise
    inner = [_expression(part, variables) for part in parts]  # type: ignore[arg-type]  # likewise
    result: p.PrimExpr = kind(*inner)  # type: ignore[operator]  # likewise
    return result


SAMPLE = Sample()
