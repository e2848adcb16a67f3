"""Reads the metadata block: JSON text in which TVM prints all constants except scalars. The data is kept exactly.

The block is a graph of nodes, as in TVM's JSON (`tvm_json`); TVM before 0.22 has a form of its own (`metadata_old`).
"""

from __future__ import annotations

import ast
import struct
from typing import Any

import numpy as np

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.attrs import Verbatim
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.syntax import metadata_text
from relax_explorer.core.syntax.context import Context
from relax_explorer.core.syntax.tensor_text import tensor_from_text
from relax_explorer.core.syntax.tvm_json.json_module import parts
from relax_explorer.core.syntax.tvm_json.json_nodes import Damaged, loaded


def read_metadata(text: str, ctx: Context, node: ast.AST) -> None:
    """Fill `ctx.metadata` from the JSON text. Reports a damaged block and raises Skip."""
    try:
        document = loaded(text)
        entries = _old_entries(document) if metadata_text.is_old(document) else parts(document)
    except Damaged as error:
        raise ctx.fail_with_fix(
            codes.BAD_METADATA, f"the metadata block can't be read: {str(error)[:120]}", node
        ) from None
    ctx.has_metadata = True
    for key, items in entries:
        ctx.metadata[key] = [_item(item) for item in items]


def _old_entries(document: dict[str, Any]) -> list[tuple[str, list[object]]]:
    try:
        entries = metadata_text.old_entries(document)
        return [
            (key, [tensor_from_text(item) if isinstance(item, str) else item for item in items])
            for key, items in entries
        ]
    except (ValueError, LookupError, TypeError, AttributeError, struct.error) as error:
        raise Damaged(str(error)) from None


def _item(value: object) -> e.Expr | Array | Verbatim:
    """An entry as the reader of expressions takes it: an array, an expression, or text that is kept as it is."""
    if isinstance(value, e.Constant):
        data: Array = value.data
        return data
    if isinstance(value, p.PrimString):
        return e.StringImm(value.value)
    if isinstance(value, p.PrimExpr):
        return e.PrimValue(value)
    if isinstance(value, DType):
        return e.DataTypeImm(value)
    if isinstance(value, e.Expr):
        return value
    return value if isinstance(value, np.ndarray) else Verbatim(str(value)[:200])
