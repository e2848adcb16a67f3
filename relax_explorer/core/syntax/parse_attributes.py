"""Reads compile-time arguments: the attributes of operators, and StructInfo arguments."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY, Attrs, Verbatim, freeze
from relax_explorer.core.ir.dtype import INT64, DType
from relax_explorer.core.ir.struct_info import DEVICE_KINDS, device_of, device_text
from relax_explorer.core.ops.kit.decl import Kind, Op, Parameter
from relax_explorer.core.syntax import index_maps
from relax_explorer.core.syntax.dialects import ARGS_KEYWORDS, OUT_KEYWORDS
from relax_explorer.core.syntax.python_tree import (
    NO_LITERAL,
    dotted,
    dtype_of_prefix,
    plain_constant,
    verbatim,
)
from relax_explorer.core.syntax.reader import Reader


def attributes(reader: Reader, node: ast.Call, op: type[Op], arguments: dict[str, ast.expr]) -> Attrs:
    """The attributes of a call of a declared operator. Omitted attributes have their defaults."""
    if not op.attributes:
        return EMPTY
    key = _key(reader, node, op, arguments)
    cached = reader.attrs_seen.get(key) if key is not None else None
    if cached is not None:
        return cached
    if not any(q.required or q.name in arguments for q in op.attributes):
        return default_attrs(op)
    pairs = []
    for q in op.attributes:
        at = arguments.get(q.name)
        if at is None and q.required:
            bad_arguments(reader, node, op, f"lacks its argument {q.name!r}")
        pairs.append((q.name, q.default if at is None else attribute_value(reader, q, at)))
    attrs = Attrs(pairs)
    if key is not None and not any(q.kind in (Kind.EXPR, Kind.INDEX_MAP) for q in op.attributes):
        reader.attrs_seen[key] = attrs
    return attrs


def _key(
    reader: Reader, node: ast.Call, op: type[Op], arguments: dict[str, ast.expr]
) -> tuple[type[Op], str] | None:
    """The keywords of a call as text. Equal texts mean equal attributes. None if they can't be cut out of a line."""
    all_keywords = len(node.keywords) == len(arguments) - len(node.args) and len(node.args) == len(
        op.operands
    )
    if (
        not all_keywords
        or not node.keywords
        or node.lineno != node.end_lineno
        or not reader.ctx.source.is_ascii
    ):
        return None
    line, shift = reader.ctx.source.line(node.lineno + reader.ctx.line_offset), reader.ctx.column_offset
    text = line[node.keywords[0].value.col_offset + shift : (node.end_col_offset or 0) + shift]
    return (op, text) if text else None


def default_attrs(op: type[Op]) -> Attrs:
    """The attributes of a call without attributes."""
    attrs = _DEFAULTS.get(op)
    if attrs is None:
        attrs = _DEFAULTS[op] = Attrs([(q.name, None if q.required else q.default) for q in op.attributes])
    return attrs


_DEFAULTS: dict[type[Op], Attrs] = {}


def attribute_value(reader: Reader, q: Parameter, node: ast.expr) -> object:
    """The value of a declared attribute, converted to its kind."""
    _check_number(reader, q, node)
    node = _bare(q, node)
    if q.kind is Kind.DTYPE:
        return reader.info.dtype(node) if isinstance(node, ast.Constant) else constant(reader, node)
    if q.kind is Kind.STR and isinstance(node, ast.Call) and dotted(node.func) == "R.str":
        return constant(reader, node.args[0]) if len(node.args) == 1 else constant(reader, node)
    return converted(q, constant(reader, node))


_SCALARS = frozenset({"R.const", "R.prim_value"})
_OF_PYTHON = frozenset({Kind.INT, Kind.FLOAT, Kind.BOOL, Kind.FLOAT_IMM})


def _check_number(reader: Reader, q: Parameter, node: ast.expr) -> None:
    """Note a number that is no number of Python, and a dtype that is no string: TVM 0.27 takes these only."""
    called = dotted(node.func) if isinstance(node, ast.Call) else ""
    is_whole = isinstance(node, ast.Constant) and isinstance(node.value, int)
    if q.kind is Kind.NUMBERS and (is_whole or called):
        text, help = f"TVM takes a list or a float for {q.name}", "write […]"
        reader.ctx.refuse(codes.BAD_EXPRESSION, text, node, help=help)
    is_scalar = called in _SCALARS or (called.startswith("T.") and q.kind is not Kind.FLOAT_IMM)
    if q.kind in _OF_PYTHON and is_scalar:
        help = "write the number itself"
        reader.ctx.refuse(codes.BAD_EXPRESSION, f"TVM takes a number of Python for {q.name}", node, help=help)
    if q.kind is Kind.DTYPE and called == "R.dtype":
        text, help = f"TVM takes a string for {q.name}", f"write {ast.unparse(node)[8:-1]}"
        reader.ctx.refuse(codes.BAD_EXPRESSION, text, node, help=help)


def _bare(q: Parameter, node: ast.expr) -> ast.expr:
    """The scalar in `R.prim_value(2)` and `R.const(0.0, "float32")`: TVM 0.16 to 0.25 printed attributes that were operands so."""
    if (
        q.kind not in _OF_SCALARS
        or not isinstance(node, ast.Call)
        or dotted(node.func) not in _SCALARS
        or not node.args
    ):
        return node
    value, *kinds = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg == "dtype")]
    kind = kinds[0].value if len(kinds) == 1 and isinstance(kinds[0], ast.Constant) else None
    if q.kind is not Kind.EXPR or not isinstance(kind, str) or dtype_of_prefix(f"T.{kind}") is None:
        return value
    func = ast.copy_location(
        ast.Attribute(ast.copy_location(ast.Name("T", ast.Load()), node), kind, ast.Load()), node
    )
    return ast.copy_location(ast.Call(func, [value], []), node)


_OF_SCALARS = frozenset({Kind.INT, Kind.FLOAT, Kind.FLOAT_IMM, Kind.BOOL, Kind.EXPR})


def converted(q: Parameter, value: object) -> object:
    """A constant as the value of a declared attribute: converted to its kind."""
    if value is None and q.default == ():
        return ()
    if q.kind in (Kind.INT, Kind.BOOL) and type(value) is p.IntImm:
        value = value.value
    if q.kind is Kind.FLOAT and isinstance(value, (p.IntImm, p.FloatImm)):
        value = value.value
    if q.kind in (Kind.FLOAT, Kind.FLOAT_IMM) and type(value) is int:
        return float(value)
    if q.kind is Kind.BOOL and type(value) is int:
        return bool(value)
    if q.kind in (Kind.AXES, Kind.INTS) and type(value) is int:
        return (value,)
    return value


def constant(reader: Reader, node: ast.expr) -> object:
    """A compile-time constant: a number, string, list, dict, dtype or StructInfo. Anything else is kept as text."""
    plain = plain_constant(node, lambda item: constant(reader, item))
    if plain is not NO_LITERAL:
        return plain
    if isinstance(node, ast.Dict):
        pairs = [(key, value) for key, value in zip(node.keys, node.values, strict=True) if key is not None]
        entries = {str(constant(reader, key)): constant(reader, value) for key, value in pairs}
        return freeze(dict(sorted(entries.items())))  # the order in which they are printed
    if isinstance(node, ast.Lambda):
        return index_maps.read(reader.info, node)
    return _named(reader, node, dotted(node.func) if isinstance(node, ast.Call) else dotted(node))


_MADE = frozenset({"R.device_mesh", "R.const", "R.prim_value", "R.str", "R.shape", "R.tuple"})


def _named(reader: Reader, node: ast.expr, name: str) -> object:
    if name == index_maps.NAME:
        return index_maps.read(reader.info, node)
    if name.startswith("T.") and isinstance(node, ast.Call) and dtype_of_prefix(name) is not None:
        return reader.info.prim(node)
    if isinstance(node, ast.Name) and isinstance(reader.names.get(node.id), p.PrimExpr):
        return reader.names[node.id]
    if isinstance(node, ast.BinOp):
        value = reader.info.prim(node)
        return value.value if type(value) is p.IntImm and value.dtype is INT64 else value
    if isinstance(node, ast.Attribute) and dtype_of_prefix(name) is not None:
        return reader.info.read(node)
    if name == "R.dtype" or name.startswith(
        ("R.Tensor", "R.Tuple", "R.Shape", "R.Any", "R.Object", "R.Prim")
    ):
        return _type(reader, node)
    if isinstance(node, ast.Call) and name.startswith("R.") and name not in _MADE:
        _check_device(reader, node, name)
    _check_names(reader, node)
    text = verbatim(node)
    device = device_of(text)
    return Verbatim(text if device is None else device_text(device))


_GIVEN = frozenset(dir(builtins)) | {"I", "R", "T", "ir", "metadata", "relax", "tir", "tirx", "tvm"}


def _check_names(reader: Reader, node: ast.expr) -> None:
    """Note a name in a text that is kept as it is, if nothing defines it: TVM evaluates the text."""
    known = _GIVEN | reader.ctx.module_names | reader.names.keys() | {reader.ctx.module_name}
    known |= {arg.arg for part in ast.walk(node) if isinstance(part, ast.arguments) for arg in part.args}
    unknown = [part for part in ast.walk(node) if isinstance(part, ast.Name) and part.id not in known]
    if unknown:
        text = f"{unknown[0].id!r} is not defined"
        reader.ctx.refuse(codes.UNDEFINED, text, unknown[0], help=codes.UNDEFINED.fix)


def _absolute(node: ast.expr) -> ast.expr:
    return node.operand if isinstance(node, ast.UnaryOp) else node


def _check_device(reader: Reader, node: ast.Call, name: str) -> None:
    """Report a device that TVM 0.27 can't read: an unknown kind, or other arguments than it has."""
    is_device = name == "R.device"
    order = ("device_type", "index") if is_device else ("dev_id",)
    given = [*order[: len(node.args)], *[keyword.arg for keyword in node.keywords]]
    kind = name.removeprefix("R.")
    if is_device:
        written = [*node.args[:1], *[key.value for key in node.keywords if key.arg == "device_type"]]
        first = written[0] if written else ast.Constant("")
        kind = str(first.value) if isinstance(first, ast.Constant) and isinstance(first.value, str) else "cpu"
    if kind not in DEVICE_KINDS:
        text = f"TVM has no device {kind!r}"
    elif len(node.args) > len(order) or not set(given) <= set(order):
        text = f"{name} takes {' and '.join(order)}"
    elif any(isinstance(arg, ast.Constant) and type(arg.value) is float for arg in map(_absolute, node.args)):
        text = f"{name} takes a whole number"
    else:
        return
    reader.ctx.refuse(codes.BAD_EXPRESSION, text, node, help="write R.cpu(0) or R.device('cuda', 0)")


def _type(reader: Reader, node: ast.expr) -> s.StructInfo | DType | None:
    if isinstance(node, ast.Call) and dotted(node.func) == "R.dtype":
        return reader.info.dtype(node.args[0])
    return reader.info.read(node)


_TAKES_ANY = frozenset({"call_packed", ""})  # a packed function, or a value that is called


def keywords(
    reader: Reader, node: ast.Call, name: str, op: type[Op] | None = None, right: str = ""
) -> tuple[Attrs, tuple[s.StructInfo, ...]]:
    """The attributes and StructInfo arguments of a call whose arguments are not matched to parameters.

    `right` is the keyword for the StructInfo of the result in TVM 0.27, if it has one there.
    """
    infos: tuple[s.StructInfo, ...] = ()
    declared = {q.name: q for q in op.attributes} if op is not None else {}
    pairs: dict[str, object] = {q.name: q.default for q in declared.values() if not q.required}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise reader.no_expression(keyword.value, "write the arguments out")
        if keyword.arg in ARGS_KEYWORDS or keyword.arg in OUT_KEYWORDS:
            infos = struct_infos(reader, keyword.value)
            if name.removeprefix("relax.") not in _TAKES_ANY:
                check_type_keyword(reader, keyword, f"R.{name.removeprefix('relax.')}", right)
        else:
            if op is not None and keyword.arg not in declared:
                no_argument(reader, node, op, keyword.arg, declared)
            pairs[keyword.arg] = declared_value(reader, declared.get(keyword.arg), keyword.value)
    return (Attrs(pairs) if pairs else EMPTY), infos


def check_type_keyword(reader: Reader, keyword: ast.keyword, name: str, right: str = "") -> None:
    """Note a keyword for the result's StructInfo that TVM 0.27 does not have in this call; `right` is the one that it has."""
    if keyword.arg != right:
        text = f"TVM 0.27's {name} has no argument {keyword.arg!r}"
        help = f"write {right}=…" if right else "leave it out"
        reader.ctx.refuse(codes.BAD_CALL, text, keyword.value, help=help)


def declared_value(reader: Reader, q: Parameter | None, node: ast.expr) -> object:
    """The value of an attribute, declared or not."""
    return constant(reader, node) if q is None else attribute_value(reader, q, node)


def struct_infos(reader: Reader, node: ast.expr) -> tuple[s.StructInfo, ...]:
    """StructInfo arguments: a single one, or a list."""
    items = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]
    return tuple([reader.info.read(item) for item in items])


def no_argument(reader: Reader, node: ast.Call, op: type[Op], name: str, names: Iterable[str]) -> None:
    """Report an argument with an unknown name, and raise Skip."""
    from difflib import get_close_matches

    near = get_close_matches(name, names, 1)
    bad_arguments(
        reader, node, op, f"has no argument {name!r}" + (f"; did you mean {near[0]}?" if near else "")
    )


def bad_arguments(reader: Reader, node: ast.Call, op: type[Op], problem: str) -> None:
    """Report a call with wrong arguments, and raise Skip."""
    raise reader.ctx.fail(codes.BAD_CALL, f"{op.name} {problem}", node, help=f"signature: {op.signature()}")
