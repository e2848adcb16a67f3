"""Reads and writes the metadata block: JSON text in which TVM prints all constants except scalars. The data is kept exactly.

The block is a graph: `nodes` refer to each other by index. A tensor is a base64 DLTensor: 8 bytes magic 0xDD5E40F096B4A13F,
8 reserved, device (2 x i32), ndim i32, dtype (code u8, bits u8, lanes u16), shape i64[ndim], byte count i64, data; little endian.
"""

from __future__ import annotations

import ast
import base64
import binascii
import json
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.ir.attrs import Verbatim
from relax_explorer.core.ir.dtype import DType, dtype, from_numpy
from relax_explorer.core.syntax import metadata_old
from relax_explorer.core.syntax.context import Context
from relax_explorer.core.syntax.dialects import CONSTANT_KEYS

MAGIC = 0xDD5E40F096B4A13F
_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 6: "bool"}
_CODE_OF = {name: code for code, name in _CODES.items()}
_FLOAT8 = {
    7: "float8_e3m4", 8: "float8_e4m3", 9: "float8_e4m3b11fnuz", 10: "float8_e4m3fn", 11: "float8_e4m3fnuz", 12: "float8_e5m2",
    13: "float8_e5m2fnuz", 14: "float8_e8m0fnu",
}  # fmt: skip


def read_metadata(text: str, ctx: Context, node: ast.AST) -> None:
    """Fill `ctx.metadata` from the JSON text. Reports a damaged block and raises Skip."""
    try:
        graph = json.loads(text)
        entries = metadata_old.entries(graph) if metadata_old.is_old(graph) else _entries(graph)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise ctx.fail(
            codes.BAD_METADATA,
            f"the metadata block can't be read: {str(error)[:80]}",
            node,
            help=codes.BAD_METADATA.fix,
        ) from None
    ctx.has_metadata = True
    for key, items in entries:
        ctx.metadata[key] = [_item(item, number, ctx, node) for number, item in enumerate(items)]


def _entries(graph: Any) -> list[tuple[str, list[Any]]]:
    """The (key, items) pairs of the block. An item is the base64 text of an array, or another node."""
    nodes = graph["nodes"]
    flat = nodes[graph["root_index"]]["data"]
    entries = []
    for at in range(0, len(flat), 2):
        items = [nodes[number] for number in nodes[flat[at + 1]]["data"]]
        entries.append((str(nodes[flat[at]]["data"]), [_array_text(item, nodes) for item in items]))
    return entries


def _array_text(entry: dict[str, Any], nodes: list[Any]) -> Any:
    if entry["type"] in CONSTANT_KEYS:
        fields = entry["data"]
        return str(nodes[fields["value"] if "value" in fields else fields["data"]]["data"])
    return str(entry["data"]) if entry["type"] == "ffi.Tensor" else entry


def _item(entry: Any, number: int, ctx: Context, node: ast.AST) -> Any:
    if not isinstance(entry, str):
        return Verbatim(json.dumps(entry)[:200])
    try:
        return tensor_from_text(entry)
    except (ValueError, KeyError, TypeError, struct.error, binascii.Error) as error:
        raise ctx.fail(
            codes.BAD_METADATA, f"constant {number} of the metadata block is damaged: {str(error)[:80]}", node
        ) from None


def tensor_from_text(text: str) -> Any:
    """The read-only array in a base64 DLTensor. Raises ValueError or struct.error for damaged text."""
    raw = base64.b64decode(text, validate=True)
    magic, _reserved, _device, _device_id, ndim, code, bits, lanes = struct.unpack_from("<QQiiiBBH", raw)
    if magic != MAGIC:
        raise ValueError("not a tensor")
    if not 0 <= ndim <= 64 or lanes != 1:
        raise ValueError(f"{ndim} dimensions of {lanes} lanes")
    shape = struct.unpack_from(f"<{ndim}q", raw, 32)
    (size,) = struct.unpack_from("<q", raw, 32 + 8 * ndim)
    data = raw[40 + 8 * ndim :]
    if len(data) != size:
        raise ValueError(f"{len(data)} bytes of data, {size} announced")
    array = np.frombuffer(data, dtype=_dtype(code, bits).to_numpy()).reshape(shape)
    array.setflags(write=False)
    return array


def _dtype(code: int, bits: int) -> DType:
    if code in _FLOAT8:
        return dtype(_FLOAT8[code])
    base = _CODES[code]
    return dtype("bool" if base == "bool" or (base == "uint" and bits == 1) else f"{base}{bits}")


def tensor_text(array: Any, old: bool = False) -> str:
    """An array as a base64 DLTensor. In the older form, bool is uint1."""
    element = from_numpy(array.dtype)
    code, bits = _CODE_OF.get(element.kind, 2), element.bits
    if element.is_bool and old:
        code, bits = _CODE_OF["uint"], 1
    if element.name.startswith("float8"):
        code = next(number for number, name in _FLOAT8.items() if name == element.name)
    data = np.ascontiguousarray(array).tobytes()
    head = struct.pack("<QQiiiBBH", MAGIC, 0, 1, 0, array.ndim, code, bits, 1)
    sizes = struct.pack(f"<{array.ndim}q", *array.shape) + struct.pack("<q", len(data))
    return base64.b64encode(head + sizes + data).decode("ascii")


class _Graph:
    """Builds the JSON graph node by node. Equal simple nodes are shared."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self._shared: dict[str, int] = {}

    def add(self, type_name: str, data: Any = None, share: bool = False) -> int:
        """Add a node, and return its index."""
        key = json.dumps([type_name, data]) if share else ""
        if share and key in self._shared:
            return self._shared[key]
        self.nodes.append(
            {"type": type_name} if data is None and type_name == "None" else {"type": type_name, "data": data}
        )
        self._shared[key] = len(self.nodes) - 1
        return len(self.nodes) - 1


def write_metadata(arrays: Sequence[Any], old: bool = False) -> str:
    """The JSON text of `arrays`, which are then `metadata["ir.GenericConst"][i]`. With `old`, in the older form."""
    if old:
        return metadata_old.write(arrays, [tensor_text(array, old=True) for array in arrays])
    graph = _Graph()
    name = graph.add("ffi.String", "ir.GenericConst")
    none = graph.add("None", share=True)
    int64 = graph.add("ir.PrimType", {"span": none, "dtype": "int64"}, share=True)
    items = [_write_constant(graph, array, none, int64) for array in arrays]
    listed = graph.add("ffi.Array", items)
    root = graph.add("ffi.Map", [name, listed])
    document = {"root_index": root, "nodes": graph.nodes, "metadata": {"tvm_version": "0.27.0.post1"}}
    return json.dumps(document, indent=2)


def _write_constant(graph: _Graph, array: Any, none: int, int64: int) -> int:
    dims = [
        graph.add(
            "ir.IntImm",
            {"span": none, "ty": int64, "value": graph.add("int", int(n), share=True)},
            share=True,
        )
        for n in array.shape
    ]
    values = graph.add("ffi.Array", dims)
    shape_type = graph.add("relax.ShapeType", {"span": none, "values": values, "ndim": array.ndim})
    shape = graph.add("relax.expr.ShapeExpr", {"span": none, "ty": shape_type, "values": values})
    element = graph.add("ir.PrimType", {"span": none, "dtype": from_numpy(array.dtype).name}, share=True)
    info = graph.add(
        "relax.TensorType",
        {"span": none, "shape": shape, "dtype": element, "vdevice": none, "ndim": array.ndim},
    )
    tensor = graph.add("ffi.Tensor", tensor_text(array))
    return graph.add("ir.GenericConst", {"span": none, "ty": info, "value": tensor})
