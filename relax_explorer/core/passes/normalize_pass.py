"""Normalize: the normalizer as a pass."""

from __future__ import annotations

from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.passes.contract import PassSite, module_pass
from relax_explorer.core.passes.properties import NORMAL_FORM
from relax_explorer.core.program.module import IRModule


@module_pass("Normalize", establishes=[NORMAL_FORM])
def normalize_pass(module: IRModule, at: PassSite) -> IRModule:
    """Bring every function into normal form and derive the StructInfo of every variable.

    Sub-expressions are bound to new variables, depth first and left to right. A module in normal form stays the same
    object.
    """
    new, report = normalize_with(module)
    at.report.extend(report)
    return new
