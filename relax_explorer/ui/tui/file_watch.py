"""Watches the file that is open, and reads it again when it changes on the disk."""

from __future__ import annotations

import os
from collections.abc import Callable

from textual.app import App
from textual.timer import Timer
from textual.widgets import Input

from relax_explorer.ui.file_stamp import stamp
from relax_explorer.viz.visible import visible

EVERY = 0.5  # seconds between looks at the file


class FileWatch:
    """Off at first. It waits while something else than a screen is shown, such as the editor: what is typed there stays."""

    def __init__(self, read: Callable[[str], None]) -> None:
        self._read = read
        self.is_on = False
        self._path, self._stamp = "", ""
        self._timer: Timer | None = None
        self._app: App[int] | None = None

    def start(self, app: App[int]) -> None:
        """Look now and then, if it is on."""
        self._app, self._timer = app, app.set_interval(EVERY, self.look, pause=True)
        self.turn(self.is_on)

    def turn(self, is_on: bool) -> None:
        """Watch, or no longer."""
        self.is_on = is_on
        if self._timer is not None:
            (self._timer.resume if is_on else self._timer.pause)()

    def toggle(self) -> str:
        """Watch, or no longer; what to say about it."""
        self.turn(not self.is_on)
        name = visible(os.path.basename(self._path), 60)
        if not name:
            return "the text is not that of a file" if self.is_on else "not watched"
        return f"{name} is read again when it changes" if self.is_on else f"{name} is no longer watched"

    def follow(self, path: str) -> None:
        """Watch another file, as it is now; none if the path is empty."""
        self._path, self._stamp = path, stamp(path)

    def look(self) -> None:
        """Read the file again if it is another one than before. A file that is away for a moment is waited for."""
        now = stamp(self._path)
        if now and now != self._stamp and not self._is_typing:
            self._read(self._path)

    @property
    def _is_typing(self) -> bool:
        """True if a dialog is open or a line is typed: another program would close it."""
        app = self._app
        return app is None or len(app.screen_stack) > 1 or isinstance(app.focused, Input)
