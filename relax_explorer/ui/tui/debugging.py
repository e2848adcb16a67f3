"""The debug pane: step through an evaluation, forward and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual import work

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.breakpoints import on_variable
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.interrupt import Cancelled
from relax_explorer.core.session.inputs import made_inputs
from relax_explorer.ui.tui import rows
from relax_explorer.ui.tui.messages import Cancellation, DebuggerMoved, WorkFailed
from relax_explorer.ui.tui.stages import Stages
from relax_explorer.ui.tui.widgets.line_view import LineView


class Debugging(Stages):
    """The actions of the debug pane."""

    def shown(self) -> None:
        """Start a run when the pane is first shown."""
        super().shown()
        if self.pane == "debug" and self.debugger is None and self.session is not None:
            self.start_debugger()

    def start_debugger(self) -> None:
        """Make inputs, and stop before the first binding."""
        assert self.session is not None  # the caller checked this
        stage = self.session.stages[self.selection.stage]
        name = stage.entry
        fn = stage.module.functions.get(name)
        try:
            if fn is None or not hasattr(fn, "body") or name not in stage.module.relax_functions:
                self.say("the module has no Relax function to run")
                return
            values, made_up = made_inputs(fn, {})  # type: ignore[arg-type]  # narrowed by type() above
            self.debugger = self.session.debug(name, values, stage.number)
        except Failure as failure:
            self.post_message(WorkFailed(failure.diagnostics))
            return
        self.paint_debugger()
        if made_up:
            self.say(f"inputs made up: {made_up}")

    def paint_debugger(self) -> None:
        """Show the text with its marks, and the values."""
        if self.debugger is None or self.session is None:
            return
        stage = self.session.stages[self.selection.stage]
        shown = rows.debug_rows(stage, self.debugger, self.breakpoints)
        now = next((n for n, row in enumerate(shown) if row.gutter == "▶"), None)
        self.query_one("#debug_ir", LineView).show(shown, now if now is not None else len(shown) - 1)
        self.query_one("#values", LineView).show(rows.value_rows(self.debugger, 200), 0)
        self.paint_header()

    def drive(self, move: Callable[[Debugger], Any]) -> None:
        """Move the debugger after all earlier moves."""
        if self.debugger is not None:
            self._drive(self.debugger, move, self.moves_cancelled)

    @work(thread=True, group="debug", exit_on_error=False)
    def _drive(self, debugger: Debugger, move: Callable[[Debugger], Any], asked: int) -> None:
        """Move in a worker. A move requested before a cancellation is skipped."""
        with self._driving:
            debugger.interrupt.clear()
            if asked != self.moves_cancelled:  # after clear(), so that a cancellation in between is noticed
                return
            try:
                move(debugger)
            except Cancelled:
                self.post_message(Cancellation())
            except Failure as failure:
                self.post_message(WorkFailed(failure.diagnostics))
        self.post_message(DebuggerMoved(debugger))

    def on_debugger_moved(self, message: DebuggerMoved) -> None:
        """Show the new position."""
        if message.debugger is self.debugger:
            self.paint_debugger()

    def on_cancellation(self, _: Cancellation) -> None:
        """Tell the user that the run is paused. The next step continues it."""
        self.say("cancelled; s continues from here")

    def do_step(self) -> None:
        self.drive(Debugger.step)

    def do_back_step(self) -> None:
        self.drive(Debugger.back)

    def do_next(self) -> None:
        self.drive(Debugger.next)

    def do_back_next(self) -> None:
        self.drive(Debugger.back_next)

    def do_finish(self) -> None:
        self.drive(Debugger.finish)

    def do_back_finish(self) -> None:
        self.drive(Debugger.back_finish)

    def do_continue(self) -> None:
        self.drive(Debugger.continue_)

    def do_back_continue(self) -> None:
        self.drive(Debugger.back_continue)

    def do_first_step(self) -> None:
        self.drive(lambda debugger: debugger.goto(0))

    def do_last_step(self) -> None:
        self.drive(lambda debugger: debugger.goto(10**9))

    def do_restart(self) -> None:
        self.stop_running()
        self.debugger = None
        if self.session is not None:
            self.start_debugger()

    def do_breakpoint(self) -> None:
        name = self.selection.variable
        if not name or self.debugger is None:
            self.say("select a binding first")
            return
        self.breakpoints ^= {name}
        self.debugger.breakpoints = [on_variable(item) for item in sorted(self.breakpoints)]
        self.say(f"breakpoint {'at' if name in self.breakpoints else 'cleared at'} {name}")
        self.paint_debugger()
