"""What variables show of planned memory: tensors, tuples of them, and storages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Union

from relax_explorer.core.check.storage_bytes import ALWAYS, Bytes, Storage, Tensor, When
from relax_explorer.core.ir import struct_info as s

_SHOWN = 16  # tensors that one variable may show, depending on branches; of more, nothing is known
_BRANCHES = 32  # branches on which a value depends; with more, nothing is known
_LEAVES = 4096  # tensors in a tuple that are looked at


class Held(NamedTuple):
    """A tensor that a value shows in runs that take these branches; `part` are the bytes that it shows, or None for all."""

    tensor: Tensor
    when: When = ALWAYS
    part: Bytes | None = None


class Views(NamedTuple):
    """A value that shows one of these tensors."""

    held: tuple[Held, ...]


class Fields(NamedTuple):
    """A tuple."""

    values: tuple[Value, ...]


Value = Union["Views", "Fields", Storage, None]
"""The memory of a value; None if nothing is known, or if there is none."""


def shown(tensor: Tensor) -> Views:
    """The value that shows a tensor."""
    return Views((Held(tensor),))


def field_of(value: Value, index: int) -> Value:
    """A field of a value."""
    if isinstance(value, Fields):
        return value.values[index] if 0 <= index < len(value.values) else None
    return value.field_of(index) if isinstance(value, Storage) else None


def held(value: Value) -> Iterator[Held]:
    """Every tensor that a value shows, also in tuples."""
    stack, left = [value], _LEAVES
    while stack and left:
        item, left = stack.pop(), left - 1
        if isinstance(item, Views):
            yield from item.held
        elif isinstance(item, Fields):
            stack.extend(reversed(item.values))


def choice(condition: object, a: Value, b: Value) -> Value:
    """The value of an If with these results of its branches."""
    if a is b:
        return a
    if isinstance(a, Fields) and isinstance(b, Fields) and len(a.values) == len(b.values):
        pairs = zip(a.values, b.values, strict=True)
        return Fields(tuple([_chosen(condition, left, right) for left, right in pairs]))
    return _chosen(condition, a, b)


def _chosen(condition: object, a: Value, b: Value) -> Value:
    if a is b:
        return a
    sides = ((a, True), (b, False))
    found = [
        item._replace(when=item.when | {(condition, side)})
        for value, side in sides
        if isinstance(value, Views)
        for item in value.held
    ]
    found = [item for item in found if len(item.when) <= _BRANCHES]
    return Views(tuple(found[:_SHOWN])) if found else None


def parameter(name: str, info: s.StructInfo | None) -> Value:
    """A parameter: tensors without a storage, and objects that may be storages."""
    if isinstance(info, s.TupleStructInfo):
        fields = [parameter(f"{name}[{number}]", field) for number, field in enumerate(info.fields)]
        return Fields(tuple(fields))
    if isinstance(info, s.TensorStructInfo):
        return shown(Tensor(name))
    return Storage(name) if info is s.OBJECT else None


def pairs(param: Value, given: Value) -> Iterator[tuple[Tensor | Storage, Value]]:
    """The tensors and objects of a parameter, each with what a call gives for it."""
    stack = [(param, given)]
    while stack:
        own, value = stack.pop()
        if isinstance(own, Fields):
            stack += [(field, field_of(value, number)) for number, field in enumerate(own.values)]
        elif isinstance(own, Storage):
            yield own, value
            stack += [(inner, field_of(value, number)) for number, inner in own.fields.items()]
        elif own is not None:
            yield own.held[0].tensor, value
