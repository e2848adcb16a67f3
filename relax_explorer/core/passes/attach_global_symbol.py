"""AttachGlobalSymbol: give every function a symbol of its own."""

from __future__ import annotations

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.node import replace
from relax_explorer.core.passes.contract import PassSite, module_pass
from relax_explorer.core.passes.properties import NORMAL_FORM, SYMBOLS_ATTACHED
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir.stmt import PrimFunc


@module_pass("AttachGlobalSymbol", requires=[NORMAL_FORM], establishes=[SYMBOLS_ATTACHED])
def attach_global_symbol(module: IRModule, at: PassSite) -> IRModule:
    """Set `global_symbol` of every Relax function and PrimFunc that lacks it to its name, so that the build can link it."""
    for name, fn in module.functions.items():
        if isinstance(fn, (e.Function, PrimFunc)) and "global_symbol" not in fn.attrs:
            at.editor.replace(name, replace(fn, attrs=fn.attrs.having(global_symbol=name)))
    return at.editor.done()
