"""Whether the attributes of a call are of the kinds that its operator declares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_explorer.core.ir.attrs import Attrs, Verbatim
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ops.decl import Op

LIMIT = 1 << 16  # no axis, stride, pad or number of parts is larger


def problem(op: type[Op], attrs: Attrs) -> str:
    """What is wrong with the attributes, in one sentence; empty when nothing is."""
    for parameter in op.attributes:
        if parameter.required and parameter.name not in attrs:
            return f"{parameter.name} is not given"
        value = attrs.get(parameter.name)
        if parameter.kind != "Any" and any(
            isinstance(item, Verbatim) for item in (value if type(value) is tuple else (value,))
        ):
            return f"{parameter.name} is {value!r}, which is no value"
        kind = parameter.kind.split("|")[0].strip()
        test = _KINDS.get(kind)
        if value is None or test is None:
            continue
        if not test(value):
            return f"{parameter.name} is {value!r}, which is no {kind}"
        if kind in ("int", "Axes", "Ints", "Value") and not _near(value):
            return f"{parameter.name} is {value!r}, beyond {LIMIT}"
    return ""


def completed(op: type[Op], attrs: Attrs) -> Attrs:
    """The attributes with the defaults of those that a program, rather than a text, left out."""
    missing = [q for q in op.attributes if q.name not in attrs and not q.required]
    if not missing:
        return attrs
    given = {**dict(attrs), **{q.name: q.default for q in missing}}
    order = {q.name: place for place, q in enumerate(op.attributes)}
    return Attrs(sorted(given.items(), key=lambda item: order.get(item[0], len(order))))


def _integer(value: Any) -> bool:
    return type(value) is int


def _integers(value: Any) -> bool:
    return _integer(value) or (type(value) is tuple and all(_integer(item) for item in value))


def _near(value: Any) -> bool:
    items = value if type(value) is tuple else (value,)
    return all(abs(item) <= LIMIT for item in items if type(item) is int)


_KINDS: dict[str, Callable[[Any], bool]] = {
    "int": _integer,
    "float": lambda value: type(value) in (int, float),
    "bool": lambda value: type(value) is bool,
    "str": lambda value: type(value) is str,
    "Axes": _integers,
    "Ints": _integers,
    "DType": lambda value: isinstance(value, DType),
    "Value": lambda value: type(value) in (int, tuple),
}
