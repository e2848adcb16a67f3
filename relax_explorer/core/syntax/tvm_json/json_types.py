"""Types and variables of TVM's JSON. What TVM calls types is StructInfo here; a buffer's type makes the buffer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import HANDLE, DType, dtype, element_type
from relax_explorer.core.ir.struct_info import Sharding, VDevice
from relax_explorer.core.syntax.names import function_name
from relax_explorer.core.syntax.tvm_json.json_nodes import Damaged, Graph, Node
from relax_explorer.core.tir.prim_expr import PointerType
from relax_explorer.core.tir.stmt import Buffer, Range

# -- json places -----------------------------------------------------------------------------------------------------
# Targets, virtual devices and device meshes of TVM's JSON, with the texts that TVM prints for them.


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


PLACE_READERS: dict[str, Callable[[Node], Any]] = {
    "target.Target": _target,
    "target.TargetKind": lambda node: str(node.raw),
    "relax.VDevice": _device,
    "relax.distributed.DeviceMesh": _mesh,
}


# -- json types ------------------------------------------------------------------------------------------------------


_BY_ARGUMENTS = "tvm.relax.type.infer_by_ty_args"
"""What derives the result of a packed function from the StructInfo arguments of its call: the usual rule, which a text omits."""


@dataclass(frozen=True, slots=True)
class BufferType:
    """What a variable of this type is: a buffer without its name."""

    dtype: DType
    scope: str
    shape: tuple[p.PrimExpr, ...]
    strides: tuple[p.PrimExpr, ...]
    elem_offset: p.PrimExpr | None
    align: int | None
    offset_factor: int | None


@dataclass(frozen=True, slots=True)
class NamedFunction:
    """A function of TVM's runtime, by its name."""

    name: str


def _prim_type(node: Node) -> s.StructInfo:
    element = element_type(node.plain("dtype", str))
    return s.VOID if element is None else s.PrimStructInfo(element)


def _pointer(node: Node) -> PointerType:
    pointee = node.value("element_type")
    element = pointee.dtype if isinstance(pointee, s.PrimStructInfo) else HANDLE
    return PointerType(element, node.of("storage_scope", str) or "global")


def _shape(node: Node) -> s.StructInfo:
    values = None if node.value("values") is None else tuple([p.as_dim(dim) for dim in node.prims("values")])
    return s.ShapeStructInfo(values, node.plain("ndim", int))


def _tensor(node: Node) -> s.StructInfo:
    shape = node.value("shape")
    if isinstance(shape, e.ShapeExpr):
        shape = shape.values
    elif shape is not None and not isinstance(shape, e.Var):
        raise node.wrong("shape", "a shape", shape)
    element = None if node.value("dtype") is None else node.value("dtype")
    known = element.dtype if isinstance(element, s.PrimStructInfo) else None
    device = None if node.value("vdevice") is None else VDevice.read(node.of("vdevice", Device).name)
    return s.TensorStructInfo(shape, known, node.plain("ndim", int), device)


def _place(node: Node, name: str) -> str:
    """The name of a device or mesh of the module."""
    number = node.operand(name)
    found = node.decoded.devices.get(number)
    if found is None:
        raise Damaged(f"{node.decoded.graph.described(number)} is not among the module's global infos")
    return found


def _distributed(node: Node) -> s.StructInfo:
    tensor = node.of("tensor_ty", s.TensorStructInfo)
    place = Sharding(_place(node, "device_mesh"), node.of("placement", str))
    return s.TensorStructInfo(tensor.shape, tensor.dtype, tensor.ndim, place)


def _placement(node: Node) -> str:
    return ", ".join(node.several("dim_specs", str))


def _placement_spec(node: Node) -> str:
    return f"S[{node.plain('axis', int)}]" if node.plain("kind", int) == 0 else "R"


def _tuple(node: Node) -> s.StructInfo:
    return s.TupleStructInfo(node.several("fields", s.StructInfo))


def _function(node: Node) -> s.StructInfo:
    derive = node.optional("derive_func", NamedFunction)
    params = None if node.value("params") is None else node.several("params", s.StructInfo)
    return s.FuncStructInfo(
        params,
        node.of("ret", s.StructInfo),
        node.plain("purity", bool),
        None if derive is None or derive.name == _BY_ARGUMENTS else derive.name,
    )


def _old_function(node: Node) -> s.StructInfo:
    return s.FuncStructInfo(node.several("arg_types", s.StructInfo), node.of("ret_type", s.StructInfo), True)


def _buffer_type(node: Node) -> BufferType:
    offset, shape = node.prim("elem_offset"), node.integers("shape")
    align, factor = node.plain("data_alignment", int), node.plain("offset_factor", int)
    is_start = (
        isinstance(offset, p.IntImm)
        and offset.value == 0
        and not (shape and offset.dtype.bits < shape[0].dtype.bits)
    )
    scope = node.of("storage_scope", str)
    return BufferType(
        node.dtype("dtype"), "" if scope == "global" else scope, shape, node.prims("strides"),
        None if is_start else offset, None if align == 64 else align, None if factor in (0, 1) else factor,
    )  # fmt: skip


def _var(node: Node) -> e.Var | p.PrimVar | Buffer:
    """A variable: of Relax, of scalar expressions, or a buffer, by its type."""
    name, info, decoded = node.name("name"), node.value("ty"), node.decoded
    if isinstance(info, BufferType):
        return _buffer(node, name, info)
    if isinstance(info, PointerType):
        return p.PrimVar(name, HANDLE, "" if info.element is HANDLE else str(info))
    if isinstance(info, s.PrimStructInfo) and node.kind == "ir.Var" and node.number not in decoded.bound:
        scalar = p.PrimVar(name, info.dtype)
        is_param = node.number in decoded.params
        return e.Var(name, s.PrimStructInfo(info.dtype, scalar)) if is_param else scalar
    known = decoded.values[decoded.casts[node.number]] if node.number in decoded.casts else info
    if known is not None and not isinstance(known, s.StructInfo):
        raise node.wrong("ty", "a type", known)
    kind = e.DataflowVar if node.kind == "relax.expr.DataflowVar" else e.Var
    return kind(name, None if node.number in decoded.unannotated else known)


def _buffer(node: Node, name: str, info: BufferType) -> Buffer:
    """A buffer, with the pointer of its declaration or the annotations of its allocation."""
    decoded = node.decoded
    pointer, notes = decoded.pointers.get(node.number), decoded.notes.get(node.number)
    data = None if pointer is None else decoded.scalar(decoded.values[pointer])
    noted = None if notes is None else decoded.values[notes]
    return Buffer(
        name, info.shape, info.dtype, info.scope, data, info.strides or None, info.elem_offset, info.align, info.offset_factor,
        (("annotations", written(noted)),) if noted else (),
    )  # fmt: skip


def written(value: object) -> str:
    """A constant as Python writes it."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, dict):
        entries = sorted(value.items(), key=lambda entry: str(entry[0]))
        return "{" + ", ".join([f"{key!r}: {written(item)}" for key, item in entries]) + "}"
    if isinstance(value, p.PrimExpr):
        return (
            str(value.value)
            if isinstance(value, p.IntImm)
            else f"T.{value}"
            if isinstance(value, p.FloatImm)
            else str(value)
        )
    return repr(value)


def _global_var(node: Node) -> e.GlobalVar:
    return e.GlobalVar(function_name(node.name("name_hint")))  # as a text has it


def _layout(node: Node) -> None:
    """A layout says nothing beyond the shape if it has no replicas, no offset, and names no axis of a device."""
    if (
        node.value("replica")
        or node.value("offset")
        or any(axis != "m" for axis in node.several("shard", str))
    ):
        raise Damaged(
            f"{node.decoded.graph.described(node.number)} is a layout for one device, which this reader does not know"
        )


def _text(node: Node) -> str:
    return node.text()


READERS = {
    "ir.PrimType": _prim_type,
    "ir.PointerType": _pointer,
    "ir.TupleType": _tuple,
    "ir.FuncType": _old_function,
    "ir.StringType": lambda node: s.OBJECT,
    "ir.OpaqueType": lambda node: s.OBJECT,
    "relax.AnyType": lambda node: s.OBJECT,
    "relax.ShapeType": _shape,
    "relax.TensorType": _tensor,
    "relax.DTensorType": _distributed,
    "relax.FuncType": _function,
    "relax.PackedFuncType": lambda node: s.FuncStructInfo(None, s.OBJECT, False),
    "relax.distributed.Placement": _placement,
    "relax.distributed.PlacementSpec": _placement_spec,
    "relax.distributed.Sharding": _placement_spec,
    "tirx.BufferType": _buffer_type,
    "tirx.BufferRegionType": lambda node: None,
    "tirx.TileLayout": _layout,
    "tirx.Iter": lambda node: node.of("axis", str),
    "tirx.Axis": _text,
    "ir.Var": _var,
    "relax.expr.DataflowVar": _var,
    "ir.GlobalVar": _global_var,
    "ir.EnvFunc": lambda node: NamedFunction(_text(node)),
    "DataType": lambda node: dtype(_text(node)),
}  # fmt: skip
