"""Builds as data: their stages, and what was recorded beside them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from relax_explorer.core import passes as registry
from relax_explorer.core.check.call_graph import mentioned, reached
from relax_explorer.core.codes import passes as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure, ParseError
from relax_explorer.core.ir import expr as e
from relax_explorer.core.passes.pipeline import FromFile, Step, steps
from relax_explorer.core.phases.module_check import checked, judged, lenient, problems
from relax_explorer.core.program.equal import structural_equal
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.align import FunctionDiff, diff_kernels
from relax_explorer.core.session.compiled import Compiled, compiled
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.session.stages import Aside, Kind, Stage
from relax_explorer.core.source import Span
from relax_explorer.core.syntax.surroundings import WrittenPass
from relax_explorer.core.tir.stmt import PrimFunc

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


def built(session: Session) -> Build:
    """The build of a session whose passes have run."""
    if not session.pipeline and len(session.stages) > 1:  # recorded: no pass can be left out
        changed = [item for item in session.stages if item.changed]
        return Build(tuple([stage_of(item, session.filename) for item in changed]), session.filename)
    stages = [stage_of(item, session.filename) for item in session.stages]
    return Build(tuple(stages), session.filename, tuple(session.stages), tuple(session.pipeline))


def stage_of(item: Snapshot, file: str = "") -> Stage:
    """A stage of a session as a stage of a build; one that can't be read as its text."""
    return Stage(item.label, item.made_by, item.text or item.module, file)


def as_build(source: Build | Session | Sequence[Stage | IRModule]) -> Build:
    """A build, the one of a session, or one of modules in order."""
    if isinstance(source, Build):
        return source
    if isinstance(source, Session):
        return built(source)
    return Build(tuple([as_stage(item, number) for number, item in enumerate(source)]))


def as_stage(source: Stage | IRModule, number: int = 0) -> Stage:
    """A stage, or a module as a stage."""
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


# -- proposals -------------------------------------------------------------------------------------------------------
# The pipeline that a script applies to its module, as the passes here take it.


FILE = "file"
"""The name of the pipeline that stands in the file of a program."""


def proposed(written: Sequence[WrittenPass]) -> tuple[str, tuple[str, ...]]:
    """The pipeline of the calls in a script as text, and what it leaves out: passes that are unknown here, and their options."""
    parts, remarks = [], []
    for call in written:
        text, remark = _step(call)
        parts += [text] if text else []
        remarks += [f"line {call.line}: {remark}"] if remark else []
    return ",".join(parts), tuple(remarks)


def _step(call: WrittenPass) -> tuple[str, str]:
    """One step as text, and what was left out."""
    if call.name in registry.PIPELINES:
        return call.name, ""
    known = registry.table().get(registry.ALIASES.get(call.name, call.name))
    if known is None:
        return "", f"{call.name} is no pass here and is left out"
    names = [option.name for option in known.options]
    given = [*zip(names, call.args, strict=False), *call.options]
    text = (
        f"{call.name}{{{','.join([f'{name}={value!r}' for name, value in given])}}}" if given else call.name
    )
    if call.unknown:
        return (
            call.name,
            f"{call.name}: {', '.join(call.unknown)} is known only when the script runs; left out",
        )
    try:
        steps(text)
    except Failure as failure:
        return call.name, f"{call.name} without its options: {failure.diagnostics[0].message}"
    return text, ""


def pipeline_of(build: Build, passes: str) -> str:
    """The text of a pipeline; `file` is the one that stands in the file of the program. Raises Failure if there is none."""
    if passes.strip() != FILE:
        return passes
    if not build.written:
        text = f"{build.path} calls no pass that is known here"
        raise Failure(Diagnostic(codes.UNKNOWN_PASS, text, help="name the passes: -p LegalizeOps,FuseOps"))
    return build.written


# -- recorded --------------------------------------------------------------------------------------------------------
# A session on the stages that a build recorded.


ASIDE = -1  # the place of a stage beside the main lineage


class RecordedSession(Session):
    """The stages of a build. The first is read at once, and `advance` reads the others one by one.

    A stage that can't be read is kept as text, with its problems. Stages beside the main lineage are read when they are asked for.
    """

    def __init__(self, build: Build, cache: Path | None = None, profile: str = "spec") -> None:
        super().__init__(IRModule({}), (), build.path, cache, profile)
        self.profile = profile
        self.build = build
        self.asides, self.outer = build.asides, build.outer
        self._recorded = build.stages
        self._beside: dict[int, Snapshot] = {}
        self._compiled: Compiled | None = None
        self.stages = [self._read(self._recorded[0], None)]

    @property
    def total(self) -> int:
        """The number of the last stage."""
        return len(self._recorded) - 1

    def advance(self) -> Snapshot | None:
        """Read the next stage; None after the last one."""
        if len(self.stages) == len(self._recorded):
            return None
        snapshot = self._read(self._recorded[len(self.stages)], self.stages[-1])
        self.stages.append(snapshot)
        for listener in self.listeners:
            listener(snapshot)
        return snapshot

    def stage(self, which: int | str) -> Snapshot:
        """The stage at a place, or by its label or its pass as text, also one beside the main lineage. Raises KeyError."""
        try:
            return super().stage(which)
        except KeyError:
            beside = [stage for item in self.asides for stage in item.stages]
            for stage in reversed(beside) if isinstance(which, str) else ():
                if which in (str(stage.number), stage.made_by):
                    return self._read_beside(stage)
            raise

    def kernels_alone(self) -> list[Snapshot]:
        """The stages of the host build, which goes on with the kernels alone."""
        tail = [stage for item in self.asides if item.kind is Kind.KERNELS for stage in item.stages]
        return [self._read_beside(stage) for stage in tail]

    def compiled(self) -> Compiled | None:
        """The executable of the build, once all stages are read. Raises ParseError."""
        if not self.build.executable or len(self.stages) < len(self._recorded):
            return None
        if self._compiled is None:
            self._compiled = compiled(self.build.executable, self.stages[-1].module)
        return self._compiled

    def _read_beside(self, stage: Stage) -> Snapshot:
        """A stage beside the main lineage, read once."""
        if stage.number not in self._beside:
            before = self._beside.get(stage.number - 1)
            found = self._read(stage, before)
            self._beside[stage.number] = replace(found, number=ASIDE)
        return self._beside[stage.number]

    def _read(self, stage: Stage, before: Snapshot | None) -> Snapshot:
        number = 0 if before is None else before.number + 1
        try:
            given = stage.module
        except ParseError as failure:
            found = problems(failure, self.profile)
            text = stage.text or "(no text)"
            return Snapshot(
                number, stage.made_by, IRModule({}), True, found, text=text, recorded_as=stage.number
            )
        if before is not None and before.as_read is given:  # the same text
            return Snapshot(
                number,
                stage.made_by,
                before.module,
                False,
                before.problems,
                recorded_as=stage.number,
                as_read=given,
            )
        result = checked(given, self.profile)
        is_changed = before is None or bool(before.text) or not structural_equal(before.module, result.module)
        module = result.module if is_changed or before is None else before.module
        found = self._lenient(result.problems)
        return Snapshot(
            number, stage.made_by, module, is_changed, found, recorded_as=stage.number, as_read=given
        )

    def _lenient(self, found: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
        tvm = self.profile == "tvm"
        return tuple(
            [
                lenient(item)
                for item in judged(found, "spec", allow_unknown_ops=True)
                if not (tvm and item.spec_only)
            ]
        )


# -- kernel history --------------------------------------------------------------------------------------------------
# The history of a kernel: through the stages of its module, and through the host build that goes on with the kernels
# alone.


@dataclass(frozen=True, slots=True)
class KernelTrace:
    """What a stage did with a kernel: `made`, `changed`, `unchanged`, `removed`; empty if it has none. `diff` is that of a change."""

    stage: Snapshot
    change: str
    diff: FunctionDiff | None = None


def kernel_history(session: Session, name: str) -> Iterator[KernelTrace]:
    """What each stage did with the kernel `name`, in order, those of the host build included."""
    before: PrimFunc | None = None
    for stage in (*session.stages, *session.kernels_alone()):
        if stage.recorded_as is not None and not stage.module.functions:
            continue  # the part of the host build that is for another device
        found = stage.module.functions.get(name)
        kernel = found if type(found) is PrimFunc else None
        if kernel is None:
            yield KernelTrace(stage, "removed" if before is not None else "")
        elif before is None:
            yield KernelTrace(stage, "made")
        else:
            diff = None if kernel is before else diff_kernels(name, before, kernel)
            is_same = diff is None or diff.status == "same"
            yield KernelTrace(stage, "unchanged") if is_same else KernelTrace(stage, "changed", diff)
        before = kernel


def has_kernel(session: Session, name: str) -> bool:
    """True if a stage of the module has a kernel of this name."""
    return any(type(stage.module.functions.get(name)) is PrimFunc for stage in session.stages)


# -- pass files ------------------------------------------------------------------------------------------------------
# Files that options of passes name: `BindParams{params="weights.npz"}`.


def with_files(
    pipeline: str | Iterable[str], profile: str = "spec", opened: Callable[[str], str] = str
) -> list[Step]:
    """The steps of a pipeline, with what their files hold: arrays of an .npz for values by name, the text for ReplaceModule.

    The profile is that of `steps`. `opened` gets each path before it is opened, and may refuse it.
    Raises Failure for an unknown pass or option, and for an unreadable file.
    """
    return [
        replace(step, options={**step.options, **_option_arrays(step, opened), **_option_text(step, opened)})
        for step in steps(pipeline, profile)
    ]


def _option_text(step: Step, opened: Callable[[str], str]) -> dict[str, object]:
    """The text of the file that ReplaceModule goes on with."""
    path = step.options.get("text", "")
    if step.of.name != "ReplaceModule" or not path.endswith(".py") or "\n" in path:
        return {}
    from relax_explorer.core.syntax.load import read_text

    return {"text": read_text(opened(path))}


def _option_arrays(step: Step, opened: Callable[[str], str]) -> dict[str, object]:
    by_name = [option.name for option in step.of.options if isinstance(option.default, dict)]
    given = {name: step.options.get(name) for name in by_name}
    paths = {name: path for name, path in given.items() if isinstance(path, str) and path.endswith(".npz")}
    if not paths:
        return {}
    from relax_explorer.core.session.arrays import read_arrays

    return {name: FromFile(path, read_arrays(opened(path))) for name, path in paths.items()}
