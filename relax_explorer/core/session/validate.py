"""Runs every stage of a build against the first one, on several samples."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.against_first import AgainstFirst
from relax_explorer.core.session.builds import Build, as_build
from relax_explorer.core.session.compare import Told, Trial, mapped, untold
from relax_explorer.core.session.difference import BY_DTYPE, Delta, Tolerance
from relax_explorer.core.session.judgement import Judgement
from relax_explorer.core.session.samples import Sample, samples_of
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.stages import Stage


@dataclass(frozen=True, slots=True)
class Cell:
    """One stage on one sample: the reason of a difference (empty if equal), the largest distance, the message of a stop.

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

    @property
    def equal(self) -> bool:
        """True if the results are those of the first stage, except for rounding."""
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
    return Cell(str(trial.sample), weighed.reason, most, stopped, bounds, weighed.judgement, weighed.worst)


def _cell_of(trial: Trial) -> Cell:
    against = AgainstFirst(trial.a, trial.function, trial.tolerance, trial.cache, trial.interrupt)
    return _cell(against, trial)
