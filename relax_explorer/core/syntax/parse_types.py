"""Reads types in the form of the first specification of Relax: `DynTensorType(2, "float32")`, with or without `R.`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir import types as t
from relax_explorer.core.ir.erasure import wrap_type
from relax_explorer.core.syntax.parse_dim import DimReader


def read(reader: DimReader, node: ast.Call, name: str) -> s.StructInfo | None:
    """The StructInfo of a type. None if `name` is not a type."""
    return None if name.removeprefix("R.") not in _FORMS else wrap_type(_type(reader, node))


def _type(reader: DimReader, node: ast.expr) -> t.Type:
    name = ast.unparse(node.func).removeprefix("R.") if isinstance(node, ast.Call) else ""
    form = _FORMS.get(name)
    if form is None or not isinstance(node, ast.Call):
        text = f"{ast.unparse(node)[:60]!r} is not a type"
        raise reader.ctx.fail(codes.BAD_ANNOTATION, text, node, help=f"types are {', '.join(_FORMS)}")
    names, make = form
    arguments = dict(zip(names, node.args, strict=False))
    arguments.update({keyword.arg or "**": keyword.value for keyword in node.keywords})
    if len(node.args) > len(names) or set(arguments) - set(names):
        text = f"{name} takes {', '.join(names) or 'nothing'}"
        raise reader.ctx.fail(codes.BAD_CALL, text, node, help="omit unknown parts")
    return make(reader, arguments, node)


def _rank(reader: DimReader, arguments: dict[str, ast.expr], node: ast.Call) -> int:
    return reader.rank(arguments, None, node)


def _tensor(reader: DimReader, arguments: dict[str, ast.expr], node: ast.Call) -> t.Type:
    return t.DynTensorType(
        _rank(reader, arguments, node), reader.dtype(arguments["dtype"]) if "dtype" in arguments else None
    )


def _scalar(reader: DimReader, arguments: dict[str, ast.expr], node: ast.Call) -> t.Type:
    element = reader.dtype(arguments["dtype"]) if "dtype" in arguments else None
    if element is None:
        text = f"{ast.unparse(node)[:60]} is not a scalar type"
        raise reader.ctx.fail(codes.BAD_DTYPE, text, node, help=codes.BAD_DTYPE.fix)
    return t.PrimType(element)


def _several(reader: DimReader, node: ast.expr | None, call: ast.Call) -> tuple[t.Type, ...]:
    if not isinstance(node, (ast.Tuple, ast.List)):
        text = f"{ast.unparse(call)[:60]!r} needs a list of types"
        raise reader.ctx.fail(codes.BAD_CALL, text, call, help="write [ObjectType(), …]")
    return tuple([_type(reader, item) for item in node.elts])


def _function(reader: DimReader, arguments: dict[str, ast.expr], node: ast.Call) -> t.Type:
    params = _several(reader, arguments.get("arg_types"), node)
    ret = _type(reader, arguments["ret_type"]) if "ret_type" in arguments else t.OBJECT_TYPE
    pure = arguments.get("pure")
    return t.FuncType(params, ret, bool(pure.value) if isinstance(pure, ast.Constant) else True)


_FORMS: dict[str, tuple[tuple[str, ...], Callable[[Any, dict[str, ast.expr], ast.Call], t.Type]]] = {
    "ObjectType": ((), lambda reader, arguments, node: t.OBJECT_TYPE),
    "PrimType": (("dtype",), _scalar),
    "ShapeType": (("ndim",), lambda reader, arguments, node: t.ShapeType(_rank(reader, arguments, node))),
    "DynTensorType": (("ndim", "dtype"), _tensor),
    "TupleType": (
        ("fields",),
        lambda reader, arguments, node: t.TupleType(_several(reader, arguments.get("fields"), node)),
    ),
    "FuncType": (("arg_types", "ret_type", "pure"), _function),
    "PackedFuncType": ((), lambda reader, arguments, node: t.PACKED_FUNC_TYPE),
}
