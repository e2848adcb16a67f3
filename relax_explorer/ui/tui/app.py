"""The explorer: screens over one frozen state. Only the app replaces the state; screens draw it, and jobs work for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields as dataclass_fields
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual.actions import ActionParseResult
from textual.app import App
from textual.await_complete import AwaitComplete
from textual.events import DescendantFocus, Event, InputEvent, Key, MouseDown, Paste
from textual.filter import LineFilter
from textual.reactive import reactive
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input

from relax_explorer.core.collector import take_back
from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.ir import expr as e
from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.ui import live_settings
from relax_explorer.ui.tui import keys
from relax_explorer.ui.tui.delivery import Delivering
from relax_explorer.ui.tui.jobs import JobFailed, Jobs, JobTold
from relax_explorer.ui.tui.key_recording import Permit
from relax_explorer.ui.tui.keys import Keymap
from relax_explorer.ui.tui.leaving import take_signals
from relax_explorer.ui.tui.pipeline_control import PipelineControl
from relax_explorer.ui.tui.screens.by_name import new_screen
from relax_explorer.ui.tui.screens.popup import KeyCommands, KeyPrompt, Palette, Popup, if_taken
from relax_explorer.ui.tui.screens.screen_frame import Frame
from relax_explorer.ui.tui.shortcuts import take_style_rules
from relax_explorer.ui.tui.stage_control import Marks, StageControl
from relax_explorer.ui.tui.state import Options, Selection, State, room
from relax_explorer.ui.tui.themes import ASCII, SAFE, chosen_theme, textual_theme
from relax_explorer.ui.tui.turns import give_way, take_turns
from relax_explorer.ui.tui.tutorial import Tutorial
from relax_explorer.ui.tui.twins import command_line
from relax_explorer.ui.tui.widgets.line_view import LineView
from relax_explorer.viz.tables import Row, TextRows
from relax_explorer.viz.tokens import MONO, THEMES, Tokens

if TYPE_CHECKING:
    from rich.console import RenderableType

    from relax_explorer.core.session.saved import Saved
    from relax_explorer.ui.tui.debug_rows import RunView
    from relax_explorer.ui.tui.key_recording import Recorder
    from relax_explorer.ui.tui.pass_trials import PassTrials
    from relax_explorer.ui.tui.pictures import Exports, Pictures
    from relax_explorer.ui.tui.rank_control import RankControl
    from relax_explorer.ui.tui.reproducing import Reproducing
    from relax_explorer.ui.tui.run_control import RunControl
    from relax_explorer.ui.tui.saving import Saving
    from relax_explorer.ui.tui.verdicts import Verdicts

TICK = 0.25  # seconds between looks at what runs
SOON = 1.0  # seconds after a change until it is on the disk


class Explorer(Delivering):
    """The application. `state` is what the screens show."""

    CSS_PATH = "explorer.tcss"
    TITLE = "relax-explorer"
    COMMANDS: ClassVar[set[Any]] = {KeyCommands}
    MODES = {name: partial(new_screen, name) for name in (keys.READING, keys.SOURCE, *keys.SCREENS)}  # noqa: RUF012  # as Textual declares it
    state: reactive[State] = reactive(State(), init=False, repaint=False)  # the screens draw what changed

    def __init__(
        self, path: str | None, pipeline: str = "default", screen: str = "passes", profile: str = "auto", call: CallInputs | None = None,
        theme: str = "auto", is_ascii: bool = False, is_still: bool = False,
        keymap: Keymap = keys.KEYS, const: str | None = None, ranks: tuple[int, str] = (0, ""),
    ) -> None:  # fmt: skip
        """`is_ascii` draws only ASCII characters; with `is_still` nothing blinks or moves by itself. `const` is as in `StageControl`."""
        self.is_ascii = is_ascii
        self.tokens = chosen_theme(theme)  # first, since Textual asks for its colours
        super().__init__(ansi_color=True if self.tokens is MONO else None)  # else NO_COLOR would mean greys
        if is_still:
            self.animation_level = "none"
        self.keymap = keymap
        self.asked = path or ""  # the program named on the command line
        self.first_screen = screen if path is not None else "home"
        self.screen_name = keys.READING if self.asked else self.first_screen
        self.read_line = 0  # the line that the cursor was on in the text that was being read
        for tokens in THEMES.values():
            self.register_theme(textual_theme(tokens))
        self.set_reactive(
            App.theme, self.tokens.name
        )  # before the first rules are parsed, which hold its colours
        take_style_rules(self)
        self.history, self.permit = list[str](), Permit()  # of the `:` line; what a recording may do
        self.notice = ""
        self.ended_notice = False  # did the last key or click end one?
        self.starts = True  # False while a screen is shown whose work is started by someone else
        self.follows = False  # True if the next view of the run moves the cursor
        self._shown_notice = ""
        self._clock: Timer | None = None
        self._is_leaving = self._is_cut = False  # cut: a signal ends it, and the session is kept
        self._keeper: Timer | None = None
        self.jobs = Jobs(self, self._wind)
        self.recorder: Recorder | None = None
        self.call, self.ranks = (
            call or CallInputs(),
            ranks,
        )  # their number, and the program that is not divided
        self.stage_control = StageControl(self, lambda: self.run_control, pipeline, profile, const)
        self.marks = Marks(self, self.stage_control)
        self.pipeline_control = PipelineControl(self, self.stage_control)
        self.tutorial = Tutorial(self, self.stage_control)

    # -- controls that need the machine of runs, which is imported after the first picture -----------------------------

    @cached_property
    def run_control(self) -> RunControl:
        """The run of the debug screen."""
        from relax_explorer.ui.tui.run_control import RunControl

        return RunControl(self, self.call)

    @cached_property
    def pass_trials(self) -> PassTrials:
        """Which passes would change the program."""
        from relax_explorer.ui.tui.pass_trials import PassTrials

        return PassTrials(self.jobs)

    @cached_property
    def pictures(self) -> Pictures:
        """Graphs, histories and searches."""
        from relax_explorer.ui.tui.pictures import Pictures

        return Pictures(self, self.stage_control, self.run_control)

    @cached_property
    def verdicts(self) -> Verdicts:
        """Comparing and bisecting."""
        from relax_explorer.ui.tui.verdicts import Verdicts

        return Verdicts(self, self.stage_control, self.run_control)

    @cached_property
    def saving(self) -> Saving:
        """Sessions as files."""
        from relax_explorer.ui.tui.saving import Saving

        return Saving(self, self.stage_control, self.marks, self.pipeline_control, self.run_control)

    @cached_property
    def exports(self) -> Exports:
        """Files to take away."""
        from relax_explorer.ui.tui.pictures import Exports

        return Exports(self, self.run_control)

    @cached_property
    def rank_control(self) -> RankControl:
        """Runs on several ranks."""
        from relax_explorer.ui.tui.rank_control import RankControl

        return RankControl(self, self.run_control, *self.ranks)

    @cached_property
    def reproducing(self) -> Reproducing:
        """Smaller programs, and programs for others."""
        from relax_explorer.ui.tui.reproducing import Reproducing

        return Reproducing(self, self.stage_control, self.run_control, self.exports)

    def _cancel_runs(self) -> None:
        """Cancel the runs of the controls that were used."""
        for name in vars(self).keys() & {"run_control", "verdicts", "exports", "reproducing", "rank_control"}:
            getattr(self, name).cancel()

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Filters for all output. Screens escape their text; this catches omissions."""
        own = [SAFE, *([ASCII] if self.is_ascii else [])]
        return [*super().get_line_filters(), *[item for item in own if item.enabled]]

    async def run_action(self, action: str | ActionParseResult, *arguments: Any, **named: Any) -> bool:
        """Run an action. The tour learns of those that keys call on a screen."""
        screen = self.screen_name
        is_free = self._is_free
        done = await super().run_action(action, *arguments, **named)
        if self.tutorial.is_on and is_free and isinstance(action, str):
            self.tutorial.acted(action, screen)
        return done

    @property
    def _is_free(self) -> bool:
        """True if keys are those of a screen: no popup is open, and no line is typed."""
        return isinstance(self.screen, Frame) and not isinstance(self.focused, Input)

    async def on_event(self, event: Event) -> None:
        """Pass an event on, and note it if keys are recorded. Keys and clicks behind the end have no screen."""
        is_over = self._is_leaving or not self.screen_stack
        if is_over and isinstance(event, (InputEvent, Paste)):
            return
        if isinstance(event, InputEvent):
            take_turns()
        if isinstance(event, Key) and self._is_free and self.stage_control.early_keys.takes(event):
            return  # it is recorded once it is obeyed
        if self.recorder is not None:
            self.recorder.take(event, not self.jobs.is_idle)
        if isinstance(event, (Key, MouseDown)):
            self.ended_notice = bool(self.notice)
            if self.notice:
                self.say("")  # before the key is obeyed, which may say something else
        await super().on_event(event)

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Keep the cursor of an input from blinking, if nothing may move."""
        if self.animation_level == "none" and isinstance(event.widget, Input):
            event.widget.cursor_blink = False

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The variables of the style sheet, before a theme is chosen."""
        return textual_theme(self.tokens).variables

    def post_display_hook(self) -> None:
        """Let long work go on after a picture was sent to the terminal. Another thread writes it."""
        give_way()

    def on_unmount(self) -> None:
        """End the threads of jobs. Give the programs back to the garbage collector: see `StageControl`."""
        self.jobs.close()
        if "saving" in vars(self) and not self._is_cut:
            self.saving.forget()
        take_back()

    def on_mount(self) -> None:
        """Show the first screen, and start reading the program."""
        self.mutate_reactive(App.theme)  # Textual tells nobody of the first one
        self.switch_mode(self.screen_name)
        self._clock = self.set_interval(TICK, self._tick)
        take_signals(self._leave_by_signal)
        self.stage_control.watch.start(self)
        if self.asked:
            self.stage_control.open(self.asked)

    def _leave_by_signal(self, status: int) -> None:
        """Restore the terminal and leave."""
        self._is_cut = True
        self.exit(status)

    def _wind(self) -> None:
        """Let the clock go, since a job runs."""
        if self._clock is not None:
            self._clock.resume()

    def _tick(self) -> None:
        """Name what runs for long. Nothing is drawn while nothing runs, and the clock stands still."""
        if self._clock is not None and self.jobs.is_idle:
            self._clock.pause()
        notice = self.jobs.notice()
        if notice != self._shown_notice:
            self._shown_notice = notice
            self.draw_bars()

    # -- the state ------------------------------------------------------------------------------------------------

    def change(self, **fields: object) -> None:
        """Replace fields of the state."""
        held = {field.name: getattr(self.state, field.name) for field in dataclass_fields(State)}
        self.state = State(**{**held, **fields})
        self.keep_soon()

    def go_on_with(self, saved: Saved) -> None:
        """Bring a session back."""
        self.saving.go_on(saved)

    def tell_left(self, path: str, remark: str) -> None:
        """Tell what was noticed when a program was read, and that an explorer was killed that had it open."""
        left = self.saving.left(path) if self.permit.is_all else None
        said = (
            "a session of this program ended early; :recover goes on with it" if left is not None else remark
        )
        if said:
            self.say(said)

    def keep_soon(self) -> None:
        """Have what was done on the disk in a moment."""
        if self._keeper is None and self.is_running:
            self._keeper = self.set_timer(SOON, self._keep)

    def _keep(self) -> None:
        self._keeper = None
        if not self._is_leaving:
            self.saving.keep()

    def select(self, selection: Selection) -> None:
        """Select a place. An equal selection changes nothing."""
        if selection != self.state.selection:
            self.change(selection=selection)

    def show_with(self, **options: object) -> None:
        """Replace options of what is shown."""
        held = {field.name: getattr(self.state.options, field.name) for field in dataclass_fields(Options)}
        self.change(options=Options(**{**held, **options}))

    def moved(self, view: RunView, is_move: bool) -> None:
        """Show a position of the run. A move selects the next binding."""
        self.follows = is_move
        selection = self.state.selection
        if is_move and len(view.lines):
            row = view.lines[view.now]
            binding = row.binding
            selection = replace(selection, binding=binding, function=row.function or selection.function)
        folded = self.state.options.folded
        if len(view.lines) and (is_move or self.state.run is None):  # folds that hide the next binding open
            folded = folded.opened(view.lines.with_folds(folded).hiding(view.now))
        self.change(run=view, selection=selection, options=replace(self.state.options, folded=folded))
        self.follows = False

    @property
    def running(self) -> e.Binding | None:
        """The next binding of the run, if it is in the selected stage."""
        view = self.state.run
        return view.node if view is not None and view.stage == self.state.selection.stage else None

    @property
    def preview_line(self) -> int:
        """The line under the cursor in the text of a program that is being read; 0 if none is."""
        row = self.frame.view.row if isinstance(self.frame.view.rows, TextRows) else None
        return row.node if row is not None else 0

    def go_on(self, screen: str = "") -> None:
        """Show a screen, or the first one, instead of the text that is being read, unless a line is typed or a popup is open."""
        frame = self.frame
        if self.screen_name == keys.READING and self.screen is frame and not isinstance(self.focused, Input):
            self.read_line = frame.view.cursor
            self.show_screen(screen or self.first_screen)

    def opened(self) -> None:
        """Go on where the user waits for the program."""
        if self.screen_name == "debug":
            self.run_control.ensure()
        elif self.screen_name == "compare":
            self.verdicts.compare()
        elif self.screen_name == "ranks":
            self.rank_control.ensure()

    # -- screens --------------------------------------------------------------------------------------------------

    @property
    def is_at_rest(self) -> bool:
        """True if nothing more appears by itself: no work runs, and no panel waits for a quiet moment."""
        late = [job for job in self.jobs.running if job.lane in ("trace", "inspect", "values")]
        return self.jobs.is_idle and not late and not self.frame.is_waiting

    @property
    def frame(self) -> Frame:
        """The current screen, below any popup."""
        found = next(screen for screen in reversed(self.screen_stack) if isinstance(screen, Frame))
        assert isinstance(found, Frame)  # each mode has one
        return found

    @property
    def view(self) -> LineView:
        """The lines that keys move: of the popup, or of the screen."""
        return self.screen.view if isinstance(self.screen, (Frame, Popup)) else self.frame.view

    def shown_panes(self) -> list[tuple[str, Sequence[Row]]]:
        """The titles and rows of the panes that are shown."""
        views = [view for view in self.frame.query(LineView) if view.size.height and len(view.rows)]
        return [(str(view.border_title or "").replace("\\[", "["), view.rows) for view in views]

    def when_drawn(self, then: Callable[[], object]) -> None:
        """Do something after the screen is drawn."""
        self.screen.call_after_refresh(then)

    def show_screen(self, name: str, starts: bool = True) -> None:
        """Show a screen; the selection stays. `starts` lets the screen start its work."""
        if name == "passes" and self.state.broken is not None:
            name = keys.SOURCE
        if self.state.solving is not None and name not in keys.ALONE:
            self.say("this program has no stages; 7 steps through its solver")
            return
        if self.state.session is None and not self.asked and name not in keys.ALONE:
            if self.screen_name == "home":
                self.say("no program is open; Enter opens the line under the cursor")
                return
            name = "home"
        if name == "solver" and self.stage_control.is_from_contracts:
            self.stage_control.open(self.state.path)
            return
        while len(self.screen_stack) > 1:
            self.pop_screen()
        self.close_drawer()
        self.screen_name, self.starts = name, starts
        self.notice = ""
        self.switch_mode(name)
        self.call_later(self._shown)

    def close_drawer(self) -> None:
        """Close what lies over the program of the current screen."""
        self.frame.close_drawer()

    def pop_screen(self) -> AwaitComplete:
        """Close a popup. Textual holds what closed widgets drew (up to 1,024 of them), so they forget it here."""
        closed = self.screen
        done = super().pop_screen()
        for widget in closed.walk_children(with_self=True):
            if isinstance(widget, Widget):
                widget.refresh()
                if widget.show_vertical_scrollbar:
                    widget.vertical_scrollbar.refresh()
        return done

    def _shown(self) -> None:
        self.starts = True
        self.draw_bars()

    def show_rows(
        self, title: str, shown: Sequence[Row], cursor: int = 0, chosen: Callable[[Row], None] | None = None
    ) -> None:
        """Show lines over the screen, in place of others that a job showed there; Enter on one calls `chosen`."""

        def done(row: Row | None) -> None:
            if row is not None and chosen is not None:
                chosen(row)

        if isinstance(self.screen, Popup):  # several jobs may fail before one key is pressed
            self.screen.dismiss(None)
        self.push_screen(Popup(title, shown, cursor, chosen is not None), done)

    def show_text(self, title: str, lines: Sequence[str]) -> None:
        """Show text over the screen."""
        self.show_rows(title, [Row(line) for line in lines])

    def show_failures(self, found: tuple[Diagnostic, ...]) -> None:
        """Show why some work failed. Problems keeps it; the last good state stays."""
        from relax_explorer.ui.tui import rows

        if self.screen_name == keys.READING:
            self.show_screen(self.first_screen)
        self.change(failures=found)
        if self.state.broken is not None:  # the source tells everything
            self.show_screen("problems" if self.screen_name == "problems" else "passes")
            return
        shown = [row for item in found for row in rows.problem_rows(item)]
        self.show_rows("1 problem" if len(found) == 1 else f"{len(found)} problems", shown)

    def show_help(self, screen: str) -> None:
        """Show all keys; `/` searches them."""
        shown = keys.help_text(screen, room(self.size.width), self.keymap)
        self.show_text(f"Keys of {screen.title()}; ctrl+p searches actions", shown)

    def ask_inputs(self) -> None:
        """Ask for the inputs of the run, then start it."""
        from relax_explorer.ui.tui.screens.inputs_dialog import Inputs

        session, stage, name = self.state.session, self.state.stage, self.run_control.function()
        fn = stage.module.functions.get(name) if stage is not None else None
        if session is None or stage is None or not isinstance(fn, e.Function):
            self.say("no function is selected")
            return
        modules = [item.module for item in reversed(session.stages[: stage.number + 1])]
        dialog = Inputs(name, modules, self.run_control.given(name), self.permit)
        self.push_screen(dialog, if_taken(partial(self.run_control.with_inputs, name)))

    def ask_key(self, title: str, lines: Sequence[str], then: Callable[[str], None]) -> None:
        """Wait for one key, over some lines."""

        def done(key: str | None) -> None:
            then(key or "")

        self.push_screen(KeyPrompt(title, lines), done)

    def edit_pipeline(self) -> None:
        """Edit the pipeline, then run it."""
        from relax_explorer.ui.tui.screens.pipeline_editor import PipelineEditor

        if self.pipeline_control.is_recorded:
            self.stage_control.go_on_from_here(self.edit_pipeline)
            return
        session, plan = self.state.session, self.pipeline_control.plan()
        if session is None or plan is None:
            return
        cursor = plan.number_of(self.state.selection.stage) or 0
        self.push_screen(PipelineEditor(session, plan, cursor), if_taken(self.pipeline_control.run))

    def edit_text(self) -> None:
        """Edit the text of the selected stage, then run the passes behind it."""
        from relax_explorer.ui.tui.screens.pipeline_editor import TextEditor

        stage, plan = self.state.stage, self.pipeline_control.plan()
        if stage is None or plan is None:
            return
        number = plan.number_of(stage.number)
        editor = TextEditor.of(f"Text of stage {stage.label} {stage.made_by}", stage.module)
        edited = partial(plan.with_edit, -1 if number is None else number)

        def run(text: str) -> None:
            self.pipeline_control.run(edited(text))

        self.push_screen(editor, if_taken(run))

    def say(self, text: str) -> None:
        """Show a notice in the footer until the next key or click, another notice, or another screen."""
        self.notice = text
        self.draw_bars()

    def draw_bars(self) -> None:
        """Draw header and footer of the current screen."""
        if self.is_running and isinstance(self.screen, (Frame, Popup)):
            self.frame.draw_bars()

    def ask(self, text: str) -> None:
        """Open the `:` line with a text."""
        self.frame.ask(text)

    def perform(self, action: str) -> None:
        """Run an action of the current screen."""
        self.call_later(self.run_action, action, self.frame)

    def action_command_palette(self) -> None:
        """Open the palette."""
        if not isinstance(self.screen, Palette):
            self.push_screen(Palette())

    async def act(self, action: str) -> None:
        """Run an action of the current screen, for the palette."""
        await self.run_action(action, self.frame)

    def cancel(self) -> None:
        """Cancel what runs."""
        was_busy = not self.jobs.is_idle
        self.jobs.cancel()
        live_settings.cancel()
        self._cancel_runs()
        for lane in ("graph", "export", "history", "search", "checks"):
            self.jobs.drop(lane)
        if was_busy:
            self.say("cancelling …")

    def leave(self) -> None:
        """End the explorer."""
        self.exit(0)

    def exit(
        self, result: int | None = None, return_code: int = 0, message: RenderableType | None = None
    ) -> None:
        """Cancel running work, then end the application."""
        self._is_leaving = True
        live_settings.cancel()
        self._cancel_runs()
        if "pass_trials" in vars(self):
            self.pass_trials.close()
        super().exit(result, return_code, message)

    # -- small actions --------------------------------------------------------------------------------------------

    def copied(self, text: str) -> None:
        """Copy a text to the clipboard of the terminal, and tell it."""
        self.copy_to_clipboard(text)
        self.say(f"copied: {text}")

    def action_copy_command(self) -> None:
        """Copy the command line that shows the same."""
        text = command_line(self)
        self.copy_to_clipboard(text)
        self.say(text)

    def use_theme(self, tokens: Tokens) -> None:
        """Draw everything in a theme."""
        self.tokens, self.theme = tokens, tokens.name
        for screen in self.screen_stack:
            for view in screen.query(LineView):
                view.recolor(tokens)
        self.say(f"theme {tokens.name}")

    def action_next_theme(self) -> None:
        """Draw everything in the next theme."""
        names = list(THEMES)
        self.use_theme(THEMES[names[(names.index(self.tokens.name) + 1) % len(names)]])

    # -- jobs -----------------------------------------------------------------------------------------------------

    def on_job_told(self, message: JobTold) -> None:
        """Take a result of a job, unless newer work replaced it, or the explorer ended meanwhile."""
        is_wanted = self.jobs.ended(message.job) if message.is_end else not message.job.is_stale
        if not self.is_running:  # it ends, and screens lose their views one after the other
            return
        if is_wanted and any(isinstance(screen, Frame) for screen in self.screen_stack):
            message.then()
        if message.is_end:
            self._tick()
            self.draw_bars()

    def on_job_failed(self, message: JobFailed) -> None:
        """Show why a job failed."""
        if self.jobs.ended(message.job):
            self.show_failures(message.diagnostics)
