"""How the time of passes, pipelines and texts grows: at n, 2n and 4n bindings, with the exponents between them.

A time that grows with the program has the exponent 1; times are those of the processor. Only what seems to grow faster is measured again, and its
least times count. Python's garbage collector rests meanwhile, as in a process of our own: a full collection falls on whatever runs just then, and
looks like growth there. Its own time is a row.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import relax_explorer as rxe
from relax_explorer.core.passes import pipeline
from relax_explorer.core.phases.module_properties import holding
from tests.perf.generate import branches, dataflow_blocks, transformer

MOST = 1.1  # the largest exponent that is accepted
SHORT = 0.02  # seconds at the largest size; below them, what fits into the caches of the processor decides
PIPELINE = "zero,default_build"
BESIDE = (
    "Normalize",
    "DeadCodeElimination",
    "CanonicalizeBindings",
    "EliminateCommonSubexpr",
    "TopologicalSort",
)
SHAPES: dict[str, Callable[[int], str]] = {
    "transformer": transformer,
    "blocks": lambda count: dataflow_blocks(count // 2),
    "branches": lambda count: branches(count // 3),
}
T = TypeVar("T")
Row = tuple[str, list[float], list[float]]
"""The name of a piece of work, its times, and the exponents between them."""


@dataclass
class Growth:
    """The least times of each piece of work, by its name and the size of the program."""

    times: dict[str, dict[int, float]] = field(default_factory=dict)

    def time(self, name: str, size: int, work: Callable[[], T]) -> T:
        """Do a piece of work, and note its time."""
        started = time.process_time()
        result = work()
        spent = time.process_time() - started
        known = self.times.setdefault(name, {})
        known[size] = min(known.get(size, math.inf), spent)
        return result

    def rows(self) -> Iterator[Row]:
        """Each name with its times, and the exponents between them."""
        for name, known in self.times.items():
            seconds = [known[size] for size in sorted(known)]
            sizes = sorted(known)
            pairs = zip(
                zip(sizes, seconds, strict=True), zip(sizes[1:], seconds[1:], strict=True), strict=False
            )
            yield name, seconds, [math.log(b / a) / math.log(n / m) for (m, a), (n, b) in pairs]


def measure(growth: Growth, shape: str, size: int) -> None:
    """Measure texts, checks, the passes of the pipelines with and without the checks after each, and other passes at one size."""
    text = SHAPES[shape](size)
    read = growth.time(f"{shape}: parse", size, lambda: rxe.parse(text))
    module = growth.time(f"{shape}: normalize", size, lambda: rxe.normalize(read))
    growth.time(f"{shape}: print", size, module.script)
    growth.time(f"{shape}: check", size, lambda: rxe.check(module))
    growth.time(f"{shape}: collection", size, gc.collect)
    for verify in (False, True):
        outcomes = pipeline.run(module, pipeline.steps(PIPELINE), holding(module), verify)
        kind = "checked " if verify else ""
        for number, step in enumerate(pipeline.steps(PIPELINE)):
            growth.time(f"{shape}: {kind}{number:2} {step}", size, lambda: next(outcomes))  # noqa: B023  # it is called at once
    for name in BESIDE:
        growth.time(f"{shape}: {name}", size, lambda: rxe.apply_pass(module, name))  # noqa: B023  # it is called at once
    flat = rxe.apply_pass(module, "ToNonDataflow")
    growth.time(f"{shape}: ConvertToDataflow", size, lambda: rxe.apply_pass(flat, "ConvertToDataflow"))


def main(largest: int = 40_000, rounds: int = 3) -> int:
    """Print a row for each piece of work, program by program; 1 if one grows faster than accepted."""
    print(f"{'work':<48} {'milliseconds':>29}   exponents, and that of the whole")
    found = [_shown(row) for shape in SHAPES for row in _measured(shape, largest, rounds)]
    return int(any(found))


def _measured(shape: str, largest: int, rounds: int) -> Iterator[Row]:
    growth = Growth()
    for _ in range(rounds):
        for size in (largest // 4, largest // 2, largest):
            with at_rest():
                measure(growth, shape, size)
        if not any(map(_is_above, growth.rows())):
            break
    return growth.rows()


@contextmanager
def at_rest() -> Iterator[None]:
    """The garbage collector at rest, behind a full collection."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def _is_above(row: Row) -> bool:
    """True for work that grows faster than accepted."""
    _, seconds, exponents = row
    return sum(exponents) / len(exponents) > MOST and seconds[-1] >= SHORT


def _shown(row: Row) -> bool:
    """Print a row; True if it grows faster than accepted."""
    name, seconds, exponents = row
    whole, is_above = sum(exponents) / len(exponents), _is_above(row)
    times = " ".join(f"{1000 * item:9.1f}" for item in seconds)
    shown = " ".join(f"{item:5.2f}" for item in [*exponents, whole])
    print(f"{name:<48} {times}   {shown}{f'  above {MOST}' if is_above else ''}", flush=True)
    return is_above
