"""Values of the library as text: on one line for `repr`, whole for `print`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from relax_explorer.core.patterns.matches import Occurrence
from relax_explorer.core.session.align import ModuleDiff, Trace
from relax_explorer.core.session.bisect import Attempt, Bisection
from relax_explorer.core.session.validate import Row
from relax_explorer.core.session.verdict import Comparison, Verdict
from relax_explorer.core.syntax import node_text
from relax_explorer.core.syntax.node_text import binding_text
from relax_explorer.viz import table_diff
from relax_explorer.viz.verdict_text import (
    attempt_line,
    bisection_lines,
    comparison_lines,
    validation_lines,
)
from relax_explorer.viz.visible import counted


def text(value: object, is_brief: bool) -> str:
    """A value as text; empty for one that has none."""
    for kind, (brief, whole) in _TEXTS.items():
        if isinstance(value, kind):
            return brief(value) if is_brief else "\n".join(whole(value))
    return node_text.first_line(value) if is_brief else node_text.text_of(value)


def _comparison(result: Comparison) -> str:
    equal = sum(verdict.equal for verdict in result.verdicts)
    samples = counted(len(result.verdicts), "sample")
    return f"{result.function} of {result.a} with {result.b}: {equal} of {samples} equal"


def _verdict(verdict: Verdict) -> str:
    return f"{verdict.sample}: {verdict.reason or 'equal'}"


def _bisection(found: Bisection) -> str:
    if found.failed is None:
        return "the test holds after every pass"
    return f"first bad pass: {found.failed.made_by} (stage {found.failed.number})"


def _row(row: Row) -> str:
    wrong = [f"{cell.sample}: {cell.reason}" for cell in row.cells if not cell.equal]
    return f"{row.number} {row.made_by}: {'; '.join(wrong) or 'equal'}"


def _rows(row: Row) -> Iterator[str]:
    return validation_lines([row], [cell.sample for cell in row.cells])


def trace_text(trace: Trace) -> str:
    """What a value is in one stage: its bindings, or why there are none."""
    return trace.absence if trace.gone else "; ".join(map(binding_text, trace.bindings))


def _trace(trace: Trace) -> str:
    return f"{trace.label} {trace.made_by} {trace.mark} {trace_text(trace)}"


def _match(found: Occurrence) -> str:
    return "; ".join(map(binding_text, found.bindings))


def _diff(found: ModuleDiff) -> str:
    return f"of {counted(len(found.functions), 'function')}: {table_diff.stat_line(found)}"


def _diff_lines(found: ModuleDiff) -> Iterator[str]:
    return (f"{line.mark} {line.text}" for line in table_diff.lines(found))


def _alone(brief: Callable[[Any], str]) -> tuple[Callable[[Any], str], Callable[[Any], Iterable[str]]]:
    return brief, lambda value: [brief(value)]


_TEXTS: dict[type, tuple[Callable[[Any], str], Callable[[Any], Iterable[str]]]] = {
    Comparison: (_comparison, comparison_lines),
    Verdict: _alone(_verdict),
    Bisection: (_bisection, bisection_lines),
    Attempt: _alone(attempt_line),
    Row: (_row, _rows),
    Trace: _alone(_trace),
    Occurrence: _alone(_match),
    ModuleDiff: (_diff, _diff_lines),
}
