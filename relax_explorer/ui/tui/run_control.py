"""The run of the debug screen: its inputs, its commands, its answers. One lane moves the debugger; only its views come out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relax_explorer.core.collector import collector_at_rest, set_aside
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.exec.breakpoints import Breakpoint
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.values import Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.core.session.debug_commands import execute
from relax_explorer.core.session.debug_motions import to
from relax_explorer.core.session.debug_session import Answer, DebugSession, open_debug_session
from relax_explorer.core.session.samples import Start, start_of
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.ui import history
from relax_explorer.ui.tui.debug_rows import RunView, prepare, run_view
from relax_explorer.ui.tui.host import Host
from relax_explorer.ui.tui.jobs import Job
from relax_explorer.ui.tui.state import room
from relax_explorer.viz.debug_text import answer_lines, stop_notice
from relax_explorer.viz.ir_table import IrTable
from relax_explorer.viz.short import short_dtype
from relax_explorer.viz.value_table import readers, value_page
from relax_explorer.viz.visible import visible

Work = Callable[[DebugSession], Answer]
BUDGET = 512 << 20  # bytes of recorded values; older ones are computed again


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer with the view of the position behind it."""

    answer: Answer
    view: RunView
    is_over: bool


class RunControl:
    """Starts runs and moves them. All work on the debugger happens in the lane `run`, in the order of the keys."""

    def __init__(self, app: Host, call: CallInputs) -> None:
        self.app, self.call = app, call
        self.calls: dict[str, CallInputs] = {}  # what the user said for each function
        self.file = call.calls  # of the calls that are made instead of one
        self.shown: Snapshot | None = None  # the stage that runs, with the function that makes the calls
        self.recalled: tuple[Snapshot, str, dict[str, CallInputs]] | None = (
            None  # the same from earlier sessions
        )
        self.session: DebugSession | None = None
        self.left: DebugSession | None = (
            None  # the last one, whose breakpoints and watches the next one takes
        )
        self.pending: tuple[
            str, ...
        ] = ()  # sets the breakpoints and watches of an earlier session in the next run
        self.cancelled = 0  # number of cancellations: moves requested earlier are skipped
        self._tables: dict[str, IrTable] = {}
        self._read_soon: e.Function | None = None  # whose readers are being found, or were
        self.shown_width = 0  # the cells of a row in the table of values that is shown; 0 before there is one
        self._tried: tuple[Any, ...] = ()  # a start that failed is not tried again by itself

    @property
    def value_width(self) -> int:
        """The cells of a row in the table of values: rows are made for it before they are shown."""
        return self.shown_width or max(40, self.app.size.width - 5)

    @property
    def point_commands(self) -> tuple[str, ...]:
        """The commands that set the breakpoints and watches of now."""
        session = self.session or self.left
        if session is None:
            return self.pending
        points = [item for item in session.debugger.breakpoints if not item.is_temporary]
        off = [f"disable {number}" for number, item in enumerate(points, 1) if not item.is_enabled]
        watches = [f"watch {item.expression.text}" for item in session.watches]
        return (*map(_break_command, points), *off, *watches, *self.pending)

    # -- start and end --------------------------------------------------------------------------------------------

    def function(self, *others: Snapshot) -> str:
        """The function to run: that of `--func`, else the one under the cursor if these stages have it, too, else the entry."""
        stage = self.app.state.stage
        if self.call.function or stage is None:
            return self.call.function
        chosen = self.app.state.selection.function
        is_there = all(chosen in item.module.relax_functions for item in (stage, *others))
        return chosen if is_there else (*others, stage)[0].entry

    def given(self, function: str) -> CallInputs:
        """What the user said of the inputs of a function, or of the calls of a file."""
        if self.file:
            return CallInputs(self.call.function, calls=self.file)
        stage = self.app.state.stage
        entry = self.call.function or ("" if stage is None else stage.entry)
        own = self.calls.get(function) or (self.call if function == entry else CallInputs())
        if own.sources or own.shape or function in self.calls:
            return own
        return self._recalled_for(function) or own

    def recall(self, first: Snapshot, key: str, found: dict[str, CallInputs]) -> None:
        """Take the inputs of earlier sessions on this program, whose first stage is `first`."""
        self.recalled = (first, key, found)

    def _recalled_for(self, function: str) -> CallInputs | None:
        session = self.app.state.session
        if session is None or self.recalled is None or self.recalled[0] is not session.stages[0]:
            return None
        return self.recalled[2].get(function)

    def ensure(self) -> None:
        """Start a run if there is none, unless the same start failed before."""
        state = self.app.state
        function = "" if self.file else self.function()
        start = (id(state.session), state.selection.stage, function, self.given(function))
        if self.session is None and state.session is not None and start != self._tried:
            self._tried = start
            self.start()

    def start(self) -> None:
        """Make inputs, and stop before the first binding. Breakpoints and watches of the run before stay."""
        state, name = self.app.state, self.function()
        session, stage = state.session, state.stage
        if session is None or stage is None:
            return
        if type(stage.module.functions.get(name)) is not e.Function:
            self.app.say(f"the module has no Relax function {name or 'to run'}")
            return
        given, left, width = self.given(name), self.session or self.left, self.value_width
        is_recalled, pending = given is self._recalled_for(name), self.pending
        tables: dict[str, IrTable] = {}

        def work(job: Job) -> tuple[DebugSession, Snapshot, RunView, str]:
            with collector_at_rest():
                start, failed = started_with(session, stage.number, name, given, is_recalled)
                shown = replace(stage, module=start.module) if start.program is not None else stage
                prepare(session, shown, start.name, start.module.relax_functions[start.name], tables)
                if left is None:  # it may refer to itself, and would never be freed
                    set_aside()  # what is found about a program stays; the collector would visit it while keys wait
                return opened(start, shown, failed)

        def opened(start: Start, shown: Snapshot, failed: str) -> tuple[DebugSession, Snapshot, RunView, str]:
            debugger = Debugger(
                start.module, start.name, start.args, session.cache, private=True, budget=BUDGET
            )
            run = open_debug_session(session, debugger, stage.number, start.program)
            lost = _taken_over(run, left, pending)
            notice = _start_notice(lost, failed, is_recalled, start.note, start.program is not None)
            return run, shown, run_view(shown, run, tables, None, width), notice

        def done(result: tuple[DebugSession, Snapshot, RunView, str]) -> None:
            self.session, self.shown, view, notice = result
            self._tables, self.left, self.pending = tables, None, ()
            self.app.moved(view, False)
            self._find_readers(view)
            if notice:
                self.app.say(notice)

        self.stop()
        self.app.jobs.start("run", f"starting {name}", work, done)

    def stop(self) -> None:
        """Cancel the present move and all waiting moves, and leave the run. Its breakpoints are kept for the next one."""
        self.cancel()
        self.app.jobs.drop("run")
        self.left, self.session = self.session or self.left, None
        if self.app.state.run is not None:
            self.app.change(run=None)

    def restart(self) -> None:
        """Start again."""
        self._tried = ()
        self.start()

    def with_inputs(self, function: str, call: CallInputs) -> None:
        """Start again with other inputs, or with the calls of a file."""
        try:
            self.app.permit.checked(call)
        except Failure as failure:
            self.app.show_failures(failure.diagnostics)
            return
        self.file = call.calls
        if not call.calls:
            self.calls[function] = call
        session = self.app.state.session
        is_known = self.recalled is not None and session is not None and self.recalled[0] is session.stages[0]
        if self.recalled is not None and is_known and self.app.permit.is_all:
            history.remember(self.recalled[1], function, call)
        self.restart()

    def with_calls(self, path: str) -> None:
        """Start again with the calls of a file; without a path, with one call."""
        if path and (refusal := self.app.permit.to_open(path)):
            self.app.say(refusal)
            return
        self.file = path
        self.restart()

    def cancel(self) -> None:
        """Cancel the present move and all waiting moves."""
        self.cancelled += 1
        if self.session is not None:
            self.session.debugger.interrupt.cancel()

    # -- commands -------------------------------------------------------------------------------------------------

    def typed(self, text: str) -> None:
        """Execute a command line of the debugger."""
        self.drive(lambda session: execute(session, text), text)

    def drive(self, work: Work, name: str = "moving") -> None:
        """Execute a command after all earlier ones."""
        session, stage, asked = self.session, self.shown, self.cancelled
        if session is None or stage is None:
            self.app.say("no run; r starts one")
            return
        tables, width = self._tables, self.value_width
        before = self.app.state.run

        def drive(job: Job) -> Answered | None:
            session.debugger.interrupt.clear()
            if asked != self.cancelled:  # after clear(), so that a cancellation in between is noticed
                return None
            answer = work(session)
            return Answered(answer, run_view(stage, session, tables, before, width), session.is_over)

        def done(answered: Answered | None) -> None:
            if answered is not None and session is self.session:
                session.is_over = False
                self._answered(answered)

        self.app.jobs.start("run", name, drive, done, replaces=False)

    def _answered(self, answered: Answered) -> None:
        """Show the new position, and tell what the picture does not show."""
        answer, view = answered.answer, answered.view
        self.app.moved(view, answer.kind == "stop")
        self._find_readers(view)
        if answered.is_over:
            self.stop()
            self._tried = ()
            self.app.show_screen("passes")
        elif answer.kind == "refused":
            problem = answer.problems[0]
            self.app.say(f"{problem.message}; {problem.help}" if problem.help else problem.message)
        elif answer.kind == "stop" and answer.problems:
            self.app.show_failures(tuple[Diagnostic, ...](answer.problems))
        elif answer.kind == "stop":
            self.app.say(
                "cancelled; s continues from here"
                if answer.data["reason"] == "cancelled"
                else stop_notice(answer.data)
            )
        elif answer.kind == "page":
            self.app.show_text(answer.data["title"], answer.data["lines"])
        else:
            self._tell(answer)

    def _find_readers(self, view: RunView) -> None:
        """Find who reads the values of a long function, which would delay its first picture, and show it then."""
        stage, session = self.app.state.stage, self.session
        fn = None if stage is None else stage.module.functions.get(view.function)
        if view.values.readers is not None or type(fn) is not e.Function or fn is self._read_soon:
            return
        self._read_soon = fn

        def done(_: object) -> None:
            if session is not None and session is self.session:
                self.drive(lambda session: Answer("nothing"), "reading")

        def work(job: Job) -> None:
            with collector_at_rest():
                readers(fn)

        self.app.jobs.start("readers", "looking for readers", work, done, is_quiet=True)

    def _tell(self, answer: Answer) -> None:
        """One line in the footer, more over the screen."""
        lines = answer_lines(answer)
        if len(lines) == 1:
            self.app.say(lines[0])
        elif answer.kind == "watches":  # the screen shows them
            self.app.say(lines[-1].strip() if lines else "")
        elif lines:
            self.app.show_text(answer.kind, lines)

    # -- what keys do ---------------------------------------------------------------------------------------------

    def to(self, binding: e.Binding, is_back: bool) -> None:
        """Run to a binding, or back to it."""
        self.drive(lambda session: to(session, session.places.at(binding), is_back), "running to the cursor")

    def toggle(self, binding: e.Binding) -> None:
        """Delete the breakpoint at a binding, or set one there."""

        def toggled(session: DebugSession) -> Answer:
            point = session.at(binding)
            if point is not None:
                return execute(session, f"delete {point.number}")
            added = session.debugger.add(session.places.at(binding))
            return Answer("breakpoint", {"breakpoint": added, "hits": session.debugger.hits_of(added)})

        self.drive(toggled)

    def condition(self, binding: e.Binding) -> None:
        """Ask for the condition of the breakpoint at a binding; set one first if there is none."""
        asked: list[str] = []

        def found(session: DebugSession) -> Answer:
            point = session.at(binding) or session.debugger.add(session.places.at(binding))
            held = point.condition.text if point.condition is not None else ""
            asked.append(f"condition {point.number} {held}")
            return Answer("nothing")

        self.drive(found)
        self.app.jobs.start(
            "run",
            "condition",
            lambda job: None,
            lambda _: self.app.ask(asked[0]) if asked else None,
            replaces=False,
        )

    def inspect(self, name: str, value: Value) -> None:
        """Show a value on a page of its own. Of the arithmetic of a watch it tells why its dtype is another one."""
        width = room(self.app.size.width)

        def page(session: DebugSession) -> Answer:
            lines = value_page(name, value, width)
            if isinstance(value, np.ndarray) and any(
                watch.expression.is_arithmetic and watch.expression.text == name for watch in session.watches
            ):
                lines.insert(1, f"computed in {short_dtype(value.dtype.name)}, as arithmetic in watches is")
            return Answer("page", {"title": name, "lines": lines})

        self.drive(page, f"reading {name}")


def _taken_over(run: DebugSession, left: DebugSession | None, pending: Sequence[str]) -> list[str]:
    """Give a run the breakpoints and watches of the one before, and those of an earlier session; returns those without a place."""
    lost = run.take_over(left) if left is not None else []
    return [*lost, *[text for text in pending if execute(run, text).kind == "refused"]]


def _break_command(point: Breakpoint) -> str:
    if not point.place:
        return f"break if {point.text}"
    return f"break {point.place}{f' if {point.condition.text}' if point.condition is not None else ''}"


def _start_notice(lost: list[str], failed: str, is_recalled: bool, made_up: str, are_calls: bool) -> str:
    """What the footer says of the inputs and the breakpoints of a run that starts; empty if there is nothing to say."""
    if lost:
        return f"breakpoints without a place here: {', '.join(lost)}"
    if are_calls:
        return f"I changes the {made_up}"
    if failed:
        return f"I changes inputs: those of last time do not fit ({failed}); made up: {made_up}"
    if is_recalled:
        return f"I changes the inputs of last time{f', made up: {made_up}' if made_up else ''}"
    return f"I changes the inputs made up: {made_up}" if made_up else ""


def started_with(
    session: Session, number: int, function: str, given: CallInputs, is_recalled: bool
) -> tuple[Start, str]:
    """The start of a run of a stage, and why inputs of an earlier session do not fit. Raises Failure for those of now."""
    modules = [item.module for item in reversed(session.stages[: number + 1])]
    try:
        return start_of(modules[0], function, given, modules[1:]), ""
    except Failure as failure:
        if not is_recalled:
            raise
        message = visible(failure.diagnostics[0].message, 80)
        return start_of(modules[0], function, CallInputs(given.function), modules[1:]), message
