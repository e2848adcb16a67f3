"""Reads operators that call functions: `R.call_tir(f, (args…), out_ty=…)` and similar ones, in all their spellings.

The StructInfo of the result is in `out_ty=` (TVM 0.27), or in `out_sinfo=` or `sinfo_args=` (older). In the first
specification of Relax it is a shape and a type: `R.call_tir(f, x, y, (n, 4), type_args=R.Tensor(ndim=2, dtype="float32"))`.
Scalars are ordinary arguments. Older programs pass them separately, as `packed_ints=` or as `tir_vars=` after the outputs.
"""

from __future__ import annotations

import ast
from typing import Any

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY, Attrs
from relax_explorer.core.ops import find as find_op
from relax_explorer.core.ops.kit.decl import Op
from relax_explorer.core.syntax.dialects import ARGS_KEYWORDS, OUT_KEYWORDS, TYPE_KEYWORD
from relax_explorer.core.syntax.parse_attributes import (
    check_type_keyword,
    declared_value,
    keywords,
    no_argument,
    struct_infos,
)
from relax_explorer.core.syntax.reader import Reader

# Operators on a function and a tuple of its arguments.
CALL_FORMS = frozenset(
    {
        "call_tir",
        "call_tir_inplace",
        "call_tir_with_grad",
        "call_dps_packed",
        "dist.call_tir",
        "dist.call_tir_local_view",
    }
)
NAMED_FORMS = frozenset({"call_py_func"})  # the function is a string
CALL_FORMS |= NAMED_FORMS
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
