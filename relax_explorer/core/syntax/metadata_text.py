"""Writes the metadata block, which `metadata` reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from relax_explorer.core.ir.dtype import from_numpy
from relax_explorer.core.syntax import metadata_old
from relax_explorer.core.syntax.tensor_text import Array, tensor_text


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


def _write_constant(graph: _Graph, array: Array, none: int, int64: int) -> int:
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
