"""ComputePrimValue: compute scalar operands by PrimFuncs."""

from __future__ import annotations

from typing import TypeGuard

from relax_explorer.core.check.emission import FreshNames
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.fold import substitute
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import map_operands, map_sequences
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.readings import LENGTHS
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.phases import machine_calls as m
from relax_explorer.core.phases.module_properties import (
    NO_DATAFLOW,
    NORMAL_FORM,
    PATTERNS_ANNOTATED,
    PURITY_ERASED,
    SYMBOLS_ATTACHED,
)
from relax_explorer.core.tir import stmt as t


@function_pass(
    "ComputePrimValue",
    reads=[LENGTHS],
    requires=[NORMAL_FORM],
    needs=[NO_DATAFLOW, PURITY_ERASED],
    invalidates=[PATTERNS_ANNOTATED, SYMBOLS_ATTACHED],
    has_profiles=True,
)
def compute_prim_value(fn: e.Function, at: PassSite) -> e.Function:
    """Replace scalar operands such as `n * 2` by calls of PrimFuncs that compute them from the shape variables.

    In the profile `tvm` numbers of floating point become results of functions, too.
    """
    names = FreshNames.of(fn)

    def result(seq: e.SeqExpr) -> e.SeqExpr:
        return _with_result(seq, _Scalars(names, at))

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        if type(binding) is e.MatchCast:
            scalars = _Scalars(names, at)
            value = scalars.computed(binding.value)
            return (*scalars.emitted, replace(binding, value=value)) if scalars.emitted else binding
        if type(binding) is not e.VarBinding or type(binding.value) is e.Function:
            return binding
        if type(binding.value) is e.If:
            return map_sequences(binding, result)
        value = binding.value
        if type(value) is e.Call and _WITH_SCALARS.isdisjoint(map(type, value.args)):
            return binding  # most often
        scalars = _Scalars(names, at)
        if _is_computed(value, at.as_tvm):
            call = _call(value, at)
            var = e.var_like(binding.var, call.struct_info)  # its value is not known any more
            walk.rename(binding.var, var)
            return replace(binding, var=var, value=call, annotation=None)
        changed, emitted = map_operands(value, scalars.computed), scalars.emitted
        if emitted and type(changed) is e.Tuple:
            changed = replace(changed, struct_info=e.tuple_of(changed.fields).struct_info)
            var = e.var_like(binding.var, changed.struct_info)
            walk.rename(binding.var, var)
            return *emitted, replace(binding, var=var, value=changed, annotation=None)
        new = replace(binding, value=changed)
        return (*emitted, new) if emitted else new

    new = rewrite(fn, at, rule)
    return _told(fn, replace(new, body=result(new.body)), at)


def _told(old: e.Function, new: e.Function, at: PassSite) -> e.Function:
    """The new function. Where the value of its result was known, and is not any more, it does not promise this value."""
    said = old.ret_struct_info
    if new.body is old.body or said is None or said != old.body.body.struct_info:
        return new
    if s.without_values(said) == said:
        return new
    return replace(new, ret_struct_info=None, struct_info=None)


_WITH_SCALARS = frozenset((e.PrimValue, e.Tuple))
"""The operands that are scalars, or hold some."""


class _Scalars:
    """The bindings that compute scalars in front of their reader."""

    def __init__(self, names: FreshNames, at: PassSite) -> None:
        self.names, self.at = names, at
        self.emitted: list[e.Binding] = []

    def computed(self, operand: e.Expr) -> e.Expr:
        """The operand, or the variable of the call that computes it."""
        if type(operand) is e.Tuple:
            fields = tuple(map(self.computed, operand.fields))
            return operand if fields == operand.fields else e.tuple_of(fields)
        if not _is_computed(operand, self.at.as_tvm):
            return operand
        new = m.bound(self.names("gv"), _call(operand, self.at))
        self.emitted.append(new)
        return new.var


def _with_result(seq: e.SeqExpr, scalars: _Scalars) -> e.SeqExpr:
    """The sequence with a result that is computed behind its bindings, if it is a scalar or has one."""
    result = scalars.computed(seq.body)
    if not scalars.emitted:
        return seq
    *blocks, last = seq.blocks or (e.BindingBlock(()),)
    last = replace(last, bindings=(*last.bindings, *scalars.emitted))
    return replace(seq, blocks=(*blocks, last), body=result)


def _is_computed(value: e.Expr, as_tvm: bool) -> TypeGuard[e.PrimValue]:
    if type(value) is not e.PrimValue or type(value.value) is p.PrimVar:
        return False
    return bool(p.free_vars(value.value)) or (as_tvm and type(value.value) is not p.IntImm)


def _call(scalar: e.PrimValue, at: PassSite) -> e.Call:
    """The call of a PrimFunc that computes a scalar."""
    value = scalar.value
    variables = tuple(p.free_vars(value))
    renewed = {var: p.PrimVar(var.name, var.dtype) for var in variables}
    info = s.PrimStructInfo(value.dtype)
    body = t.Evaluate(p.PrimCall("ret", (substitute(value, dict(renewed)),), value.dtype))
    attrs = Attrs({"tirx.is_host_func": True})
    fn = t.PrimFunc(tuple(renewed.values()), body, info, attrs)
    callee = at.editor.add("compute_symbolic_expr", fn)
    return e.Call(callee, tuple(map(m.number, variables)), struct_info=info, span=scalar.span)
