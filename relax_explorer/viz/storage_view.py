"""A graph by storages: nodes have the colour of the storage that holds their value, and the legend tells who lives there when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from relax_explorer.core.cost.amounts import amount, text, value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.walk import bindings
from relax_explorer.viz.cost_text import bytes_text
from relax_explorer.viz.drawing import Drawing
from relax_explorer.viz.graph import Edge
from relax_explorer.viz.palette import STORAGE_HUES
from relax_explorer.viz.visible import counted, visible

NOWHERE, OTHERS = "storage-none", "storage-other"
NOTHING = "no value lies in a storage: StaticPlanBlockMemory places them"
_MOST_NAMED = 4  # values of a storage in the legend


@dataclass(frozen=True, slots=True)
class Resident:
    """A value in a storage: its node, and the first and the last binding of its life, by number."""

    node: str
    first: int
    last: int

    def __str__(self) -> str:
        return f"{visible(self.node, 40)} {self.first}–{self.last}"


@dataclass(frozen=True, slots=True)
class Holder:
    """A storage: its name, its bytes as text, its colour, and the values that live there, one after the other."""

    name: str
    size: str
    look: str
    residents: tuple[Resident, ...]

    @property
    def told(self) -> str:
        """`s0, 4 KiB: lv 1–4, lv3 6–9`."""
        shown = ", ".join(map(str, self.residents[:_MOST_NAMED]))
        more = len(self.residents) - _MOST_NAMED
        return f"{self.name}, {self.size}: {shown}{f' and {more} more' if more > 0 else ''}"


def holders(drawing: Drawing, fn: e.Function) -> list[Holder]:
    """The storages of the values of a graph, in the order of their allocation. `fn` is the function as it is written."""
    numbers = {binding: number for number, binding in enumerate(bindings(fn), 1)}
    last = len(numbers)
    own = [_number(node.sources, numbers) for node in drawing.nodes]
    living: dict[str, list[Resident]] = {}
    for place, node in enumerate(drawing.nodes):
        first = own[place]
        homes = node.place.replace("↻", " ").split() if first is not None else []
        for part, name in enumerate(homes):
            reading = [
                edge for edge in drawing.outgoing[place] if _reads(drawing.edges[edge], part, len(homes))
            ]
            readers = [own[drawing.pairs[edge][1]] for edge in reading]
            end = max([last if reader is None else reader for reader in readers], default=first or 0)
            living.setdefault(name, []).append(Resident(node.id, first or 0, max(first or 0, end)))
    named = [(name, size, tuple(living[name])) for name, size in drawing.storages if name in living]
    ranked = sorted(named, key=lambda item: -len(item[2]))
    hues = len(STORAGE_HUES)
    coloured = {name for name, _, _ in ranked[: hues if len(ranked) <= hues else hues - 1]}
    looks = iter(range(hues))
    return [
        Holder(name, size, f"storage-{next(looks)}" if name in coloured else OTHERS, residents)
        for name, size, residents in named
    ]


def _reads(edge: Edge, part: int, count: int) -> bool:
    """True if a reader reads this one of the values of a node."""
    return count == 1 or not edge.parts or part in edge.parts or max(edge.parts) >= count


def _number(sources: Sequence[object], numbers: Mapping[e.Binding, int]) -> int | None:
    """The number of the binding that computes a node; None for results and the like, which are behind all."""
    return next((numbers[item] for item in sources if isinstance(item, e.Binding) and item in numbers), None)


def by_storage(drawing: Drawing, fn: e.Function) -> Drawing:
    """The graph with the colours of storages. What lies in none is pale."""
    found = holders(drawing, fn)
    looks: dict[str, str] = {}
    for holder in found:
        for resident in holder.residents:
            looks.setdefault(resident.node, holder.look)
    nodes = tuple(replace(node, tint=looks.get(node.id, NOWHERE)) for node in drawing.nodes)
    shown = [holder for holder in found if holder.look != OTHERS]
    others = [holder for holder in found if holder.look == OTHERS]
    legend = [(holder.look, holder.told) for holder in shown]
    if others:
        legend.append(
            (OTHERS, f"{counted(len(others), 'other storage')}: {', '.join(one.name for one in others)}")
        )
    values = sum(len(holder.residents) for holder in found)
    note = f"{counted(values, 'value')} in {counted(len(found), 'storage')}, ↻ where another value lay before"
    return replace(
        drawing, nodes=nodes, legend=tuple(legend), notes=(note if found else NOTHING, *drawing.notes)
    )


def size_text(size: p.PrimExpr | None) -> str:
    """The bytes of a storage: `4 KiB`, or an expression in the lengths; `?` if they are not known."""
    poly = None if size is None else amount(size)
    if poly is None:
        return "? bytes"
    number = value(poly, {})
    return bytes_text(number) if number is not None else f"{text(poly)} B"
