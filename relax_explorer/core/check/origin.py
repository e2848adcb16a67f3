"""The origin of a variable's StructInfo, in words, for views."""

from __future__ import annotations

from relax_explorer.core.check.conversion import Conversion, conversion
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops import find

_CLAIMED = {
    Conversion.FITS: "from the annotation; inferred was {derived}",
    Conversion.MAYBE: "assumed from the annotation, not proven; inferred was {derived}",
    Conversion.NARROWS: "claimed by the annotation; inferred was only {derived}",
    Conversion.NEVER: "claimed by the annotation, which contradicts the inferred {derived}",
}


def origin(binding: e.Binding) -> str:
    """The origin of the StructInfo of the variable of a normalized binding."""
    if isinstance(binding, e.MatchCast):
        return "checked at run time by this match_cast"
    value, info = binding.value, binding.var.struct_info
    derived = value.struct_info
    if binding.annotation is not None and derived is not None and info is not derived and info is not None:
        return _CLAIMED[conversion(derived, info)].format(derived=derived)
    if isinstance(value, e.Call):
        return _of_call(value)
    if isinstance(value, e.If):
        return "the common StructInfo of both branches"
    if isinstance(value, e.Function):
        return "its signature"
    if isinstance(value, e.Var):
        return f"the same as {value.name}"
    if isinstance(value, e.TupleGetItem) and isinstance(value.tuple, e.Var):
        return f"a field of {value.tuple.name}"
    return "from the expression itself"


def _field(value: e.Expr) -> bool:
    return isinstance(value, e.TupleGetItem) and isinstance(value.tuple, e.Var)


def _of_call(call: e.Call) -> str:
    op = call.op
    if isinstance(op, e.OpRef):
        declared = find(op.name)
        if declared is None:
            return f"the operator {op.name} is unknown"
        if declared.takes_sinfo:
            return "stated by this call; the kernel or packed function is not checked"
        return f"inferred by the rule of {op.name}"
    if isinstance(op, e.ExternFunc):
        return "stated by this call; the packed function is not checked" if call.sinfo_args else "not stated"
    name = getattr(op, "name", "the function")
    known = isinstance(op.struct_info, s.FuncStructInfo) and op.struct_info.params is not None
    return f"from the signature of {name}" if known else f"from the StructInfo of {name}"
