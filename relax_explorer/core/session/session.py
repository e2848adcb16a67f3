"""A session on one program: its stages, their diffs, the history of a value, and runs. It needs no terminal."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relax_explorer.core import passes as registry
from relax_explorer.core.check.claimed_phase import recorded
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.expected import expect
from relax_explorer.core.ir.facts import forget
from relax_explorer.core.passes.live import reproduced
from relax_explorer.core.passes.pass_order import explain, unmet
from relax_explorer.core.passes.pipeline import Step, run, steps
from relax_explorer.core.phases.module_check import checked, judged, lenient
from relax_explorer.core.phases.module_properties import Property, holding
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.align import ModuleDiff, Trace, diff_modules, history, with_groups
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.session.stages import Distinct, distinct
from relax_explorer.core.shown import Shown
from relax_explorer.core.syntax.load import load

if TYPE_CHECKING:
    from relax_explorer.core.exec.debugger import Debugger
    from relax_explorer.core.session.compiled import Compiled
    from relax_explorer.core.session.stages import Aside, Stage


# -- planned ---------------------------------------------------------------------------------------------------------
# A pipeline that is being edited: its steps, some of them off. Each edit returns another plan.


EDIT = "ReplaceModule"  # the pass that goes on with an edited text
MOST_INSERTED = 8  # passes in front of one step


@dataclass(frozen=True, slots=True)
class Planned:
    """A step, on or off."""

    step: Step
    is_on: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps in order. Numbers count all of them from 0, those that are off too."""

    entries: tuple[Planned, ...] = ()

    @classmethod
    def of(cls, pipeline: str | Iterable[str | Step]) -> Plan:
        """The plan of a pipeline. Raises Failure for an unknown pass or option."""
        return cls(tuple([Planned(step) for step in steps(pipeline)]))

    @property
    def steps(self) -> list[Step]:
        """The steps that are on."""
        return [entry.step for entry in self.entries if entry.is_on]

    @property
    def text(self) -> str:
        """The steps that are on, as `--passes` takes them."""
        return ",".join(map(str, self.steps))

    def number_of(self, stage: int) -> int | None:
        """The entry that makes a stage; None for the input."""
        on = [number for number, entry in enumerate(self.entries) if entry.is_on]
        return on[stage - 1] if 0 < stage <= len(on) else None

    def stage_of(self, number: int) -> int | None:
        """The stage that an entry makes; None if it is off."""
        on = [n for n, entry in enumerate(self.entries[: number + 1]) if entry.is_on]
        return len(on) if on and on[-1] == number else None

    def toggled(self, number: int) -> Plan:
        """With a step turned off, or on again."""
        entry = self.entries[number]
        return self._with(number, 1, Planned(entry.step, not entry.is_on))

    def moved(self, number: int, by: int) -> Plan:
        """With a step moved; at the first and the last place the same plan."""
        if not 0 <= number + by < len(self.entries):
            return self
        rest = [*self.entries[:number], *self.entries[number + 1 :]]
        rest.insert(number + by, self.entries[number])
        return Plan(tuple(rest))

    def without(self, number: int) -> Plan:
        """Without a step."""
        return self._with(number, 1)

    def with_edit(self, number: int, text: str) -> Plan:
        """With an edited text in place of the module behind an entry; -1 stands for the input. An edit replaces an earlier one."""
        edit = Planned(Step(registry.get(EDIT), {"text": text}))
        is_edit = number >= 0 and self.entries[number].step.of.name == EDIT
        return self._with(number, 1, edit) if is_edit else self._with(number + 1, 0, edit)

    def with_text(self, number: int, text: str | Sequence[Step], replaced: int = 0) -> Plan:
        """With the steps of a text before a number, in the place of the next `replaced` ones. Raises Failure like `of`."""
        return self._with(number, replaced, *Plan.of(text).entries)

    def _with(self, number: int, replaced: int, *entries: Planned) -> Plan:
        return Plan((*self.entries[:number], *entries, *self.entries[number + replaced :]))

    def change_since(self, other: Plan) -> str:
        """What differs from another plan, in a few words."""
        if [entry.step for entry in self.entries] == [entry.step for entry in other.entries]:
            pairs = zip(self.entries, other.entries, strict=True)
            return ", ".join(
                f"{new.step.label} {'on' if new.is_on else 'off'}"
                for new, old in pairs
                if new.is_on != old.is_on
            )
        old, new = [entry.step.label for entry in other.entries], [entry.step.label for entry in self.entries]
        if sorted(old) == sorted(new):
            return f"another order: {', '.join(new)}"
        gone, more = Counter(old) - Counter(new), Counter(new) - Counter(old)
        return ", ".join(
            [f"without {', '.join(gone)}"] * bool(gone) + [f"with {', '.join(more)}"] * bool(more)
        )

    def in_profile(self, profile: str) -> Plan:
        """With every pass that has profiles in this one. Raises Failure for an unknown profile."""
        entries = [Planned(_plain(entry.step), entry.is_on) for entry in self.entries]
        if profile == "spec":
            return Plan(tuple(entries))
        return Plan(tuple([Planned(entry.step.in_profile(profile), entry.is_on) for entry in entries]))

    def with_missing(self, number: int, properties: Collection[Property]) -> Plan:
        """With the passes that establish what a step requires, before it. The same plan if nothing is missing, or no pass helps."""
        plan, last = self, number
        while last - number < MOST_INSERTED:
            lacking = [(n, item) for n in range(number, last + 1) for item in plan.missing(n, properties)]
            if not lacking:
                break
            place, needed = lacking[0]  # the makers inserted so far may lack something, too
            makers = [maker.name for maker in registry.table().values() if needed in maker.establishes]
            if not makers:
                break
            plan = min(
                [plan.with_text(place, name) for name in makers],
                key=lambda item: len(item.remarks(properties)),
            )
            last += 1
        return plan

    def missing(self, number: int, properties: Collection[Property]) -> list[Property]:
        """What an entry requires and the steps before it do not provide."""
        there = self.before(number, properties)
        return [item for item in self.entries[number].step.of.requires if item not in there]

    def before(self, number: int, properties: Collection[Property]) -> set[Property]:
        """The properties that hold before an entry, as the contracts promise."""
        return Plan(self.entries[:number]).result(properties)

    def remarks(self, properties: Collection[Property]) -> list[tuple[int, Diagnostic]]:
        """What the order lacks, each with the number of its step. `properties` are those of the input."""
        on = [number for number, entry in enumerate(self.entries) if entry.is_on]
        return [(on[place], problem) for place, problem in unmet(self.steps, properties)]

    def result(self, properties: Collection[Property]) -> set[Property]:
        """The properties that hold behind the last step, as the contracts promise."""
        found = set(properties)
        for step in self.steps:
            found = step.result(found)
        return found

    def lost(self, before: Plan, properties: Collection[Property]) -> list[Property]:
        """The properties that the result of another plan has, and the result of this one lacks."""
        gone = before.result(properties) - self.result(properties)
        return sorted(gone, key=lambda item: item.name)


def _plain(step: Step) -> Step:
    """The step without a profile. The same object if it has none."""
    if "profile" not in step.options:
        return step
    return Step(step.of, {key: value for key, value in step.options.items() if key != "profile"})


# -- session ---------------------------------------------------------------------------------------------------------


_NUMBER = re.compile(r"-?[0-9]{1,9}")
Listener = Callable[[Snapshot], None]


class Session(Shown):
    """The stages of one program. Front ends read it and store no IR."""

    asides: Sequence[Aside] = ()  # what a recorded build has beside its main lineage
    outer = ""  # what these stages are a part of
    written = ""  # the pipeline that the script around the program applies
    earlier: Sequence[Stage] = ()  # stages of the build before the first one, which were not read

    def __init__(
        self,
        module: IRModule,
        pipeline: str | Sequence[str | Step] = "default",
        filename: str = "",
        cache: Path | None = None,
        profile: str = "spec",
    ) -> None:
        """With the profile `tvm`, rules that only the specification has are not reported."""
        expect(module, IRModule, "a session takes a module", "`open_session` opens files and folders")
        self.filename = filename
        self.cache = cache
        tvm = profile == "tvm"
        result = checked(module, profile)
        problems = tuple(  # programs that TVM accepts run here too
            [
                lenient(item)
                for item in judged(result.problems, "spec", allow_unknown_ops=True)
                if not (tvm and item.spec_only)
            ]
        )
        self.stages: list[Snapshot] = [Snapshot(0, "input", result.module, True, problems)]
        self.pipeline: list[Step] = steps(pipeline)
        properties = holding(result.module, None if tvm else result.well_formed)
        self.properties: list[set[Property]] = [properties]  # the properties of each stage
        ran = recorded(result.module) or ()
        self.notes: list[Diagnostic] = explain(self.pipeline, properties, ran)
        self.listeners: list[Listener] = []
        self._diffs: dict[tuple[int, int], ModuleDiff] = {}
        self._distinct: tuple[Snapshot | None, tuple[Distinct, ...]] | None = (
            None  # the problems up to a stage
        )
        self._outcomes = run(result.module, self.pipeline, properties)

    @classmethod
    def open(
        cls, path: str | Path, pipeline: str | Sequence[str | Step] = "default", cache: Path | None = None
    ) -> Session:
        """Open a file and run the whole pipeline. Raises Failure if the file has no valid program."""
        session = cls(load(path), pipeline, str(path), cache)
        session.run_all()
        return session

    @property
    def total(self) -> int:
        """The number of the last stage, which may not have run yet."""
        return len(self.pipeline)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.filename}: {len(self.stages)} stages>"

    # -- stages ---------------------------------------------------------------------------------------------------

    def advance(self) -> Snapshot | None:
        """Run the next pass; None after the last one. A failing pass adds a stage with its problems."""
        outcome = next(self._outcomes, None)
        if outcome is None:
            self._forget_facts({})
            return None
        problems = reproduced(outcome.problems, self.pipeline[: len(self.stages)], self.filename)
        snapshot = Snapshot(
            len(self.stages),
            outcome.step.label,
            outcome.module,
            outcome.changed,
            problems,
            outcome.record,
            outcome.seconds,
        )
        self.properties.append(outcome.holding(self.properties[-1]))
        self._forget_facts(snapshot.module.functions)
        self.stages.append(snapshot)
        for listener in self.listeners:
            listener(snapshot)
        return snapshot

    def _forget_facts(self, remaining: Mapping[str, object]) -> None:
        """Drop what passes derived about the functions of the last stage that are not among `remaining`. Views derive it again."""
        for name, fn in self.stages[-1].module.relax_functions.items():
            if remaining.get(name) is not fn:
                forget(fn)

    def with_pipeline(self, pipeline: str | Sequence[str | Step]) -> Session:
        """A session on the same program with another pipeline. It takes over the stages before the first step that differs."""
        other = copy(self)
        other.pipeline = steps(pipeline)
        unchanged = 0
        for old, new in zip(self.pipeline[: len(self.stages) - 1], other.pipeline, strict=False):
            if old != new:
                break
            unchanged += 1
        other.stages, other.properties = self.stages[: unchanged + 1], self.properties[: unchanged + 1]
        other.notes = explain(other.pipeline, other.properties[0], recorded(self.stages[0].module) or ())
        other.listeners = []
        other._diffs = {
            places: diff for places, diff in list(self._diffs.items()) if max(places) <= unchanged
        }
        other._outcomes = run(other.stages[-1].module, other.pipeline[unchanged:], other.properties[-1])
        return other

    def with_text(self, stage: int, text: str) -> Session:
        """A session in which an edited text replaces the module of a stage. Only the passes behind it run again.

        A stage that was edited before is edited anew. Raises Failure if the text can't be read.
        """
        from relax_explorer.core.passes.replace_module import problem_of

        problem = problem_of(text, self.stages[stage].module)
        if problem is not None:
            raise Failure(problem)
        return self.with_pipeline(Plan.of(self.pipeline).with_edit(stage - 1, text).steps)

    def run_all(self) -> None:
        """Run the rest of the pipeline."""
        while self.advance() is not None:
            continue

    def stage(self, which: int | str) -> Snapshot:
        """The stage at this place (from the end if negative), or by its label or its pass as text. Raises KeyError."""
        if isinstance(which, int) or _NUMBER.fullmatch(which):
            number = int(which)
            if -len(self.stages) <= number < 0 or (isinstance(which, int) and 0 <= number < len(self.stages)):
                return self.stages[number]
            labelled = [snapshot for snapshot in self.stages if snapshot.label == number]
        else:
            labelled = [snapshot for snapshot in self.stages if snapshot.made_by == which]
        if not labelled or isinstance(which, int):
            raise KeyError(f"no stage {which!r}; there are {_numbers([item.label for item in self.stages])}")
        return labelled[-1]

    def changing(self) -> Iterator[Snapshot]:
        """The stages that changed the module, the input included."""
        return (snapshot for snapshot in self.stages if snapshot.changed)

    @property
    def problems(self) -> list[tuple[Snapshot, Diagnostic]]:
        """Every problem with its stage."""
        return [(snapshot, problem) for snapshot in self.stages for problem in snapshot.located]

    @property
    def distinct_problems(self) -> tuple[Distinct, ...]:
        """Every problem once, at the first stage that has it, with the later ones."""
        last = self.stages[-1] if self.stages else None
        if self._distinct is None or self._distinct[0] is not last:
            self._distinct = last, distinct(self.problems)
        return self._distinct[1]

    # -- questions ------------------------------------------------------------------------------------------------

    def between(self, a: Snapshot, b: Snapshot) -> ModuleDiff:
        """The diff of two stages, also of those beside the main lineage."""
        if all(0 <= item.number < len(self.stages) and self.stages[item.number] is item for item in (a, b)):
            return self.diff(a.number, b.number)
        return with_groups(diff_modules(a.module, b.module), a.module, b.module)

    def diff(self, a: int, b: int) -> ModuleDiff:
        """The diff of two stages."""
        hit = self._diffs.get((a, b))
        if hit is None:
            old, new = self.stages[a], self.stages[b]
            record = new.record if b == a + 1 else None
            hit = with_groups(diff_modules(old.module, new.module), old.module, new.module, record)
            self._diffs[a, b] = hit
        return hit

    def who(self, name: str, function: str = "", stage: int = -1) -> list[Trace]:
        """The history of variable `name`, stage by stage. Raises KeyError if neither `stage` nor an earlier one has it.

        Without `function`, a public function of any stage comes before a private one: passes outline bindings with their names.
        """
        stages = self.stages[: stage + 1 or None]
        asked = (
            [(snapshot, function) for snapshot in stages]
            if function
            else [
                (snapshot, candidate)
                for is_private in (True, False)  # the last is tried first
                for snapshot in stages
                for candidate, fn in reversed([*snapshot.module.relax_functions.items()])
                if fn.is_private is is_private
            ]
        )
        for snapshot, candidate in reversed(asked):
            found = snapshot.binding(candidate, name)
            if found is not None:
                return history(self.stages, snapshot.number, candidate, found)
        raise KeyError(f"no stage has a variable {name!r}")

    def kernels_alone(self) -> Sequence[Snapshot]:
        """The stages of the host build, which goes on with the kernels of a recorded build alone."""
        return ()

    def compiled(self) -> Compiled | None:
        """The executable of a recorded build behind its last stage, if its file was found. Raises ParseError."""
        return None

    def find(self, text: str, stage: int) -> list[int]:
        """Numbers of the lines of a stage's text that contain `text`."""
        return [n for n, line in enumerate(self.stages[stage].printed.lines) if text in line.text]

    # -- runs -----------------------------------------------------------------------------------------------------

    def debug(
        self, function: str, args: Sequence[Any], stage: int = 0, budget: int | None = None
    ) -> Debugger:
        """A debugger at the start of a call of `function`, public or private, in a stage. Raises Failure if the inputs don't fit."""
        from relax_explorer.core.exec.debugger import Debugger

        return Debugger(self.stages[stage].module, function, args, self.cache, private=True, budget=budget)


def _numbers(labels: list[int]) -> str:
    """`0 to 6`, or all numbers if some are skipped."""
    if labels == list(range(len(labels))):
        return f"0 to {len(labels) - 1}"
    return ", ".join(map(str, labels[:40])) + (" …" if len(labels) > 40 else "")
