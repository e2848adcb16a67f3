"""Reads forms that look like operators but are not: R.const, R.shape, R.call_packed and others."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY, Attrs
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ir.dtype import dtype as element_type
from relax_explorer.core.ir.struct_info import Sharding
from relax_explorer.core.ops import find as find_op
from relax_explorer.core.ops.kit.decl import Op
from relax_explorer.core.syntax.dialects import ARGS_KEYWORDS, OUT_KEYWORDS, TYPE_KEYWORD
from relax_explorer.core.syntax.parse_attributes import (
    check_type_keyword,
    declared_value,
    default_attrs,
    keywords,
    no_argument,
    struct_infos,
)
from relax_explorer.core.syntax.python_tree import dotted
from relax_explorer.core.syntax.reader import Read, Reader

# -- parse call forms ------------------------------------------------------------------------------------------------
# Reads operators that call functions: `R.call_tir(f, (args…), out_ty=…)` and similar ones, in all their spellings.
# The StructInfo of the result is in `out_ty=` (TVM 0.27), or in `out_sinfo=` or `sinfo_args=` (older). In the first
# specification of Relax it is a shape and a type: `R.call_tir(f, x, y, (n, 4), type_args=R.Tensor(ndim=2,
# dtype="float32"))`. Scalars are ordinary arguments. Older programs pass them separately, as `packed_ints=` or as
# `tir_vars=` after the outputs.


# Operators on a function and a tuple of its arguments.
NAMED_FORMS = frozenset({"call_py_func"})  # the function is a string
CALL_FORMS = NAMED_FORMS | {
    "call_tir",
    "call_tir_inplace",
    "call_tir_with_grad",
    "call_dps_packed",
    "dist.call_tir",
    "dist.call_tir_local_view",
}
PACKED_FORMS = frozenset({"call_pure_packed", "call_inplace_packed", "call_builtin_with_ctx"})
FUNCTION_KEYWORDS = {
    **dict.fromkeys(("call_tir", "call_tir_inplace", "call_tir_with_grad"), "gvar"),
    **dict.fromkeys(("call_dps_packed", "call_packed", *PACKED_FORMS), "func"),
    "call_py_func": "py_func_name",
}
"""The name of the function among the arguments in TVM 0.27."""
# The order of the arguments after the function, if there are others than `args` and `out`.
CALL_ORDER: dict[str, tuple[str, ...]] = {
    "call_tir_inplace": ("args", "inplace_indices", "out"),
    "call_tir_with_grad": ("args", "out", "te_grad_name", "te_grad_kwargs"),
}


def with_function_first(node: ast.Call, name: str) -> ast.Call:
    """A call whose function is an argument without a name: `call_tir(gvar=f, …)` is `call_tir(f, …)`."""
    wanted = FUNCTION_KEYWORDS.get(name)
    given = [keyword for keyword in node.keywords if keyword.arg == wanted]
    if node.args or wanted is None or not given:
        return node
    others = [keyword for keyword in node.keywords if keyword.arg != wanted]
    return ast.copy_location(ast.Call(node.func, [given[0].value], others), node)


def call_form(reader: Reader, node: ast.Call, name: str, op: type[Op] | None) -> e.Call:
    """`R.call_tir(f, (args…), out_ty=…)` and similar calls."""
    if not node.args:
        raise reader.ctx.fail(codes.BAD_CALL, f"R.{name} needs a function and its arguments", node)
    first = node.args[0]
    func = reader.value(first) if name in NAMED_FORMS else _function(reader, first)
    declared = {q.name: q for q in op.attributes} if op is not None else {}
    for keyword in node.keywords:
        if keyword.arg in OUT_KEYWORDS or keyword.arg in ARGS_KEYWORDS:
            check_type_keyword(reader, keyword, f"R.{name}", "out_ty")
    arguments = _by_part(node, name)
    unknown = [key for key in arguments if key not in declared and key not in _PARTS]
    if op is not None and unknown:
        no_argument(reader, node, op, unknown[0], [*declared, "out_ty"])
    pairs: list[tuple[str, Any]] = [
        (key, declared_value(reader, declared.get(key), arguments.pop(key)))
        for key in list(arguments)
        if key not in _PARTS
    ]
    args = [func, _arguments(reader, arguments, node)]
    if "tir_vars" in arguments:
        args.append(_lengths(reader, arguments["tir_vars"]))
    info = _result(reader, arguments, node, name)
    attrs = Attrs(pairs) if pairs else EMPTY
    called = "call_tir" if name == "dist.call_tir" else name  # TVM's surface has two names for one operator
    return e.Call(e.op_ref(f"relax.{called}"), tuple(args), attrs, (info,), None, reader.ctx.span(node))


_PARTS = frozenset({"args", "out", "out_shape", "packed_ints", "tir_vars"})


def _by_part(node: ast.Call, name: str) -> dict[str, ast.expr]:
    """The arguments of a call, by their names in TVM 0.27's form."""
    order = CALL_ORDER.get(name, ("args", "out"))
    named = {keyword.arg or "**": keyword.value for keyword in node.keywords}
    out_keys = [key for key in named if key in OUT_KEYWORDS or key in ARGS_KEYWORDS]
    operands = node.args[1:]
    parts: dict[str, ast.expr] = {}
    if TYPE_KEYWORD in named and len(operands) > 1:  # separate arguments, then the shape of the result
        *arguments, parts["out_shape"] = operands
        is_single = len(arguments) == 1
        parts["args"] = arguments[0] if is_single else _together(arguments)
    elif out_keys and len(operands) == 2 and order == ("args", "out"):
        parts["args"], parts["packed_ints"] = operands
    else:
        parts.update(zip(order, operands, strict=False))
    for key, value in named.items():
        parts["out" if key in out_keys else key] = value
    return parts


def _together(items: list[ast.expr]) -> ast.expr:
    return ast.copy_location(ast.Tuple(items, ast.Load()), items[0])


def _arguments(reader: Reader, arguments: dict[str, ast.expr], node: ast.Call) -> e.Expr:
    """The tuple of arguments. Scalars in `packed_ints` come last."""
    args = argument_tuple(reader, arguments.get("args"), node)
    if "packed_ints" not in arguments:
        return args
    numbers = _lengths(reader, arguments["packed_ints"])
    if not isinstance(args, e.Tuple) or not isinstance(numbers, e.ShapeExpr):
        text = "with packed_ints, the arguments must be a literal tuple and the scalars a literal list"
        help = "write the scalars after the tensors: (x, y, n)"
        raise reader.ctx.fail(codes.BAD_CALL, text, arguments["packed_ints"], help=help)
    scalars = [e.PrimValue(value, None, numbers.span) for value in numbers.values]
    return e.Tuple((*args.fields, *scalars), None, args.span)


def _lengths(reader: Reader, node: ast.expr) -> e.Expr:
    """A list of scalars: a shape, or a tuple in older programs."""
    if isinstance(node, (ast.Tuple, ast.List)):
        dims = tuple([reader.info.dim(item) for item in node.elts])
        return e.ShapeExpr(dims, None, reader.ctx.span(node))
    return reader.value(node)


def _result(reader: Reader, arguments: dict[str, ast.expr], node: ast.Call, name: str) -> s.StructInfo:
    out = arguments.get("out")
    if out is None:
        raise reader.ctx.fail(
            codes.BAD_CALL,
            f"R.{name} needs out_ty, the StructInfo of its result",
            node,
            help="add out_ty=R.Tensor(…)",
        )
    is_tuple = isinstance(out, (ast.List, ast.Tuple)) and len(out.elts) != 1
    if isinstance(out, ast.Tuple):
        text = "TVM takes a list of the outputs, not a tuple"
        reader.ctx.refuse(codes.BAD_CALL, text, out, help="write out_ty=[…]")
    out = out if is_tuple or not isinstance(out, (ast.List, ast.Tuple)) else out.elts[0]
    info = s.TupleStructInfo(struct_infos(reader, out)) if is_tuple else reader.info.read(out)
    return _shaped(reader, info, arguments["out_shape"]) if "out_shape" in arguments else info


def _shaped(reader: Reader, info: s.StructInfo, node: ast.expr) -> s.StructInfo:
    """A type combined with a separate shape. A tuple of types needs a tuple of shapes."""
    shapes = node.elts if isinstance(node, (ast.Tuple, ast.List)) else []
    if isinstance(info, s.TupleStructInfo) and len(shapes) == len(info.fields):
        fields = zip(info.fields, shapes, strict=True)
        return s.TupleStructInfo(tuple([_shaped(reader, field, part) for field, part in fields]))
    single = isinstance(node, (ast.BinOp, ast.Constant)) or _is_length(reader, node)
    shape = reader.info.shape_argument(_together([node]) if single else node)
    if isinstance(info, s.TensorStructInfo) and info.shape is None and shape is not None:
        dims = shape if isinstance(shape, tuple) else None
        if dims is None or info.ndim in (-1, len(dims)):
            return s.TensorStructInfo(shape, info.dtype, -1 if dims is not None else info.ndim, info.vdevice)
    text = f"the result of type {info} can't have the shape {ast.unparse(node)[:40]}"
    help = "write type and shape together: out_ty=R.Tensor((…), dtype)"
    raise reader.ctx.fail(codes.BAD_CALL, text, node, help=help)


def _is_length(reader: Reader, node: ast.expr) -> bool:
    """True for a length in place of a shape, as the first specification writes shapes of rank 1."""
    return isinstance(node, ast.Name) and isinstance(reader.names.get(node.id), p.PrimExpr)


def _function(reader: Reader, node: ast.expr) -> e.Expr:
    """The called function: a packed function in quotes, or any value."""
    callee = reader.read(node)
    if isinstance(callee, str):
        return e.ExternFunc(callee, None, reader.ctx.span(node))
    return reader.as_expr(callee, node)


def argument_tuple(reader: Reader, node: ast.expr | None, call: ast.expr) -> e.Expr:
    """The arguments of a call form as a tuple. A single value becomes a tuple of one, no value the empty tuple."""
    if node is None:
        return e.Tuple((), None, reader.ctx.span(call))
    value = reader.value(node)
    is_held = isinstance(value, e.Var) and isinstance(value.struct_info, s.TupleStructInfo)
    if is_held or isinstance(node, ast.Constant):
        text = "TVM takes a tuple that is written out here"
        reader.ctx.refuse(codes.BAD_CALL, text, node, help="write (t[0], t[1])" if is_held else "write (…,)")
    is_tuple = is_held or isinstance(value, e.Tuple)
    return value if is_tuple else e.Tuple((value,), None, reader.ctx.span(node))


def packed_form(reader: Reader, node: ast.Call, name: str) -> e.Call:
    """`R.call_pure_packed("f", args…, ty_args=…)` and similar calls."""
    func = _function(reader, node.args[0])
    if name == "call_builtin_with_ctx" and len(node.args) == 2:
        args: tuple[e.Expr, ...] = (func, argument_tuple(reader, node.args[1], node))
    else:
        args = (func, *[reader.value(arg) for arg in node.args[1:]])
    attrs, infos = keywords(reader, node, name, find_op(f"relax.{name}"), "ty_args")
    if name == "call_pure_packed" and not infos:
        text = "TVM needs ty_args, the StructInfo of the result"
        reader.ctx.refuse(codes.BAD_CALL, text, node, help="write ty_args=R.Object, or what it is")
    return e.Call(e.op_ref(f"relax.{name}"), args, attrs, infos, None, reader.ctx.span(node))


# -- parse forms -----------------------------------------------------------------------------------------------------


def call_packed(reader: Reader, node: ast.Call) -> e.Call:
    """A call of a packed function by name."""
    first = reader.read(node.args[0]) if node.args else None
    if not isinstance(first, str):
        raise reader.ctx.fail(codes.BAD_CALL, "R.call_packed needs the packed function's name first", node)
    args = tuple([reader.value(arg) for arg in node.args[1:]])
    attrs, infos = keywords(reader, node, "call_packed")
    callee = e.ExternFunc(first, None, reader.ctx.span(node.args[0]))
    return e.Call(callee, args, attrs, infos, None, reader.ctx.span(node))


def only_argument(reader: Reader, node: ast.Call) -> ast.expr:
    """The only argument of a form."""
    if len(node.args) != 1 or node.keywords:
        raise reader.ctx.fail(codes.BAD_CALL, f"{dotted(node.func)} takes one argument", node)
    return node.args[0]


def _named(node: ast.Call, *names: str) -> dict[str, ast.expr]:
    """The arguments of a form by name. Those without a name have `names`, in order."""
    named = {keyword.arg or "**": keyword.value for keyword in node.keywords}
    return {**dict(zip(names, node.args, strict=False)), **named}


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
        text = f"R.prim_value takes a scalar, this is {ast.unparse(node.args[0])}"
        raise reader.ctx.fail(codes.BAD_CALL, text, node, help="write R.prim_value(1), or a shape variable")
    value = raw if isinstance(raw, p.PrimExpr) else reader.literal(raw, node)
    return e.PrimValue(value, None, reader.ctx.span(node))


def extern(reader: Reader, node: ast.Call) -> e.Expr:
    """A packed function as a value, optionally with its StructInfo."""
    arguments = _named(node, "global_symbol", "struct_info")
    name = arguments.pop("global_symbol", None)
    info_node = arguments.pop("struct_info", arguments.pop("ty", None))
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
    arguments = _named(node, "value", "dtype")
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
    arguments = _named(node, "value", "ty")
    info = reader.info.read(arguments["ty"]) if "ty" in arguments else None
    if (
        not isinstance(info, s.TensorStructInfo)
        or type(info.vdevice) is not Sharding
        or arguments.keys() != {"value", "ty"}
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


def scalar_constant(reader: Reader, value: object, target: DType | None, node: ast.expr) -> e.Constant:
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


def executes(reader: Reader, node: ast.Call) -> NoReturn:
    """Report a call that would run Python."""
    raise reader.ctx.fail_with_fix(
        codes.EXECUTES_PYTHON, f"{dotted(node.func)} calls a Python function", node
    )


def emit(reader: Reader, node: ast.Call) -> Read:
    """`R.emit(x)` is x."""
    return reader.read(node.args[0]) if node.args else executes(reader, node)


def emit_typed(reader: Reader, node: ast.Call) -> e.Call:
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


FORMS: dict[str, Callable[[Reader, ast.Call], Read]] = {
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
