"""VMShapeLower: compute symbolic lengths on a shape heap, and check values by builtins of the virtual machine."""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import Any

from relax_explorer.core.check.emission import FreshNames
from relax_explorer.core.check.infer import Inferrer
from relax_explorer.core.check.matching import renamed_vars as renamed
from relax_explorer.core.check.order import unify
from relax_explorer.core.codes import passes as codes
from relax_explorer.core.diagnostics import Report
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import info_holders, map_operands, merged_blocks, sequences
from relax_explorer.core.passes.contract import PassSite, failure_at, function_pass
from relax_explorer.core.passes.run_time_checks import NO_LENGTHS, Checks, ShapeHeap, describe
from relax_explorer.core.phases import machine_calls as m
from relax_explorer.core.phases.module_properties import (
    BUILTINS_LOWERED,
    NO_DATAFLOW,
    NO_HIGH_LEVEL_OPS,
    NO_NESTED_FUNCTIONS,
    NORMAL_FORM,
    PATTERNS_ANNOTATED,
    PURITY_ERASED,
    SHAPES_LOWERED,
    SYMBOLS_ATTACHED,
)
from relax_explorer.core.shapes.machine_checks import is_lowered
from relax_explorer.core.source import Span


@function_pass(
    "VMShapeLower",
    requires=[NORMAL_FORM, NO_HIGH_LEVEL_OPS, BUILTINS_LOWERED],
    needs=[NO_NESTED_FUNCTIONS, NO_DATAFLOW, PURITY_ERASED],
    establishes=[SHAPES_LOWERED],
    invalidates=[PATTERNS_ANNOTATED, SYMBOLS_ATTACHED],
)
def vm_shape_lower(fn: e.Function, at: PassSite) -> e.Function:
    """Give every symbolic length a slot on a shape heap, and turn shapes and scalars into builtins that read it.

    At the start, builtins check the parameters and store their lengths. If the function has the attribute `num_input`, tensors
    after so many parameters are not checked, unless a length is bound there. PrimFuncs called `shape_func` compute further lengths
    as soon as their variables are known. A match_cast stays as a copy behind its checks. A result is checked if its StructInfo does
    not follow from the body. A function with a shape heap is unchanged.
    """
    if is_lowered(fn):
        return fn
    return _Lowering(fn, at).function()


def _refuse(at: e.Expr, text: str, label: str, before: str) -> None:
    """Refuse a module that another pass must lower first."""
    text, help = f"VMShapeLower can't run here: {text}", f"run {before} before it"
    raise failure_at(codes.NEEDS_ANOTHER_PASS, text, at, label, help, "VMShapeLower")


class _Lowering:
    """Lowers one function."""

    def __init__(self, fn: e.Function, at: PassSite) -> None:
        self.fn, self.at = fn, at
        self.heap = ShapeHeap(fn)
        self.names = FreshNames.of(fn)
        self.emitted: list[e.Binding] = []  # the bindings of the open block
        self.place: Span | None = None  # what is lowered now; a check that fails points there
        self.renamed: dict[e.Var, e.Var] = {}  # variables whose StructInfo has only a rank now
        self.codes: dict[p.PrimExpr, tuple[e.PrimValue, e.PrimValue]] = {}  # those of lengths
        self.infer = Inferrer(Report(), at.editor.signature)
        self.shape_heap = self.emit(self._allocation(), "shape_heap")

    def function(self) -> e.Function:
        """The function with its checks, and with lengths on the heap."""
        self._check_params()
        body = self.sequence(self.fn.body, self.emitted, is_function=True)
        return replace(self.fn, body=body)

    def _allocation(self) -> e.Call:
        if not self.heap.size:
            return m.operation("relax.null_value", (), s.OBJECT)
        args = (m.extern("vm.builtin.alloc_shape_heap"), e.tuple_of((m.number(self.heap.size),)))
        info = s.TensorStructInfo(None, INT64, 1)
        return replace(m.operation("relax.call_builtin_with_ctx", args, info), sinfo_args=(info,))

    def emit(self, value: e.Expr, hint: str = "gv") -> e.Var:
        """Bind a value to a new variable."""
        binding = m.bound(self.names(hint), value)
        self.emitted.append(binding)
        return binding.var

    def say(self, value: e.Expr) -> None:
        """Emit a call whose result is not used."""
        placed = replace(value, span=self.place) if value.span is None else value
        self.emitted.append(m.statement(placed))

    # -- checks ------------------------------------------------------------------------------------------------

    def _check_params(self) -> None:
        name = self.at.function
        checked = self.fn.attrs.get("num_input", len(self.fn.params))
        checks = Checks(self)
        for number, param in enumerate(self.fn.params):
            info, self.place = param.struct_info, param.span or self.fn.span
            is_weight = number >= checked and isinstance(info, s.TensorStructInfo)
            if info is not None and (not is_weight or checks.binds(info)):
                checks.only_binding = number >= checked
                where = f"fn={name}, loc=param[{number}], param={param.name}, annotation={describe(info)}"
                checks.value(param, info, where, always=True)
        checks.match()

    def _check_cast(self, cast: e.MatchCast) -> None:
        checks = Checks(self)
        checks.value(cast.value, cast.struct_info, f"match_cast, ty={describe(cast.struct_info)}")
        checks.match()

    def _check_result(self, result: e.Expr) -> None:
        info, self.place = self.fn.ret_struct_info, result.span or self.fn.span
        if info is not None:
            name = self.at.function
            checks = Checks(self)
            checks.value(result, info, f"fn={name}, loc=return, annotation={describe(info)}")
            checks.match()

    def compute(self, variables: list[p.PrimVar]) -> None:
        """Compute the lengths for which the last variables are known now."""
        ready = self.heap.define(variables)
        if ready:
            fn = self.at.editor.add("shape_func", self.heap.function(ready))
            self.say(e.Call(fn, (self.shape_heap,), struct_info=m.UNIT))

    # -- bindings ----------------------------------------------------------------------------------------------

    def sequence(self, seq: e.SeqExpr, before: list[e.Binding], is_function: bool = False) -> e.SeqExpr:
        """A sequence with lowered lengths; `before` are bindings at its start."""
        outer, self.emitted = self.emitted, before
        blocks: list[e.BindingBlock] = []
        for block in seq.blocks:
            for binding in block.bindings:
                self._binding(binding)
            blocks.append(replace(block, bindings=tuple(self.emitted)))
            self.emitted = []
        result = self._operand(seq.body)
        if is_function:
            self._check_result(result)
        if self.emitted:
            blocks.append(e.BindingBlock(tuple(self.emitted)))
        self.emitted = outer
        return replace(seq, blocks=tuple(merged_blocks(blocks)), body=result)

    def _binding(self, binding: e.Binding) -> None:
        start = len(self.emitted)
        self.place = binding.span or binding.value.span
        if type(binding) is e.MatchCast:
            cast = self._with_renamed_shapes(replace(binding, value=self._operand(binding.value)))
            self._check_cast(cast)
            new: e.Binding = cast
        else:
            assert type(binding) is e.VarBinding  # the only other kind
            new = self._informed(binding, self._value(binding.value))
        self.emitted.append(new)
        if new is not binding or len(self.emitted) > start + 1:
            self.at.record(binding, tuple(self.emitted[start:]))

    def _with_renamed_shapes(self, cast: e.MatchCast) -> e.MatchCast:
        """The match_cast, if its target names a variable that holds a shape, with the new variable."""
        target = renamed(cast.struct_info, self.renamed)
        if target is cast.struct_info:
            return cast
        var = cast.var if cast.var is None else e.var_like(cast.var, target)
        if cast.var is not None and var is not None:
            self.renamed[cast.var] = var
        return replace(cast, var=var, struct_info=target, annotation=None)

    def _informed(self, binding: e.VarBinding, value: e.Expr) -> e.Binding:
        """The binding with its new value. Allocations have only a rank if the heap holds their lengths."""
        if value is binding.value:
            return binding
        if type(value) is e.If:
            return self._of_branches(binding, value)
        if type(value) is e.Call:
            value = self.infer.derived(value)
            info = self.infer.info(value)
        else:
            derived = replace(value, struct_info=None) if type(value) is e.TupleGetItem else value
            info = self.infer.info(derived)
        if info is binding.var.struct_info:
            return replace(
                binding, value=value if isinstance(value, e.Var) else replace(value, struct_info=info)
            )
        var = self.renamed[binding.var] = e.var_like(binding.var, info)
        value = value if isinstance(value, e.Var) else replace(value, struct_info=info)
        return replace(binding, var=var, value=value, annotation=None)

    def _of_branches(self, binding: e.VarBinding, value: e.If) -> e.VarBinding:
        """The binding of an If. It says no more than the results of its branches, which may be such allocations."""
        said = info = binding.var.struct_info or s.OBJECT
        for branch, before in zip(sequences(value), sequences(binding.value), strict=True):
            if branch.body is not before.body:
                info = unify(info, branch.body.struct_info or s.OBJECT)
        if info == said:
            return replace(binding, value=value)
        var = self.renamed[binding.var] = e.var_like(binding.var, info)
        return replace(binding, var=var, value=replace(value, struct_info=info), annotation=None)

    def _value(self, value: e.Expr) -> e.Expr:
        if type(value) is e.If:
            saved = self.heap.saved()
            branches = []
            for branch in sequences(value):
                branches.append(self.sequence(branch, []))
                self.heap.restore(saved)
            true, false = branches
            condition = self._operand(value.condition)
            return replace(value, condition=condition, true_branch=true, false_branch=false)
        if type(value) is e.ShapeExpr or type(value) is e.PrimValue:
            return self._made(value) or value
        if isinstance(value, (e.Var, e.Tuple)):
            return self._operand(value)
        return self._call(value) if type(value) is e.Call else map_operands(value, self._operand)

    def _call(self, call: e.Call) -> e.Expr:
        """A call with lowered operands."""
        now: Callable[[Any, Any], Any] = self.renamed.get
        op, args = now(call.op, call.op), call.args
        if NO_LENGTHS.issuperset(map(type, args)):  # no loop in Python: most calls are such
            new = tuple(map(now, args, args))
        else:
            new = tuple(
                [
                    arg if type(arg) in NO_LENGTHS and arg not in self.renamed else self._operand(arg)
                    for arg in args
                ]
            )
        infos = call.sinfo_args
        if any(map(info_holders, infos)):
            infos = tuple([renamed(info, self.renamed) for info in infos])
        if op is call.op and new == args and infos == call.sinfo_args:  # nodes are equal only to themselves
            return call
        if m.is_allocation(call):
            text = "builtin.alloc_tensor takes no lengths from the shape heap"
            _refuse(call, text, "this tensor has no storage", "LowerAllocTensor")
        return e.Call(op, new, call.attrs, infos, call.struct_info, call.span)

    def _operand(self, value: e.Expr) -> e.Expr:
        if isinstance(value, e.Var):  # most often
            return self.renamed.get(value, value)
        if type(value) is e.ShapeExpr or type(value) is e.PrimValue:
            made = self._made(value)
            return value if made is None else self.emit(made)
        if type(value) is e.Tuple:
            fields = tuple(map(self._operand, value.fields))
            return value if all(map(is_, fields, value.fields)) else e.tuple_of(fields)
        return value

    def _made(self, value: e.ShapeExpr | e.PrimValue) -> e.Call | None:
        """The builtin that makes a shape or a scalar from the heap. None if its lengths are numbers."""
        if type(value) is e.PrimValue:
            if value.value not in self.heap.slots:
                if not value.value.is_literal and value.value.dtype is not INT64:
                    text = f"the scalar {value.value} is computed from lengths, and is no int64"
                    _refuse(value, text, "the shape heap holds lengths only", "ComputePrimValue")
                return None
            info: s.StructInfo = s.PrimStructInfo(value.value.dtype)
            return m.packed(
                "vm.builtin.make_prim_value", (self.shape_heap, *self._code(value.value)), info, value
            )
        assert type(value) is e.ShapeExpr
        if all(type(length) is p.IntImm for length in value.values):
            return None
        codes_ = [item for length in value.values for item in self._code(length)]
        ndim = len(value.values)
        args = (self.shape_heap, m.number(ndim), *codes_)
        return m.packed("vm.builtin.make_shape", args, s.ShapeStructInfo(None, ndim), value)

    def _code(self, length: p.PrimExpr) -> tuple[e.PrimValue, e.PrimValue]:
        """0 and a number, or 1 and a slot."""
        known = self.codes.get(length)
        if known is None:
            kind, number = (0, length.value) if isinstance(length, p.IntImm) else (1, self.heap.slots[length])
            known = self.codes[length] = m.number(kind), m.number(number)
        return known
