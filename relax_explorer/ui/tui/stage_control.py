"""The stages of the open program: reading files, running passes, moving from stage to stage and place to place, and marks."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from relax_explorer.core.collector import collector_at_rest, set_aside, take_back
from relax_explorer.core.diagnostics import ParseError
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.notations import is_contract
from relax_explorer.core.session.folders import numbered_files
from relax_explorer.ui import history, live_settings
from relax_explorer.ui.tui.early_keys import EarlyKeys
from relax_explorer.ui.tui.file_watch import FileWatch
from relax_explorer.ui.tui.host import Host
from relax_explorer.ui.tui.jobs import Job
from relax_explorer.ui.tui.keys import SOURCE
from relax_explorer.ui.tui.state import Options, Selection, State
from relax_explorer.viz.table_folds import Folded, is_check
from relax_explorer.viz.tables import Row
from relax_explorer.viz.visible import visible

if TYPE_CHECKING:
    from relax_explorer.core.session.session import Plan, Session
    from relax_explorer.core.session.snapshot import Snapshot
    from relax_explorer.ui.tui.run_control import RunControl
    from relax_explorer.viz.solver_steps import ContractSteps
    from relax_explorer.viz.solving import Solving

MOST_JUMPS = 100
DRAWN = 0.5  # seconds to wait for the screen at most
LATER = (
    "screens.passes_screen",
    "pictures",
    "run_control",
)  # modules that are needed after the first text; no key waits for their import


class StageControl:
    """Opens programs and moves the selection."""

    def __init__(
        self, app: Host, run: Callable[[], RunControl], pipeline: str, profile: str, const: str | None = None
    ) -> None:
        """`run` gives the control of runs, which is made when it is first needed. `const` is the source of constants that a
        text omits; with None they stay unknown."""
        self.app, self._run, self.pipeline, self.profile, self.const = app, run, pipeline, profile, const
        self.asked = ""  # what was opened last, or could not be
        self.watch = FileWatch(self.open)
        self._jumps: list[Selection] = []
        self.landed: Selection | None = None  # where the last jump went
        self.early_keys = EarlyKeys(app)
        self._then: Callable[[], None] | None = None  # what follows once the next program is open
        self._waited: list[
            tuple[Selection, Callable[[], None]]
        ] = []  # what asked for a stage which is not there yet
        self._at = 0  # the place among the jumps; len(_jumps) is the present one

    @property
    def of_passes(self) -> str:
        """The profile of the passes that run here; `auto` is about recorded stages only."""
        return "spec" if self.profile == "auto" else self.profile

    @property
    def run(self) -> RunControl:
        """The control of runs."""
        return self._run()

    # -- opening --------------------------------------------------------------------------------------------------

    def open(self, path: str, text: str | None = None) -> None:
        """Read a file or a folder of stages, and run the pipeline of a file. What is open stays until the new program is read.

        `text` is read in the place of the file, which stays as it is.
        """

        if refusal := self.app.permit.to_open(path):
            self.app.say(refusal)
            return
        self._forget_early_keys()
        self.asked = path
        self.watch.follow(path if text is None else "")
        self._read(path, text)

    def _read(self, path: str, text: str | None) -> None:
        """Read a program in a job."""
        options = self.app.state.options
        keep_branches = options.keep_branches and path == self.app.state.path

        def work(job: Job) -> None:
            if text is None:
                self._preview(path, job)
            from relax_explorer.ui.tui import reading  # behind the first picture: it needs the whole core

            solving = reading.solving_of(path, keep_branches)
            if solving is not None:
                self._remember(path)
                import_module("relax_explorer.ui.tui.screens.solver_screen")
                self._shown(job, lambda: self.app.go_on("solver"))
                job.tell(lambda: self._solved(solving))
                return
            from relax_explorer.core.exec.interrupt import Cancelled
            from relax_explorer.core.session.folders import address
            from relax_explorer.core.session.saved import saved_in

            with collector_at_rest(is_prompt=True):  # a key would wait for a full collection
                try:
                    build, remark = reading.build_of(path, self.const, text)
                except Cancelled:  # Esc, while a child imported a model
                    job.tell(self.app.go_on)
                    job.tell(lambda: self.app.say("cancelled"))
                    return
                saved = saved_in(address(path)[0]) if text is None else None
                plan = None if saved is None else saved.plan
                session = reading.session_of(
                    build, self.pipeline if plan is None else plan.text, self.profile
                )
                if text is not None:
                    remark = f"the edited text is open; {Path(path).name} is as it was"
                self._begin(session, path, remark if saved is None else "", job)
                if saved is not None:
                    job.tell(lambda: self.app.go_on_with(saved))

        self.app.jobs.start("session", f"reading {Path(path).name or path}", work, self._go_on)

    def go_on_from_here(self, then: Callable[[], None]) -> None:
        """Open the selected stage of a recorded build as a program, from which passes of ours go on."""
        session, stage = self.app.state.session, self.app.state.stage
        if session is None or stage is None:
            self.app.say("no program is open")
            return
        self.open_with(f"{session.filename.partition('@')[0]}@{stage.label}", "", then)

    def open_with(self, path: str, pipeline: str, then: Callable[[], None]) -> None:
        """Open a program with a pipeline of its own; `then` is done once it is there."""
        self.pipeline, self._then = pipeline, then
        self.open(path)

    def open_as_relax(self, contracts: ContractSteps) -> None:
        """Open the Relax module of a program with contracts. The solver screen leads back to them."""

        def work(job: Job) -> None:
            from relax_explorer.ui.tui import reading

            session = reading.session_of_contracts(contracts, self.pipeline, self.profile)
            self._begin(session, contracts.path, "contracts as Relax; 7 goes back to them", job)

        self.app.jobs.start("session", f"lowering {Path(contracts.path).name}", work, self._go_on)

    @property
    def is_from_contracts(self) -> bool:
        """True if the open program was made from shape contracts."""
        state = self.app.state
        return state.session is not None and is_contract(state.path)

    def _begin(self, session: Session, path: str, remark: str, job: Job) -> None:
        """Show the first stage of a session, then run the passes."""
        from relax_explorer.ui.tui import reading

        for name in LATER:
            import_module(f"relax_explorer.ui.tui.{name}")
        early = reading.is_small(session)
        if early:  # so that a run that starts at once has them
            self._recall(session, job)
        reading.prepare(session.stages[0])
        self._remember(path)
        self._shown(job, self.app.go_on)
        job.tell(lambda: self._opened(session, path))
        job.tell(lambda: self.app.tell_left(path, remark))  # on the screen that stays
        if not early:
            self._recall(session, job)
        self._advance(session, job)

    def _remember(self, path: str) -> None:
        """Put a program first in the list of Home, unless a recording opened it."""
        if self.app.permit.is_all:
            history.remember_path(path)

    def _recall(self, session: Session, job: Job) -> None:
        """Look up the inputs of earlier runs of this program. They may be in files, which no recording opens."""
        if not self.app.permit.is_all:
            return

        first = session.stages[0]
        key = history.module_key(first.module)
        found = history.remembered(key)
        job.tell(lambda: self.run.recall(first, key, found))

    def _advance(self, session: Session, job: Job) -> None:
        """Run the rest of a pipeline. The phases are derived here, since no key should wait for them."""
        from relax_explorer.ui.tui.reading import prepare_details
        from relax_explorer.viz.stage_sentence import stage_sentence

        while not job.is_stale and (stage := session.advance()) is not None:
            if stage.changed:
                stage_sentence(session, stage)  # here, since it takes long for large modules, as the diff
            _ = stage.phase
            job.tell(lambda: self._grown(session))
        with collector_at_rest():
            prepare_details(session.stages[min(self.app.state.selection.stage, len(session.stages) - 1)])
        job.tell(lambda: self._grown(session))

    def replan(self, plan: Plan, then: Callable[[], None]) -> None:
        """Run the program with another pipeline, from the first step that differs on. `then` is done after the last one."""
        state, wanted = self.app.state, self.app.state.selection.stage
        if state.session is None:
            return
        live_settings.cancel()  # nobody waits for the pass that runs
        session = state.session.with_pipeline(plan.steps)
        kept = len(session.stages)
        self.run.stop()
        self.app.change(
            session=session, stages=kept, plan=plan, compared=None, ranked=None,
            selection=replace(self.app.state.selection, stage=min(wanted, kept - 1)),
        )  # fmt: skip

        def done(_: object) -> None:
            if session is self.app.state.session and self.app.state.selection.stage == kept - 1 < wanted:
                self.show(wanted)  # where the user was, unless she moved meanwhile
            self._go_on()
            then()

        self.app.jobs.start("session", "running the pipeline", lambda job: self._advance(session, job), done)

    def _preview(self, path: str, job: Job) -> None:
        """Show the text of the first program, and wait for the screen: reading it would slow down the first picture."""
        text = first_text(path)
        if text:
            self._shown(job, lambda: self.app.change(preview=text))

    def _shown(self, job: Job, show: Callable[[], None]) -> None:
        """Show something, and wait until it is drawn."""
        drawn = threading.Event()

        def then() -> None:
            show()
            self.app.when_drawn(drawn.set)

        job.tell(then)
        drawn.wait(DRAWN)

    def _opened(self, session: Session, path: str) -> None:
        self.run.stop()
        is_other = take_back()
        self._jumps, self._at = [], 0
        first, options = session.stages[0], self.app.state.options
        if path != self.app.state.path:
            options = _for_another_program(options)
            self.run.calls.clear()
        from relax_explorer.core.session.recorded import RecordedSession
        from relax_explorer.core.session.session import Plan

        plan = None if isinstance(session, RecordedSession) else Plan.of(session.pipeline)
        selection = _read_at(first, self.app.preview_line) or Selection(0, first.entry)
        self.app.state = State(path, session, len(session.stages), selection, options, plan=plan)
        is_marked = self.app.screen_name == SOURCE and any(item.is_error for item in first.located)
        if (
            self.app.screen_name in ("home", "solver", SOURCE) and not is_marked
        ):  # the reading screen goes on by itself
            self.app.show_screen("passes")
        if is_other:
            gc.collect()
        set_aside()  # else each tenth key waits until the collector has visited the whole program
        self.app.opened()
        self.early_keys.obey()
        then, self._then = self._then, None
        if then is not None:
            then()

    def _solved(self, solving: Solving) -> None:
        """Show the steps of a solver, at the same place if the file was read again."""
        old = self.app.state
        if old.session is not None:
            self.run.stop()
            self.run.calls.clear()
        take_back()
        self._jumps, self._at = [], 0
        is_same = old.solving is not None and old.path == solving.path
        step = min(old.step, solving.last) if is_same else 0
        keeps = old.options.keep_branches and old.path == solving.path
        options = replace(_for_another_program(old.options), keep_branches=keeps)
        self.app.state = State(solving.path, options=options, solving=solving, step=step)
        self.app.show_screen("solver")

    def _grown(self, session: Session) -> None:
        if session is self.app.state.session:
            self.app.change(stages=len(session.stages))
            set_aside()
            self._go_on()

    def _go_on(self, _: object = None) -> None:
        """Go where keys wanted to go before there was a stage, unless the user moved meanwhile; or tell that none came."""
        waited = self._await_no_stage()
        if waited and waited[0][0] == self.app.state.selection:
            for _, again in waited:
                again()
            if not self._waited:
                self.early_keys.obey()
        elif waited:
            self.early_keys.forget()

    def _forget_early_keys(self) -> None:
        """Forget the keys that came before what they are about."""
        self.early_keys.forget()
        self._await_no_stage()

    def await_next(self, again: Callable[[], None]) -> bool:
        """Do something again when the next stage is there; False if none is being made."""
        if not any(job.lane == "session" for job in self.app.jobs.running):
            return False
        self._waited.append((self.app.state.selection, again))
        self.early_keys.is_stage_awaited = True
        self.app.say("the next stage is being made")
        return True

    def _await_no_stage(self) -> list[tuple[Selection, Callable[[], None]]]:
        """Wait for no stage any more; returns what waited."""
        waited, self._waited = self._waited, []
        self.early_keys.is_stage_awaited = False
        return waited

    # -- moving ---------------------------------------------------------------------------------------------------

    def show(self, number: int) -> None:
        """Show a stage. The selected binding is found again by identity or name."""
        state = self.app.state
        if state.session is None:
            return
        number = max(0, min(number, len(state.session.stages) - 1))
        if number != state.selection.stage:
            self.run.stop()
            self.app.select(replace(self.app.state.selection, stage=number))

    def by(self, step: int, changing: bool) -> None:
        """Show the next stage in a direction, or the next that changed the module."""
        state = self.app.state
        if state.session is None:
            return
        number = state.selection.stage + step
        while 0 <= number < len(state.session.stages):
            if not changing or state.session.stages[number].changed:
                self.show(number)
                return
            number += step
        if step > 0 and self.await_next(lambda: self.by(step, changing)):
            return
        self.app.say("no further stage" if not changing else "no further stage that changed the module")

    def go_to(self, stage: int, function: str, binding: e.Binding | None = None) -> None:
        """Jump to a place; `jump` leads back."""
        del self._jumps[self._at :]
        self._jumps = [*self._jumps[-MOST_JUMPS:], self.app.state.selection]
        self._at = len(self._jumps)
        self._select(Selection(stage, function, binding))

    def go_to_variable(self, name: str, stage: int | None = None) -> bool:
        """Jump to the binding of a variable: in the selected function, else in any. False if the stage has none."""
        state = self.app.state
        number = state.selection.stage if stage is None else stage
        if state.session is None or not 0 <= number < len(state.session.stages):
            return False
        for function in _functions(state.session.stages[number], state.selection.function):
            found = state.session.stages[number].binding(function, name)
            if found is not None:
                self.go_to(number, function, found)
                return True
        return False

    def jump(self, by: int) -> None:
        """Back to where the last jump began, or forward again."""
        if self._at == len(self._jumps) and by < 0:
            self._jumps.append(self.app.state.selection)
        target = self._at + by
        if not 0 <= target < len(self._jumps):
            self.app.say("no place to go back to" if by < 0 else "no place to go forward to")
            return
        self._at = target
        self._select(self._jumps[target])

    def _select(self, selection: Selection) -> None:
        session = self.app.state.session
        if session is None or selection.stage >= len(session.stages):
            self.app.say("that stage is gone since the pipeline changed")
            return
        if selection.stage != self.app.state.selection.stage:
            self.run.stop()
        self.app.close_drawer()
        self.landed = selection
        self.app.select(selection)
        self._unfold(selection)

    def _unfold(self, selection: Selection) -> None:
        """Open the folds that hide the selected binding."""
        stage, folded = self.app.state.stage, self.app.state.options.folded
        may_hide = any(selection.function == key.function for key in folded.turned) or is_check(
            selection.binding
        )
        if stage is None or selection.binding is None or not may_hide:
            return
        from relax_explorer.ui.tui.table_rows import folds_around
        from relax_explorer.viz.ir_table import IrTable

        hiding = folds_around(folded, IrTable(stage, selection.function), selection.binding)
        if hiding:
            self.app.show_with(folded=folded.opened(hiding))


def _for_another_program(options: Options) -> Options:
    """Options without the places that they name."""
    return replace(
        options,
        folded=Folded(),
        opened=frozenset(),
        since=None,
        given=("", ""),
        checks="remaining",
        keep_branches=False,
    )


def _read_at(first: Snapshot, line: int) -> Selection | None:
    """The first binding in a line of the text or behind it. None at the start: no place was chosen there."""
    for name, fn in first.module.relax_functions.items() if line > 1 else ():
        for binding in bindings(fn):
            if binding.span is not None and binding.span.line >= line:
                return Selection(0, name, binding)
    return None


def first_text(path: str) -> str:
    """The text of a file, or of the first stage in a folder. Empty if it can't be read: its reader will tell why."""
    from relax_explorer.core.session.containers import open_container
    from relax_explorer.core.session.folders import address, is_container
    from relax_explorer.core.session.recorded_builds import stages_of
    from relax_explorer.core.syntax.load import read_text

    place, _ = address(path)
    found = numbered_files(Path(place)) if os.path.isdir(place) else []
    try:
        if is_container(place):
            return stages_of(open_container(place))[0].text
        return read_text(found[0][1] if found else place)
    except ParseError:
        return ""


def _functions(stage: Snapshot, first: str) -> list[str]:
    names = [name for name, fn in stage.module.functions.items() if type(fn) is e.Function]
    return sorted(names, key=lambda name: name != first)


# -- marks -----------------------------------------------------------------------------------------------------------
# Marks: places in any stage and function under a letter.


BACK = "apostrophe"  # as a mark: where the last jump began


@dataclass(frozen=True, slots=True)
class Mark:
    """A place with the stage it was set in, since a changed pipeline numbers the stages anew."""

    path: str
    stage: Snapshot
    selection: Selection

    @property
    def text(self) -> str:
        """The place in one line."""
        place = " ▸ ".join(part for part in (self.selection.function, self.selection.variable) if part)
        return visible(f"{self.stage.label:>3} {self.stage.made_by[:30]:<24} {place}")


class Marks:
    """Sets marks, and goes to them."""

    def __init__(self, app: Host, stages: StageControl) -> None:
        self.app, self.stages = app, stages
        self.places: dict[str, Mark] = {}

    def set(self, letter: str) -> None:
        """Mark the selected place with a letter."""
        state = self.app.state
        if state.stage is None or not letter:
            return
        if len(letter) != 1 or not letter.isalpha():
            self.app.say("a mark is a letter, such as m a")
            return
        self.places[letter] = Mark(state.path, state.stage, state.selection)
        self.app.keep_soon()
        self.app.say(f"'{letter} goes to mark {letter}: {self.places[letter].text.strip()}")

    def go(self, letter: str) -> None:
        """Go to a mark."""
        mark, session = self.places.get(letter), self.app.state.session
        if letter == BACK:
            self.stages.jump(-1)
        elif mark is None:
            if letter:
                self.app.say(f"no mark {visible(letter, 20)}; m and a letter set one")
        elif session is None or mark.path != self.app.state.path:
            self.app.say(f"mark {letter} is in {visible(mark.path, 60)}")
        else:
            self._go(letter, mark, session)

    def _go(self, letter: str, mark: Mark, session: Session) -> None:
        stage = _found(mark.stage, session)
        if stage is None:
            self.app.say(f"mark {letter}: no stage is made by {visible(mark.stage.made_by, 40)} any more")
            return
        chosen = mark.selection
        binding = chosen.binding if stage is mark.stage else stage.binding(chosen.function, chosen.variable)
        run = self.app.state.run
        is_here = self.app.screen_name == "debug" and run is not None
        if not (is_here and run is not None and (run.stage, run.function) == (stage.number, chosen.function)):
            self.app.show_screen("passes")
        self.stages.go_to(stage.number, chosen.function, binding)

    def rows(self) -> list[Row]:
        """A row for each mark."""
        return [Row(f"{letter} {mark.text}", " ", letter) for letter, mark in sorted(self.places.items())]


def _found(stage: Snapshot, session: Session) -> Snapshot | None:
    """The same stage of a session, else the one that the same pass made last."""
    same = [item for item in session.stages if item is stage]
    named = [item for item in session.stages if item.made_by == stage.made_by]
    return next(iter(same or named[::-1]), None)
