"""Devices: placed by hints, with copies between them (RealizeVDevice), and moved (UpdateVDevice)."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Annotated, NamedTuple

from relax_explorer.core.check.call_graph import recursive
from relax_explorer.core.check.normalize import normalize_again
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs, Verbatim
from relax_explorer.core.ir.facts import free_variables, variables
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.struct_info import TARGET_KINDS, VDevice, device_of, is_same_place
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.ir.walk import bindings, contents, functions_in, map_blocks, map_sequences, sequences
from relax_explorer.core.ops.kit.devices import declared_devices
from relax_explorer.core.passes.contract import PassSite, bad_option, failure_at, module_pass
from relax_explorer.core.phases.module_properties import (
    BUILTINS_LOWERED,
    CANONICAL_BINDINGS,
    NORMAL_FORM,
    SHAPES_LOWERED,
)
from relax_explorer.core.program.module import IRModule

_HINT, _MOVE = e.op_ref("relax.hint_on_device"), e.op_ref("relax.to_vdevice")


@module_pass(
    "RealizeVDevice",
    rebuilds=True,
    requires=[NORMAL_FORM],
    invalidates=[CANONICAL_BINDINGS, BUILTINS_LOWERED, SHAPES_LOWERED],
)
def realize_vdevice(module: IRModule, at: PassSite) -> IRModule:
    """Turn each `hint_on_device` into a copy to the device, or into a plain copy of a value that lies there already.

    A binding has one device with its operands: parameters without a device get it from hints and annotations of values that
    depend on them, and devices of the other values follow. What nothing else decides lies where its hint says.

    Raises Failure for a hint of a device that the module does not declare, and for operands on different devices.
    """
    devices = _Devices(module)
    calling_itself = recursive(module)
    for name, fn in module.relax_functions.items():
        if not _names_devices(fn):
            continue
        places = _places(fn, devices)
        if _Placed(places, devices).function(fn) is not fn:
            following = _following(fn, name in calling_itself)
            at.editor.replace(name, _Placed(places, devices).function(following))
    changed = at.editor.done()
    result = normalize_again(changed, module)
    settled = {}
    for name, fn in module.relax_functions.items():
        new = result.functions[name]
        if isinstance(new, e.Function) and changed.functions[name] is not fn:
            settled[name] = _without_moves(fn, new)
            at.record_in_order(fn, settled[name])
    return result.having({**result.functions, **settled}) if settled else module


class _Hint(NamedTuple):
    """A call of hint_on_device: what it places, and where."""

    arg: e.Expr
    device: VDevice


class _Devices:
    """The devices that a module declares."""

    def __init__(self, module: IRModule) -> None:
        self._of: dict[tuple[int, int, str], VDevice] = {}
        count: dict[str, int] = {}
        for kind, number, scope in declared_devices(module.global_infos.get("vdevice", ())):
            place = VDevice(kind, str(count.get(kind, 0)), scope)
            count[kind] = count.get(kind, 0) + 1
            self._of.setdefault((TARGET_KINDS.get(kind, 0), number, scope), place)

    def hint(self, value: e.Expr | None) -> _Hint | None:
        """The hint that a value is. Raises Failure if the module has no such device."""
        if type(value) is not e.Call or value.op is not _HINT:
            return None
        text, scope = str(value.attrs.get("dst_vdevice")), str(value.attrs.get("memory_scope", "global"))
        device = self._of.get((*(device_of(text) or (0, 0)), scope))
        if device is None:
            message = f"the module has no device {text} with the memory scope {scope}"
            help = "declare it by I.module_global_infos"
            raise failure_at(codes.BAD_ATTRIBUTE, message, value, "this hint", help, "RealizeVDevice")
        return _Hint(value.args[0], device)


# -- where variables lie -------------------------------------------------------------------------------------------


def _names_devices(fn: e.Function) -> bool:
    """True if a hint, an annotation or StructInfo in a function names a device."""
    if _HINT in contents(fn).operators:
        return True
    infos = {b.annotation or b.var.struct_info for b in bindings(fn) if b.var is not None}
    for each in functions_in(fn):
        infos.update([each.ret_struct_info, *[param.struct_info for param in each.params]])
    return any(_device(info) is not None for info in infos)


def _places(fn: e.Function, devices: _Devices) -> dict[e.Var, VDevice]:
    """The device of each variable for which hints and annotations tell one."""
    known: dict[e.Var, VDevice] = {}
    near: dict[e.Var, list[e.Var]] = {}
    hinted: dict[e.Expr, VDevice] = {}
    for each in functions_in(fn):
        for param in each.params:
            _note(known, param, param.struct_info)
    for binding in bindings(fn):
        var = binding.var
        if var is None:
            continue
        _note(known, var, binding.annotation or var.struct_info)
        value = binding.value
        hint = devices.hint(value)
        if hint is not None:
            known[var] = hint.device
            hinted[hint.arg] = hint.device  # the last hint of a value counts
        elif type(value) is not e.Call or value.op is not _MOVE:
            for read in _read(value):
                near.setdefault(var, []).append(read)
                near.setdefault(read, []).append(var)
    for each in functions_in(fn):
        if isinstance(each.body.body, e.Var):
            _note(known, each.body.body, each.ret_struct_info)
    _spread(known, near, list(known))
    others = {var: device for var, device in hinted.items() if isinstance(var, e.Var) and var not in known}
    known |= others
    _spread(known, near, others)
    return known


def _read(value: e.Expr) -> Iterable[e.Var]:
    """The variables that lie where the result lies."""
    if type(value) is e.Function:
        return ()
    read: list[e.Expr] = [*variables(value)]
    if type(value) is e.If:
        read = [value.condition, *[branch.body for branch in sequences(value)]]
    return [var for var in read if isinstance(var, e.Var) and type(var.struct_info) is not s.FuncStructInfo]


def _note(known: dict[e.Var, VDevice], var: e.Var, info: s.StructInfo | None) -> None:
    """Note the device of a variable if its StructInfo has one."""
    device = _device(info)
    if device is not None:
        known.setdefault(var, device)


def _device(info: s.StructInfo | None) -> VDevice | None:
    """The device of a tensor, or of the first one in a tuple."""
    while isinstance(info, s.TupleStructInfo) and info.fields:
        info = info.fields[0]
    device = info.vdevice if isinstance(info, s.TensorStructInfo) else None
    return device if isinstance(device, VDevice) else None


def _spread(
    known: dict[e.Var, VDevice], near: Mapping[e.Var, Iterable[e.Var]], starts: Iterable[e.Var]
) -> None:
    """Give the devices to the neighbours without one, the nearest first."""
    todo = deque(starts)
    while todo:
        var = todo.popleft()
        for other in near.get(var, ()):
            if other not in known:
                known[other] = known[var]
                todo.append(other)


# -- rewriting -----------------------------------------------------------------------------------------------------


class _Placed(Substitution):
    """Parameters on their devices, and each hint as a copy to its device."""

    def __init__(self, places: Mapping[e.Var, VDevice], devices: _Devices) -> None:
        super().__init__()
        self.places, self.devices = places, devices

    def signature(self, fn: e.Function) -> e.Function:
        """A function with placed parameters."""
        new: dict[e.Var, e.Var] = {}
        for param in fn.params:
            device = self.places.get(param)
            info = param.struct_info if device is None else _on(param.struct_info, device)
            if info is not param.struct_info:
                new[param] = e.var_like(param, info)
        self.variables.update(new)
        params = tuple([new.get(param, param) for param in fn.params])
        return replace(fn, params=params, struct_info=None) if new else fn

    def call(self, call: e.Call) -> e.Expr:
        new = super().call(call)
        hint = self.devices.hint(new)
        if hint is None:
            return new
        return e.Call(_MOVE, (hint.arg,), Attrs({"dst_vdevice": str(hint.device)}), span=call.span)


def _on(info: s.StructInfo | None, device: VDevice) -> s.StructInfo | None:
    """A StructInfo whose tensors without a device lie on this one."""
    if isinstance(info, s.TensorStructInfo) and info.vdevice is None:
        return s.TensorStructInfo(info.shape, info.dtype, info.ndim, device)
    if isinstance(info, s.TupleStructInfo):
        fields = tuple([_on(field, device) or field for field in info.fields])
        return info if fields == info.fields else s.TupleStructInfo(fields)
    return info


def _following(fn: e.Function, is_recursive: bool) -> e.Function:
    """A function whose values take their devices from their operands. An annotation stays if only it names a device.

    That of the result stays in a recursive function, which needs it.
    """
    values = {binding.var: binding.value for binding in bindings(fn)}

    def change(binding: e.Binding) -> e.Binding:
        value = binding.value
        if type(value) is e.Function:
            binding = replace(binding, value=_following(value, binding.var in free_variables(value)))
        elif type(value) is e.If:
            binding = map_sequences(binding, lambda seq: map_blocks(seq, change))
        return binding if is_told(binding.annotation, value) else replace(binding, annotation=None)

    def is_told(info: s.StructInfo | None, value: e.Expr) -> bool:
        return _device(info) is not None and _device(value.struct_info) is None

    result = fn.body.body
    value = values.get(result, result) if isinstance(result, e.Var) else result
    keeps = is_recursive or is_told(fn.ret_struct_info, value)
    return replace(
        fn, body=map_blocks(fn.body, change), ret_struct_info=fn.ret_struct_info if keeps else None
    )


def _without_moves(old: e.Function, new: e.Function) -> e.Function:
    """The function where hints that moved nothing are plain copies. Both have the same bindings in the same order."""
    idle = set()
    for before, after in zip(bindings(old), bindings(new), strict=True):
        value = after.value
        if type(before.value) is e.Call and before.value.op is _HINT and type(value) is e.Call:
            info = value.args[0].struct_info
            here = info.vdevice if isinstance(info, s.TensorStructInfo) else None
            there = VDevice.read(str(value.attrs["dst_vdevice"]))
            if is_same_place(here, there):
                idle.add(after)

    def change(binding: e.Binding) -> e.Binding:
        if binding in idle and type(binding.value) is e.Call:
            return replace(binding, value=binding.value.args[0])
        return map_sequences(binding, lambda seq: map_blocks(seq, change))

    return replace(new, body=map_blocks(new.body, change)) if idle else new


# -- update vdevice --------------------------------------------------------------------------------------------------
# UpdateVDevice: put another device in the place of one of the module.


_DEVICE = re.compile(r"[\w-]+(:\d+(:[\w.-]+)?)?")
Move = Callable[[VDevice], VDevice]


@module_pass("UpdateVDevice", requires=[NORMAL_FORM])
def update_vdevice(
    module: IRModule,
    at: PassSite,
    *,
    new_vdevice: Annotated[str, "the new device, as cuda, cuda:0 or cuda:0:global"] = "",
    index: Annotated[int, "the number of the device in the list of the module"] = 0,
) -> IRModule:
    """Put another device in the place of device `index` of the module (`I.module_global_infos`), with all tensors that lie on it.

    A device of the same kind behind it in the list may get another number. Raises Failure if the module has no such device.
    """
    if not new_vdevice:
        return module
    devices = module.global_infos.get("vdevice", ())
    kinds = [declared.kind for declared in declared_devices(devices)]
    if not _DEVICE.fullmatch(new_vdevice):
        raise _bad(f"new_vdevice is {new_vdevice!r}", "write new_vdevice=cuda, cuda:0 or cuda:0:global")
    if not 0 <= index < len(devices) or len(kinds) != len(devices):
        text = f"the module has no device {index} with a known kind; it has {len(kinds)} of these"
        raise _bad(text, "declare devices by I.module_global_infos")
    device = VDevice.read(new_vdevice)
    written = Verbatim(_written(device))
    infos = module.global_infos.having(vdevice=(*devices[:index], written, *devices[index + 1 :]))
    move = _move(str(devices[index]), kinds, index, device)
    for name, fn in module.relax_functions.items():
        new = _Moved(move).function(fn)
        if new is not fn:
            at.record_in_order(fn, new)
            at.editor.replace(name, new)
    return replace(at.editor.done(), global_infos=infos)


def _written(device: VDevice) -> str:
    parts = [repr(device.target)]
    parts += [device.number] if device.number is not None else []
    parts += [repr(device.scope)] if device.scope is not None else []
    return f"I.vdevice({', '.join(parts)})"


def _move(old: str, kinds: list[str], index: int, device: VDevice) -> Move:
    """What becomes of a reference such as `llvm:1`, which means the second device of kind llvm in the list."""
    new_kinds = [*kinds[:index], device.target, *kinds[index + 1 :]]

    def move(given: VDevice) -> VDevice:
        if not given.is_reference:
            return VDevice(_written(device)) if str(given) == old else given
        places = [n for n, kind in enumerate(kinds) if given.target == kind]
        if given.index is None or given.index >= len(places) or given.target == "vdevice":
            return given
        place = places[given.index]
        kind = new_kinds[place]
        number = new_kinds[:place].count(kind)
        if (kind, number) == (given.target, given.index):
            return given
        return VDevice(kind, str(number), device.scope if place == index else given.scope)

    return move


class _Moved(Substitution):
    """Moves the tensors of a function to other devices."""

    def __init__(self, move: Move) -> None:
        super().__init__()
        self.move = move

    def info(self, info: s.StructInfo | None) -> s.StructInfo | None:
        """A StructInfo with the devices of its tensors moved."""
        if isinstance(info, s.TensorStructInfo) and isinstance(info.vdevice, VDevice):
            return s.TensorStructInfo(info.shape, info.dtype, info.ndim, self.move(info.vdevice))
        if isinstance(info, s.TupleStructInfo):
            return s.TupleStructInfo(tuple([self.info(field) or field for field in info.fields]))
        return info

    def call(self, call: e.Call) -> e.Expr:
        new = super().call(call)
        if type(new) is not e.Call:
            return new
        to = new.attrs.get("dst_vdevice")
        if isinstance(to, str):
            moved = str(self.move(VDevice.read(to)))
            new = new if moved == to else replace(new, attrs=new.attrs.having(dst_vdevice=moved))
        infos = tuple([self.info(info) or info for info in new.sinfo_args])
        # The rest is inferred again.
        return new if infos == new.sinfo_args else replace(new, sinfo_args=infos)

    def _match_cast(self, binding: e.MatchCast) -> e.Binding:
        new = super()._match_cast(binding)
        assert type(new) is e.MatchCast  # the substitution keeps the kind of a binding
        return replace(new, struct_info=self.info(new.struct_info) or new.struct_info)


_bad = partial(bad_option, origin="UpdateVDevice")
