"""Reads calls: of operators, whose arguments are matched to their parameters, of functions, and of kernels."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY, Attrs
from relax_explorer.core.ops import find as find_op
from relax_explorer.core.ops.decl import Op, Parameter
from relax_explorer.core.syntax.dialects import ARGS_KEYWORDS, OUT_KEYWORDS
from relax_explorer.core.syntax.parse_attributes import (
    attribute_value,
    attributes,
    bad_arguments,
    declared_value,
    keywords,
    struct_infos,
)
from relax_explorer.core.syntax.parse_forms import CALL_ORDER, FORMS, NO_VALUES, executes
from relax_explorer.core.syntax.parse_info import dotted

if TYPE_CHECKING:
    from relax_explorer.core.syntax.parse_expr import ExprReader

NAMED_FORMS = frozenset({"call_py_func"})  # the function is a string
# Operators whose first argument is a function and whose second is the tuple of its arguments.
CALL_FORMS = NAMED_FORMS | {
    "call_tir",
    "call_tir_inplace",
    "call_tir_with_grad",
    "call_dps_packed",
    "dist.call_tir",
    "dist.call_tir_local_view",
}
PACKED_FORMS = frozenset({"call_pure_packed", "call_inplace_packed", "call_builtin_with_ctx"})


def read_call(reader: ExprReader, node: ast.Call) -> Any:
    """A call: of an operator or form of Relax, a function of the module, a value, or a scalar expression of TIR."""
    func = node.func
    if type(func) is ast.Attribute:
        name = dotted(func)
        if name.startswith("R."):
            return _relax(reader, node, name[2:])
        if name.startswith("T."):
            return reader.info.prim(node)
        if name.startswith("I."):
            return executes(reader, node)
    callee = reader.as_expr(reader.read(func), func)
    args = tuple([reader.value(arg) for arg in node.args])
    attrs, infos = keywords(reader, node, "")
    return e.Call(callee, args, attrs, infos, None, reader.ctx.span(node))


def _relax(reader: ExprReader, node: ast.Call, name: str) -> Any:
    form = FORMS.get(name)
    if form is not None:
        return form(reader, node)
    op = find_op(f"relax.{name}")
    if name in CALL_FORMS:
        return _form(reader, node, name, op)
    if name in PACKED_FORMS and node.args:
        return _packed(reader, node, name)
    for arg in node.args:
        if isinstance(arg, ast.Starred):
            raise reader.no_expression(arg, "write the arguments out")
    if op is None or op.variadic:
        if name in NO_VALUES:
            raise reader.no_expression(node, NO_VALUES[name])
        given = node.args
        if name == "assert_op" and len(given) == 2 and isinstance(given[1], (ast.List, ast.Tuple)):
            given = [given[0], *given[1].elts]  # what the message mentions, in TVM a list
        args = tuple([reader.value(arg) for arg in given])
        attrs, infos = keywords(reader, node, name, op)
        return e.Call(e.op_ref(f"relax.{name}"), args, attrs, infos, None, reader.ctx.span(node))
    return _declared(reader, node, op)


def _declared(reader: ExprReader, node: ast.Call, op: type[Op]) -> e.Call:
    """A call of a declared operator: arguments are matched to its parameters by position and by name."""
    parameters = op.parameters
    if len(node.args) > len(parameters):
        bad_arguments(reader, node, op, f"takes at most {len(parameters)} arguments, {len(node.args)} given")
    given: dict[str, ast.expr] = {q.name: arg for q, arg in zip(parameters, node.args, strict=False)}
    infos: tuple[s.StructInfo, ...] = ()
    known = {q.name for q in parameters}
    for keyword in node.keywords:
        name = keyword.arg or "**"
        if name in ARGS_KEYWORDS or name in OUT_KEYWORDS:
            infos = struct_infos(reader, keyword.value)
        elif name not in known:
            from difflib import get_close_matches

            near = get_close_matches(name, known, 1)
            bad_arguments(
                reader, node, op, f"has no argument {name!r}" + (f"; did you mean {near[0]}?" if near else "")
            )
        elif name in given:
            bad_arguments(reader, node, op, f"is given {name!r} twice")
        else:
            given[name] = keyword.value
    args = _operands(reader, node, op, given)
    attrs = attributes(reader, node, op, given)
    return e.Call(e.op_ref(op.name), args, attrs, infos, None, reader.ctx.span(node))


def _operands(
    reader: ExprReader, node: ast.Call, op: type[Op], given: dict[str, ast.expr]
) -> tuple[e.Expr, ...]:
    args: list[e.Expr] = []
    skipped: list[Parameter] = []
    for q in op.operands:
        at = given.get(q.name)
        if at is None or (not q.required and isinstance(at, ast.Constant) and at.value is None):
            if q.required:
                bad_arguments(reader, node, op, f"lacks its argument {q.name!r}")
            if q.default is None or q.default == ():
                skipped.append(q)
            else:
                args.append(reader.as_expr(q.default, node))
            continue
        if skipped:
            if any(before.default is None for before in skipped):
                bad_arguments(reader, node, op, f"is given {q.name!r} but not {skipped[0].name!r} before it")
            # What is left out, as TVM writes it.
            args += [e.Tuple((), None, reader.ctx.span(node)) for _ in skipped]
            skipped.clear()
        args.append(_operand(reader, q, at))
    return tuple(args)


def _operand(reader: ExprReader, q: Parameter, node: ast.expr) -> e.Expr:
    together = q.kind.startswith("Arguments")
    if type(node) is ast.Name and not together:
        found = reader.names.get(node.id)
        if isinstance(found, e.Expr):
            return found
    if together:
        return _arguments(reader, node, node)
    if q.kind.startswith("Shape") and isinstance(node, (ast.Tuple, ast.List)):
        return e.ShapeExpr(tuple([reader.info.dim(item) for item in node.elts]), None, reader.ctx.span(node))
    if q.kind.startswith("DType") and isinstance(node, ast.Constant):
        found = reader.info.dtype(node)
        return (
            reader.as_expr(node.value, node)
            if found is None
            else e.DataTypeImm(found, None, reader.ctx.span(node))
        )
    raw = reader.read(node)
    if q.kind.startswith("Shape") and isinstance(raw, (int, p.PrimExpr)) and not isinstance(raw, bool):
        return e.ShapeExpr(
            (raw if isinstance(raw, p.PrimExpr) else reader.literal(raw, node),), None, reader.ctx.span(node)
        )
    return reader.as_expr(raw, node)


def _form(reader: ExprReader, node: ast.Call, name: str, op: type[Op] | None) -> e.Call:
    """`R.call_tir(f, (args…), out_ty=…)` and its kin."""
    if not node.args:
        raise reader.ctx.fail(codes.BAD_CALL, f"R.{name} needs a function and its arguments", node)
    func = reader.value(node.args[0]) if name in NAMED_FORMS else _function(reader, node.args[0])
    declared = {q.name: q for q in op.attributes} if op is not None else {}
    order = CALL_ORDER.get(name, ("args", "out"))
    given: dict[str, ast.expr] = dict(zip(order, node.args[1:], strict=False))
    pairs: list[tuple[str, Any]] = [
        (key, attribute_value(reader, q, given[key])) for key, q in declared.items() if key in given
    ]
    for keyword in node.keywords:
        key = keyword.arg or "**"
        if key in OUT_KEYWORDS or key in ARGS_KEYWORDS:
            given["out"] = keyword.value
        elif key in ("args", "tir_vars"):
            given[key] = keyword.value
        else:
            pairs.append((key, declared_value(reader, declared.get(key), keyword.value)))
    args = [func, _arguments(reader, given.get("args"), node)]
    if "tir_vars" in given:
        args.append(reader.value(given["tir_vars"]))
    out = given.get("out")
    if out is None:
        raise reader.ctx.fail(
            codes.BAD_CALL,
            f"R.{name} needs out_ty, the StructInfo of its result",
            node,
            help="add out_ty=R.Tensor(…)",
        )
    several = isinstance(out, (ast.List, ast.Tuple)) and len(out.elts) != 1
    out = out if several or not isinstance(out, (ast.List, ast.Tuple)) else out.elts[0]
    info = s.TupleStructInfo(struct_infos(reader, out)) if several else reader.info.read(out)
    attrs = Attrs(pairs) if pairs else EMPTY
    called = "call_tir" if name == "dist.call_tir" else name  # TVM's surface has two names for one operator
    return e.Call(e.op_ref(f"relax.{called}"), tuple(args), attrs, (info,), None, reader.ctx.span(node))


def _function(reader: ExprReader, node: ast.expr) -> e.Expr:
    """The function that a call form names: a packed function in quotes, or any value."""
    callee = reader.read(node)
    if isinstance(callee, str):
        return e.ExternFunc(callee, None, reader.ctx.span(node))
    return reader.as_expr(callee, node)


def _arguments(reader: ExprReader, node: ast.expr | None, call: ast.expr) -> e.Expr:
    if node is None:
        return e.Tuple((), None, reader.ctx.span(call))
    value = reader.value(node)
    is_tuple = isinstance(value, e.Tuple) or (
        isinstance(value, e.Var) and isinstance(value.struct_info, s.TupleStructInfo)
    )
    return value if is_tuple else e.Tuple((value,), None, reader.ctx.span(node))


def _packed(reader: ExprReader, node: ast.Call, name: str) -> e.Call:
    func = _function(reader, node.args[0])
    args = (func, *[reader.value(arg) for arg in node.args[1:]])
    attrs, infos = keywords(reader, node, name, find_op(f"relax.{name}"))
    return e.Call(e.op_ref(f"relax.{name}"), args, attrs, infos, None, reader.ctx.span(node))
