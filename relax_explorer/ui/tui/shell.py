"""The frame around the panes: layout, header and footer, keys, movement."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

from rich.segment import Segment
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.color import Color
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.containers import Horizontal, Vertical
from textual.events import Resize
from textual.filter import LineFilter
from textual.widgets import ContentSwitcher, Input, OptionList, Static
from textual.widgets.option_list import Option

from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.session.commands import command
from relax_explorer.core.session.debug_session import DebugSession
from relax_explorer.core.session.inputs import CallInputs
from relax_explorer.core.session.session import Session
from relax_explorer.ui import directories
from relax_explorer.ui.tui import keys
from relax_explorer.ui.tui.selection import Selection
from relax_explorer.ui.tui.themes import chosen_theme, textual_theme
from relax_explorer.ui.tui.widgets.choice_list import ChoiceList
from relax_explorer.ui.tui.widgets.command_input import CommandInput
from relax_explorer.ui.tui.widgets.line_view import STEP, LineView, Row
from relax_explorer.viz.ir_table import IrTable
from relax_explorer.viz.tokens import THEMES, Tokens
from relax_explorer.viz.visible import visible

SMALLEST = (60, 16)


class KeyCommands(Provider):
    """The palette: every action of the current pane."""

    @property
    def shell(self) -> Shell:
        """The app as a Shell."""
        assert isinstance(self.app, Shell)
        return self.app

    async def discover(self) -> Hits:
        """All actions."""
        for action in keys.actions_of(self.shell.pane):
            yield DiscoveryHit(action.description, partial(self.shell.press, action.key), help=action.label)

    async def search(self, query: str) -> Hits:
        """Actions whose description matches."""
        matcher = self.matcher(query)
        for action in keys.actions_of(self.shell.pane):
            score = matcher.match(action.description)
            if score > 0:
                yield Hit(
                    score,
                    matcher.highlight(action.description),
                    partial(self.shell.press, action.key),
                    help=action.label,
                )


class _Safe(LineFilter):
    """Replaces control characters, cell by cell, in the output of every widget."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same segments without control characters."""
        return [item if item.text.isprintable() else _replaced(item) for item in segments]


_SAFE = _Safe()


def _replaced(segment: Segment) -> Segment:
    text = "".join(c if visible(c) == c else "�" for c in segment.text)
    return Segment(text, segment.style, segment.control)


class Shell(App[int]):
    """The application without its pane actions. `pane` is the current pane."""

    CSS_PATH = "explorer.tcss"
    TITLE = "relax-explorer"
    COMMANDS: ClassVar[set[Any]] = {KeyCommands}
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[Any]] = [
        Binding(key, f"press('{key}')", show=False, priority=True)
        for key in dict.fromkeys(a.key for a in keys.ACTIONS)
    ]

    def __init__(
        self, path: str | None, pipeline: str = "default", screen: str = "passes", profile: str = "spec", call: CallInputs | None = None,
        theme: str = "auto",
    ) -> None:  # fmt: skip
        super().__init__()
        self.call = call or CallInputs()
        self.tokens = chosen_theme(theme)
        for tokens in THEMES.values():
            self.register_theme(textual_theme(tokens))
        self.path, self.pipeline, self.profile = path, pipeline, profile
        self.first_pane = screen if path is not None else "home"
        self.pane = "home"
        self.session: Session | None = None
        self.debugging: DebugSession | None = None
        self.left: DebugSession | None = (
            None  # the last one, whose breakpoints and watches the next one takes
        )
        self.selection = Selection()
        self.diff_mode = "inline"
        self.density = "compact"
        self.opened: set[str] = set()  # kernels with all lines
        self.tables: dict[str, IrTable] = {}  # of the functions of the stage that is debugged
        self.moves_cancelled = 0  # number of cancellations: moves requested earlier are skipped
        self._driving = Lock()  # one debugger move at a time, in the order of the keys
        self.radius = 0  # 0: the whole graph
        self.matches: list[int] = []
        self.lower = "values"  # in a narrow debug pane: values or points
        self.notice = ""
        self.failures: tuple[Diagnostic, ...] = ()  # of the last failed work
        self.is_composed = False

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Filters for all output. Panes escape their text; this catches omissions."""
        return [*super().get_line_filters(), *([_SAFE] if _SAFE.enabled else [])]

    # -- layout ---------------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """A pane switcher between a header line and a footer line."""
        yield Static(id="header")
        with ContentSwitcher(id="panes", initial="home"):
            yield ChoiceList(id="home", markup=False)
            with Horizontal(id="passes"):
                yield ChoiceList(id="stages", markup=False)
                with Vertical(id="passes_main"):
                    yield LineView("ir")
                    yield Static(id="details")
            with Vertical(id="debug"):
                yield LineView("debug_ir")
                with Horizontal(id="debug_lower"):
                    yield LineView("values", colored=False)
                    yield LineView("points", colored=False)
            yield LineView("graph", colored=False)
            yield LineView("problems", colored=False)
            yield LineView("popup", colored=False)
        yield Input(id="search", placeholder="find text in this stage")
        yield CommandInput(
            id="command", select_on_focus=False, placeholder="a command of the debugger; help lists them"
        )
        yield Static(id="footer")

    def on_mount(self) -> None:
        """Fill the home pane and start reading the file."""
        self.is_composed = True
        self.use_theme(self.tokens)
        for line in self.query(Input):
            line.display = False
        home = self.query_one("#home", OptionList)
        for sample in directories.samples():
            home.add_option(Option(Text(_sample_title(sample)), id=str(sample)))
        self.go("home")
        self.fit(self.size.width)
        loop = asyncio.get_running_loop()
        for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"):
            if hasattr(signal, name):
                # Without this the process would end with the terminal in the alternate screen.
                sent = getattr(signal, name)
                loop.add_signal_handler(sent, partial(self.exit, 128 + sent))
        self.started()

    def use_theme(self, tokens: Tokens) -> None:
        """Draw everything in a theme."""
        self.tokens, self.theme = tokens, tokens.name
        for view in self.query(LineView):
            view.recolor(tokens)
        self.paint_header()

    def do_next_theme(self) -> None:
        names = list(THEMES)
        self.use_theme(THEMES[names[(names.index(self.tokens.name) + 1) % len(names)]])
        self.say(f"theme {self.tokens.name}")

    def on_resize(self, event: Resize) -> None:
        """Adapt to the new size. It may arrive before the panes exist; then nothing happens."""
        if self.is_composed:
            self.fit(event.size.width)

    def fit(self, width: int) -> None:
        """Show the list of stages beside the text if there is room."""
        self.query_one("#panes").display = not self.is_small
        self.query_one("#stages").display = width >= 100
        self.query_one("#values").display = width >= 100 or self.lower == "values"
        self.query_one("#points").display = width >= 100 or self.lower == "points"
        self.paint_header()
        self.shown()

    @property
    def is_small(self) -> bool:
        """True if the terminal is too small for the panes."""
        return self.size.width < SMALLEST[0] or self.size.height < SMALLEST[1]

    def paint_header(self) -> None:
        """Show file, function, panes and stage."""
        if self.is_small:
            self.query_one("#header", Static).update(
                Text(f"needs {SMALLEST[0]}×{SMALLEST[1]}; the same data: relax-explorer show …")
            )
            return
        name = Path(self.path).name if self.path else "relax-explorer"
        text = Text(f" {visible(name, 24)}", style="bold")
        for number, pane in ((1, "passes"), (2, "debug"), (3, "graph"), (4, "problems")):
            text.append(f"  {number} {pane.title()}", style="reverse" if pane == self.pane else "dim")
        if self.session is not None:
            stage = self.session.stages[self.selection.stage]
            total = self.session.total
            text.append(f"  stage {stage.number}/{total} ", style="bold")
            text.append(visible(stage.made_by, 30))
        self.query_one("#header", Static).update(text)
        parts = [f"{action.label} {action.hint}" for action in keys.hints(self.pane)]
        footer = Text("  ".join(parts), style="dim")
        if self.notice:
            footer = Text(visible(self.notice, 300))
        self.query_one("#footer", Static).update(footer)

    def say(self, text: str) -> None:
        """Show a notice in the footer until the next key."""
        self.notice = text
        self.paint_header()

    def go(self, pane: str) -> None:
        """Show a pane. The selection stays."""
        self.pane = pane
        self.matches = []
        self.query_one("#panes", ContentSwitcher).current = pane
        focus = {"passes": "#ir", "debug": "#debug_ir"}.get(pane, f"#{pane}")
        self.query_one(focus).focus()
        self.paint_header()
        self.shown()

    def exit(self, *arguments: Any, **named: Any) -> None:
        """Cancel running work, then end the application."""
        self.stop_running()
        super().exit(*arguments, **named)

    def stop_running(self) -> None:
        """Cancel the current move of the debugger and all waiting moves."""
        self.moves_cancelled += 1
        if self.debugger is not None:
            self.debugger.interrupt.cancel()

    @property
    def debugger(self) -> Debugger | None:
        """The debugger of the debug pane."""
        return None if self.debugging is None else self.debugging.debugger

    def started(self) -> None:
        """Called once after the application has started; panes override it."""

    def shown(self) -> None:
        """Called when the current pane appears or changes size; panes override it."""

    @property
    def view(self) -> LineView:
        """The line view that movement keys scroll."""
        names = {"passes": "#ir", "debug": "#debug_ir"}
        return self.query_one(names.get(self.current, f"#{self.current}"), LineView)

    @property
    def current(self) -> str:
        """The pane with the keyboard focus: `popup` while a text covers the pane."""
        return self.query_one("#panes", ContentSwitcher).current or self.pane

    # -- keys -----------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key is the application's. It comes before the focused widget, since a key may move the focus for those behind it."""
        if action != "press":
            return super().check_action(action, parameters)
        key = str(parameters[0])
        if isinstance(self.focused, Input):
            return key == "escape"
        if isinstance(self.focused, ChoiceList) and key in keys.OF_LISTS:
            return False
        return keys.find(self.current, key) is not None

    def action_press(self, key: str) -> None:
        """Handle a key press."""
        self.press(key)

    def press(self, key: str) -> None:
        """Run the action of a key on this pane."""
        action = keys.find(self.current, key)
        if action is None or (isinstance(self.focused, Input) and key != "escape"):
            return
        self.notice = ""
        getattr(self, f"do_{action.name}")()

    def do_show_passes(self) -> None:
        self.go("passes" if self.session is not None else "home")

    def do_show_debug(self) -> None:
        self.go("debug" if self.session is not None else "home")

    def do_show_graph(self) -> None:
        self.go("graph" if self.session is not None else "home")

    def do_show_problems(self) -> None:
        self.go("problems")

    def do_show_home(self) -> None:
        self.go("home")

    def do_quit(self) -> None:
        self.exit(0)

    def do_back(self) -> None:
        if self.current == "popup":
            self.go(self.pane)
        elif self.pane in (
            "debug",
            "graph",
            "problems",
        ):
            self.go("passes" if self.session is not None else "home")
        else:
            self.exit(0)

    def do_cancel(self) -> None:
        lines = [line for line in self.query(Input) if line.display]
        if lines:
            lines[0].display = False
            self.view.focus()
        elif self.current == "popup":
            self.go(self.pane)
        else:
            self.workers.cancel_all()
            self.stop_running()

    def do_help(self) -> None:
        shown = [Row(f"{action.label:<10} {action.description}") for action in keys.actions_of(self.pane)]
        self.popup([Row(f"Keys of {self.pane} (Esc closes; ctrl+p searches them)"), Row(""), *shown])

    def popup(self, shown: list[Row]) -> None:
        """Show lines over the pane."""
        view = self.query_one("#popup", LineView)
        self.matches = []
        view.show(shown, 0)
        self.query_one("#panes", ContentSwitcher).current = "popup"
        view.focus()

    def do_copy_command(self) -> None:
        names = {"debug": "debug", "graph": "graph", "problems": "check"}
        cli_command = command(names.get(self.pane, "show"))
        values = {
            "input": self.path,
            "inputs": self.path,
            "passes": self.pipeline,
            "func": self.selection.function or None,
        }
        if self.session is not None and self.pane == "passes":
            values["stage"] = str(self.selection.stage)
        text = cli_command.text(values)
        self.copy_to_clipboard(text)
        self.say(text)

    def do_down(self) -> None:
        self.view.move(self.view.cursor + 1)

    def do_up(self) -> None:
        self.view.move(self.view.cursor - 1)

    def do_page_down(self) -> None:
        self.view.page(1)

    def do_page_up(self) -> None:
        self.view.page(-1)

    def do_top(self) -> None:
        self.view.move(0)

    def do_bottom(self) -> None:
        self.view.move(len(self.view.rows) - 1)

    def do_left(self) -> None:
        self.view.side(-STEP)

    def do_right(self) -> None:
        self.view.side(STEP)


def _sample_title(path: Path) -> str:
    first = path.read_text(encoding="utf-8").splitlines()[0].lstrip("# ") if path.is_file() else ""
    return f"{path.stem:<24} {first}"
