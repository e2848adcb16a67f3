"""The job that runs a program on several ranks, beside the program that is not divided."""

from __future__ import annotations

from pathlib import Path

from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.ir import expr as e
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.rank_inputs import division
from relax_explorer.core.session.ranked import MOST_RANKS, ranked
from relax_explorer.ui import directories
from relax_explorer.ui.tui.host import Host
from relax_explorer.ui.tui.jobs import Job
from relax_explorer.ui.tui.run_control import RunControl
from relax_explorer.ui.tui.state import OnRanks
from relax_explorer.viz.visible import visible


class RankControl:
    """Runs the selected stage on several ranks. `count` and `unsharded` are what was asked for last."""

    def __init__(self, app: Host, run: RunControl, count: int, unsharded: str) -> None:
        self.app, self.run, self.count, self.unsharded = app, run, count, unsharded
        self.interrupt = Interrupt()
        self._tried: tuple[object, ...] = ()

    def cancel(self) -> None:
        """Cancel what runs."""
        self.interrupt.cancel()

    def ask(self, text: str) -> str:
        """Take `N` or `N FILE` from a line. Returns why that is not possible; empty if it is."""
        number, _, file = text.strip().partition(" ")
        if not number.isdecimal() or not 1 <= int(number) <= MOST_RANKS:
            return f"ranks takes a number from 1 to {MOST_RANKS}, and the file of the program that is not divided"
        if file.strip() and (refusal := self.app.permit.to_open(file.strip())):
            return refusal
        self.count, self.unsharded = int(number), file.strip()
        return ""

    def ensure(self) -> None:
        """Run, unless that was tried for this stage: what failed or was cancelled starts when it is asked for."""
        if self.count and self._tried != self._question():
            self.start()

    def _question(self) -> tuple[object, ...]:
        state, name = self.app.state, self.run.function()
        return (
            id(state.session),
            state.selection.stage,
            name,
            self.run.given(name),
            self.count,
            self.unsharded,
        )

    def start(self) -> None:
        """Run the function of the selected stage on all ranks, and compare with the program that is not divided."""
        session, stage = self.app.state.session, self.app.state.stage
        if session is None or stage is None:
            return
        self._tried, name = self._question(), self.run.function()
        if type(stage.module.functions.get(name)) is not e.Function:
            self.app.say(f"the module has no Relax function {name or 'to run'}")
            return
        given, count, file = self.run.given(name), self.count, self.unsharded
        self.interrupt = interrupt = Interrupt()

        def work(job: Job) -> tuple[OnRanks, str] | None:
            try:
                whole = _last_stage(file) if file else None
                asked = division(stage.module, name, given, count, whole)
                found = ranked(asked, directories.kernel_cache(), interrupt, private=True)
            except Cancelled:
                return None
            return OnRanks(stage.number, count, file, found), asked.note

        def done(result: tuple[OnRanks, str] | None) -> None:
            if result is None:
                self.app.say("cancelled")
                return
            shown, note = result
            problems = shown.found.problems
            self.app.change(ranked=shown)
            self.app.say(f"made up: {visible(note, 200)}" if note and not problems else "")
            if problems:
                self.app.show_failures(tuple(problems))

        self.app.jobs.start("ranks", f"running {count} ranks", work, done)


def _last_stage(path: str) -> IRModule:
    """The program in a file; of several stages the last one. Raises Failure or ParseError."""
    from relax_explorer.ui.tui import reading  # it needs the whole core

    return reading.build_of(str(Path(path).expanduser()), None)[0].stages[-1].module
