"""Normal form, and StructInfo on every variable.

Each operand becomes a variable, a constant or a tuple of these; sub-expressions are bound before their use, depth first and
left to right (errata E-22). The result's variables carry derived StructInfo; what needs no change stays the same object.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_explorer.core.check.compatible import NO, UNKNOWN, YES, defined_dims, erase, fits
from relax_explorer.core.check.infer import Inferrer
from relax_explorer.core.codes import operators as op_codes
from relax_explorer.core.codes import well_formed as codes
from relax_explorer.core.diagnostics import Failure, Report
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.module import IRModule
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import substitute_vars
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.ops import find
from relax_explorer.core.tir.buffer import Buffer
from relax_explorer.core.tir.stmt import PrimFunc


def normalize(module: IRModule) -> IRModule:
    """The module in normal form with StructInfo on every variable; raises Failure when an operator's rule is violated."""
    new, report = normalize_with(module)
    if report.errors:
        raise Failure(*report.sorted())
    return new


def normalize_with(module: IRModule) -> tuple[IRModule, Report]:
    """The module in normal form, and what inference found; where a rule fails, the StructInfo is Object."""
    report = Report()
    new = ModuleNormalizer(module, report).run()
    return new, report


class ModuleNormalizer:
    """Normalizes the functions of a module; one without return annotation is done before its callers, which need it."""

    def __init__(self, module: IRModule, report: Report) -> None:
        self.module, self.report = module, report
        self.done: dict[str, Any] = {}
        self._open: set[str] = set()

    def run(self) -> IRModule:
        """The normalized module."""
        for name in self.module.functions:
            self._function(name)
        return self.module.having({name: self.done[name] for name in self.module.functions})

    def _function(self, name: str) -> Any:
        if name not in self.done:
            fn = self.module.functions[name]
            if type(fn) is e.Function:
                self._open.add(name)
                fn = FunctionNormalizer(self.report, self.signature).run(fn)
                self._open.discard(name)
            self.done[name] = fn
        return self.done[name]

    def signature(self, name: str) -> s.StructInfo | None:
        """The StructInfo of a global function; None when there is no such function."""
        fn = self.module.functions.get(name)
        if type(fn) is e.Function:
            if fn.ret_struct_info is None and name not in self._open:
                fn = self._function(name)
            return function_info(fn)
        if type(fn) is PrimFunc:
            return prim_func_info(fn)
        return None if fn is None else fn.struct_info or s.FuncStructInfo(None, s.OBJECT, False)


def function_info(fn: e.Function) -> s.FuncStructInfo:
    """The signature of a Relax function as StructInfo."""
    params = tuple([param.struct_info or s.OBJECT for param in fn.params])
    return s.FuncStructInfo(params, fn.ret_struct_info or s.OBJECT, fn.pure is not False)


def prim_func_info(fn: PrimFunc) -> s.FuncStructInfo:
    """The signature of a PrimFunc: buffers are tensors, nothing is returned, and calling it has an effect."""
    params = tuple([_param_info(param) for param in fn.params])
    return s.FuncStructInfo(params, fn.ret_type or s.VOID, False)


def _param_info(param: Buffer | p.PrimVar) -> s.StructInfo:
    if isinstance(param, Buffer):
        return s.TensorStructInfo(param.shape, param.dtype)
    return s.PrimStructInfo(param.dtype, param)


class FunctionNormalizer:
    """Normalizes one function."""

    def __init__(
        self,
        report: Report,
        signature: Callable[[str], s.StructInfo | None],
        outer: FunctionNormalizer | None = None,
    ) -> None:
        self.report = report
        self.infer = Inferrer(report, signature)
        self.vars: dict[e.Var, e.Var] = dict(outer.vars) if outer else {}
        self.dims: set[p.PrimVar] = set(outer.dims) if outer else set()
        self.out: list[e.Binding] = []
        self.dataflow = False
        self.used: set[str] | None = None
        self.fn: e.Function | None = None
        if outer:
            self.infer.poisoned = outer.infer.poisoned

    def run(self, fn: e.Function) -> e.Function:
        """The function in normal form."""
        self.fn = fn
        for param in fn.params:
            self.dims.update(defined_dims(param.struct_info or s.OBJECT))
        params_dims = set(self.dims)
        body = self.sequence(fn.body)
        ret = self._return_info(fn, self.infer.info(body.body), params_dims)
        new = replace(fn, body=body, ret_struct_info=ret)
        info = function_info(new)
        return new if new.struct_info is info else replace(new, struct_info=info)

    def _return_info(self, fn: e.Function, derived: s.StructInfo, dims: set[p.PrimVar]) -> s.StructInfo:
        known = erase(derived, dims, fn.params)
        wanted = fn.ret_struct_info
        if wanted is None:
            return known
        if fits(derived, wanted) is NO and fn.body.body not in self.infer.poisoned:
            text = f"the function returns {derived}, its annotation says {wanted}"
            self.report.say(
                codes.BAD_RETURN, text, fn.body.body if fn.body.body.span else fn, help=codes.BAD_RETURN.fix
            )
        return wanted

    # -- sequences ------------------------------------------------------------------------------------------------

    def sequence(self, seq: e.SeqExpr) -> e.SeqExpr:
        """A sequence in normal form; its result is a leaf, bound in a block of its own when it was not (errata E-23)."""
        saved, self.out = self.out, []
        blocks: list[e.BindingBlock] = []
        for block in seq.blocks:
            self._block(block, blocks)
        self.out, before = [], self.dataflow
        self.dataflow = False
        body = self.leaf(seq.body)
        self.dataflow = before
        if self.out:
            blocks.append(e.BindingBlock(tuple(self.out)))
        self.out = saved
        merged = _merge(blocks)
        info = self.infer.info(body)
        same = len(merged) == len(seq.blocks) and all(a is b for a, b in zip(merged, seq.blocks, strict=True))
        return replace(seq, blocks=seq.blocks if same else tuple(merged), body=body, struct_info=info)

    def _block(self, block: e.BindingBlock, blocks: list[e.BindingBlock]) -> None:
        before, self.dataflow = self.dataflow, type(block) is e.DataflowBlock
        self.out = []
        for binding in block.bindings:
            self.binding(binding)
        self.dataflow = before
        same = len(self.out) == len(block.bindings) and all(
            a is b for a, b in zip(self.out, block.bindings, strict=True)
        )
        if self.out:
            blocks.append(block if same else replace(block, bindings=tuple(self.out)))

    def binding(self, binding: e.Binding) -> None:
        """One binding in normal form, after those of its sub-expressions."""
        if type(binding) is e.MatchCast:
            self._match_cast(binding)
            return
        if type(binding.value) is e.Function:
            self._nested(binding)  # type: ignore[arg-type]  # a MatchCast returned above
            return
        value = self.value(binding.value)
        derived = self.infer.info(value)
        if isinstance(value, e.Var) and value in self.infer.poisoned:
            self.infer.poisoned.add(binding.value)
        info = self._annotated(binding, derived, value)  # type: ignore[arg-type]  # as above
        var = self._var(binding.var, info)  # type: ignore[arg-type]  # a VarBinding has a variable
        if value in self.infer.poisoned:
            self.infer.poisoned.add(var)
        self.out.append(replace(binding, var=var, value=value))

    def _annotated(self, binding: e.VarBinding, derived: s.StructInfo, value: e.Expr) -> s.StructInfo:
        """What the variable is known to be: the annotation where it is right, for a widening sticks (errata E-13)."""
        wanted = binding.annotation
        if wanted is None or wanted is derived:
            return derived
        if isinstance(wanted, s.PrimStructInfo) and wanted.value is None and fits(derived, wanted) is YES:
            return derived  # the text has no way to say a scalar's value
        answer = fits(derived, wanted)
        poisoned = value in self.infer.poisoned
        if answer is NO and not poisoned:
            text = f"the value is {derived}, the annotation says {wanted}"
            self.report.say(
                codes.BAD_ANNOTATION_INFO, text, binding, help=f"write {binding.var.name}: {derived}"
            )
        elif answer is UNKNOWN and not poisoned and derived is not s.OBJECT:
            text = f"the value is {derived}; whether it is {wanted} is known only at run time"
            self.report.say(
                codes.MAYBE_ANNOTATION,
                text,
                binding,
                help=f"write {binding.var.name} = R.match_cast(…, {wanted})",
            )
        return wanted

    def _match_cast(self, binding: e.MatchCast) -> None:
        value = self.leaf(binding.value)
        have, want = self.infer.info(value), binding.struct_info
        new_dims = set(defined_dims(want)) - self.dims
        if fits(have, erase(want, self.dims)) is NO or (not new_dims and fits(have, want) is NO):
            text = f"the value is {have} and can never be {want}"
            self.report.say(op_codes.IMPOSSIBLE_CAST, text, binding, help=op_codes.IMPOSSIBLE_CAST.fix)
        self.dims.update(new_dims)
        var = None if binding.var is None else self._var(binding.var, want)
        self.out.append(replace(binding, var=var, value=value))

    def _nested(self, binding: e.VarBinding) -> None:
        fn = binding.value
        assert isinstance(fn, e.Function)  # the caller looked
        early = self._var(binding.var, function_info(fn))  # a recursive closure sees itself
        inner = FunctionNormalizer(self.report, self.infer.signature, self)
        new = inner.run(fn)
        if early.struct_info is not new.struct_info:
            final = self._var(binding.var, new.struct_info)
            new = substitute_vars(new, {early: final})
            early = final
        self.out.append(replace(binding, var=early, value=new))

    def _var(self, var: e.Var, info: s.StructInfo | None) -> e.Var:
        new = var if var.struct_info is info else type(var)(var.name, info, var.span)
        self.vars[var] = new
        return new

    # -- values ---------------------------------------------------------------------------------------------------

    def value(self, expr: e.Expr) -> e.Expr:
        """The right side of a binding: one operation over leaves, its StructInfo filled."""
        rule = _VALUES.get(type(expr))
        return self.leaf(expr) if rule is None else rule(self, expr)

    def leaf(self, expr: e.Expr) -> e.Expr:
        """An operand: a variable, a constant or a tuple of leaves; anything else is bound to a new variable first."""
        kind = type(expr)
        if kind is e.Var or kind is e.DataflowVar:
            return self.vars.get(expr, expr)  # type: ignore[call-overload,no-any-return]  # a Var, as `kind` says
        if kind in e.LEAVES:
            return expr
        value = self.value(expr)
        if kind is e.Tuple or type(value) in e.LEAVES:
            return value
        var = self._fresh(self.infer.info(value), expr)
        if value in self.infer.poisoned:
            self.infer.poisoned.add(var)
        self.out.append(e.VarBinding(var, value, None, expr.span))
        return var

    def _fresh(self, info: s.StructInfo, expr: e.Expr) -> e.Var:
        if self.used is None:
            self.used = {b.var.name for b in bindings(self.fn) if b.var is not None} if self.fn else set()
            self.used |= {param.name for param in self.fn.params} if self.fn else set()
        prefix, kind = ("lv", e.DataflowVar) if self.dataflow else ("gv", e.Var)
        name, count = prefix, 0
        while name in self.used:
            count += 1
            name = f"{prefix}{count}"
        self.used.add(name)
        return kind(name, info, expr.span)

    def _call(self, expr: e.Call) -> e.Expr:
        op = expr.op if type(expr.op) in (e.OpRef, e.ExternFunc, e.GlobalVar) else self.leaf(expr.op)
        args = tuple([self.leaf(arg) for arg in expr.args])
        if op is not expr.op or any(a is not b for a, b in zip(args, expr.args, strict=True)):
            expr = e.Call(op, args, expr.attrs, expr.sinfo_args, None, expr.span)
        declared = find(op.name) if type(op) is e.OpRef else None
        if declared is not None and declared.refine is not None:
            expr = declared.refine(expr, [self.infer.info(arg) for arg in expr.args])
        info = self.infer.call(expr)
        if expr.struct_info is info:
            return expr
        new = e.Call(expr.op, expr.args, expr.attrs, expr.sinfo_args, info, expr.span)
        if expr in self.infer.poisoned or (
            info is s.OBJECT and any(arg in self.infer.poisoned for arg in expr.args)
        ):
            self.infer.poisoned.add(new)
        return new

    def _tuple(self, expr: e.Tuple) -> e.Expr:
        fields = tuple([self.leaf(field) for field in expr.fields])
        same = all(a is b for a, b in zip(fields, expr.fields, strict=True))
        info = s.TupleStructInfo(tuple([self.infer.info(field) for field in fields]))
        return replace(expr, fields=expr.fields if same else fields, struct_info=info)

    def _item(self, expr: e.TupleGetItem) -> e.Expr:
        whole = self.leaf(expr.tuple)
        new = replace(expr, tuple=whole)
        info = self.infer.item(new)
        made = replace(new, struct_info=info)
        if new in self.infer.poisoned or whole in self.infer.poisoned:
            self.infer.poisoned.add(made)
        return made

    def _if(self, expr: e.If) -> e.Expr:
        condition = self.leaf(expr.condition)
        dims = set(self.dims)
        branches = []
        for branch in (expr.true_branch, expr.false_branch):
            seq = branch if isinstance(branch, e.SeqExpr) else e.SeqExpr((), branch, None, branch.span)
            branches.append(self.sequence(seq))
            self.dims = set(dims)
        infos = [erase(self.infer.info(branch.body), dims) for branch in branches]
        info = self.infer.branches(infos[0], infos[1])
        return replace(
            expr, condition=condition, true_branch=branches[0], false_branch=branches[1], struct_info=info
        )

    def _seq(self, expr: e.SeqExpr) -> e.Expr:
        for block in expr.blocks:
            for binding in block.bindings:
                self.binding(binding)
        return self.value(expr.body)

    def _function(self, expr: e.Function) -> e.Expr:
        return FunctionNormalizer(self.report, self.infer.signature, self).run(expr)


def _merge(blocks: list[e.BindingBlock]) -> list[e.BindingBlock]:
    """Neighbouring blocks of one kind made one, empty ones dropped."""
    merged: list[e.BindingBlock] = []
    for block in blocks:
        if not block.bindings:
            continue
        if merged and type(merged[-1]) is type(block) is e.BindingBlock:
            merged[-1] = replace(merged[-1], bindings=merged[-1].bindings + block.bindings)
        else:
            merged.append(block)
    return merged


_VALUES: dict[type, Callable[[FunctionNormalizer, Any], e.Expr]] = {
    e.Call: FunctionNormalizer._call,
    e.Tuple: FunctionNormalizer._tuple,
    e.TupleGetItem: FunctionNormalizer._item,
    e.If: FunctionNormalizer._if,
    e.SeqExpr: FunctionNormalizer._seq,
    e.Function: FunctionNormalizer._function,
}
