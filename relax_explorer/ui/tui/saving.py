"""Sessions as files: what `:save` writes, what is kept while the explorer runs, and what a killed explorer left.

While it runs, what was done is in a file of the state directory, which a clean end removes. The file of a process that is gone is
offered when its program is opened again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from relax_explorer.core.session.saved import Saved, Spot, archive, saved_in
from relax_explorer.ui import directories
from relax_explorer.ui.files import CannotWrite, target
from relax_explorer.ui.tui.host import Host
from relax_explorer.ui.tui.jobs import Job
from relax_explorer.ui.tui.pipeline_control import PipelineControl
from relax_explorer.ui.tui.run_control import RunControl
from relax_explorer.ui.tui.stage_control import Mark, Marks, StageControl
from relax_explorer.ui.tui.state import Selection
from relax_explorer.viz.visible import visible

if TYPE_CHECKING:
    from relax_explorer.core.session.snapshot import Snapshot

_FOLDER = "sessions"
MOST_LEFT = 20
"""Sessions of killed explorers that wait for someone to go on."""


class Saving:
    """Saves the session of the open program, and goes on with one."""

    def __init__(
        self, app: Host, stages: StageControl, marks: Marks, pipeline: PipelineControl, run: RunControl
    ) -> None:
        self.app, self.stages, self.marks, self.pipeline, self.run = app, stages, marks, pipeline, run
        self.written: Saved | None = None  # what is on the disk
        self._own: Path | None = None  # where

    def saved(self) -> Saved | None:
        """The session as it is now; None without a program."""
        state, run = self.app.state, self.run
        if state.session is None or state.stage is None:
            return None
        plans, at = self.pipeline.tried
        program = state.session.stages[0].module
        text = program.source.text if program.source is not None else program.script()
        marks = {
            name: self._spot(mark.stage, mark.selection)
            for name, mark in self.marks.places.items()
            if mark.path == state.path
        }
        return Saved(
            state.path, "" if state.plan is None else text, plans, at, self._spot(state.stage, state.selection), marks,
            run.point_commands, dict(run.calls), run.file,
        )  # fmt: skip

    def _spot(self, stage: Snapshot, selection: Selection) -> Spot:
        return Spot(stage.label, stage.made_by, selection.function, selection.variable)

    def keep_in(self, name: str) -> None:
        """Write the session into a file."""
        if refusal := self.app.permit.to_write(name):
            self.app.say(refusal)
            return
        saved = self.saved()
        try:
            if saved is not None and self.app.is_web and Path(name).name == name:
                self.app.download(name, archive(saved))
                self.app.say(f"{visible(name, 80)} is among the downloads of the browser")
            elif saved is not None:
                target(name).write(archive(saved))
                self.app.say(f"saved: {visible(name, 80)}; rxe opens it")
        except CannotWrite as error:
            self.app.say(visible(str(error), 300))

    # -- while it runs --------------------------------------------------------------------------------------------

    def keep(self) -> None:
        """Have what was done on the disk, unless it is there, or a recording of keys does it."""
        if not self.app.permit.is_all or self.app.state.session is None:
            return
        saved = self.saved()
        known = None if self.written is None else replace(self.written, selection=Spot())
        if saved is None or not saved.is_worth_keeping or replace(saved, selection=Spot()) == known:
            return
        self.written, own = saved, _kept(saved.path, os.getpid())
        if self._own not in (None, own):
            self.forget()
        self._own = own

        def work(job: Job) -> None:
            with suppress(OSError, CannotWrite):  # a read-only home: nothing is lost but this file
                own.parent.mkdir(parents=True, exist_ok=True)
                target(str(own)).write(archive(saved))
                _drop_oldest()

        self.app.jobs.start(
            "keep", "keeping the session", work, lambda _: None, replaces=False, is_quiet=True
        )

    def forget(self) -> None:
        """Remove what is kept: the session has come to its end."""
        if self._own is not None:
            self._own.unlink(missing_ok=True)
        self._own = None

    def left(self, path: str) -> Path | None:
        """What an explorer that was killed left of the session on a program; None if there is nothing."""
        found = [place for place in _all_kept(path) if not _is_alive(place)]
        return max(found, key=lambda place: place.stat().st_mtime, default=None)

    def recover(self) -> None:
        """Go on with the session that a killed explorer left."""
        place = self.left(self.app.state.path)
        if place is None:
            self.app.say("no session of this program was left")
            return

        def work(job: Job) -> Saved | None:
            return saved_in(str(place))

        def done(saved: Saved | None) -> None:
            if saved is not None:
                self._own = _kept(self.app.state.path, os.getpid())
                place.replace(self._own)  # from now on it is what this explorer has done
                self.go_on(saved)

        self.app.jobs.start("recover", "reading the session", work, done)

    # -- going on -------------------------------------------------------------------------------------------------

    def go_on(self, saved: Saved) -> None:
        """Bring a session back, on its program, which is open."""
        run = self.run
        run.calls.update(saved.inputs)
        run.file, run.pending = saved.calls, saved.commands

        def places() -> None:
            for letter, spot in saved.marks.items():
                stage = self._stage(spot)
                if stage is not None and len(letter) == 1 and letter.isalpha():
                    at = Selection(stage.number, spot.function, stage.binding(spot.function, spot.variable))
                    self.marks.places[letter] = Mark(self.app.state.path, stage, at)
            chosen = self._stage(saved.selection)
            if chosen is not None and saved.selection.function in chosen.module.functions:
                binding = chosen.binding(saved.selection.function, saved.selection.variable)
                self.stages.go_to(chosen.number, saved.selection.function, binding)
            self.app.say("the session goes on where it was")

        self.pipeline.go_on(saved.plans, saved.at, places)

    def _stage(self, spot: Spot) -> Snapshot | None:
        """The stage of a place: by its number and its pass, else the last one that the pass made."""
        session = self.app.state.session
        made = [] if session is None else [item for item in session.stages if item.made_by == spot.made_by]
        return next((item for item in made if item.label == spot.stage), made[-1] if made else None)


def _key(path: str) -> str:
    return hashlib.sha256(os.path.abspath(path).encode("utf-8", "surrogateescape")).hexdigest()[:24]


def _kept(path: str, pid: int) -> Path:
    return directories.state() / _FOLDER / f"{_key(path)}-{pid}.rxs"


def _all_kept(path: str) -> Iterator[Path]:
    try:
        yield from (directories.state() / _FOLDER).glob(f"{_key(path)}-*.rxs")
    except OSError:
        return


def _drop_oldest() -> None:
    """Remove what explorers left long ago, so that the folder does not grow."""
    left = [place for place in (directories.state() / _FOLDER).glob("*.rxs") if not _is_alive(place)]
    for place in sorted(left, key=lambda place: place.stat().st_mtime)[:-MOST_LEFT]:
        place.unlink(missing_ok=True)


def _is_alive(place: Path) -> bool:
    """True if the process that keeps a session is there."""
    pid = place.stem.rpartition("-")[2]
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
