"""RemovePurityChecking: stop the purity checks of functions that lowering will make impure."""

from __future__ import annotations

from collections.abc import Callable

from relax_explorer.core.check.purity import stated
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.passes.cleaning import forget_lengths
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.rewrite import Answer, Rewriter, at_calls, rewrite
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
    return _ordinary(walk, binding)


def _called_directly(call: e.Call) -> e.Call:
    """The call of a packed function without the operator that promises its purity."""
    info = call.struct_info
    return e.Call(call.args[0], call.args[1:], struct_info=info, sinfo_args=call.sinfo_args, span=call.span)


_PLAIN: dict[str, Callable[[e.Call], e.Call]] = {
    "relax.call_pure_packed": _called_directly,
    "relax.call_inplace_packed": _called_directly,
    "relax.invoke_pure_closure": lambda call: replace(call, op=e.op_ref("relax.invoke_closure")),
}
"""The calls without the promise of purity, by operators that give it."""
_ordinary = at_calls(_PLAIN, lambda plain, call: plain(call))
