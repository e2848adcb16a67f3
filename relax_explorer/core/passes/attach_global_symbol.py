"""AttachGlobalSymbol: give every function a symbol of its own."""

from __future__ import annotations

from relax_explorer.core.check.emission import FreshNames
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.node import replace
from relax_explorer.core.passes.contract import PassSite, module_pass
from relax_explorer.core.passes.normalize_global_var import with_names
from relax_explorer.core.passes.properties import NORMAL_FORM, SYMBOLS_ATTACHED
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir.stmt import PrimFunc


@module_pass("AttachGlobalSymbol", requires=[NORMAL_FORM], establishes=[SYMBOLS_ATTACHED])
def attach_global_symbol(module: IRModule, at: PassSite) -> IRModule:
    """Set `global_symbol` of every Relax function and PrimFunc that lacks it to its name, so that the build can link it.

    The attribute `system_lib_prefix` of the module begins the name and the symbol of each PrimFunc, so that libraries which are
    linked into one program don't share symbols.
    """
    prefix = str(module.attrs.get("system_lib_prefix", ""))
    taken = FreshNames(module.functions)
    names = {name: name for name in module.functions}
    for name, fn in module.functions.items():
        if prefix and type(fn) is PrimFunc and not name.startswith(prefix):
            names[name] = taken(prefix + name)
            at.editor.replace(name, replace(fn, attrs=fn.attrs.having(global_symbol=names[name])))
        elif isinstance(fn, (e.Function, PrimFunc)) and "global_symbol" not in fn.attrs:
            at.editor.replace(name, replace(fn, attrs=fn.attrs.having(global_symbol=name)))
    return with_names(at.editor.done(), at, names) if prefix else at.editor.done()
