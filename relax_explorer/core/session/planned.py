"""A pipeline that is being edited: its steps, some of them off. Each edit returns another plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from relax_explorer.core import passes as registry
from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.passes.pass_order import unmet
from relax_explorer.core.passes.pipeline import Step, steps
from relax_explorer.core.passes.properties import Property

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

    def with_missing(self, number: int, held: Collection[Property]) -> Plan:
        """With the passes that establish what a step requires, before it. The same plan if nothing is missing, or no pass helps."""
        plan, last = self, number
        while last - number < MOST_INSERTED:
            lacking = [(n, item) for n in range(number, last + 1) for item in plan.missing(n, held)]
            if not lacking:
                break
            place, needed = lacking[0]  # the makers inserted so far may lack something, too
            makers = [maker.name for maker in registry.table().values() if needed in maker.establishes]
            if not makers:
                break
            plan = min(
                [plan.with_text(place, name) for name in makers], key=lambda item: len(item.remarks(held))
            )
            last += 1
        return plan

    def missing(self, number: int, held: Collection[Property]) -> list[Property]:
        """What an entry requires and the steps before it do not provide."""
        there = self.before(number, held)
        return [item for item in self.entries[number].step.of.requires if item not in there]

    def before(self, number: int, held: Collection[Property]) -> set[Property]:
        """The properties that hold before an entry, as the contracts promise."""
        return Plan(self.entries[:number]).result(held)

    def remarks(self, held: Collection[Property]) -> list[tuple[int, Diagnostic]]:
        """What the order lacks, each with the number of its step. `held` are the properties of the input."""
        on = [number for number, entry in enumerate(self.entries) if entry.is_on]
        return [(on[place], problem) for place, problem in unmet(self.steps, held)]

    def result(self, held: Collection[Property]) -> set[Property]:
        """The properties that hold behind the last step, as the contracts promise."""
        found = set(held)
        for step in self.steps:
            found = (found - step.breaks()) | {*step.of.establishes}
        return found

    def lost(self, before: Plan, held: Collection[Property]) -> list[Property]:
        """The properties that the result of another plan has, and the result of this one lacks."""
        gone = before.result(held) - self.result(held)
        return sorted(gone, key=lambda item: item.name)


def _plain(step: Step) -> Step:
    """The step without a profile. The same object if it has none."""
    if "profile" not in step.options:
        return step
    return Step(step.of, {key: value for key, value in step.options.items() if key != "profile"})
