"""Targets, virtual devices and device meshes of TVM's JSON, with the texts that TVM prints for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from relax_explorer.core.ir import prim as p
from relax_explorer.core.syntax.tvm_json.json_graph import Damaged, Graph
from relax_explorer.core.syntax.tvm_json.json_nodes import Node
from relax_explorer.core.tir.buffer import Range


@dataclass(frozen=True, slots=True)
class Target:
    """A target by its entries."""

    entries: dict[str, Any]

    @property
    def kind(self) -> str:
        """`llvm`, `cuda`, …"""
        return str(self.entries["kind"])

    @property
    def text(self) -> str:
        """`T.target({…})`."""
        return f"T.target({self.entries!r})"


@dataclass(frozen=True, slots=True)
class Device:
    """A virtual device. `name` is that by which types refer to it."""

    target: Target
    number: int
    scope: str
    name: str

    @property
    def text(self) -> str:
        """`I.vdevice({…}, 0, 'global')`."""
        return f"I.vdevice({self.target.entries!r}, {self.number}, {self.scope!r})"


@dataclass(frozen=True, slots=True)
class Mesh:
    """A mesh of devices, numbered from the start of a range or one by one."""

    shape: tuple[int, ...]
    devices: str

    @property
    def text(self) -> str:
        """`R.device_mesh((2,), I.Range(0, 2))`."""
        return f"R.device_mesh({self.shape!r}, {self.devices})"


def _plain(value: object) -> object:
    """A value of a target as Python prints it."""
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, (p.IntImm, p.PrimString)):
        return value.value
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise Damaged(f"a target has no entry of class {type(value).__name__}")


def _target(node: Node) -> Target:
    attrs = node.of("attrs", dict)
    entries: dict[str, Any] = {str(key): _plain(value) for key, value in attrs.items()}
    entries |= {
        "kind": node.of("kind", str),
        "tag": node.of("tag", str),
        "keys": list(node.several("keys", str)),
    }
    host = node.optional("host", Target)
    if host is not None:
        entries["host"] = host.entries
    return Target(dict(sorted(entries.items())))


def _device(node: Node) -> Device:
    target, scope = node.of("target", Target), node.of("memory_scope", str)
    name = node.decoded.devices.get(
        node.number, f"{target.kind}:-1:{scope}"
    )  # as TVM names one that is not declared
    return Device(target, node.plain("vdevice_id", int), scope, name)


def _mesh(node: Node) -> Mesh:
    span = node.optional("device_range", Range)
    shape = node.of("shape", tuple)
    if span is None:
        return Mesh(shape, str(list(node.several("device_ids", int))))
    stop = p.Add(span.start, span.extent)
    if isinstance(span.start, p.IntImm) and isinstance(span.extent, p.IntImm):
        return Mesh(shape, f"I.Range({span.start.value}, {span.start.value + span.extent.value})")
    return Mesh(shape, f"I.Range({span.start}, {stop})")


def place_names(graph: Graph) -> dict[int, str]:
    """The names of the devices and meshes that the module declares: the kind of target with a number, and `mesh[0]`."""
    names: dict[int, str] = {}
    if graph.kinds[graph.root] != "ir.IRModule" or "global_infos" not in graph.fields(graph.root):
        return names
    infos = graph.checked(graph.fields(graph.root)["global_infos"], "global_infos")
    of_kind: dict[str, int] = {}
    for listed in graph.items(infos)[1::2] if graph.kinds[infos] == "ffi.Map" else ():
        members = (
            graph.items(listed) if graph.kinds[graph.checked(listed, "global_infos")] == "ffi.Array" else ()
        )
        for number in members:
            kind = graph.kinds[graph.checked(number, "global_infos")]
            if kind == "relax.VDevice":
                target = _target_kind(graph, number)
                place = of_kind.setdefault(target, 0)
                of_kind[target] += 1
                scope = graph.fields(number).get("memory_scope")
                names[number] = f"{target}:{place}:{graph.data[graph.checked(scope, 'memory_scope')]}"
            elif kind == "relax.distributed.DeviceMesh":
                place = of_kind.setdefault("mesh", 0)
                of_kind["mesh"] += 1
                names[number] = f"mesh[{place}]"
    return names


def _target_kind(graph: Graph, device: int) -> str:
    target = graph.checked(graph.fields(device).get("target"), "target")
    kind = graph.checked(graph.fields(target).get("kind"), "kind")
    return str(graph.data[kind])


READERS: dict[str, Callable[[Node], Any]] = {
    "target.Target": _target,
    "target.TargetKind": lambda node: str(node.raw),
    "relax.VDevice": _device,
    "relax.distributed.DeviceMesh": _mesh,
}
