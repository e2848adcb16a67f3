"""Calls that repeat others: of kernels, of packed functions, of memory. Lowered programs hardly have others.

What their results follow from is more than the StructInfo of their operands: literals, names of functions, StructInfo arguments.
"""

from __future__ import annotations

from typing import Any

from relax_explorer.core.check.normal_form import calls_first
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s

SIMPLE = frozenset({e.Var, e.DataflowVar, e.Constant, e.ShapeExpr, e.PrimValue, e.StringImm, e.DataTypeImm})
_LITERALS = frozenset({e.StringImm, e.DataTypeImm})
_PLAIN = frozenset({s.TensorStructInfo, s.ShapeStructInfo, s.PrimStructInfo, type(s.OBJECT)})


def seen_by_rules(call: e.Call) -> tuple[Any, ...] | None:
    """All that inference sees of a call in normal form: equal calls have equal results. None if the call alone does not tell.

    That is so for closures and for functions as arguments, whose captured lengths count, and for StructInfo that names variables.
    """
    op = call.op
    kind = type(op)
    head: Any = op if kind is e.OpRef else _function(op)
    if head is None or not all(map(names_no_variable, call.sinfo_args)):
        return None
    key = [head, call.attrs, call.sinfo_args]
    for arg in call.args:
        part = _operand(call, arg)
        if part is None:
            return None
        key += part
    return tuple(key)


def _function(expr: e.Expr) -> tuple[Any, ...] | None:
    """A function that is called by its name, with its signature. None for others."""
    if isinstance(expr, (e.GlobalVar, e.ExternFunc)) and expr.struct_info is not None:
        return expr.name, expr.struct_info
    return None


def _operand(call: e.Call, arg: e.Expr) -> tuple[Any, ...] | None:
    kind, info = type(arg), arg.struct_info
    if kind in SIMPLE:
        if info is None or not names_no_variable(info):
            return None
        return (kind, arg.value) if isinstance(arg, (e.StringImm, e.DataTypeImm)) else (kind, info)
    if isinstance(arg, e.Tuple):
        return (kind, info) if is_simple_tuple(arg) and _LITERALS.isdisjoint(map(type, arg.fields)) else None
    if arg is call.args[0] and (kind is e.GlobalVar or calls_first(call)):
        return _function(arg)
    return None


def is_simple_tuple(arg: e.Tuple) -> bool:
    """True for a tuple of variables and constants with the StructInfo that follows from them."""
    info, fields = arg.struct_info, arg.fields
    if type(info) is not s.TupleStructInfo or not SIMPLE.issuperset(map(type, fields)):
        return False
    return tuple([field.struct_info for field in fields]) == info.fields and names_no_variable(info)


def names_no_variable(info: s.StructInfo) -> bool:
    """True for StructInfo without functions, and without shapes that variables hold."""
    if type(info) is s.TensorStructInfo:
        return not isinstance(info.shape, e.Var)
    if type(info) is s.TupleStructInfo:
        return all(map(names_no_variable, info.fields))
    return type(info) in _PLAIN
