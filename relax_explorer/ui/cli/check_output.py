"""Print the problems of `check` in each output format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from relax_explorer.core.diagnostics import Diagnostic, Severity
from relax_explorer.core.session.stages import Stage, distinct
from relax_explorer.ui.cli import output, sarif
from relax_explorer.viz.problem import headline, render
from relax_explorer.viz.visible import visible

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def print_problems(
    found: Sequence[tuple[Stage | None, Diagnostic]], style: str, files: int, is_build: bool = False
) -> None:
    """Print problems as text with excerpts, one line each, JSON, GitHub annotations, or SARIF.

    Each comes with its stage, if those of a build were checked; `is_build` if these are all.
    """
    problems = [problem for _, problem in found]
    counts = Counter(str(problem.level) for problem in problems)
    if style == "json":
        output.say(
            output.document(
                "check",
                {
                    "files": files,
                    "counts": dict(counts),
                    "problems": [_data(stage, problem) for stage, problem in found],
                },
            )
        )
        return
    if style == "sarif":
        output.say(output.json_text(sarif.document(problems), 1))
        return
    for problem in _once(found) if is_build and style != "github" else problems:
        if style == "github":
            output.say(_github(problem))
        else:
            shown = render if style == "text" else headline
            output.say_styled(shown(problem, output.colors()))
    if style != "github":
        for stage in dict.fromkeys(stage for stage, _ in found if stage is not None):
            own = Counter(str(problem.level) for its, problem in found if its is stage)
            output.say(f"stage {stage}: {_total(own)}", err=True)
        what = "stage" if is_build else "file"
        output.say(f"{files} {what}{'s' if files > 1 else ''} checked: {_total(counts)}", err=True)


def _once(found: Sequence[tuple[Stage | None, Diagnostic]]) -> Iterator[Diagnostic]:
    """Each problem of a build at the first stage that has it, with a note on the later ones."""
    staged = [(stage, problem) for stage, problem in found if stage is not None]
    yield from [problem for stage, problem in found if stage is None]
    for _, problem, later in distinct(staged):
        numbers = [stage.number for stage in later]
        where = f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else "".join(map(str, numbers))
        note = f"also in stage{'s' * (len(numbers) > 1)} {where}"
        yield replace(problem, notes=(*problem.notes, note)) if numbers else problem


def _total(counts: Counter[str]) -> str:
    parts = [f"{number} {level}{'s' if number > 1 else ''}" for level, number in sorted(counts.items())]
    return ", ".join(parts) or "no problems"


def _data(stage: Stage | None, problem: Diagnostic) -> dict[str, Any]:
    data = problem.to_json()
    return data if stage is None else {**data, "stage": {"number": stage.number, "pass": stage.made_by}}


def _github(problem: Diagnostic) -> str:
    span = problem.span
    place = f" file={visible(span.source.filename)},line={span.line},col={span.file_column}," if span else " "
    return f"::{_LEVELS[problem.level]}{place}title={problem.code}::{visible(problem.message, 600)}"
