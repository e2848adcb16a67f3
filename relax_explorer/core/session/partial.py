"""What can be done with a build or a module of which a part is damaged: the rest works, and what is left out is named."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from relax_explorer.core.check.call_graph import mentioned, reached
from relax_explorer.core.diagnostics import Diagnostic, ParseError
from relax_explorer.core.ir import expr as e
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.builds import Build
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.session.stages import Stage
from relax_explorer.core.source import Span


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
