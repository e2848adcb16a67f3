"""Gradient: add the function that computes the derivatives of a function, in reverse mode."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from relax_explorer.core.build.block_builder import BlockBuilder
from relax_explorer.core.codes import passes as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dataflow import unneeded
from relax_explorer.core.ir.dtype import FLOAT32
from relax_explorer.core.ir.facts import variables
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Copy, fresh_dims
from relax_explorer.core.passes.cast_checks import bound_dims
from relax_explorer.core.passes.contract import PassSite, bad_option, failure_at, module_pass, relax_function
from relax_explorer.core.passes.derivatives import RULES, NoGradient, Partials, add
from relax_explorer.core.passes.pattern_rules import call
from relax_explorer.core.phases import machine_calls as m
from relax_explorer.core.phases.module_properties import (
    BUILTINS_LOWERED,
    CANONICAL_BINDINGS,
    NO_HIGH_LEVEL_OPS,
    NORMAL_FORM,
    SHAPES_LOWERED,
)
from relax_explorer.core.program.module import IRModule


@module_pass(
    "Gradient",
    requires=[NORMAL_FORM],
    invalidates=[CANONICAL_BINDINGS, NO_HIGH_LEVEL_OPS, BUILTINS_LOWERED, SHAPES_LOWERED],
)
def gradient(
    module: IRModule,
    at: PassSite,
    *,
    func_name: Annotated[str, "the function to differentiate; none by default"] = "",
    require_grads: Annotated[tuple[str, ...], "parameters whose derivatives are needed; all by default"] = (),
    target_index: Annotated[int, "which of several results is differentiated"] = 0,
) -> IRModule:
    """Add `<f>_adjoint`, which returns the results of f and the derivatives of one result with respect to its parameters.

    `s = sum(x * y)` gets `(s, (y, x))`. The function must be one dataflow block, and the result a float scalar. Derivatives go from
    the last binding to the first; operators without one, such as `floor`, are refused if the result depends on them. Parameters
    that the result does not depend on, and those that are no floats, get zeros. The weights of `nn.nll_loss` count as constants.
    """
    if not func_name:
        return module
    fn = relax_function(module, func_name)
    wanted = [_number(fn, name) for name in require_grads] or list(range(len(fn.params)))
    if len(set(wanted)) < len(wanted):
        text = f"require_grads names {require_grads[_repeated(wanted)]!r} twice"
        raise bad_option(text, "name each parameter once")
    _check_blocks(fn)
    _check_target(fn, target_index)
    adjoint = _Adjoint(fn, at, target_index).function(wanted)
    name = f"{func_name}_adjoint"
    at.editor.add(name, replace(adjoint, attrs=fn.attrs.having(global_symbol=name)))
    return at.editor.done()


_failure = partial(failure_at, origin="Gradient")


def _number(fn: e.Function, name: str) -> int:
    names = [param.name for param in fn.params]
    if name not in names:
        text = f"require_grads: no parameter is called {name!r}"
        raise bad_option(text, f"the parameters are {', '.join(names)}")
    return names.index(name)


def _repeated(numbers: list[int]) -> int:
    return next(n for n, number in enumerate(numbers) if number in numbers[:n])


def _check_blocks(fn: e.Function) -> None:
    """Refuse a function with bindings outside of dataflow blocks."""
    for block in fn.body.blocks:
        if type(block) is not e.DataflowBlock:
            text = "Gradient can't run here: it needs a function that is one dataflow block"
            help = "run ConvertToDataflow{min_size=1} first"
            outside = block.bindings[0]
            raise _failure(codes.NEEDS_ANOTHER_PASS, text, outside, "this binding is outside", help)


def _check_target(fn: e.Function, index: int) -> None:
    """Refuse a target that is no float scalar."""
    info = fn.body.body.struct_info
    fields = info.fields if isinstance(info, s.TupleStructInfo) else (info,)
    if not 0 <= index < len(fields):
        many = "s" * (len(fields) != 1)
        raise bad_option(f"target_index is {index}", f"the function has {len(fields)} result{many}")
    target = fields[index]
    if not _is_float(target) or not isinstance(target, s.TensorStructInfo) or target.ndim != 0:
        text = f"the result to differentiate is {target}"
        help = "reduce it to a float scalar first, for instance by R.sum"
        raise _failure(codes.NO_GRADIENT, text, fn.body.body, "the result", help)


def _is_float(info: s.StructInfo | None) -> bool:
    return isinstance(info, s.TensorStructInfo) and info.dtype is not None and info.dtype.is_float


def _copied(fn: e.Function) -> e.Function:
    return Copy({}, fresh_dims(bound_dims(fn))).function(fn)


class _Adjoint:
    """Builds the adjoint function: the bindings of the function, then those of the adjoints of its variables."""

    def __init__(self, fn: e.Function, at: PassSite, target_index: int) -> None:
        self.old, self.at, self.target_index = fn, at, target_index
        self.fn = _copied(fn)
        self.build = BlockBuilder(at.editor, within=self.fn)
        self.adjoints: dict[e.Var, e.Var] = {}
        self.leaves: dict[e.Expr, e.Var] = {}  # the variables of values that are emitted already

    def function(self, wanted: list[int]) -> e.Function:
        """The adjoint function with the derivatives of these parameters."""
        forward = [binding for block in self.fn.body.blocks for binding in block.bindings]
        before = [binding for block in self.old.body.blocks for binding in block.bindings]
        with self.build.dataflow():
            for binding in forward:
                self.build.keep(binding)
            origins = dict(zip(forward, before, strict=True))
            with self.build.inherit(self.old.body.body):
                self._begin()
            for old, binding in zip(reversed(before), reversed(forward), strict=True):
                count = self.build.count
                with self.build.inherit(binding.value):
                    self._backward(old, binding)
                origins.update(dict.fromkeys(self.build.emitted_since(count), old))
            with self.build.inherit(self.old.body.body):
                outputs = [self._output(self.fn.params[number]) for number in wanted]
            emitted = self.build.emitted_since(0)
        result = e.tuple_of((self.fn.body.body, e.tuple_of(tuple(outputs))))
        unread = set(unneeded(reversed(emitted), set(variables(result)), lambda b: type(b) is e.MatchCast))
        kept = [binding for binding in emitted if binding not in unread]
        successors: dict[e.Binding, list[e.Binding]] = {}
        for new in kept:
            if new in origins:
                successors.setdefault(origins[new], []).append(new)
        for old, new_ones in successors.items():
            self.at.record(old, tuple(new_ones))
        body = replace(self.fn.body, blocks=(e.DataflowBlock(tuple(kept)),), body=result, struct_info=None)
        return replace(self.fn, body=body, ret_struct_info=None, struct_info=None)

    # -- adjoints ---------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Bind the adjoint of the target, which is 1."""
        result = self.fn.body.body
        target = result.fields[self.target_index] if type(result) is e.Tuple else result
        if not isinstance(target, e.Var):
            return  # a constant
        info = target.struct_info
        if isinstance(info, s.TupleStructInfo):
            self._increase_field(target, self.target_index, self._ones(info.fields[self.target_index]))
        else:
            self._increase(target, self._ones(info))

    def _backward(self, old: e.Binding, binding: e.Binding) -> None:
        """Add to the adjoints of the variables that a binding reads."""
        value = binding.value
        adjoint = self.adjoints.get(binding.var) if binding.var is not None else None
        if adjoint is None:
            return
        if type(value) is e.TupleGetItem and isinstance(value.tuple, e.Var):
            self._increase_field(value.tuple, value.index, adjoint)
        elif isinstance(value, (e.Var, e.Tuple)):
            self._increase(value, adjoint)
        elif type(value) is e.Call:
            self._call(old, value, binding, adjoint)

    def _call(self, old: e.Binding, value: e.Call, binding: e.Binding, adjoint: e.Var) -> None:
        name = value.op.name if type(value.op) is e.OpRef else ""
        rule = RULES.get(name)
        assert binding.var is not None  # it has an adjoint
        try:
            if rule is None:
                raise NoGradient(
                    f"{name} has no derivative" if name else "a call of a function has no derivative"
                )
            increments = rule(Partials(self.build, value, binding.var, adjoint))
        except NoGradient as reason:
            text = f"the result depends on this call, which has no gradient: {reason}"
            help = "leave the call out, or mark its result with R.grad.no_grad"
            raise _failure(codes.NO_GRADIENT, text, old, "this call", help) from None
        for operand, increment in zip(value.args, increments, strict=True):
            if increment is not None:
                self._increase(operand, increment)

    def _increase(self, operand: e.Expr, increment: e.Expr) -> None:
        """Add an increment to the adjoint of an operand."""
        if type(operand) is e.Tuple:
            for number, field in enumerate(operand.fields):
                if isinstance(field, (e.Var, e.Tuple)):
                    self._increase(field, self._field(increment, number))
        elif isinstance(operand, e.Var) and _has_float(operand.struct_info):
            old = self.adjoints.get(operand)
            value = increment if old is None else self._sum(old, increment, operand.struct_info)
            self._bind(operand, value)

    def _increase_field(self, whole: e.Var, index: int, increment: e.Expr) -> None:
        """Add an increment to one field of the adjoint of a tuple."""
        info = whole.struct_info
        assert isinstance(info, s.TupleStructInfo)  # it is read as a tuple
        old = self.adjoints.get(whole)
        fields = []
        for number, field in enumerate(info.fields):
            if old is None:
                fields.append(increment if number == index else self._zeros(field))
            else:
                part = self._leaf(self._field(old, number))
                fields.append(self._leaf(self._sum(part, increment, field)) if number == index else part)
        self._bind(whole, e.Tuple(tuple(fields)))

    def _sum(self, old: e.Expr, increment: e.Expr, info: s.StructInfo | None) -> e.Expr:
        """The sum of two adjoints, which may be tuples."""
        if not isinstance(info, s.TupleStructInfo):
            return add(old, increment) if _is_float(info) else old
        parts = []
        for number, field in enumerate(info.fields):
            part = self._leaf(self._field(old, number))
            parts.append(self._leaf(self._sum(part, self._field(increment, number), field)))
        return e.Tuple(tuple(parts))

    def _field(self, whole: e.Expr, number: int) -> e.Expr:
        """A field of a tuple."""
        if type(whole) is e.Tuple:
            return whole.fields[number]
        base = self._leaf(whole)
        info = base.struct_info
        field = info.fields[number] if isinstance(info, s.TupleStructInfo) else None
        return e.TupleGetItem(base, number, field)

    def _leaf(self, value: e.Expr) -> e.Expr:
        """A value as an operand. It is emitted once."""
        if type(value) in e.LEAVES or type(value) is e.Tuple:
            return value
        if value not in self.leaves:
            self.leaves[value] = self.build.emit(value)
        return self.leaves[value]

    def _bind(self, var: e.Var, value: e.Expr) -> None:
        self.adjoints[var] = self.build.emit(value, f"{var.name}_adjoint")

    def _output(self, param: e.Var) -> e.Var:
        """The derivative with respect to a parameter, as an output of the block."""
        if param not in self.adjoints:
            info = param.struct_info
            unknown = isinstance(info, s.TensorStructInfo) and (info.dims is None or info.dtype is None)
            self._bind(param, call("relax.zeros_like", param) if unknown else self._zeros(info))
        return self.build.emit_output(self.adjoints[param], f"{param.name}_adjoint_out")

    def _zeros(self, info: s.StructInfo | None) -> e.Expr:
        """Zeros of a StructInfo."""
        if isinstance(info, s.TupleStructInfo):
            return e.Tuple(tuple([self._zeros(field) for field in info.fields]))
        if not isinstance(info, s.TensorStructInfo) or info.dims is None or info.dtype is None:
            text = f"a value of {info} has no adjoint: only tensors of known shape and dtype, and tuples of them, have one"
            help = "name the parameters to differentiate in require_grads"
            raise Failure(Diagnostic(codes.NO_GRADIENT, text, help=help, origin="Gradient"))
        return call("relax.zeros", m.shape(info.dims), dtype=info.dtype)

    def _ones(self, info: s.StructInfo | None) -> e.Expr:
        dtype = info.dtype if isinstance(info, s.TensorStructInfo) else FLOAT32
        return call("relax.ones", m.shape(()), dtype=dtype)


def _has_float(info: s.StructInfo | None) -> bool:
    if isinstance(info, s.TupleStructInfo):
        return any(map(_has_float, info.fields))
    return _is_float(info)
