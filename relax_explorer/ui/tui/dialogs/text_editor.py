"""The text of a stage, to edit: what it means is told as it is typed."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Static, TextArea

from relax_explorer.core.passes.replace_module import edited_text, problem_of
from relax_explorer.core.program.module import IRModule
from relax_explorer.ui.tui.screens.moving import Settling
from relax_explorer.viz.visible import visible

HELP = " ctrl+s takes the text · Esc leaves"
QUIET = 0.3  # seconds without a change before the text is read


class TextEditor(Settling, ModalScreen["str | None"]):
    """Edits the text of a module. ctrl+s returns it if it can be read, Esc nothing. Constants keep their numbers."""

    BINDINGS = [  # noqa: RUF012  # as Textual declares it
        Binding("ctrl+s", "take", "Take the text", show=False, priority=True),
        Binding("escape", "close", "Close", show=False, priority=True),
    ]

    def __init__(self, title: str, module: IRModule, line: int = 0) -> None:
        super().__init__()
        self.title_text, self.module, self.line = title, module, line
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        """The text, and a line that tells the first problem."""
        with Vertical(id="text_frame"):
            yield TextArea(edited_text(self.module), show_line_numbers=True, tab_behavior="indent", id="text")
            yield Static(id="text_problem", markup=False)
            yield Static(Text(HELP, style="dim"), id="text_help")

    def on_mount(self) -> None:
        """Title the frame."""
        if not self.is_filled:
            return
        self.query_one("#text_frame").border_title = visible(self.title_text, 80).replace("[", "\\[")
        self.area.move_cursor((self.line, 0), center=True)
        self.area.focus()

    @property
    def area(self) -> TextArea:
        """The text."""
        return self.query_one("#text", TextArea)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Read the text once nothing is typed for a moment."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(QUIET, self._tell)

    def _tell(self) -> bool:
        """Tell why the text can't be read; True if it can."""
        problem = problem_of(self.area.text, self.module)
        place = f"line {problem.span.line}: " if problem is not None and problem.span is not None else ""
        text = "" if problem is None else f" {place}{visible(problem.message, 300)}"
        shown = Text(text, no_wrap=True, overflow="ellipsis")
        self.query_one("#text_problem", Static).update(shown)
        return problem is None

    def action_take(self) -> None:
        """Return the text, if it can be read."""
        if self._tell():
            self.leave(self.area.text)
        else:
            self.app.bell()

    def action_close(self) -> None:
        """Leave the module as it was."""
        self.leave(None)
