"""The problems that `run` reports: those of the functions that it executes."""

from __future__ import annotations

from collections.abc import Iterable

from relax_explorer.core.check.call_graph import reached
from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.source import Span


def of_the_run(stage: Snapshot, names: Iterable[str]) -> list[Diagnostic]:
    """Violations of rules that only the specification has, in the executed functions."""
    spans = [
        fn.span
        for name in names
        for key in reached(stage.module, name)
        if (fn := stage.module.functions.get(key)) is not None
    ]
    return [
        item
        for item in stage.problems
        if item.spec_only and (item.span is None or any(_within(item.span, span) for span in spans))
    ]


def _within(inner: Span, outer: Span | None) -> bool:
    return outer is None or (inner.source is outer.source and outer.line <= inner.line <= outer.end_line)
