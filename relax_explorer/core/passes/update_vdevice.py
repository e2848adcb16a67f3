"""UpdateVDevice: put another device in the place of one of the module."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated

from relax_explorer.core.codes import passes as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Verbatim
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.struct_info import VDevice
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.ops.kit.devices import declared_devices
from relax_explorer.core.passes.contract import PassSite, module_pass
from relax_explorer.core.phases.module_properties import NORMAL_FORM
from relax_explorer.core.program.module import IRModule

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
            device = self.move(info.vdevice)
            return (
                info
                if device == info.vdevice
                else s.TensorStructInfo(info.shape, info.dtype, info.ndim, device)
            )
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
        return (
            new if infos == new.sinfo_args else replace(new, sinfo_args=infos)
        )  # the rest is inferred again

    def _match_cast(self, binding: e.MatchCast) -> e.Binding:
        new = super()._match_cast(binding)
        assert type(new) is e.MatchCast  # the substitution keeps the kind of a binding
        return replace(new, struct_info=self.info(new.struct_info) or new.struct_info)


def _bad(text: str, help: str) -> Failure:
    return Failure(Diagnostic(codes.BAD_OPTION, text, help=help, origin="UpdateVDevice"))
