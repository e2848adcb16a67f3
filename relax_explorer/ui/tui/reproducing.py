"""Jobs that make what is passed on: the smallest program that shows a fault, and programs for TVM and for issues."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.ir import expr as e
from relax_explorer.core.passes.pipeline import Step
from relax_explorer.core.session.call_inputs import REST, CallInputs
from relax_explorer.core.session.exported import Question, exported
from relax_explorer.core.session.model_weights import with_weights
from relax_explorer.core.session.smaller import Case
from relax_explorer.core.session.smallest import Fault
from relax_explorer.core.session.smallest import reduce as smallest
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.ui import directories, live_settings
from relax_explorer.ui.files import CannotWrite, Target
from relax_explorer.ui.reduced_files import checked, default_name, values_name, write_values
from relax_explorer.ui.tui.host import Host
from relax_explorer.ui.tui.jobs import Job
from relax_explorer.ui.tui.line_words import TESTS, Asked, asked, usual_test
from relax_explorer.ui.tui.pictures import Exports
from relax_explorer.ui.tui.run_control import RunControl
from relax_explorer.ui.tui.stage_control import StageControl
from relax_explorer.viz.reduction_text import Reduced
from relax_explorer.viz.tables import Row
from relax_explorer.viz.visible import visible

_ENDINGS = {"tvm": ".tvm.py", "issue": ".issue.md"}


class Reproducing:
    """Makes programs smaller, and writes them for others."""

    def __init__(self, app: Host, stages: StageControl, run: RunControl, exports: Exports) -> None:
        self.app, self.stages, self.run, self.exports = app, stages, run, exports
        self.interrupt = Interrupt()

    def cancel(self) -> None:
        """Cancel what runs."""
        self.interrupt.cancel()

    # -- what it is about -----------------------------------------------------------------------------------------

    def passes(self, stage: Snapshot) -> tuple[Step, ...]:
        """The passes that made a stage here; all of them for the first one. A recorded stage has none."""
        session = self.app.state.session
        steps = () if session is None else tuple(session.pipeline)
        return steps[: stage.number or len(steps)]

    def _program(self, stage: Snapshot) -> tuple[Snapshot, str, CallInputs]:
        """The stage that the passes begin with, the function that runs, and what the user gave for it."""
        session, _ = self.app.state.opened
        first = session.stages[0] if session.pipeline else stage
        name = self.run.function(first)
        return first, name, with_weights(self.run.given(name), [first.module], name)

    # -- smaller programs -----------------------------------------------------------------------------------------

    def reduce(self, text: str = "", number: int | None = None) -> None:
        """Make the program smaller while it shows the fault of a stage, by default the selected one."""
        state, words = self.app.state, asked(text, TESTS)
        if state.session is None:
            self.app.say("no program is open")
            return
        stage = state.session.stages[state.selection.stage if number is None else number]
        first, name, given = self._program(stage)
        if given.calls or type(first.module.functions.get(name)) is not e.Function:
            self.app.say("reduce takes one call of a function; calls alone ends those of a file")
            return
        case = Case(first.module, name, self.passes(stage), tuple(given.shape.items()))
        test = words.choice or usual_test(first, bool(case.passes))
        goal = self._goal(words.file)
        if goal is None:
            return
        sources = {REST: given.whole} if given.whole else dict(given.sources)
        self.interrupt = Interrupt()
        fault = Fault(
            test, None, tuple(sources.items()), profile=self.stages.of_passes, cache=directories.kernel_cache(), interrupt=self.interrupt
        )  # fmt: skip
        source = "a program" if words.is_anonymous else state.path

        def work(job: Job) -> Reduced | str:
            return _reduced(case, fault, goal, source, words, job)

        self.app.jobs.start("reduce", "reducing", work, self._show)

    def _goal(self, name: str) -> Target | None:
        """The file to write; None, with the reason in the footer, if it can't be written."""
        try:
            name = name or default_name(self.app.state.path)
            refusal = self.app.permit.to_write(name)
            goal = None if refusal else checked(str(Path(name).expanduser()))
        except CannotWrite as problem:
            refusal, goal = str(problem), None
        if goal is None or goal.name is None:
            self.app.say(visible(refusal or "a file is written, not standard output", 300))
            return None
        return goal

    def _show(self, shown: Reduced | str) -> None:
        """Show what was found; Enter opens the program."""
        if isinstance(shown, str):
            self.app.say(shown)
            return
        found = shown.found
        rows = [Row(visible(line, 400)) for line in shown.lines()]
        sizes = f"{found.sizes[0]} → {found.case.size} bindings"
        self.app.show_rows(
            f"Reduced: {sizes}; Enter opens {visible(shown.name or '', 60)}",
            rows,
            0,
            lambda row: self._open(shown),
        )

    def _open(self, shown: Reduced) -> None:
        """Open the smaller program with its passes and its inputs."""
        case = shown.found.case
        sources = {name: shown.values_file for name in shown.found.values if shown.values_file}
        call = CallInputs(case.entry, sources, dict(case.lengths))

        def then() -> None:
            self.run.calls[case.entry] = call

        self.stages.open_with(shown.name or "", ",".join(map(str, case.passes)), then)

    # -- programs for others --------------------------------------------------------------------------------------

    def export(self, text: str) -> None:
        """Write the program with the passes that made the selected stage, for TVM or for an issue."""
        state, words = self.app.state, asked(text, tuple(_ENDINGS))
        stage = state.stage
        if stage is None:
            self.app.say("no program is open")
            return
        first, name, given = self._program(stage)
        steps = self.passes(stage) if stage.number else ()
        question = Question(
            first.module,
            name,
            steps,
            given,
            visible(state.path, 200),
            words.is_anonymous,
            target=live_settings.target(),
        )
        self.interrupt = interrupt = Interrupt()

        def made() -> tuple[str, str]:
            found = exported(question, words.choice, directories.kernel_cache(), interrupt)
            return found.text, "".join([f"; {visible(remark, 200)}" for remark in found.remarks])

        stem = f"{Path(state.path or 'program').stem}-{stage.label}{_ENDINGS[words.choice]}"
        self.exports.write(words.file or stem, f"writing for {words.choice}", made)


def _reduced(case: Case, fault: Fault, goal: Target, source: str, words: Asked, job: Job) -> Reduced | str:
    """The smaller program, which is written; or why there is none."""

    def told(what: str, tries: int, total: int) -> None:
        job.detail = f"{what} {tries}"

    try:
        with TemporaryDirectory(prefix="rxe-reduce-") as folder:
            found = smallest(case, fault, told=told, folder=Path(folder), is_anonymous=words.is_anonymous)
        if found is None:
            others = ", ".join(item for item in TESTS if item != fault.test)
            return f"no fault: {fault.test} holds; reduce also takes {others}"
        beside = values_name(found, goal.name)
        shown = Reduced(found, source, goal.name, beside, fault.test, fault.profile)
        write_values(found, beside)
        goal.write(shown.program().encode("utf-8", "backslashreplace"))
    except Cancelled:
        return "cancelled"
    except CannotWrite as problem:
        return visible(str(problem), 300)
    return shown
