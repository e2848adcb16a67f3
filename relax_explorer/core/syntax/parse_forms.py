"""Reads forms that look like operators but are not: R.const, R.shape, R.call_packed and others."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ir.dtype import dtype as element_type
from relax_explorer.core.ir.tensor_place import Sharding
from relax_explorer.core.ops import find as find_op
from relax_explorer.core.syntax.parse_attributes import default_attrs, keywords, struct_infos
from relax_explorer.core.syntax.reader import Reader
from relax_explorer.core.syntax.written import dotted


def call_packed(reader: Reader, node: ast.Call) -> e.Call:
    """A call of a packed function by name."""
    first = reader.read(node.args[0]) if node.args else None
    if not isinstance(first, str):
        raise reader.ctx.fail(codes.BAD_CALL, "R.call_packed needs the packed function's name first", node)
    args = tuple([reader.value(arg) for arg in node.args[1:]])
    attrs, infos = keywords(reader, node, "call_packed")
    return e.Call(
        e.ExternFunc(first, None, reader.ctx.span(node.args[0])),
        args,
        attrs,
        infos,
        None,
        reader.ctx.span(node),
    )


def only_argument(reader: Reader, node: ast.Call) -> ast.expr:
    """The only argument of a form."""
    if len(node.args) != 1 or node.keywords:
        raise reader.ctx.fail(codes.BAD_CALL, f"{dotted(node.func)} takes one argument", node)
    return node.args[0]


def shape(reader: Reader, node: ast.Call) -> e.Expr:
    """A shape value."""
    inner = only_argument(reader, node)
    if not isinstance(inner, (ast.Tuple, ast.List)):
        raise reader.ctx.fail(codes.BAD_CALL, "R.shape takes a list of dimensions", node)
    return e.ShapeExpr(tuple([reader.info.dim(item) for item in inner.elts]), None, reader.ctx.span(node))


def tuple_form(reader: Reader, node: ast.Call) -> e.Expr:
    """A tuple."""
    if node.keywords:
        raise reader.ctx.fail(codes.BAD_CALL, "R.tuple takes only values", node.keywords[0].value)
    return e.Tuple(tuple([reader.value(arg) for arg in node.args]), None, reader.ctx.span(node))


def string(reader: Reader, node: ast.Call) -> e.Expr:
    """A string value."""
    inner = only_argument(reader, node)
    if not isinstance(inner, ast.Constant) or not isinstance(inner.value, str):
        raise reader.ctx.fail(codes.BAD_CALL, "R.str takes a string literal", node)
    return e.StringImm(inner.value, None, reader.ctx.span(node))


def dtype_form(reader: Reader, node: ast.Call) -> e.Expr:
    """An element type as a value."""
    element = reader.info.dtype(only_argument(reader, node))
    if element is None:
        raise reader.ctx.fail(codes.BAD_DTYPE, "R.dtype needs a known dtype", node)
    return e.DataTypeImm(element, None, reader.ctx.span(node))


def prim_value(reader: Reader, node: ast.Call) -> e.Expr:
    """A scalar value."""
    raw = reader.read(only_argument(reader, node))
    if not isinstance(raw, (bool, int, float, p.PrimExpr)):
        text = (
            f"R.prim_value takes a scalar, this is {ast.unparse(node.args[0])}"
            if node.args
            else "R.prim_value takes a scalar"
        )
        raise reader.ctx.fail(codes.BAD_CALL, text, node, help="write R.prim_value(1), or a shape variable")
    value = raw if isinstance(raw, p.PrimExpr) else reader.literal(raw, node)
    return e.PrimValue(value, None, reader.ctx.span(node))


def extern(reader: Reader, node: ast.Call) -> e.Expr:
    """A packed function as a value, optionally with its StructInfo."""
    arguments = dict(zip(("global_symbol", "struct_info"), node.args, strict=False))
    arguments.update({keyword.arg or "**": keyword.value for keyword in node.keywords})
    name, info_node = (
        arguments.pop("global_symbol", None),
        arguments.pop("struct_info", arguments.pop("ty", None)),
    )
    if (
        not isinstance(name, ast.Constant)
        or not isinstance(name.value, str)
        or arguments
        or len(node.args) > 2
    ):
        text = "R.ExternFunc takes a name in quotes, and optionally a StructInfo"
        raise reader.ctx.fail(codes.BAD_CALL, text, node)
    info = None if info_node is None else reader.info.read(info_node)
    return e.ExternFunc(name.value, info, reader.ctx.span(node))


def const(reader: Reader, node: ast.Call) -> e.Expr:
    """`R.const(value, dtype)` of numbers and lists of numbers."""
    arguments: dict[str, ast.expr] = dict(zip(("value", "dtype"), node.args, strict=False))
    arguments.update({keyword.arg or "**": keyword.value for keyword in node.keywords})
    if "value" not in arguments or set(arguments) - {"value", "dtype"} or len(node.args) > 2:
        raise reader.ctx.fail(codes.BAD_CALL, "R.const takes a value and a dtype", node)
    target = _element(reader, arguments["dtype"]) if "dtype" in arguments else None
    return scalar_constant(reader, read_number(reader, arguments["value"]), target, node)


def _element(reader: Reader, node: ast.expr) -> DType | None:
    """The dtype of a constant, which numpy names: int is int64 there, and half float16."""
    name = node.value if isinstance(node, ast.Constant) else None
    if isinstance(name, str) and name in _OF_NUMPY:
        return element_type(_OF_NUMPY[name])
    element = reader.info.dtype(node)
    if element is not None and name != element.name and element.lanes == 1 and not element.is_bool:
        text = f"numpy, which makes TVM's constants, has no {name!r}"
        reader.ctx.refuse(codes.BAD_DTYPE, text, node, help=f'write "{element}"')
    return element


_OF_NUMPY = {
    "int": "int64", "float": "float64", "uint": "uint64", "double": "float64", "half": "float16", "single": "float32", "long": "int64",
    "i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64", "u1": "uint8", "u2": "uint16", "u4": "uint32", "u8": "uint64", "f2": "float16",
    "f4": "float32", "f8": "float64",
}  # fmt: skip


def spread_const(reader: Reader, node: ast.Call) -> e.Constant:
    """`R.dist.const(value, R.DTensor(…))`: a constant distributed over a mesh."""
    arguments: dict[str, ast.expr] = dict(zip(("value", "ty"), node.args, strict=False))
    arguments.update({keyword.arg or "**": keyword.value for keyword in node.keywords})
    info = reader.info.read(arguments["ty"]) if "ty" in arguments else None
    is_spread = isinstance(info, s.TensorStructInfo) and type(info.vdevice) is Sharding
    if (
        "value" not in arguments
        or set(arguments) - {"value", "ty"}
        or not isinstance(info, s.TensorStructInfo)
        or not is_spread
    ):
        text = "R.dist.const takes a value and a distributed tensor's StructInfo"
        raise reader.ctx.fail(codes.BAD_CALL, text, node, help="write R.dist.const(1.0, R.DTensor(…))")
    tensor = scalar_constant(reader, read_number(reader, arguments["value"]), info.dtype, node)
    lengths = tuple([dim.value for dim in info.dims or () if isinstance(dim, p.IntImm)])
    if info.dims is None or lengths != tensor.data.shape:
        text = f"the value has shape {tensor.data.shape}, its StructInfo is {info}"
        raise reader.ctx.fail(codes.BAD_CALL, text, node, help="state the shape of the value")
    return e.Constant(tensor.data, info, "", reader.ctx.span(node))


def read_number(reader: Reader, node: ast.expr) -> Any:
    """A number, or nested lists of numbers. `"inf"` and `"nan"` are numbers too."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return [read_number(reader, item) for item in node.elts]
    raw = node.value if isinstance(node, ast.Constant) else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -read_number(reader, node.operand)
    if isinstance(node, ast.Call) and dotted(node.func) == "float" and len(node.args) == 1:
        return float(read_number(reader, node.args[0]))
    if raw in ("inf", "-inf", "nan"):
        return float(raw)
    if isinstance(raw, (bool, int, float)):
        return raw
    raise reader.ctx.fail(
        codes.EXECUTES_PYTHON,
        f"{ast.unparse(node)[:60]!r} is not a literal",
        node,
        help="R.const takes numbers and lists of numbers here; nothing is executed",
    )


def scalar_constant(reader: Reader, value: Any, target: DType | None, node: ast.expr) -> e.Constant:
    """A constant tensor from Python numbers."""
    try:
        with np.errstate(over="ignore"):  # too large a number is infinite, as in TVM
            array = np.asarray(value) if target is None else np.asarray(value, dtype=target.to_numpy())
    except (OverflowError, ValueError, TypeError) as error:
        raise reader.ctx.fail(
            codes.BAD_LITERAL, f"this does not fit {target or 'an array'}: {str(error)[:80]}", node
        ) from None
    if array.dtype == object:
        raise reader.ctx.fail(
            codes.BAD_LITERAL, "this does not fit an array: it needs more than 64 bits", node
        )
    if target is None and array.dtype in (np.float64, np.int64):  # TVM's defaults for Python numbers
        with np.errstate(over="ignore"):  # a large number becomes infinite, as in TVM
            array = array.astype(np.float32 if array.dtype == np.float64 else np.int32)
    array.setflags(write=False)
    return e.Constant(array, s.constant_info(array), "", reader.ctx.span(node))


def executes(reader: Reader, node: ast.Call) -> Any:
    """Report a call that would run Python."""
    raise reader.ctx.fail(
        codes.EXECUTES_PYTHON,
        f"{dotted(node.func)} calls a Python function",
        node,
        help=codes.EXECUTES_PYTHON.fix,
    )


def emit(reader: Reader, node: ast.Call) -> Any:
    """`R.emit(x)` is x."""
    return reader.read(node.args[0]) if node.args else executes(reader, node)


def emit_typed(reader: Reader, node: ast.Call) -> Any:
    """`R.emit_with_ty("relax.add", (x, y), R.Tensor(…))`: a call of an operator by name, with StructInfo."""
    name = reader.read(node.args[0]) if node.args else None
    args = reader.value(node.args[1]) if len(node.args) > 1 else None
    if not isinstance(name, str) or not isinstance(args, e.Tuple):
        raise reader.ctx.fail(
            codes.BAD_CALL,
            f"{dotted(node.func)} takes the name of an operator and a tuple of arguments",
            node,
        )
    info_node = node.args[2] if len(node.args) > 2 else next((k.value for k in node.keywords), None)
    infos = struct_infos(reader, info_node) if info_node is not None else ()
    op = find_op(name)
    attrs = default_attrs(op) if op is not None else EMPTY
    return e.Call(e.op_ref(name), args.fields, attrs, infos, None, reader.ctx.span(node))


FORMS: dict[str, Callable[[Reader, ast.Call], Any]] = {
    "call_packed": call_packed,
    "shape": shape,
    "tuple": tuple_form,
    "str": string,
    "dtype": dtype_form,
    "prim_value": prim_value,
    "ExternFunc": extern,
    "const": const,
    "dist.const": spread_const,
    "emit_te": executes,
    "call_te": executes,
    "emit": emit,
    "emit_with_ty": emit_typed,
    "emit_with_sinfo": emit_typed,
}
_INFO_FIX = "an annotation comes after a colon, or in an argument that takes StructInfo"
# Constructs that look like calls but have no value, with advice.
NO_VALUES: dict[str, str] = {
    **dict.fromkeys(("match_cast", "match_shape", "cast"), "bind the cast to a variable, on a separate line"),
    **dict.fromkeys(
        ("dataflow", "output", "func_attr", "function", "macro"), "write it as a separate statement"
    ),
    **dict.fromkeys(("Tensor", "DTensor", "Shape", "Tuple", "Callable", "Prim", "Object", "Any"), _INFO_FIX),
}
