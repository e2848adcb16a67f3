"""What comparisons, validations and bisections found, as text: on one line, and whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from relax_explorer.core.session.bisect import Attempt, Bisection
from relax_explorer.core.session.validate import Row
from relax_explorer.core.session.verdict import Comparison, Verdict
from relax_explorer.viz.verdict_text import (
    attempt_line,
    bisection_lines,
    comparison_lines,
    outcome_text,
    validation_lines,
)
from relax_explorer.viz.visible import counted

Texts = tuple[Callable[[Any], str], Callable[[Any], Iterable[str]]]  # of a value: on one line, and whole


def alone(brief: Callable[[Any], str]) -> Texts:
    """The texts of a value that is one line."""
    return brief, lambda value: [brief(value)]


def _comparison(result: Comparison) -> str:
    equal = sum(verdict.equal for verdict in result.verdicts)
    samples = counted(len(result.verdicts), "sample")
    return f"{result.function} of {result.a} with {result.b}: {equal} of {samples} equal"


def _verdict(verdict: Verdict) -> str:
    return f"{verdict.sample}: {verdict.reason or 'equal'}"


def _row(row: Row) -> str:
    wrong = [f"{cell.sample}: {cell.reason}" for cell in row.cells if not cell.equal]
    return f"{row.number} {row.made_by}: {'; '.join(wrong) or ('not run here' if row.unknown else 'equal')}"


def _rows(row: Row) -> Iterator[str]:
    return validation_lines([row], [cell.sample for cell in row.cells])


VERDICT_TEXTS: dict[type, Texts] = {
    Comparison: (_comparison, comparison_lines),
    Verdict: alone(_verdict),
    Bisection: (outcome_text, bisection_lines),
    Attempt: alone(attempt_line),
    Row: (_row, _rows),
}
