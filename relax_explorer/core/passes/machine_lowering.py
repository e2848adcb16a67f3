"""Kernels, operators and scalars for the virtual machine: CallTIRRewrite, LowerRuntimeBuiltin and ComputePrimValue."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeGuard

from relax_explorer.core.check.emission import FreshNames
from relax_explorer.core.check.infer import EXTERN
from relax_explorer.core.check.matching import erase
from relax_explorer.core.codes import operators as operator_codes
from relax_explorer.core.codes import passes as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs, Verbatim
from relax_explorer.core.ir.dtype import UINT8
from relax_explorer.core.ir.facts import reads
from relax_explorer.core.ir.fold import substitute
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.struct_info import TARGET_KINDS, VDevice
from relax_explorer.core.ir.walk import called, contents, map_operands, map_sequences, sequences
from relax_explorer.core.ops.kit.devices import declared_devices, find_device
from relax_explorer.core.passes.cast_checks import bound_dims
from relax_explorer.core.passes.contract import PassSite, failure_at, function_pass
from relax_explorer.core.passes.readings import LENGTHS
from relax_explorer.core.passes.rewrite import Answer, Rewriter, at_calls, rewrite
from relax_explorer.core.phases import machine_calls as m
from relax_explorer.core.phases.module_properties import (
    ALLOCATION_LOWERED,
    BUILTINS_LOWERED,
    EXPLICIT_ALLOCATION,
    MEMORY_PLANNED,
    NO_DATAFLOW,
    NO_TENSOR_TO_SHAPE,
    NORMAL_FORM,
    PATTERNS_ANNOTATED,
    PURITY_ERASED,
    SHAPES_LOWERED,
    SYMBOLS_ATTACHED,
)
from relax_explorer.core.tir import stmt as t

_CALLS = {"relax.call_tir", "relax.call_tir_inplace", "relax.call_tir_with_grad", "relax.call_dps_packed"}


@function_pass(
    "CallTIRRewrite",
    has_profiles=True,
    requires=[NORMAL_FORM],
    needs=[NO_DATAFLOW, PURITY_ERASED],
    establishes=[EXPLICIT_ALLOCATION],
    invalidates=[MEMORY_PLANNED, ALLOCATION_LOWERED, BUILTINS_LOWERED, SHAPES_LOWERED],
)
def call_tir_rewrite(fn: e.Function, at: PassSite) -> e.Function:
    """Turn each `call_tir` and `call_dps_packed` into allocations of its results and a call that fills them.

    The variable then names the allocated tensor, or the tuple of them. Arguments that `call_tir_inplace` overwrites are
    its results without an allocation.
    """
    names = FreshNames.of(fn)
    renewed: set[e.Var] | None = set() if at.as_tvm and e.If in contents(fn).values else None

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        value = binding.value
        if renewed is not None:
            binding = _with_lengths(binding, None if walk.owner is fn else walk.owner, renewed, at)
        if type(value) is not e.Call or called(value) not in _CALLS:
            return binding
        before, result = _filled(value, at, names)
        return (*before, e.with_value(binding, result))

    return rewrite(fn, at, rule)


def _with_lengths(
    binding: e.Binding, inner: e.Function | None, renewed: set[e.Var], at: PassSite
) -> e.Binding:
    """The binding of an If, or of what reads it, with StructInfo that TVM derives again.

    An If in the function `inner`, which is nested, knows the lengths of this function only.
    """
    value = binding.value
    if type(binding) is not e.VarBinding:
        return binding
    new = binding.annotation
    if any(seq.blocks for seq in sequences(value)):
        have = value.struct_info
        told = have if inner is None or have is None else erase(have, bound_dims(inner))
        new = None if told is have else told
    elif not renewed.isdisjoint(reads(binding)):
        new = None
    if new is binding.annotation:
        return binding
    renewed.add(binding.var)
    return replace(binding, annotation=new)


def _filled(call: e.Call, at: PassSite, names: FreshNames) -> tuple[list[e.Binding], e.Expr]:
    """The bindings that allocate and fill the results of a call, and the result."""
    out = call.sinfo_args[0]
    infos = out.fields if isinstance(out, s.TupleStructInfo) else (out,)
    inputs = call.args[1].fields if isinstance(call.args[1], e.Tuple) else (call.args[1],)
    overwritten = call.attrs.get("inplace_indices", (-1,) * len(infos))
    emitted: list[e.Binding] = []
    results: list[e.Expr] = []
    args = list(inputs)
    for info, index in zip(infos, overwritten, strict=True):
        if index < 0:
            new = m.bound(names("alloc"), _allocation(info, at, call))
            emitted.append(new)
            args.append(new.var)
        results.append(inputs[index] if index >= 0 else args[-1])
    args += [m.number(value) for arg in call.args[2:] for value in getattr(arg, "values", ())]
    if type(call.args[0]) is e.ExternFunc:
        packed = m.packed(call.args[0].name, tuple(args), s.OBJECT, call)
        filling = replace(packed, sinfo_args=())  # it may return anything
    else:
        callee = call.args[0]
        assert isinstance(callee, e.GlobalVar)  # inference accepts no other function
        callee = at.editor.reference(callee.name)
        filling = e.Call(callee, tuple(args), struct_info=m.UNIT, span=call.span)
    emitted.append(m.statement(filling))
    result = results[0] if not isinstance(out, s.TupleStructInfo) else e.tuple_of(tuple(results))
    return emitted, result


def _allocation(info: s.StructInfo, at: PassSite, call: e.Call) -> e.Call:
    args = at.once(info, lambda: _operands(info, at, call))  # equal tensors share them
    is_placed = (
        "vdevice" in at.editor.global_infos and isinstance(info, s.TensorStructInfo) and info.vdevice is None
    )
    known = None if is_placed else info  # inference finds the first device
    return e.Call(m.ALLOCATION, args, sinfo_args=(info,), struct_info=known, span=call.span)


def _operands(info: s.StructInfo, at: PassSite, call: e.Call) -> tuple[e.Expr, ...]:
    """The operands of an allocation for the result of a call: lengths, dtype, device and scope."""
    assert isinstance(info, s.TensorStructInfo)  # inference accepts only tensors of written shape
    assert info.dims is not None
    if info.dtype is None:  # accepted in the profile tvm, and by passes that are applied without a check
        text = f"out_ty has {info}, and only a tensor of written dtype can be allocated"
        help = "state it: R.Tensor((…), dtype)"
        raise failure_at(operator_codes.ARGUMENT_INFO, text, call, "", help, "CallTIRRewrite")
    device, scope = _place(info, at)
    return (m.shape(info.dims), m.element_type(info.dtype), m.number(device), m.text(scope))


def _place(info: s.TensorStructInfo, at: PassSite) -> tuple[int, str]:
    """The number of the device of a tensor among the devices of the module, and its memory scope."""
    device = info.vdevice
    if not isinstance(device, VDevice):
        return 0, "global"
    found = find_device(device, at.editor.global_infos.get("vdevice", ()))
    if found is None:
        return 0, device.scope or "global"
    return found[0], declared_devices(found[1:])[0].scope


# -- lower runtime builtin -------------------------------------------------------------------------------------------
# LowerRuntimeBuiltin: turn operators that the virtual machine provides into calls of its builtin functions.


@function_pass(
    "LowerRuntimeBuiltin",
    requires=[NORMAL_FORM, NO_TENSOR_TO_SHAPE, ALLOCATION_LOWERED],
    needs=[NO_DATAFLOW, PURITY_ERASED],
    establishes=[BUILTINS_LOWERED],
)
def lower_runtime_builtin(fn: e.Function, at: PassSite) -> e.Function:
    """Turn memory operators into `vm.*`, and `reshape`, `shape_of`, closures and similar operators into builtin calls.

    `to_vdevice` names a device of the module; the builtin gets its kind and its number. A `builtin.alloc_tensor` is kept with
    a warning: LowerAllocTensor must give it a storage first.
    """
    table: dict[str, Callable[[e.Call], e.Call]] = {
        **LOWERED,
        "relax.builtin.alloc_tensor": partial(_without_storage, at=at),
        "relax.to_vdevice": partial(_to_device, at=at),
    }
    return rewrite(fn, at, at_calls(table, lambda lower, call: lower(call)))


def _without_storage(call: e.Call, at: PassSite) -> e.Call:
    at.waived.add(BUILTINS_LOWERED)
    text = "builtin.alloc_tensor is kept: it has no storage"
    at.report.say(codes.NO_LEGALIZATION, text, call, help="run LowerAllocTensor before this pass")
    return call


def _storage(call: e.Call) -> e.Call:
    size, device, scope = call.args[:3]
    return replace(
        call, op=e.op_ref("relax.vm.alloc_storage"), args=(size, device, m.element_type(UINT8), scope)
    )


def _renamed(name: str) -> Callable[[e.Call], e.Call]:
    """The same call of another operator."""
    op = e.op_ref(name)
    return lambda call: e.Call(op, call.args, call.attrs, call.sinfo_args, call.struct_info, call.span)


def _builtin(name: str) -> Callable[[e.Call], e.Call]:
    """A call of the builtin `name` with the same operands."""
    return lambda call: m.packed(name, call.args, call.struct_info or s.OBJECT, call)


def _to_device(call: e.Call, at: PassSite) -> e.Call:
    """A copy to the device that a name means among the devices of the module. A device of an unknown kind is left, with a warning."""
    place = VDevice.read(str(call.attrs["dst_vdevice"]))
    text = place.target  # of a device that is written out
    if place.is_reference:
        found = find_device(place, at.editor.global_infos.get("vdevice", ()))
        made = f"I.vdevice({place.target!r}, {place.index or 0}, {place.scope or 'global'!r})"
        text = made if found is None else str(found[1])
    known = [device for device in declared_devices((text,)) if device.kind in TARGET_KINDS]
    if not known:
        at.waived.add(BUILTINS_LOWERED)
        at.report.say(codes.NO_LEGALIZATION, f"to_vdevice is kept: {place} is no known kind of device", call)
        return call
    kind, number, scope = known[0]
    args = (call.args[0], m.number(TARGET_KINDS[kind]), m.number(number), m.text(scope))
    attrs = Attrs({"attrs_type_key": "relax.attrs.ToVDeviceAttrs", "dst_vdevice": Verbatim(text)})
    return replace(m.packed("vm.builtin.to_device", args, call.struct_info or s.OBJECT, call), attrs=attrs)


def _view(call: e.Call) -> e.Call:
    given: list[e.Expr] = [*call.args, *[_LEFT_OUT] * (4 - len(call.args))]
    data, lengths, dtype, offset = given
    info = call.struct_info
    assert isinstance(info, s.TensorStructInfo)  # inference gives a tensor
    kept = dtype if type(dtype) is e.DataTypeImm or info.dtype is None else m.element_type(info.dtype)
    if type(lengths) is e.Tuple and not lengths.fields:
        lengths = _lengths_of(data, info)
    start = offset if type(offset) is e.PrimValue else m.number(0)
    return m.packed("runtime.TVMTensorCreateView", (data, lengths, kept, start), info, call)


_LEFT_OUT = e.Tuple((), s.TupleStructInfo(()))


def _lengths_of(data: e.Expr, info: s.TensorStructInfo) -> e.Expr:
    """The lengths of a view without lengths: those of the tensor, which only the run may know."""
    if info.dims is not None and all(type(dim) is p.IntImm for dim in info.dims):
        return m.shape(info.dims)
    return m.packed("vm.builtin.shape_of", (data,), s.ShapeStructInfo(None, info.ndim))


def _spread(call: e.Call) -> tuple[e.Expr, ...]:
    """The two operands of a call; the second, a tuple, is spread."""
    first, rest = call.args
    return (first, *(rest.fields if type(rest) is e.Tuple else (rest,)))


def _make_closure(call: e.Call) -> e.Call:
    new = m.packed("vm.builtin.make_closure", _spread(call), call.struct_info or s.OBJECT, call)
    return replace(new, struct_info=None)  # the module tells that of a tuple with a function


def _invoke_closure(call: e.Call) -> e.Call:
    """A call of the builtin, which takes the machine itself before the operands."""
    args = (e.ExternFunc("vm.builtin.invoke_closure", EXTERN), e.tuple_of(_spread(call)))
    info = call.struct_info or s.OBJECT
    return e.Call(
        e.op_ref("relax.call_builtin_with_ctx"), args, sinfo_args=(info,), struct_info=info, span=call.span
    )


# What each operator becomes.
LOWERED: dict[str, Callable[[e.Call], e.Call]] = {
    "relax.memory.alloc_storage": _storage,
    "relax.memory.alloc_tensor": _renamed("relax.vm.alloc_tensor"),
    "relax.memory.kill_storage": _renamed("relax.vm.kill_object"),
    "relax.memory.kill_tensor": _renamed("relax.vm.kill_object"),
    "relax.memory.view": _view,
    "relax.memory.ensure_zero_offset": _builtin("vm.builtin.ensure_zero_offset"),
    "relax.reshape": _builtin("vm.builtin.reshape"),
    "relax.shape_of": _builtin("vm.builtin.shape_of"),
    "relax.tensor_to_shape": _builtin("vm.builtin.tensor_to_shape"),
    "relax.make_closure": _make_closure,
    "relax.invoke_closure": _invoke_closure,
}


# -- compute prim value ----------------------------------------------------------------------------------------------
# ComputePrimValue: compute scalar operands by PrimFuncs.


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
