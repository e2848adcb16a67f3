"""The compiled runs of a recording beside ours: each is made here with what it got there, and compared value by value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from relax_explorer import recorder
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.one_run import BindingTime, BindingTimes, copied
from relax_explorer.core.exec.values import Value, bytes_of
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.compare import Verdict, beside, random_rounding
from relax_explorer.core.session.compiled_values import CompiledRun, compiled_runs
from relax_explorer.core.session.containers import Container, open_container
from relax_explorer.core.session.difference import Tolerance
from relax_explorer.core.session.folders import address, is_container
from relax_explorer.core.session.judging import Judge, ran_of
from relax_explorer.core.session.recording import Arguments, Recording
from relax_explorer.core.session.samples import SampleRun
from relax_explorer.core.session.shadows import Shadows

MOST_RUNS = 50
"""Runs of the compiled program that are looked at."""
MACHINE = "the virtual machine"


def with_values(text: str) -> Container | None:
    """The recording at `PATH` or `PATH@STAGE`, if it has calls of the virtual machine. Raises ParseError."""
    path = address(text)[0]
    if not is_container(path):
        return None
    container = open_container(path)
    return container if any(told.lines[recorder.CALL] for told in container.told) else None


@dataclass(frozen=True, slots=True)
class BesideOurs:
    """A compiled run, the first being 1, with ours on the same arguments. Both are None if no call tells an argument of it."""

    number: int
    run: CompiledRun
    here: Recording | None
    verdict: Verdict | None

    @property
    def label(self) -> str:
        """`run 2, main, 12 calls, 1.5 ms there`."""
        return f"run {self.number}, {self.run.name}, {self.run.calls} calls, {self.run.seconds * 1000:.1f} ms there"

    @property
    def has_pairs(self) -> bool:
        """True if a value was compared."""
        return self.verdict is not None and bool(
            self.verdict.results or self.verdict.pairs or not self.verdict.equal
        )


@dataclass(eq=False)
class CompiledRuns:
    """The runs in a recording, by the bindings of the last Relax stage. A cache that a run takes is what an earlier one has returned here."""

    runs: Sequence[CompiledRun]
    last: IRModule
    cache: Path | None = None
    _returned: list[Value] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """The functions that were run."""
        return list(dict.fromkeys([run.name for run in self.runs]))

    def beside(
        self, number: int, stage: IRModule, tolerance: Tolerance, interrupt: Interrupt | None = None
    ) -> BesideOurs:
        """The run with a number, made in a stage. Of another stage than the last, the results count alone. Runs are asked for in order."""
        run = self.runs[number - 1]
        if number == 1:
            self._returned.clear()
        given, here, is_played = self._made(run, stage, interrupt)
        if given is None or here is None:
            return BesideOurs(number, run, None, None)
        if not is_played:
            self._returned.append(here.returned)
        is_last = stage is self.last
        values = {name: value for name, value in run.values.items() if is_last or name.startswith("out")}
        judge = Judge(self.cache, interrupt, Shadows(self.cache, interrupt))
        ran = ran_of(given, stage, here)
        verdict = beside(here, values, tolerance, lambda found: random_rounding(judge, ran, values, found))
        found = BesideOurs(number, run, here, verdict)
        label = f"{found.label}, with what calls of its objects gave there" if is_played else found.label
        return replace(found, verdict=replace(verdict, sample=label))

    def _made(
        self, run: CompiledRun, stage: IRModule, interrupt: Interrupt | None
    ) -> tuple[SampleRun | None, Recording | None, bool]:
        """The run here, and whether calls of objects were played back: nobody may have told what was done to a cache before it."""
        given = here = None
        arguments = run.completed(self._returned)
        if arguments is not None:
            given = SampleRun(
                run.name, Arguments(copied(arguments))
            )  # what the run changes stays for the next one
            here = SampleRun(run.name, Arguments(arguments)).recorded(stage, self.cache, interrupt)
        played = run.played() if here is None or here.failure is not None else None
        if played is None:
            return given, here, False
        other = SampleRun(run.name, Arguments(played))
        again = SampleRun(run.name, Arguments(copied(played))).recorded(stage, self.cache, interrupt)
        return (
            (given, here, False) if here is not None and again.failure is not None else (other, again, True)
        )

    def chosen(
        self, number: int | None, tolerance: Tolerance, interrupt: Interrupt | None = None, function: str = ""
    ) -> BesideOurs | None:
        """The run with a number, else the first that differs, else the first, of a function or of all. None if it can't be made here."""
        best: BesideOurs | None = None
        for at in range(1, min(number or len(self.runs), len(self.runs)) + 1):
            found = self.beside(at, self.last, tolerance, interrupt)
            if at == number:
                return found
            is_asked = number is None and found.has_pairs and function in ("", found.run.name)
            if is_asked and found.verdict is not None and not found.verdict.equal:
                return found
            best = found if is_asked and best is None else best
        return best

    def times(self, function: str) -> BindingTimes:
        """What the calls of the bindings of a function took there, in all of its runs, and the bytes of their values."""
        times = BindingTimes()
        for run in self.runs:
            for binding, seconds in run.times.items() if run.name == function else ():
                row = times.rows.setdefault(binding, BindingTime(function, binding, MACHINE))
                row.runs += 1
                row.seconds += seconds
                row.inclusive += seconds
                row.size += bytes_of(run.values.get(binding.var.name))
        return times


def runs_in(container: Container, last: IRModule, cache: Path | None = None) -> CompiledRuns:
    """The first runs of the compiled program in a recording. Raises ParseError."""
    return CompiledRuns(list(compiled_runs(container, last))[:MOST_RUNS], last, cache)


def seconds_of(runs: Sequence[CompiledRun], function: str, name: str) -> list[float]:
    """What the calls that made the value of a variable took in each run that has it: its own, and the one that filled its memory."""
    found = []
    for run in runs:
        if run.name == function:
            fillers = {place for var, place in run.fillers.items() if var.name == name}
            own = [took for place, took in run.times.items() if place.var.name == name or place in fillers]
            found += [sum(own)] if own else []
    return found


def first_of(
    path: str, last: IRModule, cache: Path | None, interrupt: Interrupt | None = None
) -> BesideOurs | None:
    """The run of the compiled program in a recording that is looked at first, beside ours; None if there is none. Raises Failure."""
    container = with_values(path)
    if container is None:
        return None
    return runs_in(container, last, cache).chosen(None, Tolerance(), interrupt)
