"""The text of the first program while it is being read. It needs little of the core, so that it is shown soon."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.events import DescendantBlur

from relax_explorer.ui.tui import keys
from relax_explorer.ui.tui.screens.screen_frame import Frame
from relax_explorer.ui.tui.state import State
from relax_explorer.ui.tui.widgets.line_view import LineView
from relax_explorer.viz.tables import TextRows, text_lines
from relax_explorer.viz.visible import visible


class ReadingScreen(Frame):
    """One view of text. Once the program is read, the screen gives way to the one that was asked for."""

    BINDINGS = keys.bindings("reading")
    name_ = "reading"
    panes = ("text",)

    def compose_body(self) -> ComposeResult:
        """The text."""
        yield LineView("text")

    @property
    def tab(self) -> str:
        """The screen that will be shown."""
        return self.explorer.first_screen

    def draw(self, state: State, old: State) -> None:
        """Draw the text, or go on."""
        view = self.lines("text")
        if state.preview and state.preview is not old.preview:
            view.show(TextRows(state.preview), 0)
        elif not len(view.rows):
            view.show(text_lines([f"reading {visible(self.explorer.asked, 200)} …"]))
        self._if_read()

    def resumed(self) -> None:
        """Go on if the program was read while a popup was open."""
        self._if_read()

    def on_descendant_blur(self, event: DescendantBlur) -> None:
        """Go on if the program was read while a line was typed."""
        self.call_later(self._if_read)

    def action_back(self) -> None:
        self.explorer.leave()

    def _if_read(self) -> None:
        if self.explorer.state.session is not None:
            self.explorer.go_on()
