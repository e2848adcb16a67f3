"""The problems of all stages, each once: a pass hands most of them on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TypeVar

from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.session.stages import Stage

Distinct = tuple[Snapshot, Diagnostic, tuple[Snapshot, ...]]
"""The first stage that has a problem, the problem, and the later stages that have it too."""
S = TypeVar("S", Snapshot, Stage)


def distinct(found: Iterable[tuple[S, Diagnostic]]) -> tuple[tuple[S, Diagnostic, tuple[S, ...]], ...]:
    """Each problem at the first stage that has it. Errors come first, notes last.

    A problem is the same if its code, its sentence and the line it points at are: passes move lines.
    """
    told: dict[tuple[str, str, str, int], tuple[S, Diagnostic, list[S]]] = {}
    counts: Counter[tuple[int, str, str, str]] = Counter()
    for stage, problem in found:
        span = problem.span
        line = "" if span is None else span.source.line(span.line).strip()
        same: tuple[str, str, str] = (problem.code.id, problem.message, line)
        counts[stage.number, *same] += 1
        key = (*same, counts[stage.number, *same])
        if key in told:
            told[key][2].append(stage)
        else:
            told[key] = (stage, problem, [])
    ordered = sorted(told.values(), key=lambda item: -item[1].level)
    return tuple([(stage, problem, tuple(later)) for stage, problem, later in ordered])
