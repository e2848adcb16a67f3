"""Normalize: the normalizer as a pass."""

from __future__ import annotations

from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.ir.module import IRModule
from relax_explorer.core.passes.decl import PassSite, module_pass
from relax_explorer.core.passes.properties import NORMAL_FORM


@module_pass("Normalize", establishes=[NORMAL_FORM])
def normalize_pass(module: IRModule, at: PassSite) -> IRModule:
    """Bring every function into normal form and derive the StructInfo of every variable.

    Sub-expressions are bound to variables of their own, depth first and left to right; a module in normal form stays the
    same object.
    """
    new, report = normalize_with(module)
    at.report.extend(report)
    return new
