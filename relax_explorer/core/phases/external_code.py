"""Functions for external code generators: those of one pattern are composite, those of one generator have the attribute `Codegen`."""

from __future__ import annotations

from relax_explorer.core.check.call_graph import mentioned
from relax_explorer.core.ir import expr as e
from relax_explorer.core.program.module import IRModule


def codegen_of(fn: object) -> str:
    """The code generator of a composite function: the part of its name in front of the first point. Empty for other functions."""
    composite = fn.attrs.get("Composite") if type(fn) is e.Function else None
    return composite.partition(".")[0] if isinstance(composite, str) else ""


def unmarked(module: IRModule) -> tuple[e.Function, str] | None:
    """The first function of the module that is composite and called: nothing around it names its code generator."""
    composites = [name for name, fn in module.relax_functions.items() if codegen_of(fn)]
    if not composites:
        return None
    called = {name for fn in module.relax_functions.values() for name in mentioned(fn)}
    for name in composites:
        if name in called:
            return module.relax_functions[name], f"no function with the attribute Codegen contains {name}"
    return None
