"""RunCodegen: call the packed functions that external code generators provide."""

from __future__ import annotations

from collections import Counter

from relax_explorer.core.check.infer import EXTERN
from relax_explorer.core.codes import passes as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import exprs
from relax_explorer.core.passes.contract import PassSite, module_pass
from relax_explorer.core.passes.eliminate import drop_dead
from relax_explorer.core.passes.rewrite import at_calls, rewrite
from relax_explorer.core.phases.module_properties import (
    ALLOCATION_LOWERED,
    BYOC_MARKED,
    EXPLICIT_ALLOCATION,
    NORMAL_FORM,
    PURE_DATAFLOW,
)
from relax_explorer.core.program.module import IRModule


@module_pass(
    "RunCodegen",
    has_profiles=True,
    requires=[NORMAL_FORM, BYOC_MARKED],
    invalidates=[PURE_DATAFLOW, EXPLICIT_ALLOCATION, ALLOCATION_LOWERED],
)
def run_codegen(module: IRModule, at: PassSite) -> IRModule:
    """Replace each call of a function with the attribute `Codegen` by a call of the packed function with its symbol.

    The function itself goes: a library provides it at run time, under the same name. `run --packed FILE.py` registers one.
    TVM calls it in dataflow blocks, too, where the specification (RX0112) expects pure functions: a warning (RX0415) tells of it.
    A function stays, with a warning (RX0417), if a result has no known shape or the function itself is a value: nothing could call
    the packed one. As in TVM, DeadCodeElimination follows, and a public function stays that nothing calls.
    FuseOpsByPattern with `annotate_codegen`, or MergeCompositeFunctions, makes such functions.
    """
    external = {
        name: e.ExternFunc(str(module[name].attrs.get("global_symbol", name)), EXTERN)
        for name in _replaceable(module, at)
    }

    for name, fn in module.relax_functions.items():
        if name in external:
            at.editor.remove(name)
        else:
            at.editor.replace(name, rewrite(fn, at, at_calls(external, _packed)))
    _say_effect(at)
    return drop_dead(at)


def _replaceable(module: IRModule, at: PassSite) -> list[str]:
    """The names of called functions for code generators that packed ones can stand for. A warning tells of each of the others."""
    marked = {name for name, fn in module.relax_functions.items() if fn.attrs.get("Codegen")}
    called, values, unshaped = Counter[str](), Counter[str](), dict[str, e.Call]()
    for fn in module.relax_functions.values() if marked else ():
        for part in exprs(fn):
            if type(part) is e.GlobalVar and part.name in marked:
                values[part.name] += 1
            elif type(part) is e.Call and type(part.op) is e.GlobalVar and part.op.name in marked:
                called[part.op.name] += 1
                if not _is_allocatable(part.struct_info):
                    unshaped.setdefault(part.op.name, part)
    for name in values:
        if name in unshaped:
            call = unshaped[name]
            text = f"{name} stays: its result is {call.struct_info}, for which no memory can be allocated"
            at.report.say(codes.STAYS, text, call, help=_STATE_SHAPE)
        elif values[name] > called[name]:
            text = f"{name} stays: the function itself is used as a value, which a packed function can't be"
            at.report.say(codes.STAYS, text, module[name], help=_CALL_DIRECTLY)
    return [name for name in called if name not in unshaped and values[name] == called[name]]


_STATE_SHAPE = "State the shape with a match_cast before FuseOpsByPattern."
_CALL_DIRECTLY = "Call the function by its name; CanonicalizeBindings replaces copies of it."


def _is_allocatable(info: s.StructInfo | None) -> bool:
    """True for tensors of known shape and dtype, and for a tuple of such tensors."""
    fields = info.fields if isinstance(info, s.TupleStructInfo) else (info,)
    return all(
        isinstance(field, s.TensorStructInfo) and field.dims is not None and field.dtype is not None
        for field in fields
    )


def _say_effect(at: PassSite) -> None:
    """Warn if the language forbids one of the calls where it is."""
    found = PURE_DATAFLOW.violation(at.editor.done())
    if found is not None and PURE_DATAFLOW.holds(at.module):
        text = "a packed function stands where side effects are forbidden"
        at.report.say(codes.EXTERNAL_EFFECT, text, found[0], help=codes.EXTERNAL_EFFECT.fix, spec_only=True)


def _packed(function: e.ExternFunc, call: e.Call) -> e.Call:
    info = call.struct_info or s.OBJECT
    op, args = e.op_ref("relax.call_dps_packed"), e.tuple_of(call.args)
    return e.Call(op, (function, args), sinfo_args=(info,), struct_info=info, span=call.span)
