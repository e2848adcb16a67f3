"""Sessions on the stages of builds, builds of sessions, and the history of a kernel through both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from relax_explorer.core.diagnostics import Diagnostic, ParseError
from relax_explorer.core.expected import expect
from relax_explorer.core.phases.module_check import checked, judged, lenient, problems
from relax_explorer.core.program.equal import structural_equal
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.align import FunctionDiff, diff_kernels
from relax_explorer.core.session.builds import Build, as_stage
from relax_explorer.core.session.compiled import Compiled, compiled
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.session.stages import Kind, Stage
from relax_explorer.core.tir.stmt import PrimFunc


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
        source.run_all()  # a stage that was not made yet is none that holds
        return built(source)
    hint = "`rxe.Session(module, passes)` has the stages of one module"
    expect(source, (list, tuple), "stages are those of a session, a build or a list of modules", hint)
    return Build(tuple([as_stage(item, number) for number, item in enumerate(source)]))


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
        found = self._snapshot(stage, before)
        if stage.recorded is not None:
            found.seconds, found.run_by = stage.recorded.seconds, stage.recorded.run_by
        return found

    def _snapshot(self, stage: Stage, before: Snapshot | None) -> Snapshot:
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


def alone(build: Build, stage: Stage, cache: Path | None = None, profile: str = "spec") -> RecordedSession:
    """A session on one stage of a build. The others are not read; names come from the earlier ones where they are asked for."""
    session = RecordedSession(replace(build, stages=(stage,), asides=()), cache, profile)
    session.earlier = [item for item in build.stages if item.number < stage.number]
    return session


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
