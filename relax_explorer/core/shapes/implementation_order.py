"""Lists of implementations: the first one whose assertions are certain is taken, so that the most specific one comes first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.codes import relations as codes
from relax_explorer.core.diagnostics import Diagnostic, Label
from relax_explorer.core.ir import prim as p
from relax_explorer.core.shapes import contract_tree as c
from relax_explorer.core.shapes.desugar import Wrapper, desugar
from relax_explorer.core.shapes.holding import Holding, declared


def order_problems(program: c.Program, terms: c.Terms, names: Sequence[str]) -> Iterator[Diagnostic]:
    """A warning for each implementation that is never taken, or that does not assert all that the next one does."""
    wrappers = [desugar(program.functions[name], terms) for name in names]
    for number, later in enumerate(wrappers):
        taken = next((one for one in wrappers[:number] if _entails(later, one, terms)), None)
        if taken is not None:
            text = f"@{taken.function.name} asserts no more than @{later.function.name}, which stands behind it and is never taken"
            yield _problem(taken, later, text)
        elif number and not _entails(wrappers[number - 1], later, terms):
            before = wrappers[number - 1]
            text = f"neither @{before.function.name} nor @{later.function.name} asserts all that the other one does"
            yield _problem(before, later, text)


def _problem(before: Wrapper, later: Wrapper, text: str) -> Diagnostic:
    labels = (
        Label(before.function.span, "this one is tried first", True),
        Label(later.function.span, "behind it"),
    )
    return Diagnostic(
        codes.LESS_SPECIFIC, f"order violates specificity: {text}", labels, help=codes.LESS_SPECIFIC.fix
    )


def _entails(first: Wrapper, second: Wrapper, terms: c.Terms) -> bool:
    """True if the arguments of one function are arguments of another: its contract implies the other's."""
    own, other = first.function.params, second.function.params
    if len(own) != len(other):
        return False
    holding = Holding(terms)
    for guard in first.before:
        if isinstance(guard.condition, p.PrimExpr):
            holding.known = holding.known.plus(guard.condition)
    values = {
        b.name: declared(terms, a.name, a.type, first.environment) for a, b in zip(own, other, strict=True)
    }
    return all(
        holding.decide(holding.in_terms(guard.condition, values)) is Answer.YES for guard in second.before
    )
