"""The debug pane: step through an evaluation, forward and back. Keys run the commands that the `:` line takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual import work
from textual.message import Message

from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.session.debug_commands import execute
from relax_explorer.core.session.debug_motions import to
from relax_explorer.core.session.debug_session import Answer, DebugSession, open_debug_session
from relax_explorer.core.session.inputs import CallInputs, from_npz, made_inputs
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.ui.tui.debug_rows import DebugView, debug_view
from relax_explorer.ui.tui.messages import WorkFailed
from relax_explorer.ui.tui.stages import Stages
from relax_explorer.ui.tui.widgets.command_input import CommandInput
from relax_explorer.ui.tui.widgets.line_view import LineView, Row
from relax_explorer.viz.debug_text import answer_lines, stop_notice

BUDGET = 512 << 20  # bytes of recorded values
Work = Callable[[DebugSession], Answer]


class DebuggerAnswered(Message):
    """The debugger executed a command."""

    def __init__(self, session: DebugSession, answer: Answer, view: DebugView) -> None:
        super().__init__()
        self.session, self.answer, self.view = session, answer, view


class Debugging(Stages):
    """The actions of the debug pane."""

    def shown(self) -> None:
        """Start a run when the pane is first shown."""
        super().shown()
        if self.pane == "debug" and self.debugging is None and self.session is not None:
            self.start_debugger()

    def start_debugger(self) -> None:
        """Make inputs, and stop before the first binding. Breakpoints and watches of the run before stay."""
        assert self.session is not None  # the caller checked this
        stage = self.session.stages[self.selection.stage]
        name = self._to_run(stage)
        fn = stage.module.functions.get(name)
        lost: list[str] = []
        try:
            if type(fn) is not e.Function:
                self.say(f"the module has no Relax function {name or 'to run'}")
                return
            is_asked = name == (self.call.function or stage.entry)
            given = self.call if is_asked else CallInputs()
            values, made_up = _values(fn, given)
            debugger = self.session.debug(name, values, stage.number, BUDGET)
            self.debugging = open_debug_session(self.session, debugger, stage.number)
            if self.left is not None:
                lost = self.debugging.take_over(self.left)
        except Failure as failure:
            self.post_message(WorkFailed(failure.diagnostics))
            return
        self.left = None
        self.tables = {}
        self.paint_debugger(debug_view(stage, self.debugging, self.tables))
        if lost:
            self.say(f"breakpoints without a place here: {', '.join(lost)}")
        elif made_up:
            self.say(f"inputs made up: {made_up}")

    def _to_run(self, stage: Snapshot) -> str:
        """The function of `--func`, else the one under the cursor, else the entry."""
        if self.call.function:
            return self.call.function
        function = self.selection.function
        return function if type(stage.module.functions.get(function)) is e.Function else stage.entry

    def paint_debugger(self, view: DebugView, is_moved: bool = True) -> None:
        """Show the text with its marks, the values, and the breakpoints, watches and calls. A move puts the cursor on the next binding."""
        now = view.now
        self.query_one("#debug_ir", LineView).show(view.lines, now if is_moved else None)
        is_narrow = not self.query_one("#values").display or not self.query_one("#points").display
        watches = view.watches[:3] if is_narrow else ()
        self.query_one("#values", LineView).show((*view.values[:1], *watches, *view.values[1:]), 0)
        self.query_one("#points", LineView).show((*view.watches, *view.points), 0)
        if is_moved and len(view.lines):
            row = view.lines[now]
            is_binding = isinstance(row.node, (e.VarBinding, e.MatchCast))
            self.selection.binding = row.node if is_binding else None
            self.selection.function = row.function or self.selection.function
        self.paint_header()

    # -- commands -------------------------------------------------------------------------------------------------

    def drive(self, work: Work) -> None:
        """Execute a command after all earlier ones."""
        if self.debugging is not None:
            self._drive(self.debugging, work, self.moves_cancelled)

    def typed(self, text: str) -> None:
        """Execute a command line."""
        self.drive(lambda session: execute(session, text))

    @work(thread=True, group="debug", exit_on_error=False)
    def _drive(self, session: DebugSession, work: Work, asked: int) -> None:
        """Execute in a worker. A command requested before a cancellation is skipped."""
        with self._driving:
            session.debugger.interrupt.clear()
            if asked != self.moves_cancelled:  # after clear(), so that a cancellation in between is noticed
                return
            answer = work(session)
            assert self.session is not None  # a debugging session needs one
            view = debug_view(self.session.stages[self.selection.stage], session, self.tables)
        self.post_message(DebuggerAnswered(session, answer, view))

    def on_debugger_answered(self, message: DebuggerAnswered) -> None:
        """Show the new position and the answer."""
        answer = message.answer
        if message.session is not self.debugging:
            return
        self.paint_debugger(message.view, answer.kind == "stop")
        if message.session.is_over:
            message.session.is_over = False
            self.do_back()
        elif answer.kind == "refused":
            problem = answer.problems[0]
            self.say(f"{problem.message}; {problem.help}" if problem.help else problem.message)
        elif answer.kind == "stop":
            self._tell_stop(answer)
        else:
            self._tell(answer)

    def _tell_stop(self, answer: Answer) -> None:
        """Tell what the picture does not show: errors, cancellation, hits, output, the ends."""
        if answer.problems:
            self.post_message(WorkFailed(tuple[Diagnostic, ...](answer.problems)))
        elif answer.data["reason"] == "cancelled":
            self.say("cancelled; s continues from here")
        else:
            self.say(stop_notice(answer.data))

    def _tell(self, answer: Answer) -> None:
        """One line in the footer, more over the pane."""
        lines = answer_lines(answer)
        if len(lines) == 1:
            self.say(lines[0])
        elif answer.kind == "watches":  # the pane shows them
            self.say(lines[-1].strip())
        elif lines:
            self.popup([Row(line) for line in lines])

    # -- the `:` line ---------------------------------------------------------------------------------------------

    def ask(self, text: str = "") -> None:
        """Open the `:` line with a text."""
        self.query_one("#command", CommandInput).begin(text)

    def do_typed(self, text: str) -> None:
        """Execute the text of the `:` line."""
        self.query_one("#command", CommandInput).remember(text)
        self.view.focus()
        self.typed(text)

    def do_command(self) -> None:
        self.ask()

    def do_watch(self) -> None:
        self.ask("watch ")

    def do_condition(self) -> None:
        binding = self.selection.binding
        if self.debugging is None or binding is None:
            self.say("select a binding first")
            return
        point = self.debugging.at(binding) or self.debugging.debugger.add(self.debugging.places.at(binding))
        held = point.condition.text if point.condition is not None else ""
        self.ask(f"condition {point.number} {held}")

    # -- keys -----------------------------------------------------------------------------------------------------

    def do_step(self) -> None:
        self.typed("step")

    def do_back_step(self) -> None:
        self.typed("reverse-step")

    def do_next(self) -> None:
        self.typed("next")

    def do_back_next(self) -> None:
        self.typed("reverse-next")

    def do_finish(self) -> None:
        self.typed("finish")

    def do_back_finish(self) -> None:
        self.typed("reverse-finish")

    def do_continue(self) -> None:
        self.typed("continue")

    def do_back_continue(self) -> None:
        self.typed("reverse-continue")

    def do_first_step(self) -> None:
        self.typed("goto start")

    def do_last_step(self) -> None:
        self.typed("goto end")

    def do_to_cursor(self) -> None:
        self._to_cursor(False)

    def do_back_to_cursor(self) -> None:
        self._to_cursor(True)

    def _to_cursor(self, is_back: bool) -> None:
        binding = self.selection.binding
        if binding is None:
            self.say("select a binding first")
        else:
            self.drive(lambda session: to(session, session.places.at(binding), is_back))

    def do_restart(self) -> None:
        self.stop_running()
        self.debugging, self.left = None, self.debugging
        if self.session is not None:
            self.start_debugger()

    def do_cycle_values(self) -> None:
        self.lower = "points" if self.lower == "values" else "values"
        self.fit(self.size.width)

    def do_breakpoint(self) -> None:
        binding = self.selection.binding
        if binding is None or self.debugging is None:
            self.say("select a binding first")
        else:
            self.drive(lambda session: _toggled(session, binding))


def _values(fn: e.Function, given: CallInputs) -> tuple[list[Any], str]:
    """The inputs of a run, and a note of what was made up. One .npz without a name holds all."""
    first = given.sources.get("0", "")
    if len(given.sources) == 1 and first.endswith(".npz"):
        return from_npz(fn, first), ""
    return made_inputs(fn, given.sources, given.shape)


def _toggled(session: DebugSession, binding: e.Binding) -> Answer:
    """Delete the breakpoint at a binding, or set one there."""
    point = session.at(binding)
    if point is not None:
        return execute(session, f"delete {point.number}")
    added = session.debugger.add(session.places.at(binding))
    return Answer("breakpoint", {"breakpoint": added, "hits": session.debugger.hits_of(added)})
