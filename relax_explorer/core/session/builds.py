"""Builds as data: their stages, and what was recorded beside them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from relax_explorer.core.check.call_graph import mentioned, reached
from relax_explorer.core.codes import passes as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure, ParseError
from relax_explorer.core.expected import expect
from relax_explorer.core.ir import expr as e
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.session.stages import Aside, Stage
from relax_explorer.core.source import Span

if TYPE_CHECKING:
    from relax_explorer.core.passes.pipeline import Step

_PLACE = re.compile(r"-[0-9]{1,9}")


@dataclass(frozen=True)
class Build:
    """The stages of a build, those of its main lineage, with what was recorded beside it.

    If a session made them, with its snapshots and passes, so that passes can be left out. `written` are passes that the script
    around a program applies, as the text of a pipeline; `remarks` tell what the reader noticed.
    """

    stages: tuple[Stage, ...]
    path: str = ""
    snapshots: tuple[Snapshot, ...] = ()
    passes: tuple[Step, ...] = ()
    asides: tuple[Aside, ...] = ()
    outer: str = ""
    written: str = ""
    remarks: tuple[str, ...] = ()
    is_folder: bool = False
    executable: str = ""  # the file with what was built

    @property
    def is_recorded(self) -> bool:
        """True if there are several stages, or a folder of them: not one program."""
        return len(self.stages) > 1 or self.is_folder

    def rules(self, profile: str) -> str:
        """The profile by which its stages are checked: of `auto`, TVM's for those that TVM made, else the specification's."""
        return profile if profile != "auto" else "tvm" if self.is_recorded else "spec"

    @property
    def every(self) -> tuple[Stage, ...]:
        """All stages by their numbers, those beside the main lineage included."""
        aside = [stage for item in self.asides for stage in item.stages]
        return tuple(sorted([*self.stages, *aside], key=lambda stage: stage.number)) if aside else self.stages

    def changing(self) -> list[Stage]:
        """The stages that differ from the one before, the first included."""
        if not self.snapshots:
            return list(self.stages)
        return [stage for stage, item in zip(self.stages, self.snapshots, strict=True) if item.changed]

    def title(self, stage: Stage) -> str:
        """The name of a stage in messages."""
        return self.path if len(self.stages) == 1 else f"{self.path}@{stage.number} {stage.made_by}"

    def stage(self, name: str) -> Stage:
        """The stage with this number, counted from the end if negative, or the last one made by this pass. Raises KeyError.

        Those of the main lineage come first.
        """
        if _PLACE.fullmatch(name) and int(name) >= -len(self.stages):
            return self.stages[int(name)]
        for stage in (*reversed(self.stages), *reversed(self.every)):
            if stage.made_by == name or (name.lstrip("0") or name[:1]) == str(stage.number):
                return stage
        has = ", ".join(map(str, self.stages[:20]))
        raise KeyError(f"no stage {name!r}; there are {has}{' …' if len(self.stages) > 20 else ''}")


def as_stage(source: Stage | IRModule, number: int = 0) -> Stage:
    """A stage, or a module as a stage."""
    expect(source, (Stage, IRModule), "a stage is a module, or a stage of a build")
    return source if isinstance(source, Stage) else Stage(number, f"module {number}", source)


# -- partial ---------------------------------------------------------------------------------------------------------
# What can be done with a build or a module of which a part is damaged: the rest works, and what is left out is
# named.


@dataclass(frozen=True, slots=True)
class Skipped:
    """A stage that is left out, and why it can't be read."""

    stage: Stage
    problem: Diagnostic

    def __str__(self) -> str:
        return f"stage {self.stage} can't be read: {self.problem.code}: {self.problem.message}"


def readable(build: Build, function: str = "") -> tuple[Build, tuple[Skipped, ...]]:
    """A build without the stages of which `function`, or what it calls, can't be read.

    A stage whose other functions can't be read has its readable part. Raises ParseError if no stage can be read.
    """
    if build.snapshots:
        return build, ()
    stages: list[Stage] = []
    skipped: list[Skipped] = []
    failure: ParseError | None = None
    for stage in build.stages:
        try:
            module, problems = runnable(stage, function)
        except ParseError as problem:
            failure = failure or problem
            skipped.append(Skipped(stage, problem.diagnostics[0]))
            continue
        stages.append(stage if problems == () else Stage(stage.number, stage.made_by, module, stage.file))
    if failure is not None and not stages:
        raise failure
    return replace(build, stages=tuple(stages)), tuple(skipped)


def runnable(stage: Stage, function: str = "") -> tuple[IRModule, tuple[Diagnostic, ...]]:
    """A module in which `function` (by default the entry) and all that it calls can be read, and the problems elsewhere.

    Raises ParseError if they can't.
    """
    try:
        return stage.module, ()
    except ParseError as failure:
        module = failure.module
        if not isinstance(module, IRModule):
            raise
        name = function or Snapshot(stage.number, stage.made_by, module).entry
        spans = of_functions(module, executed(module, name))
        if name not in module.functions or any(
            _concerns(item, spans) for item in failure.diagnostics if item.is_error
        ):
            raise
        return module, tuple(failure.diagnostics)


def executed(module: IRModule, function: str) -> list[str]:
    """The functions that a call of a Relax function may run, with the kernels and unread functions that they name."""
    names = reached(module, function) if type(module.functions.get(function)) is e.Function else [function]
    relax = [fn for name in names if type(fn := module.functions.get(name)) is e.Function]
    return list(dict.fromkeys([*names, *[name for fn in relax for name in mentioned(fn)]]))


def of_functions(module: IRModule, names: Iterable[str]) -> list[Span | None]:
    """The spans of functions of a module."""
    found = [module.functions.get(name) for name in names]
    return [getattr(fn, "span", None) for fn in found if fn is not None]


def concerning(problems: Iterable[Diagnostic], module: IRModule, function: str) -> list[Diagnostic]:
    """The problems that a call of `function` meets: those in what it may run, and those in no function."""
    spans = of_functions(module, executed(module, function))
    return [item for item in problems if _concerns(item, spans)]


def _concerns(problem: Diagnostic, spans: Iterable[Span | None]) -> bool:
    inner = problem.span
    return inner is None or any(_within(inner, span) for span in spans)


def _within(inner: Span, outer: Span | None) -> bool:
    return outer is None or (inner.source is outer.source and outer.line <= inner.line <= outer.end_line)


# -- its pipeline ----------------------------------------------------------------------------------------------------
# The pipeline that a script applies to its module.


FILE = "file"
"""The name of the pipeline that stands in the file of a program."""


def pipeline_of(build: Build, passes: str) -> str:
    """The text of a pipeline; `file` is the one that stands in the file of the program. Raises Failure if there is none."""
    if passes.strip() != FILE:
        return passes
    if not build.written:
        text = f"{build.path} calls no pass that is known here"
        raise Failure(Diagnostic(codes.UNKNOWN_PASS, text, help="name the passes: -p LegalizeOps,FuseOps"))
    return build.written
