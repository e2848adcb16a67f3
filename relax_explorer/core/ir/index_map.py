"""Index maps: they map the indices of one layout to those of another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.ir.interned import InternTable

_TABLE: InternTable[tuple[Any, ...], IndexMap] = InternTable()
_PLACES: list[p.PrimVar] = []


def place(number: int) -> p.PrimVar:
    """The variable for the index of axis `number`. All maps share it, so maps with other names have equal results."""
    while len(_PLACES) <= number:
        _PLACES.append(p.PrimVar(f"i{len(_PLACES)}", INT64))
    return _PLACES[number]


class IndexMap:
    """`lambda names…: results`: the element at `place(0), place(1), …` moves to `results`. Equal maps are one object.

    `inverse` is the inverse map, if the program states it.
    """

    __slots__ = ("__weakref__", "inverse", "names", "results")
    names: tuple[str, ...]
    results: tuple[p.PrimExpr, ...]
    inverse: IndexMap | None

    def __new__(
        cls, names: Sequence[str], results: Sequence[p.PrimExpr], inverse: IndexMap | None = None
    ) -> IndexMap:
        """The map with these names and results."""
        key = (tuple(names), tuple(results), inverse)
        unique = _TABLE.find(key)
        if unique is None:
            unique = _TABLE.add(key, object.__new__(cls))
            unique.names, unique.results, unique.inverse = key
        return unique

    @property
    def places(self) -> tuple[p.PrimVar, ...]:
        """The variables of the indices."""
        return tuple([place(n) for n in range(len(self.names))])

    def at(self, indices: Sequence[p.PrimExpr]) -> tuple[p.PrimExpr, ...]:
        """The new indices of the element at `indices`."""
        replacements: dict[p.PrimVar, p.PrimExpr] = dict(zip(self.places, indices, strict=True))
        return tuple([p.substitute(result, replacements) for result in self.results])

    @property
    def free(self) -> list[p.PrimVar]:
        """The shape variables in the map."""
        return [var for var in p.free_vars(*self.results) if var not in self.places]

    def __repr__(self) -> str:
        return f"IndexMap({', '.join(self.names)})"


def index_map(
    names: Sequence[str], places: Sequence[p.PrimVar], results: Sequence[p.PrimExpr], inverse: IndexMap | None
) -> IndexMap:
    """The map with `results` in terms of `places`, the variables that the program uses for the indices."""
    replacements: dict[p.PrimVar, p.PrimExpr] = {var: place(number) for number, var in enumerate(places)}
    return IndexMap(names, [p.substitute(result, replacements) for result in results], inverse)
