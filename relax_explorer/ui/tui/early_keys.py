"""Keys that come before what they are about: those typed while a program is read, or behind a key that waits for a stage."""

from __future__ import annotations

from functools import partial

from textual.events import Key

from relax_explorer.ui.tui import keys
from relax_explorer.ui.tui.host import Host


class EarlyKeys:
    """Keeps such keys in their order, until they are typed again for the program or the stage that came.

    Keys that the text being read has a use for, such as those that move the cursor, search or leave, are never kept.
    """

    def __init__(self, app: Host) -> None:
        self.app = app
        self.is_stage_awaited = False  # by a key that asked for it
        self._kept: list[Key] = []
        self._is_due = False  # they will be typed after the next picture

    def takes(self, event: Key) -> bool:
        """Keep a key if it came too early. What was kept for something that never came is forgotten."""
        is_reading = self.app.screen_name == keys.READING and self.app.state.session is None
        is_awaited = self.is_stage_awaited and self.app.jobs.is_working("session")
        if not (is_reading or is_awaited or self._is_due):
            self._kept.clear()
            return False
        if event.key in ("escape", "q"):
            self._kept.clear()
        if not self._is_early(event.key):
            return False
        self._kept.append(event)
        return True

    def _is_early(self, pressed: str) -> bool:
        """True for a key of the screen that comes, unless the text has it too."""
        screen = self.app.first_screen if self.app.screen_name == keys.READING else self.app.screen_name
        here, there = (
            {key.key.partition(" ")[0] for key in keys.keys_of(name, self.app.keymap)}
            for name in (keys.READING, screen)
        )
        return pressed in there - here

    def forget(self) -> None:
        """Forget what was kept."""
        self._kept.clear()

    def obey(self) -> None:
        """Type the kept keys after the next picture, which shows what they are about."""
        if self._kept and not self._is_due:
            self._is_due = True
            self.app.when_drawn(partial(self.app.when_drawn, self._type))

    def _type(self) -> None:
        typed, self._kept, self._is_due = self._kept, [], False
        for event in typed:
            self.app.jobs.receiver.post_message(Key(event.key, event.character))
