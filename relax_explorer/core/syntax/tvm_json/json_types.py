"""Types and variables of TVM's JSON. What TVM calls types is StructInfo here; a buffer's type makes the buffer."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY, Attrs, Verbatim
from relax_explorer.core.ir.dtype import HANDLE, INT64, DType, dtype, element_type
from relax_explorer.core.ir.index_map import IndexMap, index_map
from relax_explorer.core.ir.struct_info import Sharding, VDevice, device_text
from relax_explorer.core.ops import find as find_op
from relax_explorer.core.ops.kit.decl import Kind
from relax_explorer.core.syntax.names import function_name
from relax_explorer.core.syntax.parse_attributes import converted, default_attrs
from relax_explorer.core.syntax.tensor_text import tensor_from_text
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


@dataclass(frozen=True)
class Dummy:
    """A global info that says nothing, `I.dummy_global_info()`."""

    text: ClassVar[str] = "I.dummy_global_info()"


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
    "relax.DummyGlobalInfo": lambda node: Dummy(),
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
    element = node.value("dtype")
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


def _placement_spec(node: Node) -> str:
    return f"S[{node.plain('axis', int)}]" if node.plain("kind", int) == 0 else "R"


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
        text = str(value.value if isinstance(value, p.IntImm) else value)
        return f"T.{text}" if isinstance(value, p.FloatImm) else text
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
        raise Damaged(f"{node.described} is a layout for one device, which this reader does not know")


def _text(node: Node) -> str:
    return node.text()


READERS = {
    "ir.PrimType": _prim_type,
    "ir.PointerType": _pointer,
    "ir.TupleType": lambda node: s.TupleStructInfo(node.several("fields", s.StructInfo)),
    "ir.FuncType": _old_function,
    "ir.StringType": lambda node: s.OBJECT,
    "ir.OpaqueType": lambda node: s.OBJECT,
    "relax.AnyType": lambda node: s.OBJECT,
    "relax.ShapeType": _shape,
    "relax.TensorType": _tensor,
    "relax.DTensorType": _distributed,
    "relax.FuncType": _function,
    "relax.PackedFuncType": lambda node: s.FuncStructInfo(None, s.OBJECT, False),
    "relax.distributed.Placement": lambda node: ", ".join(node.several("dim_specs", str)),
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


# -- json constants --------------------------------------------------------------------------------------------------
# Constants of TVM's JSON: tensors, and the attributes of calls, functions and modules.


_CONSTANTS = (bool, int, float, str, DType, s.StructInfo, p.PrimExpr, IndexMap, Attrs)


def _constant(node: Node) -> object:
    wanted: type = {"int": int, "bool": bool, "float": float, "ffi.String": str}[node.kind]
    value = float(node.raw) if wanted is float and type(node.raw) is int else node.raw
    if type(value) is not wanted:
        raise Damaged(f"{node.described} holds a {type(node.raw).__name__}")
    return value


def _array(node: Node) -> tuple[Any, ...]:
    values = node.decoded.values
    return tuple([values[number] for number in node.decoded.graph.items(node.number)])


def _map(node: Node) -> dict[Any, Any]:
    items = _array(node)
    if len(items) % 2:
        raise Damaged(f"{node.described} has a key without a value")
    pairs = list(zip(items[::2], items[1::2], strict=True))
    if any(isinstance(key, (tuple, dict)) for key, _ in pairs):
        raise Damaged(f"{node.described} has a list as a key")
    return dict(pairs)


def _large(node: Node) -> int:
    if not isinstance(node.raw, str) or len(node.raw) >= 100:
        raise Damaged(f"{node.described} is not a number")
    return int(node.raw)


def _shape_constant(node: Node) -> tuple[int, ...]:
    items = node.raw
    if not isinstance(items, list) or not all(type(item) is int for item in items):
        raise Damaged(f"{node.described} is not a list of numbers")
    return tuple(items)


def _tensor_constant(node: Node) -> np.ndarray[Any, Any]:
    try:
        return tensor_from_text(str(node.raw))
    except (ValueError, KeyError, TypeError, struct.error) as error:
        raise Damaged(f"the tensor of {node.described} is damaged: {str(error)[:80]}") from None


def constant(value: object, bare: DType = INT64) -> object:
    """A decoded value as a constant of an attribute. An integer of dtype `bare` is a plain number, as in a text."""
    if isinstance(value, tuple):
        return tuple([constant(item, bare) for item in value])
    if isinstance(value, dict):
        return Attrs(sorted((str(key), constant(item, bare)) for key, item in value.items()))
    if type(value) is p.IntImm and (value.dtype is bare or value.dtype.is_bool):
        return bool(value.value) if value.dtype.is_bool else value.value
    if isinstance(value, Device):
        return value.name
    if isinstance(value, (Target, Mesh)):
        return Verbatim(value.text)
    if type(value) is p.PrimString:
        return value.value
    if value is None or isinstance(value, _CONSTANTS):
        return value
    raise Damaged(f"a {type(value).__name__} is no constant of an attribute")


def dict_attrs(node: Node) -> Attrs:
    """The attributes of a function or module, or of a call as TVM's dictionary."""
    entries = constant(node.value("__dict__"))
    if not isinstance(entries, Attrs):
        raise node.wrong("__dict__", "a map", entries)
    return entries if entries else EMPTY


def _fields(node: Node) -> dict[str, Any]:
    """The fields of the attributes of an operator. A plain text is a dtype."""
    found = {}
    for name, raw in node.fields.items():
        if not node.has_plain(name):
            found[name] = constant(node.value(name))
        else:
            found[name] = element_type(raw) if isinstance(raw, str) else raw
    return found


def _hint(node: Node) -> dict[str, Any]:
    """The attributes of `hint_on_device`, whose device is one argument in a text."""
    place = (node.plain("device_type", int), node.plain("index", int))
    return {"dst_vdevice": Verbatim(device_text(place)), "memory_scope": node.of("memory_scope", str)}


def call_attrs(name: str, fields: Mapping[str, Any] | None) -> Attrs:
    """The attributes of a call of operator `name`. Omitted ones have their defaults."""
    op = find_op(name)
    given = dict(fields) if fields is not None else {}
    if op is None:
        return Attrs(given) if given else EMPTY
    if not given:
        return default_attrs(op) if op.attributes else EMPTY
    unknown = set(given) - {q.name for q in op.attributes}
    if unknown:
        raise Damaged(f"{name} has no attribute {sorted(unknown)[0]!r}")
    missing = [q.name for q in op.attributes if q.required and q.name not in given]
    if missing:
        raise Damaged(f"{name} lacks its attribute {missing[0]!r}")
    pairs = []
    for q in op.attributes:
        if q.name not in given:
            pairs.append((q.name, q.default))
            continue
        value = given[q.name]
        pairs.append((q.name, value if q.kind is Kind.DTYPE else converted(q, value)))
    return Attrs(pairs) if pairs else EMPTY


def _index_map(node: Node) -> IndexMap:
    names = node.several("initial_indices", p.PrimVar)
    inverse = node.optional("inverse_index_map", IndexMap)
    shown = [var.name if var.name.isidentifier() else f"i{number}" for number, var in enumerate(names)]
    return index_map(shown, names, node.prims("final_indices"), inverse)


CONSTANT_READERS: dict[str, Callable[[Node], Any]] = {
    **dict.fromkeys(("int", "bool", "float", "ffi.String"), _constant),
    "ffi.BigInt": _large,
    "None": lambda node: None,
    "ffi.Array": _array,
    "ffi.Map": _map,
    "ffi.Shape": _shape_constant,
    "ffi.Tensor": _tensor_constant,
    "ir.DictAttrs": dict_attrs,
    "relax.attrs.HintOnDeviceAttrs": _hint,
    "tirx.IndexMap": _index_map,
}


def attrs_reader(kind: str) -> Callable[[Node], Any] | None:
    """The reader of a class of attributes of operators; None for another class."""
    return _fields if kind.startswith("relax.attrs.") else None
