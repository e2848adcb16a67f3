"""Builds as data: their stages, and what was recorded beside them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from relax_explorer.core.passes.pipeline import Step
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.session.stages import Aside, Stage

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
