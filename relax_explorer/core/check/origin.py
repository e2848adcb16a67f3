"""Where the StructInfo of a variable comes from, and how sure it is; in words, for views."""

from __future__ import annotations

from relax_explorer.core.check.conversion import Conversion, conversion
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops import find

_CLAIMED = {
    Conversion.FITS: "as annotated; derived was {derived}",
    Conversion.MAYBE: "assumed: the annotation says it, {derived} was derived",
    Conversion.NARROWS: "claimed by the annotation, {derived} was derived",
    Conversion.NEVER: "claimed by the annotation against what was derived, {derived}",
}


def origin(binding: e.Binding) -> str:
    """How the StructInfo of the variable of a normalized binding is known."""
    if isinstance(binding, e.MatchCast):
        return "checked when it runs, by this match_cast"
    value, info = binding.value, binding.var.struct_info
    derived = value.struct_info
    if binding.annotation is not None and derived is not None and info is not derived and info is not None:
        return _CLAIMED[conversion(derived, info)].format(derived=derived)
    if isinstance(value, e.Call):
        return _of_call(value)
    if isinstance(value, e.If):
        return "what both branches have in common"
    if isinstance(value, e.Function):
        return "its signature"
    if isinstance(value, e.Var):
        return f"that of {value.name}"
    if isinstance(value, e.TupleGetItem) and isinstance(value.tuple, e.Var):
        return f"a field of {value.tuple.name}"
    return "what is written"


def _field(value: e.Expr) -> bool:
    return isinstance(value, e.TupleGetItem) and isinstance(value.tuple, e.Var)


def _of_call(call: e.Call) -> str:
    op = call.op
    if isinstance(op, e.OpRef):
        declared = find(op.name)
        if declared is None:
            return f"nothing is known of {op.name}"
        if declared.takes_sinfo:
            return "as this call says; a kernel or packed function is not asked"
        return f"derived by the rule of {op.name}"
    if isinstance(op, e.ExternFunc):
        return "as this call says; the packed function is not asked" if call.sinfo_args else "nothing is said"
    name = getattr(op, "name", "the function")
    known = isinstance(op.struct_info, s.FuncStructInfo) and op.struct_info.params is not None
    return f"from the signature of {name}" if known else f"what is known of {name}"
