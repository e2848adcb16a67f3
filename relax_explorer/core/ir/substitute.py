"""Replaces variables and shape variables throughout a part of a program. Unchanged parts are shared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from operator import is_
from typing import Any

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.fold import substitute
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import info_holders, map_block, map_operands, substitute_info


class Substitution:
    """Replaces variables by leaves (`variables`) and shape variables by scalar expressions (`dims`).

    A bound variable with changed StructInfo becomes a new variable. Unchanged parts are the same objects.
    """

    def __init__(
        self, variables: dict[e.Var, e.Expr] | None = None, dims: Mapping[p.PrimVar, p.PrimExpr] | None = None
    ) -> None:
        self.variables: dict[e.Var, e.Expr] = dict(variables or {})
        self.dims = dims or {}
        # True if variables are replaced by variables of the same StructInfo only. Then calls keep what follows from it.
        self.keeps_infos = bool(variables) and all(
            isinstance(new, e.Var) and new.struct_info is old.struct_info
            for old, new in self.variables.items()
        )
        self._known: dict[s.StructInfo, s.StructInfo] = {}  # infos without variables, replaced
        self._renames: dict[e.Var, list[e.Var]] | None = None  # built on demand

    def set_dims(self, dims: Mapping[p.PrimVar, p.PrimExpr]) -> None:
        """Replace other shape variables from now on."""
        self.dims, self._known = dims, {}

    def expr(self, expr: e.Expr) -> e.Expr:
        """An operand or the value of a binding."""
        if type(expr) is e.Var or type(expr) is e.DataflowVar:
            return self.variables.get(expr, expr)
        if type(expr) is e.Call and not self.dims:
            return self.call(expr)
        if type(expr) is e.Tuple and not self.dims and e.LEAVES.issuperset(map(type, expr.fields)):
            return self._flat(expr)
        if type(expr) is e.Function:
            return self.function(expr)
        if type(expr) is e.If:
            return self._if(expr)
        if type(expr) is e.SeqExpr:
            return self.sequence(expr)
        if type(expr) is e.ShapeExpr and self.dims:
            values = tuple([substitute(value, self.dims) for value in expr.values])
            return (
                expr if values == expr.values else e.ShapeExpr(values, s.ShapeStructInfo(values), expr.span)
            )
        if type(expr) is e.PrimValue and self.dims:
            value = substitute(expr.value, self.dims)
            info = s.PrimStructInfo(value.dtype, value)
            return expr if value is expr.value else e.PrimValue(value, info, expr.span)
        new = map_operands(expr, self.expr)
        if self.dims:
            return self._infos(new)
        return self._shapes(new) if self.variables and new.struct_info is not None else new

    def _flat(self, expr: e.Tuple) -> e.Expr:
        """A tuple of leaves, when no shape variables are replaced."""
        replaced: Callable[[Any, Any], Any] = self.variables.get
        fields = tuple(map(replaced, expr.fields, expr.fields))
        new = expr if fields == expr.fields else e.Tuple(fields, expr.struct_info, expr.span)
        return self._shapes(new) if self.variables and new.struct_info is not None else new

    def call(self, call: e.Call) -> e.Expr:
        """A call, when no shape variables are replaced."""
        replacements, args = self.variables, call.args
        replaced: Callable[[Any, Any], Any] = replacements.get
        op = replaced(call.op, call.op) if type(call.op) in e.LEAVES else self.expr(call.op)
        new: tuple[Any, ...]
        if e.LEAVES.issuperset(map(type, args)):  # no loop in Python: most calls are such
            new = tuple(map(replaced, args, args))
        else:
            new = tuple([replaced(arg, arg) if type(arg) in e.LEAVES else self.expr(arg) for arg in args])
        info = call.struct_info
        if op is not call.op or new != args:  # nodes are equal only to themselves
            settled = call.settled if self.keeps_infos else None
            call = e.Call(op, new, call.attrs, call.sinfo_args, info, call.span)
            if settled is not None:
                call.settle(settled)
        if not replacements or info is None:
            return call
        stated = call.sinfo_args
        if (
            type(info) is s.TensorStructInfo
            and type(info.shape) is tuple
            and (not stated or stated == (info,))
        ):
            return call  # most often
        return self._shapes(call)

    def _shapes(self, expr: e.Expr) -> e.Expr:
        """An expression with the variables in its StructInfo, which hold shapes, replaced."""
        sinfo_args = expr.sinfo_args if type(expr) is e.Call else ()
        info = expr.struct_info
        if (info is None or not info_holders(info)) and not any(map(info_holders, sinfo_args)):
            return expr
        new = replace(expr, struct_info=self.info(info))
        if not sinfo_args:
            return new
        infos = tuple([substitute_info(info, {}, self.variables) for info in sinfo_args])
        return new if infos == sinfo_args else replace(new, sinfo_args=infos)

    def _infos(self, expr: e.Expr) -> e.Expr:
        changes: dict[str, Any] = {"struct_info": self.info(expr.struct_info)}
        if type(expr) is e.Call and expr.sinfo_args:
            infos = tuple(map(self.info, expr.sinfo_args))
            changes["sinfo_args"] = expr.sinfo_args if infos == expr.sinfo_args else infos
        return replace(expr, **changes) if type(expr) not in (e.OpRef, e.GlobalVar, e.ExternFunc) else expr

    def info(self, info: s.StructInfo | None) -> s.StructInfo | None:
        """A StructInfo, or None."""
        if not self.dims and isinstance(info, s.TensorStructInfo) and type(info.shape) is tuple:
            return info  # the most frequent case: it contains shape variables only
        if info is None:
            return None
        if not self.dims:
            return substitute_info(info, self.dims, self.variables) if info_holders(info) else info
        known = self._known.get(info)
        if known is None:
            known = substitute_info(info, self.dims, self.variables)
            if not info_holders(info):  # else it depends on the variables that are replaced so far
                self._known[info] = known
        return known

    def _if(self, expr: e.If) -> e.Expr:
        # A sequence is taken at once: Python allows few calls in each other, and branches nest deep.
        condition, true, false = self.expr(expr.condition), expr.true_branch, expr.false_branch
        return replace(
            expr,
            condition=condition,
            true_branch=self.sequence(true) if type(true) is e.SeqExpr else self.expr(true),
            false_branch=self.sequence(false) if type(false) is e.SeqExpr else self.expr(false),
            struct_info=self.info(expr.struct_info) or expr.struct_info,
        )

    def function(self, fn: e.Function) -> e.Function:
        """A function, with its parameters."""
        fn = self.signature(fn)
        return replace(fn, body=self.sequence(fn.body))

    def signature(self, fn: e.Function) -> e.Function:
        """A function with new parameters and StructInfo, and its old body."""
        params = tuple([self._define(param) for param in fn.params])
        return replace(
            fn,
            params=fn.params if all(map(is_, params, fn.params)) else params,
            ret_struct_info=self.info(fn.ret_struct_info),
            struct_info=self.info(fn.struct_info),
        )

    def sequence(self, seq: e.SeqExpr) -> e.SeqExpr:
        """The blocks and the result of a sequence."""
        blocks = self.blocks(seq)  # first, for they define what the result reads
        return replace(seq, blocks=blocks, body=self.expr(seq.body), struct_info=self.info(seq.struct_info))

    def blocks(self, seq: e.SeqExpr) -> tuple[e.BindingBlock, ...]:
        """The blocks of a sequence."""
        blocks = tuple(
            [
                map_block(block, partial(self.bindings, is_dataflow=type(block) is e.DataflowBlock))
                if self.dims
                else map_block(block, self.binding)
                for block in seq.blocks
            ]
        )
        return seq.blocks if all(map(is_, blocks, seq.blocks)) else blocks

    def bindings(self, binding: e.Binding, is_dataflow: bool) -> e.Binding | tuple[e.Binding, ...]:
        """One binding. The shape of a reshape with a length that became 0 has a binding in front: written in the call, a 0
        means the length of the operand at the same place.
        """
        new = self.binding(binding)
        if not self.dims or new.var is None or not _has_new_zero(binding.value, new.value):
            return new
        assert type(new.value) is e.Call  # as above
        x, shape = new.value.args
        held = (e.DataflowVar if is_dataflow else e.Var)(
            f"{new.var.name}_shape", shape.struct_info, shape.span
        )
        call = replace(new.value, args=(x, held))
        return e.VarBinding(held, shape, None, shape.span or new.span), replace(new, value=call)

    def binding(self, binding: e.Binding) -> e.Binding:
        """One binding."""
        if isinstance(binding, e.MatchCast):
            return self._match_cast(binding)
        var, value, annotation = binding.var, binding.value, binding.annotation
        if type(value) is e.Function:
            var = self._define(var)  # first, for the function may call itself
            value = self.expr(value)
        else:
            value = self.call(value) if type(value) is e.Call and not self.dims else self.expr(value)
            var = self._define(var)
        if annotation is binding.var.struct_info:  # most often
            annotation = var.struct_info
        elif annotation is not None:
            annotation = self.info(annotation)
        if var is binding.var and value is binding.value and annotation is binding.annotation:
            return binding
        return e.VarBinding(var, value, annotation, binding.span)

    def _match_cast(self, binding: e.MatchCast) -> e.Binding:
        value = self.expr(binding.value)
        info = substitute_info(binding.struct_info, self.dims, self.variables)
        var = None if binding.var is None else self._define(binding.var)
        return replace(
            binding, var=var, value=value, struct_info=info, annotation=self.info(binding.annotation)
        )

    def infos(self, binding: e.Binding) -> e.Binding:
        """A binding with variables replaced in its StructInfo and annotation. Its value is unchanged."""
        var = binding.var
        if not self.variables:
            return binding
        var_info = var.struct_info if var is not None else None
        is_plain = type(var_info) is s.TensorStructInfo and type(var_info.shape) is tuple
        if is_plain and type(binding) is e.VarBinding and binding.annotation in (None, var_info):
            return binding  # most often
        cast_info = binding.struct_info if type(binding) is e.MatchCast else None
        annotation = None if binding.annotation is var_info else binding.annotation
        for info in (var_info, cast_info, annotation):
            if info is not None and info_holders(info):
                break
        else:
            return binding
        changes: dict[str, Any] = {} if cast_info is None else {"struct_info": self.info(cast_info)}
        var = None if var is None else self._define(var)
        return replace(binding, var=var, annotation=self.info(binding.annotation), **changes)

    def _define(self, var: e.Var) -> e.Var:
        info = self.info(var.struct_info)
        if info is var.struct_info:
            return var
        new = e.var_like(var, info)
        self.variables[var] = new
        for old in self._renamed_to(var):
            self.variables[old] = new
        return new

    def _renamed_to(self, var: e.Var) -> list[e.Var]:
        """The variables that the initial mapping replaces by `var`."""
        if self._renames is None:
            self._renames = {}
            for old, new in self.variables.items():
                if isinstance(new, e.Var):
                    self._renames.setdefault(new, []).append(old)
        return self._renames.get(var, [])


class Copy(Substitution):
    """Copies a function with new variables."""

    def _define(self, var: e.Var) -> e.Var:
        self.variables[var] = new = e.var_like(var, self.info(var.struct_info))
        return new


def fresh_dims(dims: Iterable[p.PrimVar]) -> dict[p.PrimVar, p.PrimExpr]:
    """New shape variables with the names of these, by these."""
    return {dim: p.PrimVar(dim.name, dim.dtype) for dim in dims}


def _has_new_zero(old: e.Expr, new: e.Expr) -> bool:
    """True if a length in the new shape of a reshape is 0, was none before, and is not that of the operand anyway."""
    if type(new) is not e.Call or type(new.op) is not e.OpRef or new.op.name != "relax.reshape":
        return False
    assert type(old) is e.Call  # only operands differ
    before, now = old.args[1], new.args[1]
    if type(before) is not e.ShapeExpr or type(now) is not e.ShapeExpr:
        return False
    info = new.args[0].struct_info
    have = (info.lengths or ()) if isinstance(info, s.TensorStructInfo) else ()
    return any(
        is_zero(dim) and not is_zero(before.values[n]) and not (n < len(have) and is_zero(have[n]))
        for n, dim in enumerate(now.values)
    )


def is_zero(length: p.PrimExpr) -> bool:
    """True for a length 0: written in a reshape, it means the length of the operand."""
    return type(length) is p.IntImm and length.value == 0


def substitute_vars(fn: e.Function, variables: dict[e.Var, e.Expr]) -> e.Function:
    """`fn` with variables replaced by leaves."""
    return Substitution(variables).function(fn)
