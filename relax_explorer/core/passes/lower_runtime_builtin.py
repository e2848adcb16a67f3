"""LowerRuntimeBuiltin: turn operators that the virtual machine provides into calls of its builtin functions."""

from __future__ import annotations

from collections.abc import Callable

from relax_explorer.core.check.infer import EXTERN
from relax_explorer.core.codes import passes as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs, Verbatim
from relax_explorer.core.ir.dtype import UINT8
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.struct_info import TARGET_KINDS, VDevice
from relax_explorer.core.ops.kit.devices import declared_devices, find_device
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.phases import machine_calls as m
from relax_explorer.core.phases.module_properties import (
    ALLOCATION_LOWERED,
    BUILTINS_LOWERED,
    NO_DATAFLOW,
    NO_TENSOR_TO_SHAPE,
    NORMAL_FORM,
    PURITY_ERASED,
)


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

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        value = binding.value
        if type(value) is not e.Call or type(value.op) is not e.OpRef:
            return binding
        if value.op.name == "relax.builtin.alloc_tensor":
            at.waived.add(BUILTINS_LOWERED)
            text = "builtin.alloc_tensor is kept: it has no storage"
            at.report.say(codes.NO_LEGALIZATION, text, value, help="run LowerAllocTensor before this pass")
        if value.op.name == "relax.to_vdevice":
            return replace(binding, value=_to_device(value, at))
        lower = LOWERED.get(value.op.name)
        if lower is None:
            return binding
        new = lower(value)
        if (
            value.op.name == "relax.make_closure"
        ):  # the module tells the StructInfo of a tuple with a function
            new = replace(new, struct_info=None)
        return replace(binding, value=new)

    return rewrite(fn, at, rule)


def _storage(call: e.Call) -> e.Call:
    size, device, scope = call.args[:3]
    return replace(
        call, op=e.op_ref("relax.vm.alloc_storage"), args=(size, device, m.element_type(UINT8), scope)
    )


def _renamed(name: str) -> Callable[[e.Call], e.Call]:
    """The same call of another operator."""
    return lambda call: replace(call, op=e.op_ref(name))


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
    return m.packed("vm.builtin.make_closure", _spread(call), call.struct_info or s.OBJECT, call)


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
