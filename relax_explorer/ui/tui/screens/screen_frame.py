"""The frame of a screen: header, body, lines for commands and searches, footer. Each screen draws the state of the app in its body."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection
from pathlib import Path
from threading import Event
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Container
from textual.events import DescendantFocus, Resize, ScreenResume
from textual.timer import Timer
from textual.widgets import Input

from relax_explorer.core.diagnostics import Severity
from relax_explorer.ui.tui import keys
from relax_explorer.ui.tui.completion import choices, usage
from relax_explorer.ui.tui.jobs import Job
from relax_explorer.ui.tui.screens.moving import Moving
from relax_explorer.ui.tui.shortcuts import take_painter
from relax_explorer.ui.tui.state import State
from relax_explorer.ui.tui.turns import give_way, keep_turn
from relax_explorer.ui.tui.typed import execute_typed
from relax_explorer.ui.tui.widgets.framed import (
    BarInput,
    ButtonLine,
    ButtonPressed,
    Choice,
    CommandInput,
    CommandMenu,
    FixedText,
    RowChosen,
)
from relax_explorer.ui.tui.widgets.line_view import LineView
from relax_explorer.viz.visible import columns, counted, fit, visible

SMALLEST = (60, 16)
NARROW = 100  # cells from which on panes stand side by side, in frames
WIDE = 140
QUIET = 0.1  # seconds without a key before a panel asks for more about what the cursor is on
QUICK = 0.005  # seconds that a key may wait for a panel
DENSITIES = {
    "compact": "compact",
    "typed": "TVMScript, StructInfo at the right",
    "written": "TVMScript as written",
}
"""The ways to show a program, in the order of the key, and what is said about each."""
_SHORT = re.compile(r"(^|\| )relax-explorer ")  # at the start of each command of a command line
_TABS = {
    1: "passes",
    2: "debug",
    3: "graph",
    4: "problems",
    5: "compare",
    6: "checks",
    7: "solver",
    8: "ranks",
}

COMFORTABLE = 76  # columns from which on the header has room for long names of files
JOBS = ("debug", "graph")  # the screens that a newcomer looks for


def _typed(line: str) -> Callable[[Frame], None]:
    """The action of a key that does what a line behind `:` does."""
    return lambda frame: execute_typed(frame.explorer, line)


class Frame(Moving):
    """A screen called `name`. `panes` are the ids of its views in the order of Tab; the first has the focus at the start."""

    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012  # as Textual declares it
        (0, "-narrow"),
        (NARROW, "-normal"),
        (WIDE, "-wide"),
    ]
    AUTO_FOCUS = ""  # the first pane takes the focus
    name_: ClassVar[str] = ""
    panes: ClassVar[tuple[str, ...]] = ()
    _soon: Timer | None = None

    def __init__(self) -> None:
        super().__init__()
        self._is_quick: dict[str, bool] = {}  # was the last work for a panel?
        take_painter(self)

    def compose(self) -> ComposeResult:
        """Header, body, input lines, footer."""
        yield FixedText(id="header")
        with Container(id="body"):
            yield from self.compose_body()
        yield FixedText(id="tutorial")
        yield BarInput(
            id="search", placeholder="find text; op:matmul, ty:(n,, var:lv, pat:exp(_), all: in every stage"
        )
        yield CommandInput(self.explorer.history, self._choices, "command", self._usage)
        yield FixedText(id="footer")
        yield CommandMenu("menu")

    def compose_body(self) -> ComposeResult:
        """The views of the screen."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """Watch the state; take the focus."""
        if not all(self.query(f"#{name}") for name in ("header", *self.panes, "footer")):
            return  # closed before its views were mounted, or while they were
        self._drawn: State | None = None
        self._before: LineView | None = None
        self.take_keys(self.name_)
        for view in self.query(LineView):
            view.recolor(self.tokens)
        if self.panes:
            self.query_one(f"#{self.panes[0]}").focus()
        self.watch(self.app, "state", self._state_changed, init=False)
        self.prepare()
        self.fit()
        self._draw()

    def prepare(self) -> None:
        """Title the views, once."""

    def _state_changed(self, state: State) -> None:
        if self.is_current:
            self._draw()

    def on_screen_resume(self, event: ScreenResume) -> None:
        """Draw what changed while another screen was shown."""
        if hasattr(self, "_drawn"):
            self.fit()
            self._draw()
        self.resumed()

    def resumed(self) -> None:
        """Start the work that the screen needs."""

    def _draw(self) -> None:
        state = self.explorer.state
        old, self._drawn = self._drawn, state
        if old is not state:
            self.draw(state, old if old is not None else State())
        self.draw_bars()

    def redraw(self) -> None:
        """Draw everything again, for another size."""
        self._drawn = None
        self._draw()

    def draw(self, state: State, old: State) -> None:
        """Draw what differs between two states."""
        raise NotImplementedError

    def fill(self, lane: str, work: Callable[[], list[str]], show: Callable[[list[str]], None]) -> None:
        """Show in a panel what some work tells of the place of the cursor.

        Work that took a moment only, the last time, is done at once, so that the panel is in the same picture as the cursor.
        Other work waits until no key moves the cursor for a while.
        """
        self.leave_empty(lane)
        if self._is_quick.get(lane):
            self._fill_now(lane, work, show)
        else:
            self._soon = self.set_timer(QUIET, lambda: self._fill_now(lane, work, show))

    def leave_empty(self, lane: str) -> None:
        """Fill the panel with nothing that was asked for before."""
        if self._soon is not None:
            self._soon.stop()
            self._soon = None
        self.explorer.jobs.drop(lane)

    def _fill_now(self, lane: str, work: Callable[[], list[str]], show: Callable[[list[str]], None]) -> None:
        self._soon = None
        lines: list[str] = []
        is_done = Event()

        def timed(job: Job) -> list[str]:
            started = time.perf_counter()
            lines.extend(work())
            self._is_quick[lane] = time.perf_counter() - started < QUICK
            is_done.set()
            return lines

        give_way()
        self.explorer.jobs.start(lane, "reading", timed, show, is_quiet=True)
        is_shown = self._is_quick.get(lane) and is_done.wait(QUICK)
        keep_turn()
        if is_shown:
            show(lines)

    @property
    def is_waiting(self) -> bool:
        """True if a panel will be filled in a moment."""
        return self._soon is not None

    # -- bars -----------------------------------------------------------------------------------------------------

    def on_resize(self, event: Resize) -> None:
        """Adapt to another size. It may arrive before the views exist; then nothing happens."""
        if hasattr(self, "_drawn") and event.size == self.app.size:
            self.fit()
            self.redraw()

    def fit(self) -> None:
        """Show or hide views for the present size."""
        self.query_one("#body").display = not self.is_small
        if (
            self.focused is None and not self.is_small and self.panes
        ):  # the focus was lost while nothing was shown
            self.set_focus(self.query_one(f"#{self.panes[0]}"))

    @property
    def is_small(self) -> bool:
        """True if the terminal is too small for anything but a message."""
        return self.app.size.width < SMALLEST[0] or self.app.size.height < SMALLEST[1]

    @property
    def is_narrow(self) -> bool:
        """True if one view at a time has room."""
        return self.app.size.width < NARROW

    def draw_bars(self) -> None:
        """Draw header and footer, once they exist."""
        if not hasattr(self, "_drawn"):
            return
        self._draw_tutorial()
        self.draw_waiting()
        if self.is_small:
            text = f"needs {SMALLEST[0]}×{SMALLEST[1]}; the same data: relax-explorer show …"
            self.query_one("#header", FixedText).show(Text(text))
            self.query_one("#footer", FixedText).show(Text(""))
            return
        self.query_one("#header", FixedText).show_line(self._header())
        self.query_one("#footer", FixedText).show_line(self._footer())

    def on_button_pressed(self, message: ButtonPressed) -> None:
        """A click on a word of the header, the footer, or a line of tabs or stages."""
        if not (message.line == "footer" and self.explorer.ended_notice):  # it hid the keys
            self.explorer.perform(message.action)

    def close_drawer(self) -> None:
        """Close what lies over the program, since another place is shown."""

    def draw_waiting(self) -> None:
        """Say again why a view is empty, if that changed: work began or ended."""

    def _draw_tutorial(self) -> None:
        tutorial, strip = self.explorer.tutorial, self.query_one("#tutorial", FixedText)
        strip.display = tutorial.is_on and not self.is_small
        if tutorial.is_on:
            strip.border_title, strip.border_subtitle = tutorial.title, "Esc ends the tour"
            strip.show(Text(tutorial.text))

    def _header(self) -> ButtonLine:
        state, width = self.explorer.state, self.app.size.width
        name, right, wrong = self.file_name(state), self.position(state), _wrong(state)
        line = ButtonLine()
        line.text.style = "bold"
        line.write(f" {visible(name, 24 if width >= COMFORTABLE else 9)}  ")
        tabs, right = self._fitting_tabs(width - line.width, right, wrong)
        line.add(tabs)
        room = width - line.width - 1
        if columns(wrong) + columns(right) < room:
            right = wrong + right
        if state.stage is not None and state.stage.derived_phase:
            phase = f" · {visible(state.stage.derived_phase)}"
            right += phase if columns(right + phase) <= room else ""
        right = fit(right, max(0, room))
        line.write(" " * max(0, room - columns(right)))
        line.write(right)
        return line

    def _fitting_tabs(self, room: int, right: str, wrong: str) -> tuple[ButtonLine, str]:
        """The digits with as many names as fit beside the position; those of Debug and Graph are worth the name of the pass.

        What is wrong is worth more than names, where it has room at all.
        """
        brief = self.brief_position(self.explorer.state)
        choices = [(JOBS, right), (JOBS, brief), ((), right), ((), brief)]
        if not self.is_narrow:
            choices.insert(0, (tuple(_TABS.values()), right))
        with_wrong = [
            (named, right, columns(wrong) + 1) for named, text in choices if wrong and text is right
        ]
        for named, text, more in [*with_wrong, *[(*choice, 0) for choice in choices]]:
            tabs = self._digits(named)
            if tabs.width + columns(text) + more < room:
                return tabs, text
        return self._digits(()), brief

    @property
    def tab(self) -> str:
        """The screen whose digit is marked in the header."""
        return self.name_

    def _digits(self, named: Collection[str]) -> ButtonLine:
        """The digits of the screens, with the names of some and that of this one."""
        tabs = ButtonLine()
        for number, screen in _TABS.items():
            if screen != self.tab and not self._leads_to(screen):
                continue
            is_here = screen == self.tab
            word = f"{number} {screen.title()}" if screen in named or is_here else str(number)
            tabs.write(
                f"[{word}]" if is_here else f" {word} ", f"show({screen!r})", "bold" if is_here else "dim"
            )
        return tabs

    def _leads_to(self, screen: str) -> bool:
        """True if the digit of a screen shows something: a program has stages or a solver, one made from contracts has both.

        Without a program there are only the problems of one that was not read.
        """
        state = self.explorer.state
        is_solved, has_stages = (
            state.solving is not None,
            state.session is not None or bool(self.explorer.asked) or state.broken is not None,
        )
        if screen == "problems":
            return is_solved or has_stages or bool(state.failures)
        if screen == "ranks":
            return state.ranked is not None or self.explorer.rank_control.count > 0
        if screen == "solver":
            return is_solved or self.explorer.stage_control.is_from_contracts
        return has_stages and not is_solved

    def file_name(self, state: State) -> str:
        """What stands at the left of the header: the file that is open, or that can't be."""
        path = state.broken.filename if state.broken is not None and state.session is None else state.path
        return Path(path).name if path else "relax-explorer"

    def position(self, state: State) -> str:
        """What stands at the right of the header: the stage."""
        stage = state.stage
        if stage is None or state.session is None:
            return ""
        last = max(state.session.total, state.session.stages[-1].label)
        return f"stage {stage.label}/{last} {visible(stage.made_by, 30)}"

    def brief_position(self, state: State) -> str:
        """The stage without its pass, where the header has no room for it."""
        return (
            self.position(state).partition(f" {visible(state.stage.made_by, 30)}")[0]
            if state.stage is not None
            else self.position(state)
        )

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Tell which keys the `:` line takes, or those of the screen again."""
        self.draw_bars()

    def _footer(self) -> ButtonLine:
        notice = self.explorer.jobs.notice() or self.explorer.notice
        width = self.app.size.width
        line = ButtonLine()
        if isinstance(self.focused, CommandInput):
            line.write(self._typing(self.focused, width), style="dim")
            return line
        if notice:
            line.write(f" {fit(visible(notice, 300), width - 2)}")
            return line
        own, shared = keys.hints(self.name_, self.explorer.keymap)
        right = ButtonLine()
        for key in shared:
            right.write("  " if right.width else "")
            right.write(f"{key.label} {key.hint}", key.action)
        idle = self.idle_actions()
        for key in own:
            hint = f" {key.label} {key.hint} "
            if key.action not in idle and line.width + columns(hint) <= width - right.width - 3:
                line.write(hint, key.action)
        line.write(" " * (width - line.width - right.width - 1))
        line.add(right)
        line.text.style = "dim"
        return line

    def idle_actions(self) -> set[str]:
        """The actions that would do nothing now: the footer does not name their keys."""
        return {"stage(1, True)"} if self.explorer.state.stages < 2 else set()

    def _typing(self, line: CommandInput, width: int) -> str:
        """The keys of the `:` line, and the command line that does the same. Keys that everybody knows give way to it."""
        from relax_explorer.ui.tui.typed import twin_of_line

        twin = visible(_SHORT.sub(r"\1rxe ", twin_of_line(self.explorer, line.value)), 400)
        keys_of_line = " Tab completes  ↑ before  Enter runs  Esc leaves"
        if twin and columns(keys_of_line) + columns(twin) + 7 > width:
            keys_of_line = " Tab completes  Esc leaves"
        return f"{keys_of_line}{fit(f'      {twin}', width - columns(keys_of_line) - 1) if twin else ''}"

    # -- panes ----------------------------------------------------------------------------------------------------

    @property
    def view(self) -> LineView:
        """The view with the focus, else the first one."""
        return self.focused if isinstance(self.focused, LineView) else self.lines(self.panes[0])

    @property
    def view_before(self) -> LineView:
        """The view that had the focus before a line was typed."""
        return (
            self._before
            if self._before is not None and self._before.is_mounted
            else self.lines(self.panes[0])
        )

    def _pane_by(self, step: int) -> None:
        shown = [name for name in self.panes if self.query_one(f"#{name}").display]
        here = self.view.id or ""
        place = shown.index(here) if here in shown else 0
        self.set_focus(self.query_one(f"#{shown[(place + step) % len(shown)]}"))

    def action_next_pane(self) -> None:
        self._pane_by(1)

    def action_previous_pane(self) -> None:
        self._pane_by(-1)

    # -- lines ----------------------------------------------------------------------------------------------------

    def on_row_chosen(self, message: RowChosen) -> None:
        """A click on the line under the cursor."""
        self.chosen(message.view)

    def chosen(self, view: str) -> None:
        """Do what Enter does, for a click on the line under the cursor of a view."""
        self.action_enter()

    def action_enter(self) -> None:
        """Go to what the line shows."""

    def ask(self, text: str) -> None:
        """Open the `:` line with a text."""
        self._before = self.view
        self.query_one("#command", CommandInput).begin(text)

    def action_ask(self, text: str) -> None:
        self.ask(text)

    def action_search(self) -> None:
        self._before = self.view
        super().action_search()

    def submitted(self, event: Input.Submitted) -> None:
        """Execute the command, or find the text."""
        if event.input.id != "command":
            super().submitted(event)
            return
        line = self.query_one("#command", CommandInput)
        line.remember(event.value)
        self.set_focus(self.view_before)
        execute_typed(self.explorer, event.value)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Tell what a command line does the same as what was typed."""
        if event.input is self.focused and isinstance(event.input, CommandInput):
            self.query_one("#footer", FixedText).show_line(self._footer())

    def _choices(self, text: str) -> list[Choice]:
        return choices(self.explorer.state, self.name_ == "debug", text, self.explorer.permit)

    def _usage(self, text: str) -> str:
        return usage(self.name_ == "debug", text)

    # -- actions of all screens -----------------------------------------------------------------------------------

    def action_show(self, screen: str) -> None:
        self.explorer.show_screen(screen)

    def action_help(self) -> None:
        self.explorer.show_help(self.name_)

    def action_jump(self, by: int) -> None:
        self.explorer.stage_control.jump(by)

    def action_stage(self, step: int, changing: bool) -> None:
        self.explorer.stage_control.by(step, changing)

    action_who = _typed("who")
    action_explain = _typed("explain")
    action_bisect = _typed("bisect")
    action_reduce = _typed("reduce")
    action_edits = _typed("edits")
    action_edit_pipeline = _typed("passes")

    def action_density(self) -> None:
        order = list(DENSITIES)
        density = order[(order.index(self.explorer.state.options.density) + 1) % len(order)]
        self.explorer.say(DENSITIES[density])
        self.explorer.show_with(density=density)

    def action_cancel(self) -> None:
        if isinstance(self.focused, Input):
            self.set_focus(self.view_before)
        else:
            self.explorer.cancel()

    def action_back(self) -> None:
        self.explorer.show_screen(self._first())

    def _first(self) -> str:
        """The screen of the open program."""
        state = self.explorer.state
        return "passes" if state.session is not None else "solver" if state.solving is not None else "home"


def _wrong(state: State) -> str:
    """How many errors and warnings the stages have. Notes are listed, too, but nothing is wrong there."""
    found = () if state.session is None else state.session.distinct_problems
    count = sum(problem.level > Severity.NOTE for _, problem, _ in found)
    return f"{counted(count, 'problem')}  " if count else ""
