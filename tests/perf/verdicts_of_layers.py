"""Benchmarks of verdicts on deep models: the bisect of a right build, beside one run of each different stage."""

from __future__ import annotations

from functools import cache, partial

import relax_explorer
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.bisect import SameOutput, bisect
from relax_explorer.core.session.builds import Build
from relax_explorer.core.session.recorded import built
from relax_explorer.core.session.recording import finished
from relax_explorer.core.session.samples import Sample, sample_run
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.validate import runs_the_same
from tests.perf.benchmark import Benchmark, Work
from tests.support.deep_models import decoder

_SAMPLES = [Sample((("s", 5),), seed) for seed in range(3)]


@cache
def _build(layers: int) -> Build:
    session = Session(relax_explorer.parse(decoder(layers)), "zero,default_build")
    session.run_all()
    return built(session)


def _bisect(layers: int) -> tuple[str, Work]:
    """Find that every stage is right."""
    build = _build(layers)

    def work() -> None:
        found = bisect(build, SameOutput(build.stages[0], "main", _SAMPLES))
        assert found.failed is None

    return "", work


def _runs(layers: int) -> Work:
    """Run each different stage once on each sample."""
    build, modules = _build(layers), list[IRModule]()
    for stage in build.changing():
        if not any(runs_the_same(stage.module, other, "main") for other in modules):
            modules.append(stage.module)

    def work() -> None:
        for sample in _SAMPLES:
            values = sample_run(build.stages[0], "main", sample).values
            for module in modules:
                finished(module, "main", values)

    return work


VERDICTS = [
    Benchmark(
        f"bisect-{layers}-layers", partial(_bisect, layers), repeat=3, hand=partial(_runs, layers), most=4
    )
    for layers in (32, 64)
]
