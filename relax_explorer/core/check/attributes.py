"""Check the attributes of a call against the declaration of its operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs, Verbatim
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ir.index_map import IndexMap
from relax_explorer.core.ir.prim import FloatImm, PrimExpr
from relax_explorer.core.ops.kit.decl import Op, Parameter
from relax_explorer.core.ops.kit.kinds import Kind
from relax_explorer.core.ops.kit.page import kind_phrase

_COUNTS = (Kind.INT, Kind.AXES, Kind.INTS, Kind.INT_LIST, Kind.INT_OR_INTS)
_VALUES = (
    Kind.TENSOR,
    Kind.TENSORS,
    Kind.SHAPE,
    Kind.PRIM,
    Kind.PRIMS,
    Kind.ARGUMENTS,
)  # never literals of their own
LIMIT = (1 << 63) - 1
"""The size of the result decides how large a number may be. What is made once for each number has a limit in its rule."""


def problem(op: type[Op], attrs: Attrs) -> str:
    """The problem of the attributes as one sentence; empty if there is none."""
    for parameter in op.attributes:
        if parameter.required and parameter.name not in attrs:
            return f"{parameter.name} is missing"
        value = attrs.get(parameter.name)
        if parameter.kind is not Kind.ANY and any(
            isinstance(item, Verbatim) for item in (value if type(value) is tuple else (value,))
        ):
            return f"{parameter.name} is {value!r}, which is not a value"
        if value is None and parameter.is_optional:
            continue
        if not _KINDS[parameter.kind](value):
            return f"{parameter.name} is {_shown(value)}, it must be {kind_phrase(parameter)}"
        if parameter.kind in _COUNTS and not _near(value):
            return f"{parameter.name} is {_shown(value)}, it must fit int64"
    return ""


def with_numbers(op: type[Op], attrs: Attrs) -> Attrs:
    """The attributes with True and False as 1 and 0 where numbers are needed, as TVM reads them."""
    kinds = {q.name: q.kind for q in op.attributes}
    return Attrs([(name, _as_number(value, kinds.get(name))) for name, value in attrs.items()])


def _as_number(value: object, kind: Kind | None) -> Any:
    if type(value) is tuple and kind in _COUNTS:
        return tuple([_as_number(item, Kind.INT) for item in value])
    if type(value) is not bool or (kind not in _COUNTS and kind is not Kind.FLOAT):
        return value
    return (int(value),) if kind in (Kind.AXES, Kind.INTS) else int(value)


def completed(op: type[Op], attrs: Attrs) -> Attrs:
    """The attributes with defaults added. A program that builds a call may omit them; the parser never does."""
    missing = {q.name: q.default for q in op.attributes if q.name not in attrs and not q.required}
    complete = {**attrs, **missing}
    order = {q.name: place for place, q in enumerate(op.attributes)}
    return Attrs(sorted(complete.items(), key=lambda item: order.get(item[0], len(order))))


def _shown(value: Any) -> str:
    """A constant in TVMScript."""
    return str(list(value)) if type(value) is tuple else repr(value)


def operand_problem(q: Parameter, arg: e.Expr, info: s.StructInfo) -> str:
    """The problem of an operand against its declaration alone, as one sentence; empty if there is none."""
    literal = {e.StringImm: "a string", e.DataTypeImm: "a dtype"}.get(type(arg))
    if literal is not None and q.kind in _VALUES:
        return f"{q.name} is {literal}, it must be {kind_phrase(q)}"
    left_out = q.default == () and isinstance(info, s.TupleStructInfo) and not info.fields
    other = isinstance(info, (s.TupleStructInfo, s.ShapeStructInfo, s.FuncStructInfo))
    if q.kind is Kind.PRIM and other and not left_out:
        return f"{q.name} is {info}, it must be {kind_phrase(q)}"
    return ""


def _integer(value: Any) -> bool:
    return type(value) is int


def _number(value: Any) -> bool:
    return type(value) in (int, float) or isinstance(value, PrimExpr)


def _integers(value: Any) -> bool:
    return _integer(value) or (type(value) is tuple and all(_integer(item) for item in value))


def _near(value: Any) -> bool:
    items = value if type(value) is tuple else (value,)
    return all(abs(item) <= LIMIT for item in items if type(item) is int)


_KINDS: dict[Kind, Callable[[Any], bool]] = {
    Kind.INT: _integer,
    Kind.FLOAT: lambda value: type(value) in (int, float),
    Kind.FLOAT_IMM: lambda value: type(value) in (int, float, FloatImm),
    Kind.NUMBERS: lambda value: all(map(_number, value if type(value) is tuple else (value,))),
    Kind.BOOL: lambda value: type(value) is bool,
    Kind.STR: lambda value: type(value) is str,
    Kind.AXES: _integers,
    Kind.INTS: _integers,
    Kind.INT_LIST: lambda value: type(value) is tuple and _integers(value),
    Kind.DTYPE: lambda value: isinstance(value, DType),
    Kind.INT_OR_INTS: _integers,
    Kind.INDEX_MAP: lambda value: isinstance(value, IndexMap),
    Kind.EXPR: _number,
    Kind.ANY: lambda value: True,
}
