"""Modules made ready for a pass: the passes that establish its needs run first."""

from __future__ import annotations

import relax_explorer as rxe
from relax_explorer.core import passes
from relax_explorer.core.passes.pipeline import run, steps
from relax_explorer.core.phases import module_properties

REFUSING = {"VMShapeLower": "LowerAllocTensor"}
"""Passes that refuse some modules that no property tells apart, and those that must run before them."""


def ready(module: rxe.IRModule, name: str) -> rxe.IRModule:
    """The module after the passes that establish what pass `name` needs and the module lacks."""
    for needed in passes.get(name).needs:
        if not needed.holds(module):
            maker = next(p for p in passes.table().values() if needed in p.establishes)
            module = rxe.apply_pass(ready(module, maker.name), maker.name)
    if name in REFUSING:
        module = rxe.apply_pass(module, REFUSING[name])
    return module


Held = dict[rxe.IRModule, set[module_properties.Property]]


def after(module: rxe.IRModule, name: str, held: Held | None = None) -> rxe.IRModule:
    """The module after pass `name`, and before it after those that establish its needs. It keeps what its contract does not name.

    `held` remembers the properties of modules, which take longer to find than most passes run.
    """
    before = ready(module, name)
    if held is None:
        return rxe.run_pipeline(before, name)
    if before not in held:
        held[before] = module_properties.holding(before)
    (outcome,) = run(before, steps(name), held[before])
    outcome.raise_errors()
    return outcome.module
