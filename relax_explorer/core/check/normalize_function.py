"""One function in normal form, with StructInfo on every variable.

Each operand becomes a variable, a constant or a tuple of these. Sub-expressions are bound before their use, depth first and
left to right (errata E-22). Unchanged parts stay the same objects.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import is_
from typing import Any

from relax_explorer.core.check import claims, matching, purity
from relax_explorer.core.check.arguments import completed, depends_on_missing
from relax_explorer.core.check.compatible import defined_dims, erase
from relax_explorer.core.check.emission import FreshNames, KeptBindings, OpenBlocks
from relax_explorer.core.check.normal_form import calls_first
from relax_explorer.core.check.wildcards import blurred, wildcards_of
from relax_explorer.core.codes import operators as operator_codes
from relax_explorer.core.codes import well_formedness as codes
from relax_explorer.core.codes.syntax import BAD_STATEMENT
from relax_explorer.core.diagnostics import Report, Severity
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT32, INT32, INT64, DType
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.pauses import with_pauses
from relax_explorer.core.ir.substitute import substitute_vars
from relax_explorer.core.ir.walk import bindings, map_operands, operands
from relax_explorer.core.ops import find
from relax_explorer.core.ops.kit.decl import Op
from relax_explorer.core.source import Span

# -- numbers ---------------------------------------------------------------------------------------------------------
# Numbers of Python as operands: `R.multiply(x, 2.0)`. They take the dtype of the other operand.


def is_open(arg: e.Expr) -> bool:
    """True for a number of Python whose dtype the other operand decides: its StructInfo does not state the value yet."""
    return (
        type(arg) is e.PrimValue
        and type(arg.struct_info) is s.PrimStructInfo
        and arg.struct_info.value is None
    )


def with_dtypes(report: Report, call: e.Call, infos: list[s.StructInfo], op: type[Op]) -> e.Call:
    """A call of an element-wise operator whose numbers have a dtype.

    TVM 0.27 reads an integer as int32 and any other number as float32, and refuses the call if the tensor has another dtype.
    """
    args: list[Any] = list(call.args)
    for number, arg in enumerate(args):
        if is_open(arg):
            others = [_dtype(info) for at, info in enumerate(infos) if at != number and not is_open(args[at])]
            target = others[0] if others else None
            args[number] = _settled(arg, target)
            theirs = INT32 if infos[number] is s.PrimStructInfo(INT64) else FLOAT32
            fits = args[number].value.dtype is target
            if fits and not op.dtypes_may_differ and target is not theirs:
                text = f"TVM reads this number as {theirs}, the other operand is {target}"
                help = f'write R.const(…, "{target}")'
                report.say(
                    operator_codes.DTYPES_DIFFER, text, call, help=help, severity=Severity.NOTE, tvm_only=True
                )
    return e.Call(call.op, tuple(args), call.attrs, call.sinfo_args, None, call.span)


def _dtype(info: s.StructInfo) -> DType | None:
    return info.dtype if isinstance(info, (s.TensorStructInfo, s.PrimStructInfo)) else None


def _settled(arg: e.PrimValue, target: DType | None) -> e.PrimValue:
    """The number in a dtype; in its own if it does not fit. Then the rule of the operator compares the two."""
    literal = arg.value
    assert isinstance(literal, (p.IntImm, p.FloatImm))  # a number of the text
    is_whole = isinstance(literal, p.IntImm)
    if target is None and not is_whole:
        target = FLOAT32
    if target is not None and target.lanes == 1 and (target.is_float or (is_whole and target.is_int)):
        with contextlib.suppress(OverflowError, ValueError):
            literal = p.as_prim(literal.value, target)
    return replace(arg, value=literal, struct_info=s.PrimStructInfo(literal.dtype, literal))


# -- normalize function ----------------------------------------------------------------------------------------------


def function_info(fn: e.Function, pure: bool) -> s.FuncStructInfo:
    """The signature of a Relax function as StructInfo. `pure` is the purity of its body; a declared purity comes first."""
    params = tuple([param.struct_info or s.OBJECT for param in fn.params])
    return s.FuncStructInfo(params, fn.ret_struct_info or s.OBJECT, purity.is_pure(fn, not pure))


def as_sequence(body: e.Expr) -> e.SeqExpr:
    """A body or branch as a sequence. Another expression becomes the result of a sequence without blocks."""
    return body if isinstance(body, e.SeqExpr) else e.SeqExpr((), body, None, body.span)


class FunctionNormalizer(KeptBindings):
    """Normalizes one function."""

    def run(self, fn: e.Function) -> e.Function:
        """The function in normal form."""
        fn = self.enter(fn)
        self.fresh = FreshNames.of(fn)
        seq = as_sequence(fn.body)
        return self.leave(fn, self.sequence(seq), seq.body)

    def enter(self, fn: e.Function) -> e.Function:
        """The function with StructInfo on its parameters. They are in scope from now on."""
        self.fn = fn = self._params(fn)
        for param in fn.params:
            self.dims.update(defined_dims(param.struct_info or s.OBJECT))
        self.params_dims = set(self.dims)
        for param in fn.params:
            self._scope(param)
        return fn

    def leave(self, fn: e.Function, body: e.SeqExpr, written: e.Expr) -> e.Function:
        """The function with its normalized body and its derived signature. `written` is the result before normalizing."""
        derived, params_dims = self.infer.info(body.body), self.params_dims
        ret = fn.ret_struct_info
        self.is_unread = ret is None and body.body in self.infer.poisoned
        if ret is None:
            # callers can't see the variables, not even the parameters
            if self.infer.wildcards is not None:
                derived = blurred(derived, params_dims)
            ret = erase(derived, params_dims, (), self.dims - params_dims)
        elif body.body not in self.infer.poisoned and written not in self.infer.poisoned:
            trusted = depends_on_missing(body.body, self.infer.definitions)
            held_info = self.infer.pinned(body.body)
            claims.check_return(self.report, fn, derived, held_info, params_dims, trusted)
            ret = claims.with_values(ret, erase(derived, params_dims, (), self.dims - params_dims))
        new = replace(fn, body=body, ret_struct_info=ret)
        info = function_info(new, self.assume_pure or not self.has_effect)
        return new if new.struct_info is info else replace(new, struct_info=info)

    def _params(self, fn: e.Function) -> e.Function:
        """The function with StructInfo on every parameter (errata E-17). It names variables as they are called now."""
        params = tuple(map(self._param, fn.params))
        ret = fn.ret_struct_info
        if ret is not None:
            ret = matching.settled(self.report, ret, self.vars, fn)
        same = all(map(is_, params, fn.params))
        return replace(fn, params=fn.params if same else params, ret_struct_info=ret)

    def _param(self, param: e.Var) -> e.Var:
        info = param.struct_info
        if info is not None and self.infer.wildcards is not None:
            info = self.infer.wildcards.own(info)
        if info is None:
            text = f"parameter {param.name!r} has no StructInfo and is treated as Object"
            self.report.say(codes.UNTYPED_PARAM, text, param, help=codes.UNTYPED_PARAM.fix)
            return self._var(param, s.OBJECT)
        settled = matching.settled(self.report, info, self.vars, param)
        return param if settled is param.struct_info else self._var(param, settled)

    # -- sequences ------------------------------------------------------------------------------------------------

    def sequence(self, seq: e.SeqExpr) -> e.SeqExpr:
        """A sequence in normal form. Its result is a leaf; another result is bound in a new block (errata E-23)."""
        outer, self.open = self.open, OpenBlocks()
        for block in seq.blocks:
            self._block(block)
        new = self.end(seq, seq.body)
        self.open = outer
        return new

    def end(self, like: e.SeqExpr, result: e.Expr) -> e.SeqExpr:
        """The sequence of the blocks so far and a result; the same object as `like` if nothing changed."""
        self.open.start(dataflow=False)
        body = self.leaf(result)
        return self.open.sequence(like, body, self.infer.info(body))

    def _block(self, block: e.BindingBlock) -> None:
        self.open.start(type(block) is e.DataflowBlock, block)
        for binding in with_pauses(block.bindings):
            self.binding(binding)

    def binding(self, binding: e.Binding) -> None:
        """One binding in normal form, after those of its sub-expressions."""
        if id(binding) in self.known and self._is_unchanged(binding):
            return
        if not isinstance(binding, e.VarBinding):
            self._match_cast(binding)
            return
        value, often = binding.value, _OFTEN_SETTLED if self.infer.wildcards is None else ()
        if isinstance(value, often) and value.struct_info and self._is_settled(binding, value):
            return
        if type(binding.value) is e.Function:
            self._nested(binding)
            return
        value = self.value(binding.value)
        if binding.annotation is not None:
            annotation = matching.settled(self.report, binding.annotation, self.vars, binding)
            if annotation is not binding.annotation:
                binding = replace(binding, annotation=annotation)
        derived = self.infer.info(value)
        poisoned = value in self.infer.poisoned
        if binding.var is not None and binding.var.struct_info is s.VOID and binding.annotation is None:
            self._check_unbound(binding, derived, poisoned)
        info = derived if binding.annotation in (None, derived) else self._annotated(binding, value, derived)
        var = self._var(binding.var, info)
        self.infer.definitions[var] = value
        if poisoned:
            self.infer.poisoned.add(var)
        self.infer.callees.hold(var, value)
        if var is not binding.var or value is not binding.value:
            binding = e.VarBinding(var, value, binding.annotation, binding.span)
        self.open.bindings.append(binding)

    def _check_unbound(self, binding: e.VarBinding, derived: s.StructInfo, poisoned: bool) -> None:
        """Note a call that stands alone and has a result: TVM wants a name for it."""
        if derived is not s.VOID and not poisoned:
            text = f"TVM takes a call without a name only if its result is an empty tuple; this is {derived}"
            self.report.say(
                BAD_STATEMENT, text, binding, help="bind it: _ = …", severity=Severity.NOTE, tvm_only=True
            )

    def _annotated(self, binding: e.VarBinding, value: e.Expr, derived: s.StructInfo) -> s.StructInfo:
        definitions = None if value in self.infer.poisoned else self.infer.definitions
        held_info = self.infer.pinned(value)
        info = claims.annotated(self.report, binding, derived, held_info, self.dims, definitions)
        return info if self.infer.wildcards is None else self.infer.wildcards.annotated(info, derived)

    def _match_cast(self, binding: e.MatchCast) -> None:
        value = self.leaf(binding.value)
        binding = matching.settled_cast(self.report, binding, self.vars)
        if value not in self.infer.poisoned:
            have = self.infer.info(value)
            binding = claims.with_kind_of(binding, have)
            exact = self.infer.callees.is_known(value)
            claims.check_cast(self.report, binding, have, self.infer.pinned(value), self.dims, exact)
        self.cast(binding, value)

    def cast(self, binding: e.MatchCast, value: e.Expr) -> None:
        """Bind the result of a match_cast of a leaf, without checking the cast."""
        if self.infer.wildcards is not None:
            target = self.infer.wildcards.own(binding.struct_info)
            binding = binding if target is binding.struct_info else replace(binding, struct_info=target)
        self.dims.update(defined_dims(binding.struct_info))
        info = claims.cast_annotation(self.report, binding)
        var = None if binding.var is None else self._var(binding.var, info)
        self.open.bindings.append(replace(binding, var=var, value=value))

    def _nested(self, binding: e.VarBinding) -> None:
        fn = binding.value
        assert isinstance(fn, e.Function)  # the caller checked this
        signature = matching.renamed_vars(function_info(fn, True), self.vars)
        early = self._var(binding.var, signature)  # a recursive closure sees itself
        self.infer.callees.define(early)
        new, is_unread = self._inner(fn, binding.var.name)
        if fn.ret_struct_info is None and _mentions(new, early):
            text = f"{binding.var.name!r} is recursive and has no return annotation"
            fix = codes.RECURSION_UNANNOTATED.fix
            self.report.say(codes.RECURSION_UNANNOTATED, text, fn, help=fix, spec_only=True)
        if early.struct_info is not new.struct_info:
            self.bound.discard(binding.var)
            final = self._var(binding.var, self.infer.info(new))
            new = substitute_vars(new, {early: final})
            early = final
            self.infer.callees.define(early)
        if is_unread:
            self.infer.poisoned_results.add(early)
        self.open.bindings.append(replace(binding, var=early, value=new))

    def _inner(self, fn: e.Function, name: str) -> tuple[e.Function, bool]:
        """A nested function in normal form. The second value is True if nothing is known about its result."""
        inner = FunctionNormalizer(self.report, self.infer.signature, self.assume_pure, self)
        inner.infer.caller = f"{self.infer.caller}.{name}"
        count = len(self.vars)
        new = inner.run(fn)
        while len(self.vars) > count:
            self.vars.popitem()
        for var, before in reversed(inner.rebound):
            if var in self.vars:
                self.vars[var] = before
        return new, inner.is_unread

    # -- values ---------------------------------------------------------------------------------------------------

    def value(self, expr: e.Expr) -> e.Expr:
        """The right side of a binding: one operation over leaves, with StructInfo."""
        rule = _VALUES.get(type(expr))
        if rule is None:
            return self._informed(expr) if type(expr) is e.ExternFunc else self.leaf(expr)
        return rule(self, self._unnested(expr) if self._is_nested(expr) else expr)

    def leaf(self, expr: e.Expr) -> e.Expr:
        """An operand: a variable, a constant or a tuple of leaves. Any other expression is bound to a new variable first."""
        node_type = type(expr)
        if isinstance(expr, e.Var):
            return self.vars.get(expr, expr)
        if node_type in e.LEAVES and node_type is not e.ExternFunc:
            return self._informed(expr)
        if expr in self.tuples:
            return expr
        value = self.value(expr)
        if node_type is e.Tuple or (type(value) in e.LEAVES and node_type is not e.ExternFunc):
            return value
        return self._bound(expr, value)

    def _informed(self, expr: e.Expr) -> e.Expr:
        return expr if expr.struct_info is not None else self.infer.informed(expr)

    def _completed(self, operand: e.Expr) -> e.Expr:
        """An operand of a completed call, possibly new; an operator stays unchanged."""
        return operand if type(operand) is e.OpRef else self.leaf(operand)

    def _is_nested(self, expr: e.Expr) -> bool:
        """True if an operand is itself a computation, or a tuple with one inside."""
        parts = expr.args if type(expr) is e.Call and type(expr.op) is e.OpRef else operands(expr)
        for operand in parts:
            if type(operand) in _NESTING and (
                not isinstance(operand, e.Tuple) or any(type(field) in _NESTING for field in operand.fields)
            ):
                return True
        return False

    def _unnested(self, expr: e.Expr) -> e.Expr:
        """`expr` over leaves: nested expressions are bound, depth first and left to right, without recursion."""
        stack: list[tuple[e.Expr, Iterator[e.Expr], list[e.Expr]]] = [(expr, iter(operands(expr)), [])]
        while True:
            node, pending, done = stack[-1]
            operand = next(pending, None)
            if operand is None:
                stack.pop()
                leaves = iter(done)
                new = map_operands(node, partial(next, leaves))
                if not stack:
                    return new
                stack[-1][2].append(self.leaf(new))
            elif type(operand) in _NESTING and operand not in self.tuples:
                stack.append((operand, iter(operands(operand)), []))
            else:
                done.append(self._operand(node, operand, len(done)))

    def _operand(self, node: e.Expr, operand: e.Expr, number: int) -> e.Expr:
        """An operand as a leaf. Called functions need no variable."""
        if type(node) is e.Call:
            if number == 0:
                return self._callee(operand)
            if number == 1 and type(operand) is e.ExternFunc and calls_first(node):
                return self._informed(operand)
            if type(operand) is e.GlobalVar:
                return self._global(operand)
        return self.leaf(operand)

    def _bound(self, expr: e.Expr, value: e.Expr) -> e.Var:
        name = self.fresh("lv" if self.open.dataflow else "gv")
        return self.emit(value, name, expr.span or self.place)

    def emit(self, value: e.Expr, name: str, span: Span | None) -> e.Var:
        """Bind a value in normal form to a new variable of this name, in the open block."""
        var = self.open.variable(name, self.infer.info(value), span)
        if value in self.infer.poisoned:
            self.infer.poisoned.add(var)
        self.infer.definitions[var] = value
        self._scope(var)
        self.infer.callees.hold(var, value)
        self.open.bindings.append(e.VarBinding(var, value, None, span))
        return var

    def _call(self, expr: e.Call) -> e.Expr:
        op, now = expr.op, self.vars
        if type(op) is not e.OpRef:
            op = self._callee(op)
        args = tuple(
            [
                now.get(arg, arg) if isinstance(arg, e.Var) else self._operand(expr, arg, number)
                for number, arg in enumerate(expr.args, 1)
            ]
        )
        if op is not expr.op or not all(map(is_, args, expr.args)):
            expr = e.Call(op, args, expr.attrs, expr.sinfo_args, None, expr.span)
        if expr.sinfo_args:
            expr = matching.settled_call(self.report, expr, now)
        declared = find(op.name) if type(op) is e.OpRef else None
        if declared is not None:
            if declared.takes_numbers and any(map(is_open, expr.args)):
                expr = with_dtypes(self.report, expr, [self.infer.info(arg) for arg in args], declared)
            expr = self._as_declared(expr, declared)
            info, note = self.infer.operator(expr, declared)
        else:
            info, note = self.infer.function(expr)
        info = self._owned(expr, info, expr.args)
        if not self.has_effect:
            self.has_effect = purity.is_impure(expr, undeclared=False, by_spec=True)
        if expr.struct_info is info:
            if not expr.settled and not self.infer.settles(expr):
                self.infer.keep(expr, note)
            return expr
        new = e.Call(expr.op, expr.args, expr.attrs, expr.sinfo_args, info, expr.span)
        self.infer.keep(new, note)
        if expr in self.infer.poisoned or (
            info is s.OBJECT and any(arg in self.infer.poisoned for arg in expr.args)
        ):
            self.infer.poisoned.add(new)
        return new

    def _owned(self, expr: e.Expr, info: s.StructInfo, inputs: Sequence[e.Expr]) -> s.StructInfo:
        """The StructInfo of a value with wildcards of its own."""
        if self.infer.wildcards is None:
            return info
        return self.infer.wildcards.result(expr.struct_info, info, map(self.infer.info, inputs))

    def _as_declared(self, expr: e.Call, declared: type[Op]) -> e.Call:
        """A call of an operator with every attribute, refined by the operator."""
        if declared.attributes and len(expr.attrs) < len(declared.attributes):
            attrs = completed(declared, expr.attrs)
            expr = e.Call(expr.op, expr.args, attrs, expr.sinfo_args, None, expr.span)
        if declared.refine is not None:
            refined = declared.refine(expr, [self.infer.info(arg) for arg in expr.args])
            if refined is not expr and not _needs_wildcard(refined):
                return map_operands(refined, self._completed)  # type: ignore[return-value]  # a call stays one
        return expr

    def _callee(self, op: e.Expr) -> e.Expr:
        if type(op) is e.OpRef or type(op) is e.ExternFunc:
            return op if type(op) is e.OpRef else self._informed(op)
        return self._global(op) if type(op) is e.GlobalVar else self.leaf(op)

    def _tuple(self, expr: e.Tuple) -> e.Expr:
        fields = tuple([self.leaf(field) for field in expr.fields])
        same = all(map(is_, fields, expr.fields))
        info = s.TupleStructInfo(tuple([self.infer.info(field) for field in fields]))
        if info.size > s.MOST_WRITTEN or info.depth > s.MOST_NESTED:
            expr = replace(expr, fields=fields, struct_info=s.OBJECT)
            self.tuples.add(expr)
            self.infer.bounded(expr, info)
            return expr
        new = replace(expr, fields=expr.fields if same else fields, struct_info=info)
        self.tuples.add(new)
        return new

    def _item(self, expr: e.TupleGetItem) -> e.Expr:
        source = self.leaf(expr.tuple)
        new = replace(expr, tuple=source)
        info = self.infer.item(new)
        typed = replace(new, struct_info=info)
        if new in self.infer.poisoned or source in self.infer.poisoned:
            self.infer.poisoned.add(typed)
        return typed

    def _if(self, expr: e.If) -> e.Expr:
        condition = self.leaf(expr.condition)
        dims, count = set(self.dims), len(self.vars)
        branches, ended_dims = [], []
        for branch in (expr.true_branch, expr.false_branch):
            branches.append(self.sequence(as_sequence(branch)))
            ended_dims.append(self.dims - dims)
            self.dims = set(dims)
        params = self.fn.params if self.fn is not None else ()
        infos = [self.infer.info(branch.body) for branch in branches]
        if self.infer.wildcards is not None:
            infos = [blurred(info, dims) for info in infos]
        infos = [
            erase(info, dims, matching.visible(info, self.vars, count, params), ended)
            for info, ended in zip(infos, ended_dims, strict=True)
        ]
        info = self.infer.branches(infos, [self.infer.pinned(branch.body) for branch in branches])
        info = self._owned(expr, info, [branch.body for branch in branches])
        new = replace(
            expr, condition=condition, true_branch=branches[0], false_branch=branches[1], struct_info=info
        )
        if any(branch.body in self.infer.poisoned for branch in branches):
            self.infer.poisoned.add(new)
        return new

    def _seq(self, expr: e.SeqExpr) -> e.Expr:
        before, self.ending = self.ending, True
        for block in expr.blocks:
            if self.open.dataflow and type(block) is not e.DataflowBlock and block.bindings:
                fix = codes.ORDINARY_IN_DATAFLOW.fix
                text = "an ordinary block stands inside a dataflow block"
                self.report.say(codes.ORDINARY_IN_DATAFLOW, text, block.bindings[0], help=fix)
            if type(block) is e.DataflowBlock and not self.open.dataflow:
                self._inner_dataflow(block)
                continue
            for binding in block.bindings:
                self.binding(binding)
        value = self.value(expr.body)
        self.ending = before
        for block in expr.blocks:  # nothing outside may read what is bound inside
            for binding in block.bindings:
                if binding.var is not None:
                    self.vars[binding.var] = _ended(self.vars.get(binding.var, binding.var))
        return value

    def _inner_dataflow(self, block: e.BindingBlock) -> None:
        """A dataflow block inside the value of a binding stays one: the block around it is split."""
        outer = self.open.like
        self._block(block)
        self.open.start(dataflow=False, like=outer)

    def _function(self, expr: e.Function) -> e.Expr:
        return self._inner(expr, "a nested function")[0]


def _ended(var: e.Var) -> e.Var:
    """An unbound variable in place of one whose scope has ended."""
    return e.var_like(var, var.struct_info)


def _needs_wildcard(call: e.Call) -> bool:
    """True if an operand is computed from a wildcard, which has no value."""
    return any(type(arg) is e.ShapeExpr and wildcards_of(*arg.values) for arg in call.args)


def _mentions(fn: e.Function, var: e.Var) -> bool:
    stack: list[e.Expr] = [binding.value for binding in bindings(fn)]
    while stack:
        expr = stack.pop()
        if expr is var:
            return True
        stack.extend(operands(expr))
    return False


_NESTING = frozenset({e.Call, e.Tuple, e.TupleGetItem})
_OFTEN_SETTLED = (e.Call, e.TupleGetItem)


_VALUES: dict[type, Callable[[FunctionNormalizer, Any], e.Expr]] = {
    e.Call: FunctionNormalizer._call,
    e.Tuple: FunctionNormalizer._tuple,
    e.TupleGetItem: FunctionNormalizer._item,
    e.If: FunctionNormalizer._if,
    e.SeqExpr: FunctionNormalizer._seq,
    e.Function: FunctionNormalizer._function,
}
