"""The graph of a function in two stages at once: nodes that were added, removed and changed, marked by colour and sign."""

from __future__ import annotations

from dataclasses import replace

from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.align import FunctionDiff, ModuleDiff
from relax_explorer.core.syntax.doc import Line
from relax_explorer.viz import folding
from relax_explorer.viz.drawing import Drawing
from relax_explorer.viz.graph import Cluster, Edge, EdgeKind, Kind, Mark, Node
from relax_explorer.viz.ir_graph import function_of, graph

_MARKS = {"added": Mark.ADDED, "changed": Mark.CHANGED, "type": Mark.CHANGED}


def diff_graph(
    old: IRModule, new: IRModule, diff: ModuleDiff, function: str = "", weights: str = "auto"
) -> Drawing:
    """The graph of a function of `new` with what `old` has beside it.

    Raises Failure if neither module has such a function.
    """
    name = function_of(new if function in new.relax_functions or not function else old, function)
    sides = [
        graph(module, name, weights="whole") if name in module.relax_functions else None
        for module in (old, new)
    ]
    before, after = (side or Drawing(name) for side in sides)
    found = next(
        (item for item in diff.functions if item.name == name), FunctionDiff(name, "same", (), (), ())
    )
    united = _united(before, after, _partners(before, after, found), _marks(found))
    held = frozenset[str]().union(
        *(
            folding.weights(module.relax_functions[name])
            for module in (old, new)
            if name in module.relax_functions
        )
    )
    return folding.eased(_counted(united), held, weights)


def _marks(diff: FunctionDiff) -> dict[int, Mark]:
    """The marks of new bindings, by identity."""
    return {
        id(unit): _MARKS[pair.kind]
        for pair in diff.pairs
        if pair.b is not None and pair.kind in _MARKS and not isinstance(unit := diff.new[pair.b], Line)
    }


def _partners(before: Drawing, after: Drawing, diff: FunctionDiff) -> dict[str, str]:
    """The node after for each node before that is still there."""
    old, new = _by_source(before), _by_source(after)
    partner: dict[str, str] = {}
    if diff.status == "same":
        partner = {old[key]: new[key] for key in old if key in new}
    for pair in diff.pairs:
        if pair.a is not None and pair.b is not None:
            left, right = old.get(id(diff.old[pair.a])), new.get(id(diff.new[pair.b]))
            if left is not None and right is not None:
                partner[left] = right
    params = {node.title: node.id for node in after.nodes if node.kind is Kind.PARAMETER}
    for node in before.nodes:
        if node.kind is Kind.PARAMETER and node.title in params:
            partner[node.id] = params[node.title]
    return partner | _unnamed(before, after, partner)


def _by_source(drawing: Drawing) -> dict[int, str]:
    return {id(source): node.id for node in drawing.nodes for source in node.sources}


def _unnamed(before: Drawing, after: Drawing, partner: dict[str, str]) -> dict[str, str]:
    """Partners of results and constants: those at the same place of nodes that are partners."""
    known = {node.id for node in after.nodes}
    found = {"return": "return"} if "return" in known else {}
    for node in before.nodes:
        owner, _, rest = node.id.partition(".")
        if node.kind is Kind.OUTPUT and owner in partner and f"{partner[owner]}.{rest}" in known:
            found[node.id] = f"{partner[owner]}.{rest}"
    right = _constants(after)
    for reader, constants in _constants(before).items():
        mapped = partner.get(reader) or found.get(reader, "")
        found.update(zip(constants, right.get(mapped, ()), strict=False))
    return found


def _constants(drawing: Drawing) -> dict[str, list[str]]:
    """The constants that each node reads."""
    kept: dict[str, list[str]] = {}
    for edge in drawing.edges:
        if drawing.node(edge.source).kind is Kind.CONSTANT:
            kept.setdefault(edge.target, []).append(edge.source)
    return kept


def _united(before: Drawing, after: Drawing, partner: dict[str, str], marks: dict[int, Mark]) -> Drawing:
    """All nodes of `after`, and those of `before` without a partner, each behind its neighbour."""
    stayed = set(partner.values())
    nodes = [_marked(node, marks, stayed) for node in after.nodes]
    taken, clusters = {node.id for node in nodes}, {cluster.id for cluster in after.clusters}
    names = dict(partner)
    behind: dict[str, list[Node]] = {}
    last = ""
    for node in before.nodes:
        if node.id in partner:
            last = partner[node.id]
            continue
        gone = names[node.id] = _free(node.id, taken)
        cluster = node.cluster if node.cluster in clusters else None
        behind.setdefault(last, []).append(
            replace(node, id=gone, cluster=cluster, marks=frozenset({Mark.REMOVED}))
        )
    ordered = [*behind.get("", ())]
    for node in nodes:
        ordered += [node, *behind.get(node.id, ())]
    held = {(edge.source, edge.target) for edge in after.edges}
    edges = dict.fromkeys(
        Edge(names[edge.source], names[edge.target], edge.label, EdgeKind.REMOVED)
        for edge in before.edges
        if (names[edge.source], names[edge.target]) not in held
    )
    return Drawing(after.title, tuple(ordered), (*after.edges, *edges), tuple[Cluster, ...](after.clusters))


def _marked(node: Node, marks: dict[int, Mark], stayed: set[str]) -> Node:
    found = {marks[id(source)] for source in node.sources if id(source) in marks}
    if not found and node.id not in stayed:
        found = {Mark.ADDED}
    return replace(node, marks=frozenset(found))


def _free(name: str, taken: set[str]) -> str:
    if name in taken:
        name = f"{name} (before)"
    while name in taken:
        name += "'"
    taken.add(name)
    return name


def _counted(drawing: Drawing) -> Drawing:
    """The graph with a note on what differs: it explains the signs too."""
    counts = [
        (mark, sum(mark in node.marks for node in drawing.nodes))
        for mark in (Mark.ADDED, Mark.REMOVED, Mark.CHANGED)
    ]
    note = ", ".join(f"{mark.glyph} {count} {mark}" for mark, count in counts if count) or "nothing differs"
    legend = tuple((str(mark), f"{mark.glyph} {mark}") for mark, count in counts if count)
    return replace(drawing, notes=(note, *drawing.notes), legend=legend)
