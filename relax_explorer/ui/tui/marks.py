"""Marks: places in any stage and function under a letter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from relax_explorer.ui.tui.host import Host
from relax_explorer.ui.tui.stage_control import StageControl
from relax_explorer.ui.tui.state import Selection
from relax_explorer.viz.tables import Row
from relax_explorer.viz.visible import visible

if TYPE_CHECKING:
    from relax_explorer.core.session.session import Session
    from relax_explorer.core.session.snapshot import Snapshot

BACK = "apostrophe"  # as a mark: where the last jump began


@dataclass(frozen=True, slots=True)
class Mark:
    """A place with the stage it was set in, since a changed pipeline numbers the stages anew."""

    path: str
    stage: Snapshot
    selection: Selection

    @property
    def text(self) -> str:
        """The place in one line."""
        place = " ▸ ".join(part for part in (self.selection.function, self.selection.variable) if part)
        return visible(f"{self.stage.label:>3} {self.stage.made_by[:30]:<24} {place}")


class Marks:
    """Sets marks, and goes to them."""

    def __init__(self, app: Host, stages: StageControl) -> None:
        self.app, self.stages = app, stages
        self.held: dict[str, Mark] = {}

    def set(self, letter: str) -> None:
        """Mark the selected place with a letter."""
        state = self.app.state
        if state.stage is None or not letter:
            return
        if len(letter) != 1 or not letter.isalpha():
            self.app.say("a mark is a letter, such as m a")
            return
        self.held[letter] = Mark(state.path, state.stage, state.selection)
        self.app.say(f"'{letter} goes to mark {letter}: {self.held[letter].text.strip()}")

    def go(self, letter: str) -> None:
        """Go to a mark."""
        mark, session = self.held.get(letter), self.app.state.session
        if letter == BACK:
            self.stages.jump(-1)
        elif mark is None:
            if letter:
                self.app.say(f"no mark {visible(letter, 20)}; m and a letter set one")
        elif session is None or mark.path != self.app.state.path:
            self.app.say(f"mark {letter} is in {visible(mark.path, 60)}")
        else:
            self._go(letter, mark, session)

    def _go(self, letter: str, mark: Mark, session: Session) -> None:
        stage = _found(mark.stage, session)
        if stage is None:
            self.app.say(f"mark {letter}: no stage is made by {visible(mark.stage.made_by, 40)} any more")
            return
        chosen = mark.selection
        binding = chosen.binding if stage is mark.stage else stage.binding(chosen.function, chosen.variable)
        run = self.app.state.run
        is_here = self.app.screen_name == "debug" and run is not None
        if not (is_here and run is not None and (run.stage, run.function) == (stage.number, chosen.function)):
            self.app.show_screen("passes")
        self.stages.go_to(stage.number, chosen.function, binding)

    def rows(self) -> list[Row]:
        """A row for each mark."""
        return [Row(f"{letter} {mark.text}", " ", letter) for letter, mark in sorted(self.held.items())]


def _found(stage: Snapshot, session: Session) -> Snapshot | None:
    """The same stage of a session, else the one that the same pass made last."""
    same = [item for item in session.stages if item is stage]
    named = [item for item in session.stages if item.made_by == stage.made_by]
    return next(iter(same or named[::-1]), None)
