"""Reads and writes the metadata block: JSON text in which TVM prints all constants except scalars. The data is kept exactly.

The block is a graph of nodes, as in TVM's JSON (`tvm_json`); TVM before 0.22 has a form of its own (`metadata_old`).
"""

from __future__ import annotations

import ast
import binascii
import json
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.attrs import Verbatim
from relax_explorer.core.ir.dtype import DType, from_numpy
from relax_explorer.core.syntax import metadata_old
from relax_explorer.core.syntax.context import Context
from relax_explorer.core.syntax.tensor_text import tensor_from_text, tensor_text
from relax_explorer.core.syntax.tvm_json.graph import Damaged, loaded
from relax_explorer.core.syntax.tvm_json.module import parts


def read_metadata(text: str, ctx: Context, node: ast.AST) -> None:
    """Fill `ctx.metadata` from the JSON text. Reports a damaged block and raises Skip."""
    try:
        document = loaded(text)
        entries = _old_entries(document) if metadata_old.is_old(document) else parts(document)
    except Damaged as error:
        raise ctx.fail(
            codes.BAD_METADATA,
            f"the metadata block can't be read: {str(error)[:120]}",
            node,
            help=codes.BAD_METADATA.fix,
        ) from None
    ctx.has_metadata = True
    for key, items in entries:
        ctx.metadata[key] = [_item(item) for item in items]


def _old_entries(document: Any) -> list[tuple[str, list[Any]]]:
    try:
        entries = metadata_old.entries(document)
        return [
            (key, [tensor_from_text(item) if isinstance(item, str) else item for item in items])
            for key, items in entries
        ]
    except (
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        AttributeError,
        struct.error,
        binascii.Error,
    ) as error:
        raise Damaged(str(error)) from None


def _item(value: Any) -> Any:
    """An entry as the reader of expressions takes it: an array, an expression, or text that is kept as it is."""
    if isinstance(value, e.Constant):
        return value.data
    if isinstance(value, p.PrimString):
        return e.StringImm(value.value)
    if isinstance(value, p.PrimExpr):
        return e.PrimValue(value)
    if isinstance(value, DType):
        return e.DataTypeImm(value)
    return value if isinstance(value, (np.ndarray, e.Expr)) else Verbatim(str(value)[:200])


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
