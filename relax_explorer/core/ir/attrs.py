"""Compile-time constants of calls, functions and modules: an interned, ordered mapping."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from relax_explorer.core.ir.interned import InternTable

_TABLE: InternTable[tuple[Any, ...], Attrs] = InternTable()
WILDCARDS = "wildcard_dims"
"""The attribute of a module that allows `R.any_dim` in StructInfo."""
_SIMPLE = (str, int, type(None))


def _key(value: Any) -> Any:
    """A hashable key. Unlike Python's equality, it distinguishes 1, 1.0 and True, and 0.0 and -0.0."""
    value_type = type(value)
    if value_type is str or value is None:
        return value
    if value_type is float:
        return (float, value.hex())
    if value_type is tuple:
        return (tuple, *[_key(item) for item in value])
    return (value_type, value)


class Attrs(Mapping[str, Any]):
    """An immutable mapping from names to constants. Equal mappings (in the same order) are one object.

    Values are None, bool, int, float, str, DType, StructInfo, PrimExpr, IndexMap, Attrs (a nested mapping) and
    tuples of these.
    """

    __slots__ = ("__weakref__", "_dict")
    _dict: dict[str, Any]

    def __new__(cls, items: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()) -> Attrs:
        pairs = tuple(items.items() if isinstance(items, Mapping) else items)
        key = tuple([(name, _key(value)) for name, value in pairs])
        attrs = _TABLE.find(key)
        if attrs is None:
            attrs = object.__new__(cls)
            attrs._dict = dict(pairs)
            _TABLE.add(key, attrs)
        return attrs

    def __getitem__(self, name: str) -> Any:
        return self._dict[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._dict)

    def __len__(self) -> int:
        return len(self._dict)

    def __contains__(self, name: object) -> bool:
        return name in self._dict

    __hash__ = object.__hash__
    __eq__ = object.__eq__

    def get(self, name: str, default: object = None) -> Any:
        """The constant called `name`, or `default`."""
        return self._dict.get(name, default)

    def having(self, **changes: object) -> Attrs:
        """A copy with some entries set."""
        return Attrs({**self._dict, **changes})

    def without(self, *names: str) -> Attrs:
        """A copy without some entries."""
        return Attrs({name: value for name, value in self._dict.items() if name not in names})

    def __repr__(self) -> str:
        return f"Attrs({self._dict!r})"


def freeze(value: object) -> Any:
    """`value` with lists turned into tuples and dicts into Attrs."""
    if isinstance(value, (list, tuple)):
        return tuple([freeze(item) for item in value])
    if isinstance(value, dict):
        return Attrs({name: freeze(item) for name, item in value.items()})
    return value


EMPTY = Attrs()


class Verbatim(str):
    """A value kept as its source text, such as `T.target({"kind": "llvm"})`, and printed unchanged."""

    __slots__ = ()
