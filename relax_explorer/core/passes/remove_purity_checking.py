"""RemovePurityChecking: stop the purity checks of functions that lowering will make impure."""

from __future__ import annotations

from relax_explorer.core.check.purity import stated
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.passes.cleaning import forget_lengths
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.phases.module_properties import (
    NO_DATAFLOW,
    NORMAL_FORM,
    PURE_DATAFLOW,
    PURITY_ERASED,
)


@function_pass(
    "RemovePurityChecking",
    rebuilds=True,
    requires=[NORMAL_FORM, NO_DATAFLOW],
    establishes=[PURITY_ERASED],
    invalidates=[PURE_DATAFLOW],  # if it runs on dataflow blocks nevertheless
)
def remove_purity_checking(fn: e.Function, at: PassSite) -> e.Function:
    """Mark pure functions `relax.force_pure`, nested ones included, and turn pure calls into ordinary ones.

    Later passes write into memory, which the checker of purity would refuse. `call_pure_packed` and `call_inplace_packed`
    become calls of the packed function, `invoke_pure_closure` becomes `invoke_closure`. A function that does not declare its purity
    is as pure as its body; the profile `tvm` marks it in any case.
    """
    forced = _forced(rewrite(fn, at, _rule), at)
    return forget_lengths(forced, at, is_plain=True) if at.as_tvm else forced


def _forced(fn: e.Function, at: PassSite) -> e.Function:
    info = fn.struct_info
    if not isinstance(info, s.FuncStructInfo) or fn.attrs.get("relax.force_pure"):
        return fn
    attrs = fn.attrs.having(**{"relax.force_pure": True})
    if info.pure:
        return replace(fn, attrs=attrs)
    if at.as_tvm and stated(fn) is None:
        return replace(fn, attrs=attrs, struct_info=None)
    return fn


def _rule(walk: Rewriter, binding: e.Binding) -> Answer:
    value = binding.value
    if type(value) is e.Function:
        return replace(binding, value=_forced(value, walk.at))
    if type(value) is not e.Call or type(value.op) is not e.OpRef:
        return binding
    return replace(binding, value=_plain(value, value.op.name))


def _plain(call: e.Call, name: str) -> e.Call:
    """A call of operator `name` without the promise of purity."""
    if name in ("relax.call_pure_packed", "relax.call_inplace_packed"):
        return e.Call(
            call.args[0],
            call.args[1:],
            struct_info=call.struct_info,
            sinfo_args=call.sinfo_args,
            span=call.span,
        )
    if name == "relax.invoke_pure_closure":
        return replace(call, op=e.op_ref("relax.invoke_closure"))
    return call
