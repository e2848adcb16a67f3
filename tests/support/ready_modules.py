"""Modules made ready for a pass: the passes that establish its needs run first."""

from __future__ import annotations

import relax_explorer as rxe
from relax_explorer.core import passes

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


def after(module: rxe.IRModule, name: str) -> rxe.IRModule:
    """The module after pass `name`, and before it after those that establish its needs. It keeps what its contract does not name."""
    return rxe.run_pipeline(ready(module, name), name)
