"""The problems of programs: found at a path, printed as text, JSON, annotations and SARIF."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import click

from relax_explorer.core.codes import CODES
from relax_explorer.core.diagnostics import Diagnostic, Failure, ParseError, Severity
from relax_explorer.core.notations import CONTRACTS, RELATIONS
from relax_explorer.core.phases.module_check import check as module_check
from relax_explorer.core.phases.module_check import of_recorded, problems
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.stages import Stage, distinct
from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.opening import build_at
from relax_explorer.ui.cli.output import Remark, Result, Styled
from relax_explorer.ui.cli.problem_formats import Case, github_line, junit_text, sarif_log
from relax_explorer.viz.problem import headline, render
from relax_explorer.viz.visible import counted

NOTATIONS = (CONTRACTS, RELATIONS)
_UNREADABLE = frozenset({"RX0001", "RX0003", "RX0004", "RX0035", "RX0036"})


@dataclass(frozen=True, slots=True)
class CheckedText:
    """The problems of one text at a path, and the stage that it holds, if it is one of a folder."""

    path: str
    problems: tuple[Diagnostic, ...]
    stage: Stage | None = None

    @property
    def is_readable(self) -> bool:
        """False if the file could not be opened or is no text."""
        return not any(item.code.id in _UNREADABLE for item in self.problems)


def check_path(
    path: str, profile: str, prover: str, dialect: str | None = None, allow_unknown_ops: bool = False
) -> list[CheckedText]:
    """The checked texts at a path, one for each recorded stage. `dialect` is that of a file, if its text does not tell."""
    if path.endswith(NOTATIONS):
        return [CheckedText(path, _of_notation(path))]
    try:
        build = build_at(path)
    except Failure as failure:
        return [CheckedText(path, failure.diagnostics)]
    shown = [stage if build.is_recorded else None for stage in build.stages]
    texts = []
    for number, stage in enumerate(build.stages):
        # TVM knew the operators of a stage that it recorded
        known = allow_unknown_ops or shown[number] is not None
        found = _checked(partial(_module, stage, dialect), build.rules(profile), prover, known)
        texts.append(CheckedText(path, found if shown[number] is None else of_recorded(found), shown[number]))
    return texts


def _of_notation(path: str) -> tuple[Diagnostic, ...]:
    """The problems of a program with shape contracts, or in Relay's notation."""
    from relax_explorer.viz.solver_steps import read_solving

    try:
        solving = read_solving(path)
    except Failure as failure:
        return failure.diagnostics
    return () if solving is None else tuple(solving.problems)


def _module(stage: Stage, dialect: str | None) -> IRModule:
    return stage.module if dialect is None or stage.origin is None else stage.origin.read_in(dialect)


def _checked(
    module: Callable[[], IRModule], profile: str, prover: str, allow_unknown_ops: bool
) -> tuple[Diagnostic, ...]:
    try:
        return tuple(module_check(module(), profile, prover=prover, allow_unknown_ops=allow_unknown_ops))
    except ParseError as failure:
        return problems(failure, profile, prover, allow_unknown_ops)


def check(
    inputs: tuple[str, ...],
    profile: str,
    dialect: str,
    prover: str,
    select: str | None,
    ignore: str | None,
    fail_on: str,
    allow_unknown_ops: bool,
) -> Result:
    """The problems of several files, or of the stages of folders."""
    selected_codes, ignored_codes = _codes("--select", select), _codes("--ignore", ignore) or ()
    chosen = None if dialect == "auto" else dialect
    read = [text for path in inputs for text in check_path(path, profile, prover, chosen, allow_unknown_ops)]
    texts = [
        replace(
            text, problems=tuple([p for p in text.problems if _selected(p, selected_codes, ignored_codes)])
        )
        for text in read
    ]
    found = [(text.stage, problem) for text in texts for problem in text.problems]
    least = Severity[fail_on.upper()]
    status = output.FOUND if any(problem.level >= least for _, problem in found) else output.OK
    if not all(text.is_readable for text in read):
        status = output.USAGE
    is_build = len(inputs) == 1 and texts[0].stage is not None
    counts = dict(Counter(str(problem.level) for _, problem in found))
    return Result(
        "check",
        lambda: {"files": len(texts), "counts": counts, "problems": [_data(*item) for item in found]},
        _lines(texts, found, least, is_build),
        status,
    )


def _selected(problem: Diagnostic, codes: tuple[str, ...] | None, unwanted: tuple[str, ...]) -> bool:
    return (codes is None or problem.code.id.startswith(codes)) and not problem.code.id.startswith(unwanted)


def _codes(option: str, text: str | None) -> tuple[str, ...] | None:
    """The code prefixes in an option, or None when the option is absent. A prefix without any code is refused."""
    if text is None:
        return None
    starts = tuple([part.strip().upper() for part in text.split(",") if part.strip()])
    for start in starts:
        if not any(code.startswith(start) for code in CODES):
            raise click.UsageError(f"{option}: no code starts with {start!r}; write RX02 or RX0105")
    return starts


# -- check output ----------------------------------------------------------------------------------------------------
# Print the problems of `check` in each output format.


def _lines(
    texts: Sequence[CheckedText],
    found: Sequence[tuple[Stage | None, Diagnostic]],
    least: Severity,
    is_build: bool,
) -> Iterator[str]:
    """Problems as text with excerpts, one line each, or in a format for other programs.

    Each comes with its stage, if those of a build were checked; `is_build` if these are all. `least` makes a check fail.
    """
    problems, style, files = [problem for _, problem in found], output.style(), len(texts)
    if style == "sarif":
        yield output.json_text(sarif_log(problems), 1)
        return
    if style == "github":
        yield from map(github_line, problems)
        return
    if style == "junit":
        cases = [Case(text.path, str(text.stage or ""), text.problems) for text in texts]
        yield junit_text(cases, least)
        return
    for problem in _once(found) if is_build else problems:
        yield Styled((render if style == "text" else headline)(problem, output.colors()))
    for stage in dict.fromkeys(stage for stage, _ in found if stage is not None):
        yield Remark(f"stage {stage}: {_total(problem for its, problem in found if its is stage)}")
    yield Remark(f"{counted(files, 'stage' if is_build else 'file')} checked: {_total(problems)}")


def _once(found: Sequence[tuple[Stage | None, Diagnostic]]) -> Iterator[Diagnostic]:
    """Each problem of a build at the first stage that has it, with a note on the later ones."""
    staged = [(stage, problem) for stage, problem in found if stage is not None]
    yield from [problem for stage, problem in found if stage is None]
    for _, problem, later in distinct(staged):
        numbers = [stage.number for stage in later]
        where = f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else "".join(map(str, numbers))
        note = f"also in stage{'s' * (len(numbers) > 1)} {where}"
        yield replace(problem, notes=(*problem.notes, note)) if numbers else problem


def _total(problems: Iterable[Diagnostic]) -> str:
    counts = Counter(str(problem.level) for problem in problems)
    return ", ".join([counted(number, level) for level, number in sorted(counts.items())]) or "no problems"


def _data(stage: Stage | None, problem: Diagnostic) -> dict[str, Any]:
    data = problem.to_json()
    return data if stage is None else {**data, "stage": {"number": stage.number, "pass": stage.made_by}}
