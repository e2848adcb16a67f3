"""The pipeline of the open program: turning passes off, editing, undoing. Recorded stages have none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.ui import live_settings
from relax_explorer.ui.tui.host import Host
from relax_explorer.ui.tui.stage_control import StageControl
from relax_explorer.viz.tables import Row
from relax_explorer.viz.visible import visible

if TYPE_CHECKING:
    from relax_explorer.core.passes.pipeline import Step
    from relax_explorer.core.session.session import Plan

RECORDED = "these stages were recorded by a build; E goes on from this one with passes of ours"


class PipelineControl:
    """Changes the pipeline and runs it anew. `undo` and `redo` go through the changes."""

    def __init__(self, app: Host, stages: StageControl) -> None:
        self.app, self.stages = app, stages
        self._past: list[Plan] = []
        self._future: list[Plan] = []
        self._path = ""  # of the program that they belong to
        self._toggled: tuple[Plan, int, int] | None = (
            None  # the plan after a step was toggled, the step, the stage
        )

    def plan(self) -> Plan | None:
        """The plan of the open program. None, and a notice, if there is none."""
        state = self.app.state
        if state.path != self._path:
            self._past, self._future, self._path = [], [], state.path
        if state.plan is None:
            self.app.say(RECORDED if state.session is not None else "no program is open")
        return state.plan

    @property
    def text(self) -> str:
        """The value of `--passes` that gives these stages: as it was typed, if nothing was edited."""
        from relax_explorer.core.session.build_passes import with_files

        plan, given = self.app.state.plan, self.stages.pipeline
        return given if plan is None or plan.steps == with_files(given) else plan.text

    @property
    def tried(self) -> tuple[tuple[Plan, ...], int]:
        """The pipelines in the order of the edits, and which one is the present one. Recorded stages have none."""
        plan, is_known = self.app.state.plan, self.app.state.path == self._path
        past, future = (self._past, self._future) if is_known else ([], [])
        return ((), 0) if plan is None else ((*past, plan, *reversed(future)), len(past))

    def go_on(self, plans: Sequence[Plan], at: int, then: Callable[[], None]) -> None:
        """Take over the pipelines of another session, and run the present one; `then` is done behind it."""
        here = self.plan()
        if here is None or not plans:
            then()
            return
        self._past, self._future = list(plans[:at]), list(plans[:at:-1])
        if plans[at].steps == here.steps:
            self.app.change(plan=plans[at])
            then()
        else:
            self.stages.replan(plans[at], then)

    def run(self, plan: Plan, notice: str = "") -> None:
        """Run the program with another plan."""
        old = self.plan()
        if old is None or plan == old:
            return
        self._past, self._future = [*self._past, old], []
        self._run(plan, notice)

    def _run(self, plan: Plan, notice: str) -> None:
        self.stages.replan(plan, lambda: self._tell(notice))

    def _tell(self, notice: str) -> None:
        """Tell what was done, and the first warning about the order."""
        session, plan = self.app.state.session, self.app.state.plan
        count = 0 if plan is None else len(plan.steps)
        head = notice or f"{count} pass{'' if count == 1 else 'es'} ran; u undoes"
        notes = session.notes if session is not None else []
        self.app.say(f"{head}; warning: {visible(notes[0].message)}" if notes else head)

    # -- what keys and commands do --------------------------------------------------------------------------------

    def toggle(self, number: int | None) -> None:
        """Turn a step off, or on again. None stands for the step of the input, which has none."""
        plan = self.plan()
        if plan is None:
            return
        if number is None:
            self.app.say("the input was made by no pass; go to a stage with ] first")
            return
        new = plan.toggled(number)
        self._toggled = (new, number, self.app.state.selection.stage)
        name = visible(plan.entries[number].step.label, 40)
        self.run(new, f"{name} is {'on' if new.entries[number].is_on else 'off'}; u undoes")

    def toggle_stage(self, stage: int) -> None:
        """Turn the step of a stage off. The same key again, at once, turns it on again."""
        state = self.app.state
        if self._toggled is not None and self._toggled[0] is state.plan and stage <= self._toggled[2]:
            self.toggle(self._toggled[1])
        else:
            self.toggle(state.plan.number_of(stage) if state.plan is not None else None)

    def toggle_named(self, text: str) -> None:
        """Turn the step of a stage number or of a pass off, or on again."""
        plan = self.plan()
        if plan is None:
            return
        if text.isdecimal() and len(text) < 10:
            number = plan.number_of(int(text))
        else:
            named = [
                n for n, entry in enumerate(plan.entries) if text in (entry.step.of.name, str(entry.step))
            ]
            number = named[0] if named else None
        if number is None:
            self.app.say(f"the pipeline has no pass {visible(text, 30)!r}; E edits it")
        else:
            self.toggle(number)

    @property
    def is_recorded(self) -> bool:
        """True if the stages were recorded by a build: passes go on from one of them."""
        return self.app.state.session is not None and self.app.state.plan is None

    def typed(self, text: str) -> None:
        """Run the pipeline of a text such as `CanonicalizeBindings,LegalizeOps`; of a recorded stage, go on with it."""
        if self.is_recorded:
            self.stages.go_on_from_here(lambda: self.typed(text))
            return
        if self.plan() is None:
            return
        from relax_explorer.core.session.builds import FILE
        from relax_explorer.core.session.session import Plan

        session = self.app.state.session
        if text.strip() == FILE and session is not None:
            text = session.written
        self.read(text, lambda found: self.run(Plan.of(found)), self.app.show_failures)

    def read(
        self, text: str, then: Callable[[list[Step]], None], refused: Callable[[tuple[Diagnostic, ...]], None]
    ) -> None:
        """The steps of a text. What is inside of a pipeline of TVM is asked from a job, since that may take seconds."""
        from relax_explorer.core.session.build_passes import with_files

        def found(_: object = None) -> list[Step] | Failure:
            try:
                return with_files(text, self.stages.of_passes, self.app.permit.opened)
            except Failure as failure:
                return failure

        def told(made: list[Step] | Failure) -> None:
            if isinstance(made, Failure):
                refused(made.diagnostics)
            else:
                then(made)

        if live_settings.names_in(text):
            self.app.jobs.start("pipeline", "asking TVM", found, told)
        else:
            told(found())

    def profile(self, name: str) -> None:
        """Run the pipeline in another profile: `tvm` gives what TVM's passes give, with the checks that these lose."""
        from relax_explorer.core.passes.contract import PROFILES

        plan = self.plan()
        if plan is None:
            return
        if name not in PROFILES:
            self.app.say(f"profile takes {' or '.join(PROFILES)}; passes run in {self.stages.of_passes}")
            return
        self.stages.profile = name
        new = plan.in_profile(name)
        if new == plan:
            self.app.say(f"no pass of this pipeline differs in {name}")
        self.run(new, f"passes run in the profile {name}")

    def undo(self) -> None:
        """Take back the last change of the pipeline."""
        self._back(self._past, self._future, "nothing to undo in the pipeline", "undone; ctrl+r redoes")

    def redo(self) -> None:
        """Repeat what was taken back."""
        self._back(self._future, self._past, "nothing to redo in the pipeline", "redone; u undoes")

    def show_edits(self) -> None:
        """List the pipelines before and after the present one; a line leads to its pipeline."""
        here = self.plan()
        if here is None:
            return
        plans = [*self._past, here, *reversed(self._future)]
        if len(plans) == 1:
            self.app.say("the pipeline was not edited yet; x turns a pass off, E edits")
            return
        shown = [_edit_row(plans, number, len(self._past)) for number in range(len(plans))]
        self.app.show_rows(
            "Pipelines that were tried", shown, len(self._past), lambda row: self._to(row.node)
        )

    def _to(self, number: int) -> None:
        """Go to a plan of the list."""
        here = self.plan()
        plans = [*self._past, *([here] if here is not None else []), *reversed(self._future)]
        if here is None or number == len(self._past):
            return
        self._past, self._future = plans[:number], plans[:number:-1]
        self._run(plans[number], f"pipeline {number} again; u and ctrl+r go through them")

    def _back(self, source: list[Plan], other: list[Plan], empty: str, notice: str) -> None:
        old = self.plan()
        if old is None:
            return
        if not source:
            self.app.say(empty)
            return
        other.append(old)
        self._run(source.pop(), notice)


def _edit_row(plans: Sequence[Plan], number: int, here: int) -> Row:
    """A plan of the list: what the edit before it changed, and how many passes run."""
    plan, count = plans[number], len(plans[number].steps)
    change = "as opened" if not number else plan.change_since(plans[number - 1])
    text = f"{number:>3}  {visible(change, 300)}"
    return Row(text, "▶" if number == here else " ", number, right=f"{count} pass{'es' * (count != 1)}")
