"""What a StructInfo does not tell of a value as a variable: its kind, element type, rank and lengths, each a number for the prover.

Element types are numbered so that those of one kind follow each other: `x.dtype // 2**28 == 3` says that x has floats.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64, DType

KINDS = ("object", "tensor", "shape", "scalar", "tuple", "function")
_GROUPS = {"bool": 1, "int": 2, "uint": 2, "float": 3, "bfloat": 3}
_GROUP = 1 << 28
_LEAST_BITS = {"int": 8, "uint": 8, "float": 16}
_RARE: dict[str, p.PrimVar] = {}
_OF_NUMBER: dict[int, DType] = {}  # as many as there are element types
_TERM = re.compile(r"(?P<value>.+?)\.(?P<what>shape\[\d+\]|dtype|ndim|kind|size|fit)$")
_NO_LENGTHS = frozenset({"dtype", "ndim", "kind", "size", "fit"})
_PART = re.compile(r"\[(\d+)\]")
FLOAT, INTEGER, NUMBER, BOOL_OR_INTEGER = (
    "a float type", "an integer type", "a type of numbers", "bool or an integer type",
)  # fmt: skip


def element_number(element: DType) -> p.PrimExpr:
    """The number of an element type. A variable for a rare one, such as `float8_e4m3`: rules for floats may refuse it."""
    if element.kind not in _GROUPS or element.lanes > 1 or element.bits < _LEAST_BITS.get(element.kind, 0):
        return _RARE.setdefault(element.name, p.PrimVar(element.name))
    number = _GROUPS[element.kind] * _GROUP + element.code * 1024 + element.bits
    _OF_NUMBER[number] = element
    return p.IntImm(number, INT64)


def rare_elements() -> Collection[p.PrimVar]:
    """The variables that stand for rare element types."""
    return _RARE.values()


def of_elements(term: p.PrimExpr, word: str) -> p.PrimExpr:
    """The condition that an element type is of a kind, such as `FLOAT`."""
    if word == BOOL_OR_INTEGER:
        return p.LT(term, p.IntImm(3 * _GROUP, INT64))
    width, wanted = {FLOAT: (1, 3), INTEGER: (1, 2), NUMBER: (2, 1)}[word]
    return p.EQ(p.FloorDiv(term, p.IntImm(width * _GROUP, INT64)), p.IntImm(wanted, INT64))


def kind_number(kind: str) -> p.IntImm:
    """The number of a kind of values, such as `tensor`."""
    return p.IntImm(KINDS.index(kind), INT64)


def told(info: s.StructInfo | None, what: str) -> p.PrimExpr | None:
    """What a StructInfo tells of a value: `.dtype`, `.ndim`, `.kind`, `.size`, `.shape[0]`, or `[0]` of a shape; None if it does not."""
    kind = _OF_INFO.get(type(info))
    if what == ".kind":
        return None if kind is None else kind_number(kind)
    if isinstance(info, s.TensorStructInfo) and what == ".dtype":
        return None if info.dtype is None else element_number(info.dtype)
    if isinstance(info, s.PrimStructInfo) and what == ".dtype":
        return element_number(info.dtype)
    if isinstance(info, s.TupleStructInfo) and what == ".size":
        return p.IntImm(len(info.fields))
    if not isinstance(info, (s.TensorStructInfo, s.ShapeStructInfo)):
        return None
    if what == ".ndim":
        return None if info.ndim < 0 else p.IntImm(info.ndim)
    dims = info.lengths if isinstance(info, s.TensorStructInfo) else info.values
    axis = _PART.search(what)
    if dims is None or axis is None or int(axis[1]) >= len(dims):
        return None
    return dims[int(axis[1])]


_OF_INFO: dict[type, str] = {
    s.TensorStructInfo: "tensor", s.ShapeStructInfo: "shape", s.PrimStructInfo: "scalar", s.TupleStructInfo: "tuple",
    s.FuncStructInfo: "function",
}  # fmt: skip


def is_no_length(condition: p.PrimExpr) -> bool:
    """True if a condition is about kinds, element types or ranks of values."""
    return any(_what(var) for var in p.free_vars(condition))


def _what(var: p.PrimVar) -> str:
    """What a variable stands for, if that is no length."""
    last = var.name.rpartition(".")[2]
    return last if last in _NO_LENGTHS and last != var.name else ""


def value_name(var: p.PrimVar) -> str:
    """The value that a variable is about, such as `x` of `x.shape[0]`."""
    found = _TERM.match(var.name)
    return var.name if found is None else found["value"]


def both(conditions: Iterable[p.PrimExpr]) -> p.PrimExpr:
    """The condition that all of some conditions hold; there is at least one."""
    first, *others = conditions
    for one in others:
        first = p.And(first, one)
    return first


def said(condition: p.PrimExpr) -> str:
    """A condition as people say it: `x.dtype == float32`, not the number of the element type."""
    if isinstance(condition, p.And):
        return f"{said(condition.a)} and {said(condition.b)}"
    names = p.free_vars(condition)
    what = {_what(var) for var in names}
    if len(names) != 1 or what <= {"", "ndim"}:
        return str(condition)
    (var,), (word,) = names, what
    if word == "fit":
        return value_name(var)
    for kind in (FLOAT, INTEGER, NUMBER, BOOL_OR_INTEGER):
        if condition == of_elements(var, kind):
            return f"{var} is {kind}"
    numbers = [
        part.b.value for part in _either(condition) if isinstance(part, p.EQ) and isinstance(part.b, p.IntImm)
    ]
    if word == "kind":
        return f"{value_name(var)} is {' or '.join([_a(KINDS[n]) for n in numbers])}"
    if word == "size":
        return f"{value_name(var)} has {numbers[0]} fields"
    elements = [_OF_NUMBER[n].name for n in numbers]
    return f"{var} == {elements[0]}" if len(elements) == 1 else f"{var} is {' or '.join(elements)}"


def _a(kind: str) -> str:
    return f"{'an' if kind == 'object' else 'a'} {kind}"


def _either(condition: p.PrimExpr) -> list[p.PrimExpr]:
    """The conditions of which one holds."""
    return [*_either(condition.a), *_either(condition.b)] if isinstance(condition, p.Or) else [condition]
