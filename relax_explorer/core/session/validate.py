"""Runs every stage of a build against the first one, on several samples.

Inputs, the run of the first stage and its shadow are made once for a sample. Stages that run equal programs are run once, and
results with the same bits are judged once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path

from relax_explorer.core.check.normalize import normal_form_of
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.values import Value, bytes_of
from relax_explorer.core.exec.widening import by_packed_name, called
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.program.equal import runs_equally, structural_equal
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.builds import Build
from relax_explorer.core.session.call_program import CallProgram
from relax_explorer.core.session.compare import Told, Trial, mapped, untold
from relax_explorer.core.session.difference import BY_DTYPE, Delta, Tolerance, leaves_of
from relax_explorer.core.session.equal_terms import on_equal_terms
from relax_explorer.core.session.former_parameters import completed
from relax_explorer.core.session.judging import Judge, Ran, Weighed, ran_of, weigh
from relax_explorer.core.session.recorded import as_build
from relax_explorer.core.session.recording import Recording, is_same
from relax_explorer.core.session.samples import Sample, SampleRun, sample_run, samples_of
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.shadows import Shadows
from relax_explorer.core.session.stages import Stage
from relax_explorer.core.session.verdict import Judgement
from relax_explorer.core.shown import Readable

# -- against first ---------------------------------------------------------------------------------------------------
# Later stages of a build against the first one, on one sample after another.
#
# Inputs, the run of the first stage and its shadow are made once for a sample. Stages that run equal programs are run
# once, and results with the same bits are judged once.


_KEPT = 1 << 30
"""The bytes of inputs that stay in memory for the next stage."""


@dataclass(frozen=True, slots=True, eq=False)
class _Program:
    """A program that runs: a module with it, and its number. If a run of program `twin` ends, this one gives the same."""

    module: IRModule
    number: int
    twin: int | None


class _Programs:
    """The programs among modules. Modules whose functions that may run are equal have one."""

    def __init__(self, entries: tuple[str, ...]) -> None:
        self._entries = entries
        self._different: list[_Program] = []
        self._known: PerNode[_Program] = PerNode()

    def of(self, module: IRModule) -> _Program:
        """The program of a module."""
        return self._known.of(module, self._find)

    def _find(self, module: IRModule) -> _Program:
        twin = None
        for other in self._different:
            if all(runs_the_same(module, other.module, name) for name in self._entries):
                return other
            if twin is None and all(
                runs_the_same(other.module, module, name, runs_equally) for name in self._entries
            ):
                twin = other.number
        self._different.append(_Program(module, len(self._different), twin))
        return self._different[-1]


@dataclass(slots=True, eq=False)
class _OfSample:
    """What is known on one sample: the run of the first stage, the runs of programs by number, and their judgements."""

    inputs: SampleRun
    first: Ran
    judge: Judge
    programs: _Programs
    runs: dict[int, Recording] = field(default_factory=dict)
    weighed: list[tuple[Recording, Weighed]] = field(default_factory=list)


class AgainstFirst:
    """Runs stages, and weighs their results against those of the first stage."""

    def __init__(
        self,
        first: Stage,
        function: str,
        tolerance: Tolerance,
        cache: Path | None,
        interrupt: Interrupt | None,
    ) -> None:
        self.first, self.function, self.tolerance = first, function, tolerance
        self._cache, self._interrupt = cache, interrupt
        self._shadows = Shadows(cache, interrupt)
        self._programs: dict[tuple[str, ...], _Programs] = {}  # by the functions that samples call
        self._samples: dict[Sample, _OfSample] = {}

    def weighed(self, stage: Stage, sample: Sample) -> tuple[Weighed, Recording]:
        """How the results of a stage compare with those of the first stage on a sample, and its run."""
        known = self._of(sample)
        run = self.run(stage, sample)
        for other, weighed in known.weighed:
            if _is_same_run(other, run):
                return weighed, run
        ran = ran_of(known.inputs, stage.module, run)
        weighed = weigh(known.judge, known.first, ran, self.tolerance)
        known.weighed.append((run, weighed))
        return weighed, run

    def run(self, stage: Stage, sample: Sample) -> Recording:
        """The run of a stage on a sample."""
        known = self._of(sample)
        program = known.programs.of(completed(stage.module, known.inputs.entries))
        found = known.runs.get(program.number)
        if found is None:
            found = None if program.twin is None else known.runs.get(program.twin)
            if found is None or found.failure is not None:
                found = known.inputs.finished(stage.module, self._cache, self._interrupt)
            known.runs[program.number] = found
        return found

    def program(self, sample: Sample) -> CallProgram | None:
        """The calls of a file that a sample makes."""
        return self._of(sample).inputs.program

    def first_run(self, sample: Sample) -> Recording:
        """The run of the first stage."""
        return self._of(sample).first.run

    def beside(self, given: Sequence[tuple[int, Value, Value]], sample: Sample) -> Judgement:
        """What decides about results beside recorded ones."""
        known = self._of(sample)
        return known.judge.recorded(known.first, given)

    def _of(self, sample: Sample) -> _OfSample:
        known = self._samples.get(sample)
        if known is None:
            given = sample_run(self.first, self.function, sample)
            size = bytes_of(given.values)
            if size + sum([bytes_of(tuple(item.first.values)) for item in self._samples.values()]) > _KEPT:
                self._samples.clear()
            module = self.first.module
            run = given.finished(module, self._cache, self._interrupt)
            ran = ran_of(given, module, run)
            judge = Judge(self._cache, self._interrupt, self._shadows)
            programs = self._programs.setdefault(given.called, _Programs(given.called))
            runs = {programs.of(completed(module, given.entries)).number: run}
            known = self._samples[sample] = _OfSample(given, ran, judge, programs, runs)
        return known


def runs_the_same(
    a: IRModule, b: IRModule, function: str, equal: Callable[[object, object], bool] = structural_equal
) -> bool:
    """True if all functions that a call may run are equal in two modules, and their symbols name equal PrimFuncs."""
    a, b = normal_form_of(a), normal_form_of(b)
    names = called(a, function)
    if not names or set(names) != set(called(b, function)):
        return False
    return all(
        a.functions[name] is b.functions[name] or equal(a.functions[name], b.functions[name])
        for name in names
    ) and _by_packed_name(a, names) == _by_packed_name(b, names)


def _by_packed_name(module: IRModule, names: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for fn in [module.functions[name] for name in names]:
        found |= by_packed_name(module, fn) if type(fn) is e.Function else {}
    return found


def _is_same_run(a: Recording, b: Recording) -> bool:
    """True if two runs gave the same bits."""
    if a.failure is not None or b.failure is not None or a.output != b.output:
        return False
    left, right = (tuple([*leaves_of(run.result), *run.inputs]) for run in (a, b))
    return a is b or is_same(left, right)


# -- validate --------------------------------------------------------------------------------------------------------
# Runs every stage of a build against the first one, on several samples.


@dataclass(frozen=True, slots=True)
class Cell:
    """One stage on one sample: the reason of a difference (empty if equal), the largest distance, the message of a stop.

    `unknown` tells why the stage, or the first one, can't be run here, so that nothing tells whether they are equal.

    `bounds` are the bounds that its results are compared with. `judgement` tells what decided, `worst` the distance of the result with
    the most elements out of the bound, if there are any.
    """

    sample: str
    reason: str
    max_abs: float
    stopped: str = ""
    bounds: tuple[str, ...] = ()
    judgement: Judgement | None = None
    worst: Delta | None = None
    unknown: str = ""

    @property
    def equal(self) -> bool:
        """True if nothing tells the results from those of the first stage, except for rounding."""
        return not self.reason


@dataclass(frozen=True, slots=True, repr=False)
class Row(Readable):
    """One stage on all samples."""

    number: int
    made_by: str
    cells: tuple[Cell, ...]

    @property
    def equal(self) -> bool:
        """True if no sample tells the stage from the first one."""
        return all(cell.equal for cell in self.cells)

    @property
    def unknown(self) -> str:
        """Why nothing is known about a stage without a difference; empty if its results were compared."""
        return next((cell.unknown for cell in self.cells if cell.unknown), "") if self.equal else ""


def validate(
    source: Build | Session | Sequence[Stage | IRModule],
    function: str = "",
    samples: Sequence[Sample] | None = None,
    tolerance: Tolerance = BY_DTYPE,
    *,
    cache: Path | None = None,
    executor: Executor | None = None,
    interrupt: Interrupt | None = None,
    told: Told = untold,
) -> list[Row]:
    """A row for each stage after the first that changed something. An executor runs stages and samples side by side.

    Without `samples`, those of `samples_of`. `told` hears of each stage on each sample.

    >>> rxe.validate(rxe.Session(module, "LegalizeOps"))
    [<Row 1 LegalizeOps: equal>]
    """
    stages = as_build(source).changing()
    later = stages[1:]
    name = function or stages[0].entry
    chosen = on_equal_terms(samples_of(stages[0].module, name) if samples is None else samples, stages, name)
    trials = [
        Trial(stages[0], stage, name, sample, tolerance, (), cache, False, None if executor else interrupt)
        for sample in chosen
        for stage in later
    ]
    against = AgainstFirst(stages[0], name, tolerance, cache, interrupt)
    work = _cell_of if executor is not None else lambda trial: _cell(against, trial)

    def of_stage(what: str, number: int, total: int) -> None:
        told(what, (number - 1) % len(later) + 1, len(later))

    cells = list(mapped(executor, work, trials, "stage", of_stage))
    return [Row(stage.number, stage.made_by, tuple(cells[n :: len(later)])) for n, stage in enumerate(later)]


def _cell(against: AgainstFirst, trial: Trial) -> Cell:
    """Compare the results of a stage on one sample with those of the first stage."""
    weighed, after = against.weighed(trial.b, trial.sample)
    runs = (after, against.first_run(trial.sample))
    stops = [run.failure.message for run in runs if run.failure is not None]
    most = max([apart.max_abs for _, apart in weighed.results], default=0.0)
    bounds = tuple(dict.fromkeys(apart.bound for _, apart in weighed.results if apart.bound))
    stopped = stops[0] if stops else ""
    unknown = next((run.not_here for run in runs if run.not_here), "")
    return Cell(
        str(trial.sample), weighed.reason, most, stopped, bounds, weighed.judgement, weighed.worst, unknown
    )


def _cell_of(trial: Trial) -> Cell:
    against = AgainstFirst(trial.a, trial.function, trial.tolerance, trial.cache, trial.interrupt)
    return _cell(against, trial)
