"""Jobs that judge values: comparing two stages, and finding the first stage that is wrong."""

from __future__ import annotations

from dataclasses import replace

from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.bisect import Bisection, SameOutput, bisect
from relax_explorer.core.session.builds import Build
from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.core.session.compare import Comparison, Trial, links_between
from relax_explorer.core.session.compiled_beside import runs_in, with_values
from relax_explorer.core.session.difference import Tolerance
from relax_explorer.core.session.equal_terms import on_equal_terms
from relax_explorer.core.session.folders import address
from relax_explorer.core.session.former_parameters import does_work_on_weights
from relax_explorer.core.session.lockstep import lockstep
from relax_explorer.core.session.naming import names_from
from relax_explorer.core.session.recorded import built, stage_of
from relax_explorer.core.session.samples import Sample, program_of, sample_of_calls, samples_of
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.tested_functions import first_with
from relax_explorer.ui import directories
from relax_explorer.ui.tui.host import Host
from relax_explorer.ui.tui.jobs import Job
from relax_explorer.ui.tui.pair_rows import compiled_views, pair_views
from relax_explorer.ui.tui.run_control import RunControl
from relax_explorer.ui.tui.stage_control import StageControl
from relax_explorer.ui.tui.state import Compared
from relax_explorer.viz.pair_table import judgement_word, pair_detail
from relax_explorer.viz.tables import Row
from relax_explorer.viz.verdict_text import not_run_lines, outcome_text
from relax_explorer.viz.visible import visible


class Verdicts:
    """Compares stages on the inputs of the run."""

    def __init__(self, app: Host, stages: StageControl, run: RunControl) -> None:
        self.app, self.stages, self.run = app, stages, run
        self.interrupt = Interrupt()
        self._tried: tuple[int, int, str, CallInputs] | None = None

    def cancel(self) -> None:
        """Cancel what runs."""
        self.interrupt.cancel()

    def ensure(self) -> None:
        """Compare, unless that was tried for this stage with these inputs: what failed or was cancelled starts when it is asked for."""
        if self._tried != self._question():
            self.compare()

    def _question(self) -> tuple[int, int, str, CallInputs]:
        state, name = self.app.state, self.run.function()
        return id(state.session), state.selection.stage, name, self.run.given(name)

    def compare(self, other: int | None = None) -> None:
        """Run the function in another stage and in this one on the same inputs, and compare all values.

        The other stage is the one compared last, else the last one before this one that changed the module.
        """
        state = self.app.state
        session, here = state.session, state.selection.stage
        if session is None:
            return
        self._tried = self._question()
        other = self.other(session) if other is None else other
        if other == here:
            self.app.say("the stages are the same; b chooses another one, ] goes on")
            return
        a, b = min(other, here), max(other, here)
        name = self.run.function(session.stages[a], session.stages[b])
        given, interrupt = self.run.given(name), Interrupt()
        self.interrupt = interrupt

        def work(job: Job) -> Compared | None:
            return _compared(session, (a, b), name, given, interrupt)

        def done(compared: Compared | None) -> None:
            if compared is None:
                self.app.say("cancelled")
            else:
                self.app.say("")
                self.app.change(compared=compared)

        self.app.jobs.start("compare", f"comparing stages {a} and {b}", work, done)

    def compiled(self, number: int | None = None) -> None:
        """Compare the compiled program of a recording with its last stage: a run by its number, else the first that differs, else the first."""
        session = self.app.state.session
        if session is None:
            return
        if len(session.stages) <= session.total:
            self.app.say("the last stage is not read yet")
            return
        path, interrupt = address(session.filename)[0], Interrupt()
        self.interrupt = interrupt
        self._tried = self._question()

        def done(compared: Compared | str) -> None:
            if isinstance(compared, str):
                self.app.say(compared)
                return
            self.app.say("")
            self.app.change(compared=compared)

        self.app.jobs.start(
            "compare",
            "running what the compiled program ran",
            lambda job: _compiled(session, path, number, interrupt),
            done,
        )

    def other(self, session: Session) -> int:
        """The stage compared last, else the last one before the selected stage that changed the module, else the first one behind it."""
        state = self.app.state
        here = state.selection.stage
        if state.compared is not None and state.compared.a != here:
            return state.compared.a
        if here == 0:
            return next((stage.number for stage in session.stages[1:] if stage.changed), 0)
        return max([stage.number for stage in session.stages[:here] if stage.changed], default=0)

    def bisect(self, between: tuple[int, int] | None = None) -> None:
        """Find the first stage whose results are not those of the first one, and the value that is wrong there.

        `between` are the first and the last stage that are looked at, by default of all.
        """
        session = self.app.state.session
        if session is None:
            return
        between = between or self._since(session)
        name = self.run.function(session.stages[0 if between is None else between[0]])
        given, interrupt = self.run.given(name), Interrupt()
        self.interrupt = interrupt

        def work(job: Job) -> Bisection | None:
            build = built(session) if between is None else _part(session, *between)
            samples = _samples(build.stages[0].module, [], name, None, given)
            test = SameOutput(
                build.stages[0], name, samples, cache=directories.kernel_cache(), interrupt=interrupt
            )
            try:
                return bisect(build, test, interrupt=interrupt, told=job.progress)
            except Cancelled:
                return None

        def done(found: Bisection | None) -> None:
            if found is None:
                self.app.say("cancelled")
            else:
                self._tell(session, found, name)

        self.app.jobs.start("compare", "bisecting", work, done)

    def _since(self, session: Session) -> tuple[int, int] | None:
        """The stages from the first that has the function under the cursor, if a pass made it for callers from outside."""
        name = self.run.function()
        place = first_with(session.stages, name)
        if not place or does_work_on_weights(name):
            return None
        is_private = session.stages[place].module.relax_functions[name].is_private
        return None if is_private else (place, len(session.stages) - 1)

    def _tell(self, session: Session, found: Bisection, function: str) -> None:
        """Show the tests of the stages; the lines of the wrong one lead to the value that is wrong there."""
        if found.failed is None:
            said = outcome_text(found) if found.unknown else "every stage gives the same results"
            title = (
                f"{visible(function, 40)}: {said}"
                if function and found.not_run
                else said[0].upper() + said[1:]
            )
            aside = [Row(line) for line in not_run_lines(found.not_run, "B in one runs it")]
            self.app.show_rows(title, [*_attempt_rows(session, found), *aside])
            return
        verdict = found.comparison.first if found.comparison is not None else None
        side = (
            verdict.first.b or verdict.first.a if verdict is not None and verdict.first is not None else None
        )
        number = _number(session, found.failed.number)
        rows = [*_attempt_rows(session, found), Row("")]
        place = (number, "" if side is None else side.name)
        if verdict is not None and verdict.first is not None:
            rows.append(
                Row(f"First difference: {visible(side.name if side is not None else '', 60)}", "≠", place)
            )
            rows += [Row(line, " ", place) for line in pair_detail(verdict.first)]
        rows += [
            Row(visible(line[2:], 300), line[0], place)  # `- old` or `+ new`
            for line in (verdict.kernel if verdict is not None else ())
        ]
        rows += [Row(visible(line, 300), " ", place) for line in _left_out(found)]
        if session.pipeline:  # recorded passes can't run again
            text = "Reduce: the smallest program that shows it, as a file (R in Passes)"
            rows.append(Row(text, "→", (number, "", "reduce")))
        start = next((n for n, row in enumerate(rows) if row.mark == "✗"), 0)
        self.app.show_rows(
            f"First bad stage: {found.failed.number} {visible(found.failed.made_by, 60)}",
            rows,
            start,
            self._go,
        )

    def _go(self, row: Row) -> None:
        if not isinstance(row.node, tuple):
            return
        number, name, *action = row.node
        self.app.show_screen("passes")
        if not (name and self.stages.go_to_variable(name, number)):
            self.stages.show(number)
        for item in action:
            self.app.perform(item)


def _part(session: Session, first: int, last: int) -> Build:
    """The stages of a session from one to another, those between that changed nothing aside."""
    between = [item for item in session.stages[first + 1 : last + 1] if item.changed]
    stages = [stage_of(item, session.filename) for item in (session.stages[first], *between)]
    return Build(tuple(stages), session.filename)


def _compiled(session: Session, path: str, number: int | None, interrupt: Interrupt) -> Compared | str:
    """A recorded run of the compiled program beside ours in the last stage, or why there is none."""
    container, last = with_values(path), session.stages[-1]
    if container is None:
        return "no values of a compiled program are recorded here: rxe record --values -- …"
    known = runs_in(container, last.module, directories.kernel_cache())
    try:
        found = known.chosen(number, Tolerance(), interrupt)
        if found is None or found.verdict is None:
            which = "no run" if number is None else f"run {number} of {len(known.runs)} is not there, or it"
            return f"{which} is made of values that the recording has"
        views = compiled_views(found, known.runs, last)
    except Cancelled:
        return "cancelled"
    name = f"run {found.number} of {visible(found.run.name, 30)}"
    result = Comparison("the compiled run", str(last), found.run.name, (found.verdict,))
    return Compared(last.number, last.number, result, views, name)


def _compared(
    session: Session, numbers: tuple[int, int], name: str, given: CallInputs, interrupt: Interrupt
) -> Compared | None:
    """Run a function in two stages on one sample; None if it was cancelled."""
    stages = [session.stages[number] for number in numbers]
    earlier = [item.module for item in reversed(session.stages[: numbers[0]])]
    sample = _samples(stages[0].module, earlier, name, 1, given)[0]
    low, high = sorted(numbers)
    way = [stage_of(item, session.filename) for item in session.stages[low : high + 1]]
    (sample,) = on_equal_terms((sample,), way, name)
    a, b = (way[0], way[-1]) if numbers[0] == low else (way[-1], way[0])
    links = links_between(session.stages, *numbers)
    trial = Trial(a, b, name, sample, links=links, cache=directories.kernel_cache(), interrupt=interrupt)
    try:
        runs = lockstep(trial)
        if sample.calls is not None:  # their function has rows, too
            program = program_of(stages[0].module, sample)
            stages = [replace(stage, module=program.into(stage.module)) for stage in stages]
        views = pair_views(runs, stages)
    except Cancelled:
        return None
    return Compared(*numbers, Comparison(str(a), str(b), name, (runs.verdict,)), views)


def _samples(
    module: IRModule, earlier: list[IRModule], name: str, count: int | None, given: CallInputs
) -> tuple[Sample, ...]:
    """The samples of what the user said: calls of a file are one. Raises Failure."""
    if given.calls:
        return (sample_of_calls(given.calls, [module, *earlier]),)
    names = names_from([module, *earlier], name)
    return samples_of(module, name, count, given.sources, given.shape, names=names)


def _attempt_rows(session: Session, found: Bisection) -> list[Row]:
    """A row for each stage that was tested. Those lead to their stages, the wrong one to its wrong value."""
    first = found.comparison.first if found.comparison is not None else None
    pair = first.first if first is not None else None
    side = pair.b or pair.a if pair is not None else None
    rows = []
    for item in found.attempts:
        name = side.name if item.reason and side is not None else ""
        word = judgement_word(item.judgement, item.worst is None)
        state = f"✗ {visible(item.reason, 200)}" if item.reason else f"holds, {word}" if word else "holds"
        if item.unknown:
            state = f"can't be run here: {visible(item.unknown, 200)}"
        text = f"{item.number:>3} {visible(item.made_by, 40):<26} {state}"
        mark = "✗" if item.reason else "·" if item.unknown else "✓"
        rows.append(Row(text, mark, (_number(session, item.number), name)))
    return rows


def _number(session: Session, label: int) -> int:
    """The place of the stage with a label."""
    return next((item.number for item in session.stages if item.label == label), 0)


def _left_out(found: Bisection) -> list[str]:
    if found.left_out is None:
        return []
    names = ", ".join(f"{visible(name, 60)} ({number + 1})" for number, name in found.left_out.passes)
    return [f" Good without {names}"]
