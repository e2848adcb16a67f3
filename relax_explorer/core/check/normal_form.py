"""Check normal form, independently of the normalizer: each binding is one operation over leaves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from relax_explorer.core.codes import well_formedness as codes
from relax_explorer.core.diagnostics import Diagnostic, Label
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import bindings, operands, sequences
from relax_explorer.core.ops import find
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.program.new_bindings import Read


def violations(module: IRModule, read: Read = bindings) -> Iterator[Diagnostic]:
    """Every violation of normal form in a module, in the bindings that `read` tells of each function."""
    for fn in module.relax_functions.values():
        yield from function_violations(fn, read)


def function_violations(fn: e.Function, read: Read = bindings) -> Iterator[Diagnostic]:
    """Every violation of normal form in a function."""
    if not isinstance(fn.body, e.SeqExpr):
        yield _at(fn, "the body of a function is not a sequence")
        return
    for binding in read(fn):
        if _is_plain(binding.value):
            continue
        if type(binding.value) is e.SeqExpr:
            yield _at(binding, "a sequence stands where a value is bound")
        inner = sequences(binding.value)
        if type(binding.value) is e.If and len(inner) < 2:
            yield _at(binding, "a branch is not a sequence")
        for number, operand in enumerate(operands(binding.value)):
            if not is_leaf(operand, _is_called(binding.value, number)):
                yield _at(
                    operand if operand.span else binding,
                    f"an operand is a {type(operand).__name__}, not a leaf",
                )
        for seq in inner:
            yield from _result(seq, binding)
    yield from _result(fn.body, fn)


def _is_plain(value: e.Expr) -> bool:
    """True for a call over leaves, as most values are."""
    if type(value) is not e.Call or type(value.op) not in e.LEAVES:
        return False
    if value.settled is not None:  # inference saw leaves
        return True
    args = value.args
    if len(args) == 2 and type(args[1]) is e.Tuple:
        args = (args[0], *args[1].fields)  # of a kernel
    return _OPERANDS.issuperset(map(type, args))


_OPERANDS = e.LEAVES - {e.OpRef, e.ExternFunc}


def _result(seq: e.SeqExpr, place: object) -> Iterator[Diagnostic]:
    if not is_leaf(seq.body):
        yield _at(
            seq.body if seq.body.span else place,
            f"the result of a sequence is a {type(seq.body).__name__}, not a leaf",
        )


def calls_first(call: e.Call) -> bool:
    """True if the first argument is the function that the operator calls: `R.call_pure_packed("f", x)`."""
    declared = find(call.op.name) if type(call.op) is e.OpRef else None
    return declared is not None and declared.calls_first()


def _is_called(value: e.Expr, number: int) -> bool:
    return type(value) is e.Call and (number == 0 or (number == 1 and calls_first(value)))


def is_leaf(expr: e.Expr, callee: bool = False) -> bool:
    """True if an expression may be an operand. Operators and packed functions may only be callees (errata E-21)."""
    node_type = type(expr)
    if type(expr) is e.OpRef or type(expr) is e.ExternFunc:
        return callee
    return node_type in e.LEAVES or (type(expr) is e.Tuple and all(is_leaf(field) for field in expr.fields))


def _at(place: object, text: str) -> Diagnostic:
    return Diagnostic(codes.NOT_NORMAL, text, (Label(place, "", True),), help=codes.NOT_NORMAL.fix)


# -- repeated calls --------------------------------------------------------------------------------------------------
# Calls that repeat others: of kernels, of packed functions, of memory. Lowered programs hardly have others.
#
# What their results follow from is more than the StructInfo of their operands: literals, names of functions,
# StructInfo arguments.


SIMPLE = frozenset({e.Var, e.DataflowVar, e.Constant, e.ShapeExpr, e.PrimValue, e.StringImm, e.DataTypeImm})
_LITERALS = frozenset({e.StringImm, e.DataTypeImm})
_BY_INFO = SIMPLE - _LITERALS
_WITH_INFO = SIMPLE | {e.Tuple}
_PLAIN = frozenset({s.TensorStructInfo, s.ShapeStructInfo, s.PrimStructInfo, type(s.OBJECT)})


def seen_by_rules(call: e.Call) -> tuple[Any, ...] | None:
    """All that inference sees of a call in normal form: equal calls have equal results. None if the call alone does not tell.

    That is so for closures and for functions as arguments, whose captured lengths count, and for StructInfo that names variables.
    """
    if not all(map(names_no_variable, call.sinfo_args)):
        return None
    for arg in call.args:
        info = arg.struct_info
        if type(arg) in _WITH_INFO and (info is None or not names_no_variable(info)):
            return None
    return call_key(call)


def call_key(call: e.Call) -> tuple[Any, ...] | None:
    """What `seen_by_rules` tells, without a look at the names in StructInfo: then no call of which it tells has this key."""
    op, args = call.op, call.args
    head: Any = op if type(op) is e.OpRef else _function(op)
    if head is None:
        return None
    if _BY_INFO.issuperset(map(type, args)):  # most often
        return (head, call.attrs, call.sinfo_args, *map(type, args), *[arg.struct_info for arg in args])
    key = [head, call.attrs, call.sinfo_args]
    for arg in args:
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
