"""Other colours for the graphs of the page: by storages, FLOPs, bytes moved and memory held."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from relax_explorer.core.cost.program_cost import Cost
from relax_explorer.core.ir import expr as e
from relax_explorer.viz.cost_text import USUAL
from relax_explorer.viz.drawing import Drawing
from relax_explorer.viz.marked_graph import COUNTED_WORDS, Counted, heated_by_cost
from relax_explorer.viz.storage_view import by_storage
from relax_explorer.viz.visible import visible

TITLES: Mapping[Counted, str] = {"flops": "FLOPs", "moved": "bytes moved", "peak": "memory held"}
LENGTH = USUAL[len(USUAL) // 2]
"""What each shape variable counts as; the cost table of the page shows the same lengths."""


def paints(drawing: Drawing, fn: e.Function, cost: Cost | None) -> list[dict[str, object]]:
    """The colours of a graph: for each a title, a note, a legend, and for each node the number of its look in the legend, -1 for none."""
    found = list(_of_storages(drawing, fn))
    if cost is not None:
        at = cost.at(dict.fromkeys(cost.variables, LENGTH))
        found += [_heat(heated_by_cost(drawing, at, measure), drawing, measure) for measure in COUNTED_WORDS]
    return found


def _of_storages(drawing: Drawing, fn: e.Function) -> Iterator[dict[str, object]]:
    shown = by_storage(drawing, fn)
    if shown.legend:
        looks = [look for look, _ in shown.legend]
        yield {
            "title": "storages",
            "note": shown.notes[0],
            "legend": [[look, visible(text, 100)] for look, text in shown.legend],
            "looks": [looks.index(node.tint) if node.tint in looks else -1 for node in shown.nodes],
            "texts": [],
        }


def _heat(shown: Drawing, plain: Drawing, measure: Counted) -> dict[str, object]:
    texts = [
        node.badge.removeprefix(before.badge).strip()
        for node, before in zip(shown.nodes, plain.nodes, strict=True)
    ]
    notes = shown.notes[: len(shown.notes) - len(plain.notes)]
    return {
        "title": TITLES[measure],
        "note": visible(", ".join(notes), 300),
        "legend": [[look, text] for look, text in shown.legend],
        "looks": [node.heat for node in shown.nodes],
        "texts": texts,
    }
