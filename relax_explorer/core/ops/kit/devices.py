"""Devices and meshes: the placement of tensors, and lookup in the module."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.struct_info import Sharding, VDevice
from relax_explorer.core.ops.kit.decl import Site

_NAMED = re.compile(r"([\w.]+)\[(\d+)\]")
_TARGET = re.compile(r"""I\.vdevice\(\s*(?:["']([\w-]+)|\{.*?["']kind["']:\s*["']([\w-]+))""")
_REST = re.compile(r"""(?:,\s*(\d+)\s*)?(?:,\s*["']([\w.-]+)["']\s*)?\)\s*$""")


class Declared(NamedTuple):
    """A device as a module declares it: the kind of its target, its number, its memory scope."""

    kind: str
    number: int
    scope: str


def declared_devices(written: Iterable[object]) -> list[Declared]:
    """The devices in a list of texts such as `I.vdevice("cuda", 0)`; a text of another form is left out."""
    found = []
    for text in map(str, written):
        target, rest = _TARGET.match(text), _REST.search(text)
        if target is not None and rest is not None:
            found.append(Declared(target[1] or target[2], int(rest[1] or 0), rest[2] or "global"))
    return found


def find_device(device: VDevice, written: Iterable[object]) -> tuple[int, object] | None:
    """The place and the text, in the list of a module's devices, of the device that a reference such as `cuda:1` names. Else None."""
    same_kind = 0
    for place, text in enumerate(written):
        for declared in declared_devices((text,)):
            if (declared.kind, same_kind) == (device.target, device.index):
                return place, text
            same_kind += declared.kind == device.target
    return None


def numbered_device(at: Site, number: int) -> VDevice | None:
    """The device with a number among those of the module. None if it has none there."""
    devices = at.places.get("vdevice", ())
    declared = declared_devices(devices) if isinstance(devices, tuple) else []
    if not 0 <= number < len(declared) == len(devices):
        return None
    kind, _, scope = declared[number]
    same_kind = [other.kind for other in declared[:number]].count(kind)
    return VDevice(kind, str(same_kind), scope)


def spread(info: s.StructInfo) -> Sharding | None:
    """The sharding of a distributed tensor; None for any other StructInfo."""
    where = info.vdevice if isinstance(info, s.TensorStructInfo) else None
    return where if isinstance(where, Sharding) else None


def is_spread(info: s.StructInfo) -> bool:
    """True for the StructInfo of a distributed tensor."""
    return spread(info) is not None


def place_text(at: Site, name: str, place: object) -> str:
    """The text of a device or mesh, as attribute `name` gives it; anything else, such as a number, is refused."""
    if isinstance(place, str):
        return place
    raise at.fail(codes.BAD_ATTRIBUTE, f"{name} is {place}", help="name one of I.module_global_infos")


def mesh_of(at: Site, mesh: object) -> str:
    """The text of a mesh. A reference such as `mesh[0]` is looked up in the module, if there is one."""
    text = place_text(at, "device_mesh", mesh)
    named = _NAMED.fullmatch(text)
    if named is None or not at.places:
        return text
    meshes = at.places.get(named[1], ())
    if not isinstance(meshes, tuple) or int(named[2]) >= len(meshes):
        text = f"device_mesh is {mesh}, the module has {len(meshes) if isinstance(meshes, tuple) else 0} of these"
        raise at.fail(codes.BAD_ATTRIBUTE, text, help="add it to I.module_global_infos")
    return str(meshes[int(named[2])])


def need_device(at: Site, device: VDevice) -> None:
    """Refuse a device that the module does not declare. A module without devices accepts any."""
    devices = at.places.get("vdevice", ())
    if not isinstance(devices, tuple) or not devices or not device.is_reference:
        return
    kinds = [declared.kind for declared in declared_devices(devices)]
    there = len(kinds) if device.target == "vdevice" else kinds.count(device.target)
    if device.index is None or device.index >= there:
        known = [f"{kind}:{kinds[:n].count(kind)}" for n, kind in enumerate(kinds)]
        text = f"dst_vdevice is {device}, the module has {', '.join(known)}"
        raise at.fail(codes.BAD_ATTRIBUTE, text, help="add it to I.module_global_infos, or name one of these")
