"""Constants of TVM's JSON: tensors, and the attributes of calls, functions and modules."""

from __future__ import annotations

import binascii
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY, Attrs, Verbatim
from relax_explorer.core.ir.dtype import INT64, DType, element_type
from relax_explorer.core.ir.index_map import IndexMap, index_map
from relax_explorer.core.ir.struct_info import device_text
from relax_explorer.core.ops import find as find_op
from relax_explorer.core.ops.kit.kinds import Kind
from relax_explorer.core.syntax.parse_attributes import converted, default_attrs
from relax_explorer.core.syntax.tensor_text import tensor_from_text
from relax_explorer.core.syntax.tvm_json.json_nodes import Damaged, Node
from relax_explorer.core.syntax.tvm_json.json_types import Device, Mesh, Target

_CONSTANTS = (bool, int, float, str, DType, s.StructInfo, p.PrimExpr, IndexMap, Attrs)


def _plain(node: Node) -> object:
    wanted: type = {"int": int, "bool": bool, "float": float, "ffi.String": str}[node.kind]
    value = float(node.raw) if wanted is float and type(node.raw) is int else node.raw
    if type(value) is not wanted:
        raise Damaged(f"{node.decoded.graph.described(node.number)} holds a {type(node.raw).__name__}")
    return value


def _array(node: Node) -> tuple[Any, ...]:
    values = node.decoded.values
    return tuple([values[number] for number in node.decoded.graph.items(node.number)])


def _map(node: Node) -> dict[Any, Any]:
    items = _array(node)
    if len(items) % 2:
        raise Damaged(f"{node.decoded.graph.described(node.number)} has a key without a value")
    pairs = list(zip(items[::2], items[1::2], strict=True))
    if any(isinstance(key, (tuple, dict)) for key, _ in pairs):
        raise Damaged(f"{node.decoded.graph.described(node.number)} has a list as a key")
    return dict(pairs)


def _large(node: Node) -> int:
    return int(node.raw) if isinstance(node.raw, str) and len(node.raw) < 100 else _not_a(node, "number")


def _not_a(node: Node, what: str) -> int:
    raise Damaged(f"{node.decoded.graph.described(node.number)} is not a {what}")


def _shape(node: Node) -> tuple[int, ...]:
    items = node.raw
    if not isinstance(items, list) or not all(type(item) is int for item in items):
        raise Damaged(f"{node.decoded.graph.described(node.number)} is not a list of numbers")
    return tuple(items)


def _tensor(node: Node) -> np.ndarray[Any, Any]:
    try:
        return tensor_from_text(str(node.raw))
    except (ValueError, KeyError, TypeError, struct.error, binascii.Error) as error:
        described = node.decoded.graph.described(node.number)
        raise Damaged(f"the tensor of {described} is damaged: {str(error)[:80]}") from None


def constant(value: object, bare: DType = INT64) -> Any:
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


READERS: dict[str, Callable[[Node], Any]] = {
    **dict.fromkeys(("int", "bool", "float", "ffi.String"), _plain),
    "ffi.BigInt": _large,
    "None": lambda node: None,
    "ffi.Array": _array,
    "ffi.Map": _map,
    "ffi.Shape": _shape,
    "ffi.Tensor": _tensor,
    "ir.DictAttrs": dict_attrs,
    "relax.attrs.HintOnDeviceAttrs": _hint,
    "tirx.IndexMap": _index_map,
}


def attrs_reader(kind: str) -> Callable[[Node], Any] | None:
    """The reader of a class of attributes of operators; None for another class."""
    return _fields if kind.startswith("relax.attrs.") else None
