"""The graphs of all stages for the page. Graphs of one form have one layout, so that nodes keep their places from stage to stage.

Each different text of a node, each different graph and each different layout stands once.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from relax_explorer.core.cost.program_cost import ModuleCosts
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.program.module import IRModule
from relax_explorer.viz.drawing import Drawing
from relax_explorer.viz.graph import Node, shapes_in_boxes, without_repeated_counts
from relax_explorer.viz.ir_graph import layer_graphs
from relax_explorer.viz.layered import Size
from relax_explorer.viz.layout import (
    Box,
    Layout,
    edge_text,
    group_paths,
    label_size,
    lay_out,
    line_texts,
    node_size,
    title_text,
)
from relax_explorer.viz.page_paints import paints
from relax_explorer.viz.page_rows import callee_in
from relax_explorer.viz.svg import legend_of, tooltip
from relax_explorer.viz.visible import visible

MOST_NODES = 400  # of one graph; of a larger one the neighbourhood of one node is drawn
MOST_BINDINGS = 800  # of a function whose graph is drawn for every stage
MOST_PLACED = 2_000  # nodes of all layouts of a page
LAYERS = ("once", "each")
"""How equal layers are drawn: the first one for all, or each."""


@dataclass(eq=False)
class _Form:
    """The graphs that have one layout: their number, the first of them, and the largest size of each node and label."""

    number: int
    first: Drawing
    sizes: list[Size]
    labels: list[Size | None] = field(default_factory=list)
    placed: dict[str, object] | None = None  # once the page has it, its nodes stay where they are

    def has_room(self, drawing: Drawing) -> bool:
        """True if another graph may have this layout."""
        if self.placed is None:
            return True
        sizes = zip(self.sizes, map(node_size, drawing.nodes), strict=True)
        return all(_larger(size, other) == size for size, other in sizes)

    def data(self) -> dict[str, object]:
        """The layout for the page, made once."""
        if self.placed is None:
            self.placed = _layout_data(self)
        return self.placed

    def fit(self, drawing: Drawing) -> None:
        """Make room for the texts of another graph."""
        self.sizes = [
            _larger(size, node_size(node)) for size, node in zip(self.sizes, drawing.nodes, strict=True)
        ]
        found = [label_size(edge) for edge in drawing.edges]
        self.labels = [_larger(a, b) if a and b else a or b for a, b in zip(self.labels, found, strict=True)]


def _bindings(fn: e.Function) -> int:
    return sum(len(block.bindings) for block in fn.body.blocks)


def _larger(one: Size, other: Size) -> Size:
    return max(one[0], other[0]), max(one[1], other[1])


class Graphs:
    """Every different graph of a page. Functions are added stage by stage; what is added last may find no room.

    `most_placed` bounds the nodes of all layouts, if the page has them at once.
    """

    def __init__(self, most_placed: float | None = None) -> None:
        self.most_placed = MOST_PLACED if most_placed is None else most_placed
        self.nodes: dict[tuple[object, ...], int] = {}
        self.left_out = 0
        self._graphs: list[dict[str, object]] = []
        self._forms: dict[Hashable, _Form] = {}  # the last one of each kind
        self._layouts: list[_Form] = []
        self._numbers: dict[str, int] = {}
        self._drawn: dict[tuple[int, ...], dict[str, int]] = {}  # by a function and what it calls
        self._placed = 0
        self._costs: ModuleCosts | None = None

    def of(self, module: IRModule, is_end: bool) -> dict[str, dict[str, int]]:
        """The numbers of the graphs of each Relax function: with equal layers once, and each if that differs.

        Large functions have graphs before the first pass and after the last one only.
        """
        names = [
            name for name, fn in module.relax_functions.items() if is_end or _bindings(fn) <= MOST_BINDINGS
        ]
        self.left_out += len(module.relax_functions) - len(names)
        return {name: found for name in names if (found := self.one(module, name))}

    def one(self, module: IRModule, name: str) -> dict[str, int]:
        """The numbers of the graphs of a function."""
        fn = module.relax_functions[name]
        callees = {callee_in(binding) for block in fn.body.blocks for binding in block.bindings} - {""}
        key = (id(fn), *[id(module.functions.get(callee)) for callee in sorted(callees)])
        if key not in self._drawn:
            self._drawn[key] = self._made(module, name)
        return self._drawn[key]

    def _made(self, module: IRModule, name: str) -> dict[str, int]:
        found: dict[str, int] = {}
        try:
            drawings = layer_graphs(module, name)
            cost = self._costs_of(module).of(name)
        except Failure:  # a problem of the program, which has its own place on the page
            return found
        fn = module.relax_functions[name]
        for layers, drawing in zip(LAYERS, drawings, strict=True):
            if drawing is None or (layers == "each" and len(drawing.nodes) > MOST_NODES):
                continue
            shown = drawing.scoped(MOST_NODES)
            plain = without_repeated_counts(shapes_in_boxes(shown))
            number = self._add(plain, paints(shown, fn, cost))
            if number is not None:
                found[layers] = number
        return found

    def _costs_of(self, module: IRModule) -> ModuleCosts:
        """The costs of a module; its functions are asked for one after the other."""
        if self._costs is None or self._costs.module is not module:
            self._costs = ModuleCosts(module)
        return self._costs

    def _add(self, drawing: Drawing, colours: list[dict[str, object]]) -> int | None:
        """The number of a graph; None if there is no room for it."""
        key = json.dumps([drawing.data(), colours], default=str)
        if key in self._numbers:
            return self._numbers[key]
        form = self._form(drawing)
        if form is None:
            self.left_out += 1
            return None
        number = self._numbers[key] = len(self._graphs)
        self._graphs.append(
            {
                "layout": form.number,
                "title": visible(drawing.title, 200),
                "notes": [visible(note) for note in drawing.notes],
                "legend": [list(item) for item in legend_of(drawing)],
                "nodes": [self._node(node) for node in drawing.nodes],
                "labels": [edge_text(edge) for edge in drawing.edges],
                "paints": colours,
            }
        )
        return number

    def _form(self, drawing: Drawing) -> _Form | None:
        """The graphs that have the nodes, edges and frames of this one."""
        frames = [(item.title, item.parent) for item in drawing.clusters]
        kinds = [str(edge.kind) for edge in drawing.edges]
        key = (
            len(drawing.nodes),
            tuple(drawing.pairs),
            tuple(kinds),
            tuple(group_paths(drawing)),
            tuple(frames),
        )
        form = self._forms.get(key)
        if form is not None and form.has_room(drawing):
            form.fit(drawing)
            return form
        if self._placed + len(drawing.nodes) > self.most_placed:
            return None
        self._placed += len(drawing.nodes)
        sizes = [node_size(node) for node in drawing.nodes]
        labels = [label_size(edge) for edge in drawing.edges]
        form = self._forms[key] = _Form(len(self._layouts), drawing, sizes, labels)
        self._layouts.append(form)
        return form

    def _node(self, node: Node) -> int:
        names = [own.var.name for own in node.sources if isinstance(own, e.Binding) and own.var is not None]
        seen = (
            visible(node.id, 200),
            title_text(node),
            tuple(line_texts(node)),
            str(node.kind),
            node.look,
            tooltip(node),
            tuple([visible(name, 200) for name in dict.fromkeys(names)]),
            int(node.is_output),
        )
        return self.nodes.setdefault(seen, len(self.nodes))

    def data(self, graphs: int = 0, nodes: int = 0, layouts: int = 0) -> dict[str, list[object]]:
        """The graphs for a page that has some of each already."""
        return {
            "graphs": list(self._graphs[graphs:]),
            "nodes": [list(node) for node in islice(self.nodes, nodes, None)],
            "layouts": [form.data() for form in self._layouts[layouts:]],
        }


def _layout_data(form: _Form) -> dict[str, object]:
    """Boxes as centre and size in whole points; curves with the place of their label."""
    drawing = form.first
    layout = lay_out(drawing, form.sizes, form.labels)
    return {
        "size": [round(layout.width), round(layout.height)],
        "notes": [visible(note) for note in layout.notices],
        "boxes": [number for box in layout.nodes for number in _box(box)],
        "edges": list(_edges(drawing, layout)),
        "frames": [
            [visible(cluster.title, 80), *_box(box)]
            for cluster, box in zip(drawing.clusters, layout.clusters, strict=True)
            if box is not None
        ],
    }


def _box(box: Box) -> Iterator[int]:
    yield from (round(box.x), round(box.y), round(box.width), round(box.height))


def _edges(drawing: Drawing, layout: Layout) -> Iterator[list[object]]:
    """Source, target, kind, place of the label, and the points of the curve, each as its way from the one before."""
    for edge, (source, target), curve in zip(drawing.edges, drawing.pairs, layout.edges, strict=True):
        x, y = curve.label or (0, 0)
        yield [source, target, str(edge.kind), round(x), round(y), list(_ways(curve.points))]


def _ways(points: Sequence[tuple[float, float]]) -> Iterator[int]:
    before = (0, 0)
    for point in points:
        here = (round(point[0]), round(point[1]))
        yield from (here[0] - before[0], here[1] - before[1])
        before = here
