"""Every pass over 10,000 bindings or more: on a transformer, on what the pipelines give it, or on a program that it changes.

Times are those of the processor, in milliseconds for a thousand bindings, before or after the pass, whichever are more. As in a
pipeline, no facts are known of the module that a pass gets. TVM's pass works on the same program in a child process, up to a
limit: some of its passes are quadratic.
"""

from __future__ import annotations

import time
from functools import cache, partial

import relax_explorer
from relax_explorer.core import passes as registry
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes.pipeline import Step, run_step
from tests.perf.benchmark import ASKED, Benchmark, Seconds, Work
from tests.perf.pass_materials import STAGES, Material, material
from tests.support.copies import with_new_body
from tests.support.oracle import Answer, Oracle
from tests.support.pass_variants import PRODUCT

LIMIT = 0.025  # seconds for a thousand bindings
RATIO = 0.2  # a pass may take five times as long as TVM's
RATIOS = {"LegalizeOps": 5.0, "FoldConstant": 5.0, "DeadCodeElimination": 1.0}
READY = 600.0  # seconds that TVM may need for the passes before
NO_LIMIT = {"LegalizeOps", "FoldConstant"}  # they make kernels and run them: their goals are ratios


@cache
def _stages() -> dict[str, relax_explorer.IRModule]:
    """The module that each pass of the pipelines gets, checked after each pass as the explorer does."""
    module = _read(material("").text)
    found = {"": module}
    for name in map(str, STAGES):
        found.setdefault(name, module)
        module = run_step(Step(registry.own()[name]), module).module
    return found


@cache
def _read(text: str) -> relax_explorer.IRModule:
    return relax_explorer.normalize(relax_explorer.parse(text))


def _module(name: str, given: Material) -> relax_explorer.IRModule:
    if name in STAGES:
        return _stages()[name]
    module = _read(given.text)
    if name == "MergeCompositeFunctions":
        module = relax_explorer.apply_pass(module, "FuseOpsByPattern", patterns=(PRODUCT,))
    return module


def _count(module: relax_explorer.IRModule) -> int:
    return sum([len(list(bindings(fn))) for fn in module.relax_functions.values()])


@cache
def _thousands(name: str) -> float:
    """The thousands of bindings that a pass reads or makes."""
    given = material(name)
    module = _module(name, given)
    return max(map(_count, (module, relax_explorer.apply_pass(module, name, **given.options)))) / 1000


def _pass(name: str) -> tuple[str, Work]:
    given = material(name)
    module = _module(name, given)

    def work() -> Seconds:
        fresh = module.having({key: with_new_body(fn) for key, fn in module.functions.items()})
        started = time.process_time()
        relax_explorer.apply_pass(fresh, name, **given.options)
        return Seconds((time.process_time() - started) / _thousands(name))

    return "", work


def _theirs(name: str, oracle: Oracle) -> Answer[float]:
    given = material(name)
    options = given.options if given.theirs is None else given.theirs
    ask = partial(
        oracle.pass_time,
        given.tvm_text or given.text,
        (name, options),
        before=given.before,
        rounds=given.rounds,
    )
    ready = ask(repeat=0, seconds=READY)
    answer = ask(seconds=ASKED) if ready.ok else Answer(error=ready.error, kind="error")
    return Answer(answer.get() / _thousands(name)) if answer.ok else answer


EACH = [
    Benchmark(
        f"each-{name}",
        partial(_pass, name),
        repeat=3,
        goal=RATIOS.get(name, RATIO),
        limit=None if name in NO_LIMIT else LIMIT,
        theirs=partial(_theirs, name),
    )
    for name in sorted(registry.own())
]
