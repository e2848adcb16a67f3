"""ToMixedPrecision: compute products and convolutions in float16."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import is_
from typing import Annotated

import numpy as np

from relax_explorer.core.check.call_graph import mentioned
from relax_explorer.core.codes import passes as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.dtype import FLOAT16, FLOAT32, DType, dtype
from relax_explorer.core.ir.facts import variables
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import all_blocks, map_operands, merged_blocks, sequences
from relax_explorer.core.ops import find
from relax_explorer.core.passes.contract import Kept, PassSite, module_pass
from relax_explorer.core.passes.dataflow_forms import DataflowForms
from relax_explorer.core.passes.mixed_precision_policies import ALWAYS, FOLLOW
from relax_explorer.core.passes.pattern_rules import call
from relax_explorer.core.passes.properties import NO_HIGH_LEVEL_OPS, NORMAL_FORM
from relax_explorer.core.passes.readings import DATAFLOW, OPERATORS
from relax_explorer.core.program.module import IRModule

HALF_MAX = 65504.0  # the largest number of float16
_FLOATS = (FLOAT16, FLOAT32)
_ASTYPE = e.op_ref("relax.astype")
_TO: dict[DType | None, Attrs] = {to: Attrs({"dtype": to}) for to in _FLOATS}


@module_pass(
    "ToMixedPrecision",
    rebuilds=True,
    changes={Kept.SIGNATURES: "fp16_input_names"},
    reads=[DATAFLOW, OPERATORS],
    requires=[NORMAL_FORM],
    invalidates=[NO_HIGH_LEVEL_OPS],
)
def to_mixed_precision(
    module: IRModule,
    at: PassSite,
    *,
    out_dtype: Annotated[
        str, '"float32" or "float16": the dtype in which products and convolutions accumulate'
    ] = "float32",
    fp16_input_names: Annotated[tuple[str, ...], "parameters that become float16"] = (),
) -> IRModule:
    """Compute products, convolutions and attention in dataflow blocks in float16, and what follows them where nothing needs float32.

    `matmul(x, w)` of float32 tensors becomes a product of `astype(x, "float16")` and `astype(w, "float16")`. Element-wise
    operators and those that move elements stay in float16 if all their variables are; other operators get float32. Results of a
    block keep their dtype. `fp16_input_names` changes parameters of functions that the module itself does not call.
    """
    if out_dtype not in ("float16", "float32"):
        help = 'write out_dtype="float32" or out_dtype="float16"'
        raise Failure(Diagnostic(codes.BAD_OPTION, f"out_dtype is {out_dtype!r}", help=help))
    named = {name: _half_params(fn, fp16_input_names) for name, fn in module.relax_functions.items()}
    _check_names(module, fp16_input_names, {p.name for params in named.values() for p in params})
    called = {other for fn in module.relax_functions.values() for other in mentioned(fn)}
    settled = _Settled(dtype(out_dtype))
    for name, fn in module.relax_functions.items():
        params = () if name in called else named[name]
        if not params and settled.function(fn):
            continue
        new = _Mixer(fn, at, dtype(out_dtype), params).function()
        if new is not fn:
            at.editor.replace(name, new)
    return at.editor.done()


def _half_params(fn: e.Function, names: tuple[str, ...]) -> tuple[e.Var, ...]:
    """The named parameters that are tensors of float32 or float16."""
    return tuple([p for p in fn.params if p.name in names and _dtype(p.struct_info) in _FLOATS])


def _check_names(module: IRModule, names: tuple[str, ...], found: set[str]) -> None:
    for name in names:
        if name in found:
            continue
        known = {p.name: p for fn in module.relax_functions.values() for p in fn.params}
        text = (
            f"{name!r} is {known[name].struct_info}" if name in known else f"no parameter is called {name!r}"
        )
        floats = [other for other, p in known.items() if _dtype(p.struct_info) in _FLOATS]
        help = f"the parameters of float32 are {', '.join(floats)}" if floats else "no parameter is float32"
        raise Failure(Diagnostic(codes.BAD_OPTION, f"fp16_input_names: {text}", help=help))


def _dtype(info: s.StructInfo | None) -> DType | None:
    return info.dtype if isinstance(info, s.TensorStructInfo) else None


def _policy(value: e.Expr) -> frozenset[str] | None:
    """`ALWAYS` or `FOLLOW` if the policy of an operator applies to this call."""
    if type(value) is not e.Call or type(value.op) is not e.OpRef:
        return None
    policy = next((table for table in (ALWAYS, FOLLOW) if value.op.name in table), None)
    dtypes = {info.dtype for arg in value.args for info in _tensors(arg.struct_info)}
    is_cast = value.op.name == "relax.astype" and type(value.args[0]) is e.Constant
    if policy is None or None in dtypes or is_cast:
        return None
    results = {info.dtype for info in _tensors(value.struct_info)}
    if policy is ALWAYS and (dtypes.isdisjoint(_FLOATS) or not results.issubset(_FLOATS)):
        return None  # a product of integers or float64 values would be another one
    return policy


def _tensors(info: s.StructInfo | None) -> Iterator[s.TensorStructInfo]:
    """The tensors in a StructInfo."""
    if isinstance(info, s.TensorStructInfo):
        yield info
    elif isinstance(info, s.TupleStructInfo):
        for part in info.fields:
            yield from _tensors(part)


class _Settled:
    """Tells which functions are in mixed precision already: in each of their calls, the operands have the dtype that its policy says."""

    def __init__(self, out_dtype: DType) -> None:
        self.out_dtype = out_dtype
        self.known: dict[object, bool] = {}  # layers repeat: most calls are like one before

    def function(self, fn: e.Function) -> bool:
        """True if the pass would leave a function as it is."""
        blocks = list(all_blocks(fn))
        if not all([block.bindings for block in blocks]):
            return False  # the pass drops empty blocks, too
        graphs = [block for block in blocks if type(block) is e.DataflowBlock]
        return all(self._value(binding.value) for block in graphs for binding in block.bindings)

    def _value(self, value: e.Expr) -> bool:
        if type(value) is not e.Call:
            return True
        args = value.args
        if not _VARIABLES.issuperset(map(type, args)):
            return _is_settled(value, self.out_dtype)  # it may depend on elements of constants
        key = (value.op, value.attrs, *[arg.struct_info for arg in args], value.struct_info)
        known = self.known.get(key)
        if known is None:
            known = self.known[key] = _is_settled(value, self.out_dtype)
        return known


_VARIABLES = frozenset({e.Var, e.DataflowVar})


def _is_settled(value: e.Call, out_dtype: DType) -> bool:
    """True if the operands of a call have the dtype that its policy says, and it asks for the dtype that the options say."""
    policy = _policy(value)
    if policy is None:
        return True
    to = _wanted(value, policy)
    return _attrs(value, policy, out_dtype) == value.attrs and not any(
        _differs(arg.struct_info, to) for arg in value.args
    )


def _wanted(value: e.Call, policy: frozenset[str]) -> DType:
    """The dtype that the operands of a call get."""
    return FLOAT32 if policy is FOLLOW and any(map(_is_wide, value.args)) else FLOAT16


def _attrs(value: e.Call, policy: frozenset[str], out_dtype: DType) -> Attrs:
    """The attributes that a call gets."""
    op = find(value.op.name) if type(value.op) is e.OpRef else None
    if policy is ALWAYS and op is not None and any(p.name == "out_dtype" for p in op.attributes):
        return value.attrs.having(out_dtype=out_dtype)
    return value.attrs


@dataclass(slots=True)
class _Uses:
    """How the variables of a function are read. As in TVM, only those in dataflow blocks of the function itself count."""

    by_policy: set[e.Var] = field(default_factory=set)  # operands of ALWAYS
    in_own_block: set[e.Var] = field(default_factory=set)  # those in the block that binds them
    otherwise: set[e.Var] = field(default_factory=set)
    outside: set[e.Var] = field(default_factory=set)  # read outside of dataflow blocks
    policies: dict[e.Expr, frozenset[str] | None] = field(
        default_factory=dict
    )  # of values in dataflow blocks

    def only_half(self, var: e.Var) -> bool:
        """True if every reader needs float16."""
        return var in self.by_policy and var not in self.otherwise

    def sequence(self, seq: e.SeqExpr, is_inner: bool = False) -> None:
        """Note the reads in a sequence."""
        for block in seq.blocks:
            is_flow = type(block) is e.DataflowBlock
            bound = {binding.var for binding in block.bindings}
            for binding in block.bindings:
                if is_flow:
                    self.policies[binding.value] = _policy(binding.value)
                halves = is_flow and self.policies[binding.value] is ALWAYS
                for var in variables(binding.value):
                    if not is_flow:
                        self.outside.add(var)
                    elif is_inner:
                        continue
                    elif not halves:
                        self.otherwise.add(var)
                    else:
                        self.by_policy.add(var)
                        if var in bound:
                            self.in_own_block.add(var)
                for inner in sequences(binding.value):
                    self.sequence(inner, True)
        self.outside.update(variables(seq.body))


class _Mixer(DataflowForms):
    """Rewrites one function. The other form of a value is that in float16."""

    def __init__(self, fn: e.Function, at: PassSite, out_dtype: DType, named: tuple[e.Var, ...]) -> None:
        super().__init__(fn, at)
        self.out_dtype = out_dtype
        self.uses = _Uses()
        self.uses.sequence(fn.body)
        self.uses.otherwise.update(variables(fn.body.body))
        self.first: dict[e.Var, s.StructInfo | None] = {}  # what the values of variables were
        self.shared = fn.params  # those that each block casts once; as in TVM, none behind a nested function
        self.wide: dict[e.Var, e.Var] = {}  # parameters that became float16, cast for readers outside
        for param in named:
            info = param.struct_info
            assert isinstance(info, s.TensorStructInfo)  # as `_half_params` checked
            if info.dtype is FLOAT32:
                self.now[param] = e.var_like(
                    param, s.TensorStructInfo(info.shape, FLOAT16, info.ndim, info.vdevice)
                )

    def function(self) -> e.Function:
        """The function in mixed precision."""
        params = tuple([self.now.get(param, param) for param in self.fn.params])
        with self.build.apart(), self.build.inherit(self.fn):
            for param, half in self.now.items():
                if param in self.uses.outside:
                    self.wide[param] = self.build.emit(call("relax.astype", half, dtype=FLOAT32), param.name)
            front = self.build.blocks()
        new = super().function()
        if front:
            blocks = tuple(merged_blocks([*front, *new.body.blocks]))
            new = replace(new, body=replace(new.body, blocks=blocks))
        if all(map(is_, params, self.fn.params)):
            return new
        return replace(new, params=params, struct_info=None)

    def begin(self, block: e.BindingBlock) -> None:
        """Cast parameters that are needed in float16 only."""
        if block.bindings:
            with self.emitting(block.bindings[0]):
                for param in self.shared:
                    self._halve(param)

    def enter(self, fn: e.Function) -> None:
        """Nothing is cast once from here on."""
        self.shared = ()

    def after(self, binding: e.Binding) -> None:
        """Cast a variable that is needed in float16 only."""
        var = binding.var
        if var is not None and var in self.uses.in_own_block and self.uses.only_half(var):
            with self.emitting(binding):
                self._halve(var)

    def _halve(self, var: e.Var) -> None:
        """Cast a variable once if each of its readers needs float16."""
        current = self.now.get(var, var)
        if self.uses.only_half(var) and _dtype(current.struct_info) is FLOAT32:
            self.now[var] = self.build.emit(call("relax.astype", current, dtype=FLOAT16))

    def value(self, binding: e.Binding) -> e.Expr:
        """The value of a binding in mixed precision, with the dtype of its variable unless that is a dataflow variable."""
        value, var = binding.value, binding.var
        policy = self.uses.policies.get(value) if self.in_dataflow else None
        movable = self.in_dataflow and type(value) in (e.Tuple, e.TupleGetItem)
        if type(binding) is not e.VarBinding or (policy is None and not movable):
            return self.restored(value)
        assert var is not None  # a VarBinding has one
        self.first[var] = value.struct_info
        value = map_operands(value, self.current)
        if policy is not None and type(value) is e.Call:
            value = self._in_precision(value, policy)
        if value is binding.value:
            return value  # so that a second run changes nothing
        value = self.ready = self.build.informed(value)
        if type(var) is not e.DataflowVar:
            return self._cast(value, binding.value.struct_info)
        return self._cast(value, FLOAT16) if policy is ALWAYS else value

    def _cast(self, value: e.Expr, to: DType | s.StructInfo | None) -> e.Expr:
        """A value in a dtype. A call is bound before it is cast: a nested one would be inferred once more."""
        if type(value) is e.Call and _differs(value.struct_info, to):
            value = self.build.emit(value)
        return self._converted(value, to)

    def _in_precision(self, value: e.Call, policy: frozenset[str]) -> e.Call:
        """A call with operands of the dtype that its policy says."""
        to = _wanted(value, policy)
        args = tuple([self._operand(arg, to) for arg in value.args])
        attrs = _attrs(value, policy, self.out_dtype)
        if attrs == value.attrs and all(map(is_, args, value.args)):
            return value
        return e.Call(value.op, args, attrs, value.sinfo_args, None, value.span)

    def _operand(self, arg: e.Expr, to: DType) -> e.Expr:
        """An operand in a dtype. A cast is bound here, which takes less time than a nested one."""
        new = self._converted(arg, to)
        return new if new is arg or type(new) is not e.Call else self.build.emit(new)

    def restored(self, expr: e.Expr) -> e.Expr:
        """An expression whose operands have their first dtypes again."""
        if isinstance(expr, e.Var) and not self.in_dataflow and expr in self.wide:
            return self.wide[expr]
        return super().restored(expr)

    def first_form(self, current: e.Expr, var: e.Var) -> e.Expr:
        """The value in its first dtype. The annotation of the variable may hide it."""
        return self._converted(current, self.first.get(var, var.struct_info))

    def _converted(self, expr: e.Expr, to: DType | s.StructInfo | None) -> e.Expr:
        """An expression whose tensors of float16 and float32 have the dtype of `to`."""
        info = expr.struct_info
        if not _differs(info, to):
            return expr
        if not isinstance(info, s.TupleStructInfo):
            wanted = to if isinstance(to, DType) else _dtype(to)
            return e.Call(_ASTYPE, (expr,), _TO[wanted])  # it differs, so it is one of the two
        parts = to.fields if isinstance(to, s.TupleStructInfo) else (to,) * len(info.fields)
        if type(expr) is e.Tuple:
            fields: tuple[e.Expr, ...] = expr.fields
        else:
            whole = expr if isinstance(expr, e.Var) else self.build.emit(expr)
            fields = tuple([e.TupleGetItem(whole, number, part) for number, part in enumerate(info.fields)])
        return e.Tuple(tuple([self._converted(item, part) for item, part in zip(fields, parts, strict=True)]))


def _differs(info: s.StructInfo | None, to: DType | s.StructInfo | None) -> bool:
    """True if a tensor of float16 or float32 has another dtype than in `to`."""
    have = [tensor.dtype for tensor in _tensors(info)]
    want = [to] * len(have) if isinstance(to, DType) else [tensor.dtype for tensor in _tensors(to)]
    return any(a is not b and a in _FLOATS and b in _FLOATS for a, b in zip(have, want, strict=True))


def _is_wide(arg: e.Expr) -> bool:
    """True if an operand of FOLLOW asks for float32. As in TVM, constants that float16 holds don't; a tuple that a variable holds does."""
    if type(arg) is e.Tuple:
        return any(map(_is_wide, arg.fields))
    if isinstance(arg.struct_info, s.TupleStructInfo):
        return True
    if _dtype(arg.struct_info) is not FLOAT32:
        return False
    return type(arg) is not e.Constant or (arg.data is not None and bool(np.any(np.abs(arg.data) > HALF_MAX)))
