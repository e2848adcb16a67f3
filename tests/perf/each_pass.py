"""Every pass over 10,000 bindings or more: on a transformer module, or on what the pipelines give it."""

from __future__ import annotations

import time
from functools import cache, partial

import relax_explorer
from relax_explorer.core import passes as registry
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes.pipeline import run_step, steps
from tests.perf.benchmark import Benchmark, Seconds, Work
from tests.perf.generate import transformer

LIMIT = 0.025  # seconds for a thousand bindings
NO_LIMIT = {"LegalizeOps", "FoldConstant"}  # they make kernels and run them: their goals are ratios


@cache
def _stages() -> dict[str, relax_explorer.IRModule]:
    """The module that each pass of the pipelines gets: `zero`, then `default_build`."""
    module = relax_explorer.normalize(relax_explorer.parse(transformer(10_000)))
    found = {"": module}
    for step in [*steps("zero"), *steps("default_build")]:
        found.setdefault(step.of.name, module)
        module = run_step(step, module, verify=False).module
    return found


def _count(module: relax_explorer.IRModule) -> int:
    return sum([len(list(bindings(fn))) for fn in module.relax_functions.values()])


def _pass(name: str) -> tuple[str, Work]:
    """The work tells its time for a thousand bindings, before or after the pass, whichever are more."""
    module = _stages().get(name, _stages()[""])
    count = max(map(_count, (module, relax_explorer.apply_pass(module, name))))

    def work() -> Seconds:
        started = time.perf_counter()
        relax_explorer.apply_pass(module, name)
        return Seconds((time.perf_counter() - started) / count * 1000)

    return "", work


EACH = [
    Benchmark(f"each-{name}", partial(_pass, name), repeat=3, limit=None if name in NO_LIMIT else LIMIT)
    for name in sorted(registry.own())
]
