"""Renames a variable, a function, a kernel or a shape variable in its program."""

from __future__ import annotations

import keyword

from relax_explorer.core.syntax.names import RESERVED
from relax_explorer.ui.editor.document import Position, Range, TextEdit
from relax_explorer.ui.editor.occurrences import MODULE, Occurrence, Symbol
from relax_explorer.ui.editor.regions import Region


class NotRenamed(Exception):
    """A name can't be changed so; the text tells why."""


def renamable(region: Region | None, position: Position) -> Occurrence:
    """The name at a position. Raises NotRenamed if there is none, or one that the program does not define."""
    item = region.names.at(position) if region is not None else None
    if region is None or item is None:
        raise NotRenamed("no variable, function, kernel or shape variable stands here")
    if region.names.definition(item) is None:
        raise NotRenamed(f"{item.symbol.name} is not defined in this program")
    return item


def renamed(region: Region | None, position: Position, name: str) -> list[TextEdit]:
    """The edits that give what stands at a position another name. Raises NotRenamed if the name is not free or no name."""
    item = renamable(region, position)
    assert region is not None  # `renamable` raises
    symbol = item.symbol.root
    if not name.isidentifier():
        raise NotRenamed(f"{name!r} is not a name")
    if keyword.iskeyword(name):
        raise NotRenamed(f"{name!r} is a keyword of Python")
    if name in RESERVED and name != symbol.name:
        raise NotRenamed(f"{name!r} has a meaning in TVMScript")
    taken = _taken(region, symbol, name)
    if taken is not None:
        raise NotRenamed(f"{name!r} is a {taken.kind} here already")
    return [TextEdit(place, name) for place in _places(region.names.of(item))]


def _places(items: list[Occurrence]) -> list[Range]:
    return list(dict.fromkeys(item.range for item in items))


def _taken(region: Region, symbol: Symbol, name: str) -> Symbol | None:
    """Another symbol of the new name that one of both would hide. A name of the module is seen in all functions."""
    for other in region.names.by_symbol:
        if other.name != name or other is symbol:
            continue
        if _sees(other, symbol) or _sees(symbol, other) or MODULE in (symbol.kind, other.kind):
            return other
    return None


def _sees(inner: Symbol, outer: Symbol) -> bool:
    """True if a function that has one symbol is, or lies in, the one that has the other."""
    return not outer.function or f"{inner.function}.".startswith(f"{outer.function}.")
