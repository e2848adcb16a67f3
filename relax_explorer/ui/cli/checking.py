"""The problems of the programs at a path: one file, or the stages in a folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from relax_explorer.core.check.module_check import check, problems
from relax_explorer.core.diagnostics import Diagnostic, Failure, ParseError, Severity
from relax_explorer.core.notations import CONTRACTS, RELATIONS
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.stages import Stage
from relax_explorer.ui.cli.opening import build_at

NOTATIONS = (CONTRACTS, RELATIONS)
_UNREADABLE = frozenset({"RX0001", "RX0003", "RX0004"})


@dataclass(frozen=True, slots=True)
class CheckedText:
    """The problems of one text, and the stage that it holds, if it is one of a folder."""

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
        return [CheckedText(_of_notation(path))]
    try:
        build = build_at(path)
    except Failure as failure:
        return [CheckedText(failure.diagnostics)]
    shown = [stage if build.is_recorded else None for stage in build.stages]
    texts = []
    for number, stage in enumerate(build.stages):
        # TVM knew the operators of a stage that it recorded
        known = allow_unknown_ops or shown[number] is not None
        found = _checked(partial(_module, stage, dialect), profile, prover, known)
        texts.append(CheckedText(_of_stage(found, shown[number]), shown[number]))
    return texts


def _of_stage(found: tuple[Diagnostic, ...], stage: Stage | None) -> tuple[Diagnostic, ...]:
    """The problems of a text. TVM printed a recorded stage itself: there, what it would not read again is no problem."""
    if stage is None:
        return found
    kept = [item for item in found if not item.tvm_only or item.code.severity < Severity.ERROR]
    return tuple([replace(item, severity=None) if item.tvm_only else item for item in kept])


def _of_notation(path: str) -> tuple[Diagnostic, ...]:
    """The problems of a program with shape contracts, or in Relay's notation."""
    from relax_explorer.viz.solving_report import read_solving

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
        return tuple(check(module(), profile, prover=prover, allow_unknown_ops=allow_unknown_ops))
    except ParseError as failure:
        return problems(failure, profile, prover, allow_unknown_ops)
