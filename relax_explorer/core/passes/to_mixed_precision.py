"""ToMixedPrecision: compute in float16 where that is safe."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import is_
from typing import Annotated

import numpy as np

from relax_explorer.core.build.block_builder import BlockBuilder
from relax_explorer.core.check.call_graph import mentioned_anywhere
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.dtype import FLOAT16, FLOAT32, DType, dtype
from relax_explorer.core.ir.facts import variables
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import (
    all_blocks,
    called,
    map_branches,
    map_operands,
    merged_blocks,
    sequences,
    with_blocks,
)
from relax_explorer.core.ops import find
from relax_explorer.core.passes.contract import Kept, PassSite, bad_option, check_choice, module_pass
from relax_explorer.core.passes.pattern_rules import call
from relax_explorer.core.passes.readings import DATAFLOW, OPERATORS
from relax_explorer.core.phases.module_properties import NO_HIGH_LEVEL_OPS, NORMAL_FORM
from relax_explorer.core.program.module import IRModule

ALWAYS = frozenset(
    f"relax.{name}"
    for name in (
        "matmul", "outer", "nn.attention", "nn.attention_bias", "nn.attention_var_len", "nn.conv1d", "nn.conv1d_transpose",
        "nn.conv2d", "nn.conv2d_transpose", "nn.conv3d", "nn.conv3d_transpose",
    )
)  # fmt: skip
"""Operators whose operands become float16. Those with an `out_dtype` accumulate in the `out_dtype` of the pass."""

FOLLOW = frozenset(
    f"relax.{name}"
    for name in (
        # element by element
        "abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and", "bitwise_not", "bitwise_or",
        "bitwise_xor", "ceil", "cos", "cosh", "divide", "equal", "erf", "ewise_fma", "exp", "floor", "floor_divide", "floor_mod",
        "greater", "greater_equal", "isfinite", "isinf", "isnan", "left_shift", "less", "less_equal", "log", "log_add_exp",
        "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "mod", "multiply", "negative",
        "not_equal", "power", "right_shift", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "square", "subtract",
        "tan", "tanh", "trunc",
        # created, cast and moved elements
        "arange", "astype", "broadcast_to", "concat", "dynamic_strided_slice", "expand_dims", "eye", "flatten", "full",
        "full_like", "hamming_window", "layout_transform", "meshgrid", "ones", "permute_dims", "reshape", "split", "squeeze",
        "stack", "strided_slice", "zeros",
        # images and neural networks
        "image.affine_grid", "image.grid_sample", "image.resize2d", "image.resize3d", "vision.roi_align", "vision.roi_pool",
        "nn.adaptive_avg_pool1d", "nn.adaptive_avg_pool2d", "nn.adaptive_avg_pool3d", "nn.avg_pool1d", "nn.avg_pool2d",
        "nn.avg_pool3d", "nn.batch_flatten", "nn.dropout", "nn.gelu", "nn.gelu_tanh", "nn.group_norm", "nn.instance_norm",
        "nn.layer_norm", "nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d", "nn.relu", "nn.rms_norm", "nn.selu", "nn.silu",
    )
)  # fmt: skip
"""Operators that compute in float32 if one of their variables is float32, and else in float16."""


class DataflowForms(ABC):
    """Walks over one function. `now` maps variables to those that hold their values in another form."""

    def __init__(self, fn: e.Function, at: PassSite) -> None:
        self.fn, self.at = fn, at
        self.build = BlockBuilder(at.editor, within=fn, record=at.record)
        self.now: dict[e.Var, e.Var] = {}
        self.params = fn.params  # of the current function
        self.in_dataflow = False
        self.ready: e.Expr | None = None  # the last value that is in normal form already

    @abstractmethod
    def value(self, binding: e.Binding) -> e.Expr:
        """The new value of a binding. In its first form, unless a dataflow variable holds it."""

    @abstractmethod
    def first_form(self, current: e.Expr, var: e.Var) -> e.Expr:
        """The value of `current`, which holds that of `var`, in its first form."""

    def begin(self, block: e.BindingBlock) -> None:  # noqa: B027  # a hook that not every walk needs
        """Called at the start of each dataflow block."""

    def after(self, binding: e.Binding) -> None:  # noqa: B027  # likewise
        """Called after each binding of a dataflow block."""

    def enter(self, fn: e.Function) -> None:  # noqa: B027  # likewise
        """Called in front of each nested function."""

    def function(self) -> e.Function:
        """The function after the walk."""
        return replace(self.fn, body=self.sequence(self.fn.body))

    def sequence(self, seq: e.SeqExpr) -> e.SeqExpr:
        """A sequence after the walk."""
        outer = self.in_dataflow
        with self.build.apart():
            for block in seq.blocks:
                self.build.start_block(block)
                self.in_dataflow = type(block) is e.DataflowBlock
                self._block(block)
            self.in_dataflow = False
            blocks, result = self.build.blocks(), self.restored(seq.body)
        self.in_dataflow = outer
        return with_blocks(seq, blocks, body=result)

    def current(self, expr: e.Expr) -> e.Expr:
        """An operand with the variables that hold the present forms."""
        if isinstance(expr, e.Var):
            return self.now.get(expr, expr)
        new = map_operands(expr, self.current)
        return e.tuple_of(new.fields) if new is not expr and type(new) is e.Tuple else new

    def restored(self, expr: e.Expr) -> e.Expr:
        """An expression whose operands have their first form."""
        if not isinstance(expr, e.Var):
            return map_operands(expr, self.restored)
        current = self.now.get(expr)
        return expr if current is None else self.first_form(current, expr)

    @contextmanager
    def emitting(self, origin: e.Binding) -> Iterator[None]:
        """Note that the bindings emitted meanwhile, if any, come from `origin`."""
        count = self.build.count
        with self.build.inherit(origin, records=False):
            yield
        new = self.build.emitted_since(count)
        if new:
            self.at.record(origin, new)

    def _block(self, block: e.BindingBlock) -> None:
        known = set(self.now)
        if self.in_dataflow:
            self.begin(block)
        for binding in block.bindings:
            self._binding(binding)
            if self.in_dataflow:
                self.after(binding)
        bound = [binding.var for binding in block.bindings if binding.var is not None]
        for var in (*self.params, *bound):
            if var not in known:
                self.now.pop(var, None)

    def _binding(self, binding: e.Binding) -> None:
        value = binding.value
        if type(value) is e.Function:
            self.enter(value)
            outer, self.params = self.params, value.params
            new = replace(binding, value=replace(value, body=self.sequence(value.body)))
            self.params = outer
        elif type(value) is e.If:
            new_value = map_branches(value, self.sequence)
            new = replace(binding, value=replace(new_value, condition=self.restored(value.condition)))
        else:
            count, place = self.build.count, self.build.span  # as `emitting` does, in less time
            self.build.normalizer.place = value.span or place
            formed = self.value(binding)
            if formed is not value:
                ready = formed is self.ready
                formed = e.replace_span(formed, value.span)
                self._bind(binding, formed if ready else self.build.informed(formed))
            self.build.normalizer.place = place
            emitted = self.build.emitted_since(count)
            if emitted:
                self.at.record(binding, emitted)
            if formed is not value:
                return
            new = binding
        if new is not binding:
            self.at.record(binding, new)
        self.build.keep(new)

    def _bind(self, binding: e.Binding, value: e.Expr) -> None:
        """Emit a binding with a new value in normal form. A dataflow variable gets its StructInfo."""
        if type(binding) is not e.VarBinding:
            self.build.add(replace(binding, value=value))
            return
        var = binding.var
        if binding.annotation is not None and value.struct_info is s.OBJECT:
            # The value is known by its annotation alone: the text omits a constant.
            self.build.add(replace(binding, value=value))
        elif type(var) is e.DataflowVar:
            self.build.add(e.VarBinding(e.var_like(var, value.struct_info), value, None, binding.span))
            self.hold(var)
        elif value.struct_info is not var.struct_info:
            # Readers elsewhere know no more of the variable than before.
            self.build.add(replace(binding, value=value, annotation=var.struct_info))
        else:
            self.build.add(replace(binding, value=value))

    def hold(self, var: e.Var) -> e.Var:
        """Let the last emitted variable hold the value of `var`."""
        (last,) = self.build.emitted_since(self.build.count - 1)
        assert last.var is not None  # only bindings with a variable hold values
        self.now[var] = last.var
        return last.var


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
    check_choice("out_dtype", out_dtype, ("float32", "float16"))
    named = {name: _half_params(fn, fp16_input_names) for name, fn in module.relax_functions.items()}
    _check_names(module, fp16_input_names, {p.name for params in named.values() for p in params})
    called = mentioned_anywhere(module)
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
        text = f"no parameter is called {name!r}"
        if name in known:
            text = f"{name!r} is {known[name].struct_info}"
        floats = [other for other, p in known.items() if _dtype(p.struct_info) in _FLOATS]
        help = f"the parameters of float32 are {', '.join(floats)}" if floats else "no parameter is float32"
        raise bad_option(f"fp16_input_names: {text}", help)


def _dtype(info: s.StructInfo | None) -> DType | None:
    return info.dtype if isinstance(info, s.TensorStructInfo) else None


def _policy(value: e.Expr) -> frozenset[str] | None:
    """`ALWAYS` or `FOLLOW` if the policy of an operator applies to this call."""
    name = called(value)
    policy = ALWAYS if name in ALWAYS else FOLLOW if name in FOLLOW else None
    if policy is None or type(value) is not e.Call:
        return None
    dtypes = {info.dtype for arg in value.args for info in _tensors(arg.struct_info)}
    is_cast = name == "relax.astype" and type(value.args[0]) is e.Constant
    if None in dtypes or is_cast:
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
    # Of values in dataflow blocks.
    policies: dict[e.Expr, frozenset[str] | None] = field(default_factory=dict)

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
