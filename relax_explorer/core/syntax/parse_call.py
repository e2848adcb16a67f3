"""Reads calls of operators, functions and kernels. Arguments of operators are matched to parameters."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops import find as find_op
from relax_explorer.core.ops.kit.decl import Kind, Op, Parameter
from relax_explorer.core.syntax.dialects import ARGS_KEYWORDS, GONE, ONCE_OPERANDS, OUT_KEYWORDS
from relax_explorer.core.syntax.parse_attributes import (
    attributes,
    bad_arguments,
    check_type_keyword,
    keywords,
    no_argument,
    struct_infos,
)
from relax_explorer.core.syntax.parse_forms import (
    CALL_FORMS,
    FORMS,
    NO_VALUES,
    PACKED_FORMS,
    argument_tuple,
    call_form,
    executes,
    packed_form,
    with_function_first,
)
from relax_explorer.core.syntax.python_tree import dotted
from relax_explorer.core.syntax.reader import Read, Reader

# -- parse shorthands ------------------------------------------------------------------------------------------------
# Forms of TVM's script that stand for calls of operators: `R.linear(x, w)` is a product, `x.astype("int8")` is a
# cast.


def _linear(reader: Reader, node: ast.Call) -> ast.expr:
    data, weight, bias, out_dtype = _arguments(reader, node, ("data", "weight"), ("bias", "out_dtype"))
    keywords = [] if out_dtype is None else [ast.keyword("out_dtype", out_dtype)]
    product = _call("R.matmul", [data, _call("R.permute_dims", [weight])], keywords)
    return product if bias is None or _is_none(bias) else _call("R.add", [product, bias])


def _relu6(reader: Reader, node: ast.Call) -> ast.expr:
    (data,) = _arguments(reader, node, ("data",), ())
    return _call("R.clip", [data, ast.Constant(0), ast.Constant(6)])


def _stop_lift_params(reader: Reader, node: ast.Call) -> ast.expr:
    (data,) = _arguments(reader, node, ("data",), ())
    return _call("R.builtin.stop_lift_params", [data])


_SHORTHANDS: dict[str, Callable[[Reader, ast.Call], ast.expr]] = {
    "linear": _linear,
    "nn.relu6": _relu6,
    "stop_lift_params": _stop_lift_params,
}


def is_shorthand(name: str) -> bool:
    """True if an operator's name, without `R.`, stands for calls of others."""
    return name in _SHORTHANDS


def is_method(reader: Reader, func: ast.Attribute) -> bool:
    """True for `astype` of a value, the only method that values have. A function of the module may have this name, too."""
    base = func.value
    is_value = isinstance(reader.names.get(base.id), e.Expr) if type(base) is ast.Name else True
    return func.attr == "astype" and is_value


def read_method(reader: Reader, node: ast.Call, func: ast.Attribute) -> Read:
    """A cast that is written as a method of its operand."""
    return _read(reader, node, _call("R.astype", [func.value, *node.args], node.keywords))


def read_shorthand(reader: Reader, node: ast.Call, name: str) -> Read:
    """What a shorthand stands for."""
    return _read(reader, node, _SHORTHANDS[name](reader, node))


def _read(reader: Reader, node: ast.Call, written: ast.expr) -> Read:
    """The parts that are not written there have the place of the whole, the others their own."""
    for part in ast.walk(written):
        if "lineno" in part._attributes and not hasattr(part, "lineno"):
            ast.copy_location(part, node)
    return reader.read(written)


def _arguments(reader: Reader, node: ast.Call, required: Sequence[str], optional: Sequence[str]) -> list[Any]:
    """The arguments by place or by name, in the order of the names; None for an optional one that is left out."""
    names = [*required, *optional]
    given = dict(zip(names, node.args, strict=False))
    extra = [keyword.arg for keyword in node.keywords if keyword.arg not in names or keyword.arg in given]
    given.update({keyword.arg: keyword.value for keyword in node.keywords if keyword.arg in names})
    if len(node.args) > len(names) or extra or not given.keys() >= set(required):
        shown = ", ".join([*required, *(f"{name}=None" for name in optional)])
        text = f"the arguments of {ast.unparse(node.func)} do not fit"
        raise reader.ctx.fail(codes.BAD_CALL, text, node, help=f"write {ast.unparse(node.func)}({shown})")
    return [given.get(name) for name in names]


def _call(name: str, args: list[ast.expr], keywords: list[ast.keyword] | None = None) -> ast.Call:
    first, *rest = name.split(".")
    func: ast.expr = ast.Name(first, ast.Load())
    for part in rest:
        func = ast.Attribute(func, part, ast.Load())
    return ast.Call(func, args, keywords or [])


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


# -- parse call ------------------------------------------------------------------------------------------------------


def read_call(reader: Reader, node: ast.Call) -> Read:
    """A call of a Relax operator or form, a function of the module, or a value; or a scalar expression of TIR."""
    func = node.func
    if type(func) is ast.Attribute:
        name = dotted(func)
        if name.startswith("R."):
            return _relax(reader, node, name[2:])
        if name.startswith("T."):
            if not _has_operands(reader, node, name):
                return reader.info.prim(node)
            return _named(reader, node, name[2:])
        if name.startswith("I."):
            return executes(reader, node)
        if is_method(reader, func):
            return read_method(reader, node, func)
    callee = reader.as_expr(reader.read(func), func)
    args = tuple([reader.value(arg) for arg in node.args])
    for keyword in node.keywords if isinstance(callee, e.GlobalVar) else ():
        if keyword.arg in ARGS_KEYWORDS or keyword.arg in OUT_KEYWORDS:
            check_type_keyword(reader, keyword, "a function of the module")
    attrs, infos = keywords(reader, node, "")
    if attrs:
        text = f"a call of a function has no argument {next(iter(attrs))!r}"
        help = "functions of the module and values take their arguments by position"
        raise reader.ctx.fail(codes.BAD_CALL, text, node, help=help)
    return e.Call(callee, args, attrs, infos, None, reader.ctx.span(node))


def _has_operands(reader: Reader, node: ast.Call, name: str) -> bool:
    """True if `T.custom_op.name(x)` is a user's operator as TVM prints it: a dotted name, and an argument that is not a scalar."""
    if name.count(".") < 2:
        return False
    values = [reader.names.get(arg.id) for arg in node.args if isinstance(arg, ast.Name)]
    return any(isinstance(value, e.Expr) and not reader.is_scalar(value) for value in values)


def _relax(reader: Reader, node: ast.Call, name: str) -> Read:
    node = with_function_first(node, name)
    form = FORMS.get(name)
    if form is not None:
        return form(reader, node)
    if is_shorthand(name):
        return read_shorthand(reader, node, name)
    if name in CALL_FORMS:
        return call_form(reader, node, name, find_op(f"relax.{name}"))
    if name in PACKED_FORMS and node.args:
        return packed_form(reader, node, name)
    if name == "op":
        return _named(reader, *_by_name(reader, node))
    return _named(reader, node, f"relax.{name}")


def _by_name(reader: Reader, node: ast.Call) -> tuple[ast.Call, str]:
    """`R.op("my.twice", x)`: a call of an operator by its full name, which may lack the prefix `relax.`."""
    first = reader.read(node.args[0]) if node.args else None
    if not isinstance(first, str) or not first:
        text, help = "R.op needs the operator's name first", 'write R.op("my.twice", x)'
        raise reader.ctx.fail(codes.BAD_CALL, text, node, help=help)
    return ast.copy_location(ast.Call(node.func, node.args[1:], node.keywords), node), first


def _named(reader: Reader, node: ast.Call, name: str) -> Read:
    """A call of the operator `name`, declared or not."""
    for arg in node.args:
        if isinstance(arg, ast.Starred):
            raise reader.no_expression(arg, "write the arguments out")
    op = find_op(name)
    if op is not None and not op.variadic:
        return _declared(reader, node, op)
    if name.removeprefix("relax.") in NO_VALUES:
        raise reader.no_expression(node, NO_VALUES[name.removeprefix("relax.")])
    arguments = node.args
    if name == "relax.assert_op" and len(arguments) == 2 and isinstance(arguments[1], (ast.List, ast.Tuple)):
        arguments = [arguments[0], *arguments[1].elts]  # the arguments of the message, a list in TVM
    args = tuple([reader.value(arg) for arg in arguments])
    attrs, infos = keywords(reader, node, name, op)
    return e.Call(e.op_ref(name), args, attrs, infos, None, reader.ctx.span(node))


def _declared(reader: Reader, node: ast.Call, op: type[Op]) -> e.Call:
    """A call of a declared operator: arguments are matched to its parameters by position and by name."""
    parameters = op.parameters
    if len(node.args) > len(parameters):
        bad_arguments(reader, node, op, f"takes at most {len(parameters)} arguments, {len(node.args)} given")
    order = _order(op, node)
    arguments: dict[str, ast.expr] = dict(zip(order, node.args, strict=False))
    infos: tuple[s.StructInfo, ...] = ()
    parameter_names = {q.name for q in parameters}
    for keyword in node.keywords:
        name = keyword.arg or "**"
        if name in ARGS_KEYWORDS or name in OUT_KEYWORDS:
            infos = struct_infos(reader, keyword.value)
            check_type_keyword(reader, keyword, op.name.replace("relax.", "R.", 1), op.types)
        elif name not in parameter_names:
            no_argument(reader, node, op, name, parameter_names)
        elif name in arguments:
            bad_arguments(reader, node, op, f"is given {name!r} twice")
        else:
            arguments[name] = keyword.value
            if name in GONE.get(op.name, ()):
                text = f"TVM 0.27's {op.name.replace('relax.', 'R.', 1)} has no argument {name!r}"
                reader.ctx.refuse(codes.BAD_CALL, text, keyword.value, help="leave it out")
    args = _operands(reader, node, op, arguments)
    attrs = attributes(reader, node, op, arguments)
    return e.Call(e.op_ref(op.name), args, attrs, infos, None, reader.ctx.span(node))


def _order(op: type[Op], node: ast.Call) -> list[str]:
    """The names of the arguments by position. What was an operand until TVM 0.25, and is an attribute now, comes first if written so."""
    operands, count = [q.name for q in op.operands], len(op.operands)
    once = ONCE_OPERANDS.get(op.name, ())
    named = {keyword.arg for keyword in node.keywords}
    if once and len(node.args) == count + len(once) and named & {q.name for q in op.attributes if q.required}:
        return [*operands, *once]
    return [q.name for q in op.parameters]


def _operands(
    reader: Reader, node: ast.Call, op: type[Op], arguments: dict[str, ast.expr]
) -> tuple[e.Expr, ...]:
    args: list[e.Expr] = []
    skipped: list[Parameter] = []
    for q in op.operands:
        at = arguments.get(q.name)
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
            # TVM's form of an omitted operand.
            args += [e.Tuple((), None, reader.ctx.span(node)) for _ in skipped]
            skipped.clear()
        if op.name in _SIZED and q.kind is Kind.SHAPE and not isinstance(at, (ast.Tuple, ast.List)):
            args.append(reader.value(at))  # TVM looks at no size of a storage
            continue
        one = _one_length(reader, op, q, at)
        if one is not None:
            length = reader.info.dim(one)
            shape = e.ShapeExpr((length,) * _EQUAL_LENGTHS[op.name], None, reader.ctx.span(at))
            args.append(shape)
            continue
        args.append(_operand(reader, q, at) if not op.takes_numbers else _tensor_or_number(reader, q, at))
    return tuple(args)


_SIZED = frozenset({"relax.memory.alloc_storage", "relax.vm.alloc_storage"})
_EQUAL_LENGTHS = {"relax.image.resize2d": 2, "relax.image.resize3d": 3, "relax.image.affine_grid": 2}
"""The number of lengths for which a single one stands in TVM: `R.image.resize2d(x, 8)` is `R.image.resize2d(x, (8, 8))`."""


def _one_length(reader: Reader, op: type[Op], q: Parameter, node: ast.expr) -> ast.expr | None:
    """The length that stands for all of an operand, if one does."""
    if op.name not in _EQUAL_LENGTHS or q.kind is not Kind.SHAPE:
        return None
    if isinstance(node, (ast.Tuple, ast.List)) and op.name != "relax.image.affine_grid":
        return node.elts[0] if len(node.elts) == 1 else None
    if isinstance(node, ast.Constant):
        if not isinstance(node.value, int):
            return None
        return ast.copy_location(ast.Constant(int(node.value)), node)  # True is 1, as in Python
    called = dotted(node.func) if isinstance(node, ast.Call) else ""
    if called == "R.prim_value" and isinstance(node, ast.Call) and len(node.args) == 1:
        return node.args[0]
    is_length = isinstance(node, ast.Name) and isinstance(reader.names.get(node.id), p.PrimExpr)
    return node if is_length or isinstance(node, ast.BinOp) or called.startswith("T.") else None


def _tensor_or_number(reader: Reader, q: Parameter, node: ast.expr) -> e.Expr:
    """An operand that may be a number of Python. Its dtype stays open: the other operand decides it."""
    operand = _operand(reader, q, node)
    if type(operand) is not e.PrimValue or not _is_number(node):
        return operand
    return e.PrimValue(operand.value, s.PrimStructInfo(operand.value.dtype), operand.span)


def _is_number(node: ast.expr) -> bool:
    """True for `2`, `-2.5` and the like, but not for True."""
    literal = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(literal, ast.Constant) and type(literal.value) in (int, float)


def _operand(reader: Reader, q: Parameter, node: ast.expr) -> e.Expr:
    together = q.kind is Kind.ARGUMENTS
    if type(node) is ast.Name and not together:
        value = reader.names.get(node.id)
        if isinstance(value, e.Expr):
            return value
    if together:
        return argument_tuple(reader, node, node)
    if q.kind is Kind.SHAPE and isinstance(node, (ast.Tuple, ast.List)):
        return e.ShapeExpr(tuple([reader.info.dim(item) for item in node.elts]), None, reader.ctx.span(node))
    if q.kind is Kind.DTYPE and isinstance(node, ast.Constant):
        dtype = reader.info.dtype(node)
        return (
            reader.as_expr(node.value, node)
            if dtype is None
            else e.DataTypeImm(dtype, None, reader.ctx.span(node))
        )
    raw = reader.read(node)
    if q.kind is Kind.PRIMS and isinstance(raw, float):
        raise reader.ctx.fail(codes.BAD_EXPRESSION, f"{q.name} is {raw}, it must be a list of integers", node)
    if q.kind is Kind.PRIMS and isinstance(raw, (int, p.PrimExpr)):
        text, help = f"TVM takes a list of numbers for {q.name}", f"write [{ast.unparse(node)[:40]}]"
        reader.ctx.refuse(codes.BAD_EXPRESSION, text, node, help=help)
    if q.kind is Kind.SHAPE and isinstance(raw, (int, p.PrimExpr)) and not isinstance(raw, bool):
        length = raw if isinstance(raw, p.PrimExpr) else reader.literal(raw, node)
        if not length.dtype.is_int:
            text = f"a shape is made of integers, {length} is {length.dtype}"
            raise reader.ctx.fail(codes.BAD_EXPRESSION, text, node)
        text, help = f"TVM takes a tuple of lengths here, not {length}", f"write ({ast.unparse(node)[:40]},)"
        reader.ctx.refuse(codes.BAD_EXPRESSION, text, node, help=help)
        return e.ShapeExpr((length,), None, reader.ctx.span(node))
    return reader.as_expr(raw, node)
