"""Print the problems of `check` in each output format."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence

from relax_explorer.core.diagnostics import Diagnostic, Severity
from relax_explorer.ui.cli import output, sarif
from relax_explorer.viz.problem import headline, render
from relax_explorer.viz.visible import visible

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def print_problems(problems: Sequence[Diagnostic], style: str, files: int) -> None:
    """Print problems as text with excerpts, one line each, JSON, GitHub annotations, or SARIF."""
    counts = Counter(str(problem.level) for problem in problems)
    if style == "json":
        output.say(
            output.document(
                "check",
                {
                    "files": files,
                    "counts": dict(counts),
                    "problems": [problem.to_json() for problem in problems],
                },
            )
        )
        return
    if style == "sarif":
        output.say(output.json_text(sarif.document(problems), 1))
        return
    for problem in problems:
        if style == "github":
            output.say(_github(problem))
        else:
            shown = render if style == "text" else headline
            output.say_styled(shown(problem, sys.stdout.isatty()))
    if style != "github":
        total = ", ".join(
            f"{number} {level}{'s' if number > 1 else ''}" for level, number in sorted(counts.items())
        )
        output.say(f"{files} file{'s' if files > 1 else ''} checked: {total or 'no problems'}", err=True)


def _github(problem: Diagnostic) -> str:
    span = problem.span
    place = f" file={visible(span.source.filename)},line={span.line},col={span.column + 1}," if span else " "
    return f"::{_LEVELS[problem.level]}{place}title={problem.code}::{visible(problem.message, 600)}"
