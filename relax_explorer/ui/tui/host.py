"""What the parts of the explorer ask of the app, so that none of them needs the app itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from textual.geometry import Size

from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.ir import expr as e
from relax_explorer.ui.tui.jobs import Jobs
from relax_explorer.ui.tui.key_recording import Permit
from relax_explorer.ui.tui.keys import Keymap
from relax_explorer.ui.tui.state import Selection, State
from relax_explorer.viz.tables import Row
from relax_explorer.viz.tokens import Tokens

if TYPE_CHECKING:
    from relax_explorer.core.session.saved import Saved
    from relax_explorer.ui.tui.debug_rows import RunView


class Host(Protocol):
    """The app as its controls see it: the state, and ways to change and to show it."""

    state: State
    jobs: Jobs
    tokens: Tokens
    notice: str
    ended_notice: bool  # did the last key or click end one?
    screen_name: str
    asked: str
    first_screen: str
    read_line: int
    starts: bool
    follows: bool
    history: list[str]
    keymap: Keymap
    permit: Permit

    @property
    def is_web(self) -> bool:
        """True if a browser shows the explorer."""

    @property
    def size(self) -> Size:
        """The cells of the terminal."""

    @property
    def running(self) -> e.Binding | None:
        """The next binding of the run, if it is in the selected stage."""

    @property
    def preview_line(self) -> int:
        """The line under the cursor in the text of a program that is being read; 0 if none is."""

    def download(self, name: str, data: bytes) -> None:
        """Give a file to the browser that shows the explorer."""

    def change(self, **fields: object) -> None:
        """Replace fields of the state."""

    def go_on_with(self, saved: Saved) -> None:
        """Bring a session back."""

    def tell_left(self, path: str, remark: str) -> None:
        """Tell what was noticed when a program was read, and that an explorer was killed that had it open."""

    def keep_soon(self) -> None:
        """Have what was done on the disk in a moment."""

    def select(self, selection: Selection) -> None:
        """Select a place."""

    def show_with(self, **options: object) -> None:
        """Replace options of what is shown."""

    def moved(self, view: RunView, is_move: bool) -> None:
        """Show a position of the run."""

    def when_drawn(self, then: Callable[[], object]) -> None:
        """Do something after the screen is drawn."""

    def go_on(self, screen: str = "") -> None:
        """Show a screen, or the first one, instead of the text that is being read."""

    def opened(self) -> None:
        """Go on where the user waits for the program."""

    def show_screen(self, name: str, starts: bool = True) -> None:
        """Show a screen."""

    def close_drawer(self) -> None:
        """Close what lies over the program."""

    def show_rows(
        self, title: str, shown: Sequence[Row], cursor: int = 0, chosen: Callable[[Row], None] | None = None
    ) -> None:
        """Show lines over the screen."""

    def show_text(self, title: str, lines: Sequence[str]) -> None:
        """Show text over the screen."""

    def show_help(self, screen: str) -> None:
        """Show all keys."""

    def show_failures(self, found: tuple[Diagnostic, ...]) -> None:
        """Show why some work failed."""

    def ask(self, text: str) -> None:
        """Open the `:` line with a text."""

    async def act(self, action: str) -> None:
        """Run an action, and wait for it."""

    def draw_bars(self) -> None:
        """Draw header, tour and footer."""

    def shown_panes(self) -> list[tuple[str, Sequence[Row]]]:
        """The titles and rows of the panes that are shown."""
        raise NotImplementedError

    def perform(self, action: str) -> None:
        """Run an action of the current screen."""

    def ask_inputs(self) -> None:
        """Ask for the inputs of the run."""

    def ask_key(self, title: str, lines: Sequence[str], then: Callable[[str], None]) -> None:
        """Wait for one key, over some lines."""

    def edit_text(self) -> None:
        """Edit the text of the selected stage, then run the passes behind it."""

    def edit_pipeline(self) -> None:
        """Edit the pipeline, then run it."""

    def say(self, text: str) -> None:
        """Show a notice in the footer."""

    def use_theme(self, tokens: Tokens) -> None:
        """Draw everything in a theme."""

    def copied(self, text: str) -> None:
        """Copy a text to the clipboard."""

    def cancel(self) -> None:
        """Cancel what runs."""

    def leave(self) -> None:
        """End the explorer."""

    def action_copy_command(self) -> None:
        """Copy the command line that shows the same."""

    def action_next_theme(self) -> None:
        """Draw everything in the next theme."""
