"""Report direct calls of PrimFuncs. They belong in lowered programs, which allocate the buffers themselves."""

from __future__ import annotations

from collections.abc import Iterator

from relax_explorer.core.check.callee import Callees
from relax_explorer.core.check.claimed_phase import claims_lowered
from relax_explorer.core.codes import well_formedness as codes
from relax_explorer.core.diagnostics import Diagnostic, Label
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings, contents
from relax_explorer.core.ops import find
from relax_explorer.core.ops.kit.decl import Phase
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.core.tir.traverse import has_effect


def violations(module: IRModule) -> Iterator[Diagnostic]:
    """Every direct call of a PrimFunc that fills buffers, unless the module is lowered, or the function is forced to be pure."""
    prim_funcs = [(name, fn) for name, fn in module.functions.items() if type(fn) is PrimFunc]
    kernels = {name for name, fn in prim_funcs if fn.ret_type is None or has_effect(fn)}
    if not kernels:
        return
    functions = module.relax_functions.values()
    operators = {op for fn in functions for op in contents(fn).operators}
    if any(map(_is_of_lowered_programs, operators)) or claims_lowered(module):
        return
    for fn in functions:
        is_forced = bool(fn.attrs.get("relax.force_pure"))  # as CallTIRRewrite needs it
        callees = Callees()
        for binding in bindings(fn) if contents(fn).calls_functions and not is_forced else ():
            value = binding.value
            if type(value) is not e.Call:
                callees.note(binding)
            elif type(value.op) is not e.OpRef:
                callee = callees.of(value.op)
                if type(callee) is e.GlobalVar and callee.name in kernels:
                    yield _direct(callee.name, value, binding)


def _is_of_lowered_programs(op: e.Expr) -> bool:
    """True if only lowered programs call an operator."""
    declared = find(op.name) if type(op) is e.OpRef else None
    return declared is not None and declared.phase.includes(Phase.LOWERED)


def _direct(name: str, call: e.Call, binding: e.Binding) -> Diagnostic:
    place = call if call.span else binding
    help = f"use R.call_tir({name}, (…), out_sinfo=…), which allocates the result"
    text = f"the PrimFunc {name!r} is called directly"
    return Diagnostic(codes.DIRECT_KERNEL_CALL, text, (Label(place, "", True),), help=help, spec_only=True)
