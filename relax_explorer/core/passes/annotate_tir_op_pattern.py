"""AnnotateTIROpPattern: note the pattern of each PrimFunc, which fusion reads."""

from __future__ import annotations

from relax_explorer.core.ir.node import replace
from relax_explorer.core.passes.contract import PassSite, module_pass
from relax_explorer.core.passes.op_pattern import op_pattern
from relax_explorer.core.passes.properties import NORMAL_FORM, PATTERNS_ANNOTATED
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir.stmt import PrimFunc


@module_pass("AnnotateTIROpPattern", requires=[NORMAL_FORM], establishes=[PATTERNS_ANNOTATED])
def annotate_tir_op_pattern(module: IRModule, at: PassSite) -> IRModule:
    """Set the attribute `op_pattern` of each PrimFunc that lacks it, for FuseOps.

    0 is element-wise, 1 broadcast, 2 injective, 3 a reduction, 4 a reduction or product that later element-wise kernels may join,
    and 8 opaque.
    """
    for name, fn in module.functions.items():
        if isinstance(fn, PrimFunc) and "op_pattern" not in fn.attrs:
            at.editor.replace(name, replace(fn, attrs=fn.attrs.having(op_pattern=int(op_pattern(fn)))))
    return at.editor.done()
