"""Writes the metadata of a text: constants and other values that the text keeps apart, as TVM of today and before 0.22 does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeGuard

from relax_explorer.core.ir.dtype import from_numpy
from relax_explorer.core.syntax.tensor_text import Array, tensor_text

# -- metadata old ----------------------------------------------------------------------------------------------------
# The metadata block of TVM before 0.22. Attributes are strings, and arrays are in a separate list.
#
# The text is `{"root": index, "nodes": [{"type_key": …, "attrs": {…}}], "b64ndarrays": […]}`. Node 0 is the null
# object. The `data` of a constant is an index into `b64ndarrays`. The arrays are base64 DLTensors like in the newer
# block, but bool is uint1.


KEY = "relax.expr.Constant"


def is_old(graph: object) -> TypeGuard[dict[str, Any]]:
    """True if a block has the older form."""
    return isinstance(graph, dict) and "root" in graph and "root_index" not in graph


def old_entries(graph: dict[str, Any]) -> list[tuple[str, list[Any]]]:
    """The (key, items) pairs of the block. An item is the base64 text of an array, or another node.

    A damaged block raises KeyError, IndexError, TypeError, ValueError or AttributeError.
    """
    nodes, arrays = graph["nodes"], graph.get("b64ndarrays", [])
    root = nodes[_index(graph["root"], nodes)]
    lists = []
    for key, at in zip(root["keys"], root["data"], strict=True):
        items = [nodes[_index(item, nodes)] for item in nodes[_index(at, nodes)]["data"]]
        lists.append((str(key), [_item(item, arrays) for item in items]))
    return lists


def _index(text: str | int, items: Sequence[object]) -> int:
    number = int(text)
    if not 0 <= number < len(items):
        raise IndexError(f"no entry {number}")
    return number


def _item(node: dict[str, Any], arrays: list[Any]) -> dict[str, Any] | str:
    if node.get("type_key") != KEY:
        return node
    return str(arrays[_index(node["attrs"]["data"], arrays)])


def write(arrays: Sequence[Any], texts: Sequence[str]) -> str:
    """The block for the constants `arrays`, with their base64 texts."""
    nodes: list[dict[str, Any]] = [{"type_key": ""}, {"type_key": "Map", "keys": [KEY], "data": [2]}]
    listed: dict[str, Any] = {"type_key": "Array", "data": []}
    nodes.append(listed)
    for number, array in enumerate(arrays):
        listed["data"].append(_write_old_constant(nodes, array, number))
    document = {"root": 1, "nodes": nodes, "b64ndarrays": list(texts), "attrs": {"tvm_version": "0.19.0"}}
    return json.dumps(document, indent=2)


def _write_old_constant(nodes: list[dict[str, Any]], array: Array, number: int) -> int:
    element, rank = from_numpy(array.dtype).name, str(array.ndim)

    def add(type_key: str, **attrs: str) -> str:
        nodes.append({"type_key": type_key, "attrs": {"span": "0", **attrs}})
        return str(len(nodes) - 1)

    dims = [int(add("IntImm", dtype="int64", value=str(int(length)))) for length in array.shape]
    nodes.append({"type_key": "Array", "data": dims} if dims else {"type_key": "Array"})
    values = str(len(nodes) - 1)
    shape_type = add("relax.ShapeType", ndim=rank)
    shape_info = add("relax.ShapeStructInfo", values=values, ndim=rank)
    shape = add("relax.expr.ShapeExpr", values=values, struct_info_=shape_info, _checked_type_=shape_type)
    info = add("relax.TensorStructInfo", shape=shape, dtype=element, ndim=rank, vdevice="0")
    tensor_type = add("relax.DynTensorType", dtype=element, ndim=rank)
    return int(add(KEY, data=str(number), struct_info_=info, _checked_type_=tensor_type))


# -- metadata text ---------------------------------------------------------------------------------------------------
# Writes the metadata block, which `metadata` reads.


class _Graph:
    """Builds the JSON graph node by node. Equal simple nodes are shared."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self._shared: dict[str, int] = {}

    def add(self, type_name: str, data: object = None, share: bool = False) -> int:
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
        return write(arrays, [tensor_text(array, old=True) for array in arrays])
    graph = _Graph()
    name = graph.add("ffi.String", "ir.GenericConst")
    none = graph.add("None", share=True)
    int64 = graph.add("ir.PrimType", {"span": none, "dtype": "int64"}, share=True)
    items = [_written_constant(graph, array, none, int64) for array in arrays]
    listed = graph.add("ffi.Array", items)
    root = graph.add("ffi.Map", [name, listed])
    document = {"root_index": root, "nodes": graph.nodes, "metadata": {"tvm_version": "0.27.0.post1"}}
    return json.dumps(document, indent=2)


def _written_constant(graph: _Graph, array: Array, none: int, int64: int) -> int:
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
