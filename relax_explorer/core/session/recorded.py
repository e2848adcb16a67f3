"""A session on stages that a build recorded: a folder of numbered files, or one text with headings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from relax_explorer.core.check import checked, lenient, problems
from relax_explorer.core.diagnostics import Diagnostic, ParseError
from relax_explorer.core.program.equal import structural_equal
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.dumps import Stage, dumped
from relax_explorer.core.session.folders import nested, outer
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot


class RecordedSession(Session):
    """The stages of a build. The first is read at once, and `advance` reads the others one by one.

    A stage that can't be read is kept as text, with its problems.
    """

    def __init__(
        self, stages: Sequence[Stage], filename: str = "", cache: Path | None = None, profile: str = "spec"
    ) -> None:
        super().__init__(IRModule({}), (), filename, cache, profile)
        self.profile = profile
        self._recorded = list(stages)
        if Path(filename).is_dir():
            self.nested, self.outer = nested(filename), outer(filename)
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

    def _read(self, stage: Stage, before: Snapshot | None) -> Snapshot:
        number = 0 if before is None else before.number + 1
        try:
            given = stage.module
        except ParseError as failure:
            found = problems(failure, self.profile)
            return Snapshot(
                number, stage.made_by, IRModule({}), True, found, text=stage.text, recorded_as=stage.number
            )
        result = checked(given, self.profile)
        is_changed = before is None or bool(before.text) or not structural_equal(before.module, result.module)
        module = result.module if is_changed or before is None else before.module
        found = self._lenient(result.problems)
        return Snapshot(number, stage.made_by, module, is_changed, found, recorded_as=stage.number)

    def _lenient(self, found: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
        tvm = self.profile == "tvm"
        return tuple([lenient(item) for item in found if not (tvm and item.spec_only)])


def recorded(path: str | Path) -> list[Stage]:
    """The stages at a path if there are several; empty for one program. Raises Failure for what can't be read."""
    found = dumped(path)
    return found if is_recorded(path, found) else []


def is_recorded(path: str | Path, stages: Sequence[Stage]) -> bool:
    """True if the stages at a path are a build, not one program."""
    return len(stages) > 1 or Path(path).is_dir()
