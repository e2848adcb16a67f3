"""Runs every stage of a build against the first one, on several samples."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.builds import Build, as_build
from relax_explorer.core.session.compare import Told, Trial, mapped, outcome, untold
from relax_explorer.core.session.difference import BY_DTYPE, Tolerance
from relax_explorer.core.session.recording import Recording
from relax_explorer.core.session.sample_runs import sample_run
from relax_explorer.core.session.samples import Sample, samples_of
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.stages import Stage


@dataclass(frozen=True, slots=True)
class Cell:
    """One stage on one sample: the reason of a difference (empty if equal), the largest distance, the message of a stop.

    `bounds` are the bounds that its results are compared with.
    """

    sample: str
    reason: str
    max_abs: float
    stopped: str = ""
    bounds: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        """True if the results are those of the first stage."""
        return not self.reason


@dataclass(frozen=True, slots=True)
class Row:
    """One stage on all samples."""

    number: int
    made_by: str
    cells: tuple[Cell, ...]

    @property
    def equal(self) -> bool:
        """True if no sample tells the stage from the first one."""
        return all(cell.equal for cell in self.cells)


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
    """
    stages = as_build(source).changing()
    later = stages[1:]
    name = function or stages[0].entry
    chosen = samples_of(stages[0].module, name) if samples is None else samples
    trials = [
        Trial(stages[0], stage, name, sample, tolerance, (), cache, False, None if executor else interrupt)
        for sample in chosen
        for stage in later
    ]
    first = _FirstRuns()
    work = _cell_of if executor is not None else first.cell

    def of_stage(what: str, number: int, total: int) -> None:
        told(what, (number - 1) % len(later) + 1, len(later))

    cells = list(mapped(executor, work, trials, "stage", of_stage))
    return [Row(stage.number, stage.made_by, tuple(cells[n :: len(later)])) for n, stage in enumerate(later)]


class _FirstRuns:
    """Keeps the run of the first stage while one sample lasts."""

    def __init__(self) -> None:
        self._known: tuple[Sample, Recording] | None = None

    def cell(self, trial: Trial) -> Cell:
        """Compare the results of two stages on one sample."""
        given = sample_run(trial.a, trial.function, trial.sample)
        if self._known is None or self._known[0] != trial.sample:
            run = given.finished(trial.a.module, trial.cache, trial.interrupt)
            self._known = trial.sample, run
        before = self._known[1]
        after = given.finished(trial.b.module, trial.cache, trial.interrupt)
        reason, results = outcome(before, after, trial.tolerance)
        stops = [run.failure.message for run in (after, before) if run.failure is not None]
        most = max([apart.max_abs for _, apart in results], default=0.0)
        bounds = tuple(dict.fromkeys(apart.bound for _, apart in results if apart.bound))
        return Cell(str(trial.sample), reason, most, stops[0] if stops else "", bounds)


def _cell_of(trial: Trial) -> Cell:
    return _FirstRuns().cell(trial)
