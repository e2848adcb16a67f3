"""Graphs with marks: what changed between two stages, and how long each node took or how many bytes it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from relax_explorer.core.cost.amounts import PROBE, Lengths, value
from relax_explorer.core.cost.function_work import BindingWork
from relax_explorer.core.cost.parameters import weights as weights_of
from relax_explorer.core.cost.program_cost import Cost
from relax_explorer.core.exec.one_run import BindingTimes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.align import FunctionDiff, ModuleDiff
from relax_explorer.core.session.run_log import Costs, Site, Spent
from relax_explorer.core.shapes.residual import PARAMETERS, RESULT, ShapeCheck
from relax_explorer.core.syntax.doc import Line
from relax_explorer.viz import folding
from relax_explorer.viz.drawing import Drawing
from relax_explorer.viz.graph import Cluster, Edge, EdgeKind, Kind, Mark, Node
from relax_explorer.viz.ir_graph import function_of, graph
from relax_explorer.viz.palette import HEAT_LEVELS
from relax_explorer.viz.value_graph import is_copy
from relax_explorer.viz.visible import counted

RARE = (Mark.MERGED, Mark.SPLIT, Mark.MOVED)
"""What may be told of a node beside that it was added, removed or changed."""
_MARKS = {"added": Mark.ADDED, "changed": Mark.CHANGED, "type": Mark.CHANGED, "moved": Mark.MOVED}


def diff_graph(
    old: IRModule,
    new: IRModule,
    diff: ModuleDiff,
    function: str = "",
    weights: str = "auto",
    memory: bool = False,
    heirs: Mapping[str, str] | None = None,
) -> Drawing:
    """The graph of a function of `new` with what `old` has beside it. `heirs` are nodes that go on with one of `old`, where the texts do not tell.

    Raises Failure if neither module has such a function.
    """
    name = function_of(new if function in new.relax_functions or not function else old, function)
    sides = [
        graph(module, name, weights="whole", memory=memory) if name in module.relax_functions else None
        for module in (old, new)
    ]
    before, after = (side or Drawing(name) for side in sides)
    found = next(
        (item for item in diff.functions if item.name == name), FunctionDiff(name, "same", (), (), ())
    )
    partners = _partners(before, after, found)
    taken = set(partners.values())
    ids = {node.id for node in after.nodes}
    partners.update(
        {one: other for one, other in (heirs or {}).items() if one not in partners and other in ids - taken}
    )
    united = _united(before, after, partners, {id(unit): marks for unit, marks in marks_of(found).items()})
    united = _with_merges(united, found)
    held = frozenset[str]().union(
        *(weights_of(module.relax_functions[name]) for module in (old, new) if name in module.relax_functions)
    )
    return folding.eased(_counted(united), held, weights)


def marks_of(diff: FunctionDiff) -> dict[e.Binding, frozenset[Mark]]:
    """The marks of new bindings: what was added, changed or moved, and what one makes of several, or several of one."""
    found: dict[e.Binding, frozenset[Mark]] = {}

    def mark(number: int, mark: Mark) -> None:
        unit = diff.new[number]
        if not isinstance(unit, Line):
            found[unit] = found.get(unit, frozenset()) | {mark}

    for pair in diff.pairs:
        if pair.b is not None and pair.kind in _MARKS:
            mark(pair.b, _MARKS[pair.kind])
    for group in diff.groups.values():
        for number in group.new if group.kind == "split" else group.new[-1:]:
            mark(number, Mark.SPLIT if group.kind == "split" else Mark.MERGED)
    return found


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


def _united(
    before: Drawing, after: Drawing, partner: dict[str, str], marks: dict[int, frozenset[Mark]]
) -> Drawing:
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
        if (names[edge.source], names[edge.target]) not in held and names[edge.source] != names[edge.target]
    )
    return Drawing(after.title, tuple(ordered), (*after.edges, *edges), tuple[Cluster, ...](after.clusters))


def _marked(node: Node, marks: dict[int, frozenset[Mark]], stayed: set[str]) -> Node:
    found = frozenset[Mark]().union(*[marks.get(id(source), frozenset()) for source in node.sources])
    if node.id not in stayed:
        found = found if Mark.CHANGED in found else found | {Mark.ADDED}
    elif Mark.ADDED in found:  # its memory, for example: the value was there before
        found = found - {Mark.ADDED} | {Mark.CHANGED}
    return replace(node, marks=found)


def _with_merges(drawing: Drawing, diff: FunctionDiff) -> Drawing:
    """The graph in which a node that went into another one says so."""
    nodes = {id(source): node for node in drawing.nodes for source in node.sources}
    badges: dict[str, str] = {}
    for group in diff.groups.values():
        new = nodes.get(id(diff.new[group.new[-1]]))
        for number in group.old if new is not None and group.kind == "merged" else ():
            old = nodes.get(id(diff.old[number]))
            if new is not None and old is not None and Mark.REMOVED in old.marks:
                badges[old.id] = f"into {new.id}"
    changed = [replace(node, badge=badges[node.id]) if node.id in badges else node for node in drawing.nodes]
    return replace(drawing, nodes=tuple(changed)) if badges else drawing


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
        for mark in (Mark.ADDED, Mark.REMOVED, Mark.CHANGED, *RARE)
    ]
    note = ", ".join(f"{mark.glyph} {count} {mark}" for mark, count in counts if count) or "nothing differs"
    legend = tuple((str(mark), f"{mark.glyph} {mark}") for mark, count in counts if count)
    return replace(drawing, notes=(note, *drawing.notes), legend=legend)


# -- heat ------------------------------------------------------------------------------------------------------------
# A graph as a heat map: each node says how long it took, or how many bytes its value holds, and is coloured by it.


Measure = Literal["time", "bytes", "machine", "flops", "moved", "peak"]
Counted = Literal["flops", "moved", "peak"]
"""The measures that follow from the program, without a run."""
_TOLD = {
    "time": "time of each binding, median of warm runs",
    "bytes": "bytes of each value in one run",
    "machine": "time of each call in the recorded runs of the compiled program",
    "flops": "FLOPs of each binding",
    "moved": "bytes that each binding reads and writes",
    "peak": "bytes that are held while each binding runs",
}
COUNTED_WORDS: dict[Counted, str] = {
    "flops": "FLOPs",
    "moved": "bytes read and written",
    "peak": "bytes held",
}
"""The measures without a run, as words."""
_UNITS = ((1e-6, "µs"), (1e-3, "ms"), (1.0, "s"))
_COUNTS = ((1, "FLOPs"), (10**3, "kFLOPs"), (10**6, "MFLOPs"), (10**9, "GFLOPs"), (10**12, "TFLOPs"))
_SIZES = ((1, "B"), (1 << 10, "KiB"), (1 << 20, "MiB"), (1 << 30, "GiB"))


def heated(drawing: Drawing, times: BindingTimes, measure: Measure) -> Drawing:
    """The heat map of a graph. A node that stands for several bindings shows their sum; a call shows what its callee took too."""
    amounts = [_amount(node, times, measure) for node in drawing.nodes]
    known = [amount for amount in amounts if amount is not None]
    return _coloured(drawing, amounts, times.total if measure != "bytes" else sum(known), measure)


def heated_by_cost(drawing: Drawing, cost: Cost, measure: Counted) -> Drawing:
    """The heat map of a graph by what its bindings cost for the lengths of the cost; those that nobody gave count as `PROBE`."""
    chosen = dict.fromkeys(cost.dims, PROBE) | dict(cost.lengths)
    numbers = {row.binding: _counted_amount(cost, row, measure, chosen) for row in cost.bindings}
    amounts = [
        _together(
            [
                numbers[source]
                for source in node.sources
                if isinstance(source, e.VarBinding | e.MatchCast) and source in numbers
            ],
            measure,
        )
        for node in drawing.nodes
    ]
    whole = (
        cost.peak.amount
        if measure == "peak"
        else cost.work.total.flops
        if measure == "flops"
        else cost.work.total.moved
    )
    drawing = _coloured(drawing, amounts, float(value(whole, chosen) or 0), measure)
    named = dict.fromkeys(f"{var.name} = {length}" for var, length in chosen.items())
    doubts = [f"not counted: {', '.join(cost.unknown[:3])}"] if cost.unknown else []
    notes = [*([f"for {', '.join(named)}"] if named else []), *doubts]
    return replace(drawing, notes=(drawing.notes[0], *notes, *drawing.notes[1:]))


def _counted_amount(cost: Cost, row: BindingWork, measure: Counted, lengths: Lengths) -> float | None:
    """The FLOPs or bytes of a binding."""
    if measure == "peak":
        held = cost.held(row.binding)
        poly = None if held is None else held.polynomial
    else:
        poly = row.work.flops if measure == "flops" else row.work.moved
    number = None if poly is None else value(poly, lengths)
    return None if number is None else float(number)


def _together(amounts: Sequence[float | None], measure: Counted) -> float | None:
    """The amount of a node that stands for several bindings: their sum, or the most that is held."""
    known = [amount for amount in amounts if amount is not None]
    if not known:
        return None
    return max(known) if measure == "peak" else sum(known)


def _coloured(drawing: Drawing, amounts: Sequence[float | None], whole: float, measure: Measure) -> Drawing:
    """The graph with the amounts of its nodes, as shares of the largest one."""
    most = max([amount for amount in amounts if amount is not None], default=0.0)
    nodes = tuple(
        node if amount is None else _heated(node, amount, most, whole, measure)
        for node, amount in zip(drawing.nodes, amounts, strict=True)
    )
    steps = [most * (level + 1) / HEAT_LEVELS for level in range(HEAT_LEVELS)]
    legend = tuple(
        (f"heat-{level}", f"up to {amount_text(step, measure)}") for level, step in enumerate(steps)
    )
    note = f"{_TOLD[measure]}, {amount_text(whole, measure)} {'at most' if measure == 'peak' else 'in all'}"
    return replace(drawing, nodes=nodes, legend=legend, notes=(note, *drawing.notes))


def _amount(node: Node, times: BindingTimes, measure: Measure) -> float | None:
    """The seconds or bytes of a node; None if it did not run."""
    own = [source for source in node.sources if not is_copy(source)]  # which hold no bytes of their own
    rows = [
        times.rows[source]
        for source in (own or node.sources)
        if isinstance(source, (e.VarBinding, e.MatchCast)) and source in times.rows
    ]
    if not rows:
        return None
    return sum([row.inclusive if measure != "bytes" else float(row.size) for row in rows])


def _heated(node: Node, amount: float, most: float, whole: float, measure: Measure) -> Node:
    level = min(HEAT_LEVELS - 1, int(HEAT_LEVELS * amount / most)) if most else 0
    if not amount and measure in COUNTED_WORDS:  # as most of its neighbours
        return replace(node, heat=level)
    share = f" {100 * amount / whole:.0f}%" if whole else ""
    text = f"{amount_text(amount, measure)}{share}"
    return replace(node, heat=level, badge=f"{node.badge}  {text}" if node.badge else text)


def amount_text(amount: float, measure: Measure) -> str:
    """`1.5 ms` or `2.0 KiB`: three digits in the unit that fits."""
    units = {"bytes": _SIZES, "moved": _SIZES, "peak": _SIZES, "flops": _COUNTS}.get(measure, _UNITS)
    size, name = next(((size, name) for size, name in reversed(units) if amount >= size), units[0])
    return f"{amount / size:.3g} {name}"


# -- check cost text -------------------------------------------------------------------------------------------------
# What checks cost in a run, as text: of one check, and of the places that cost most.


def spent_text(spent: Spent) -> str:
    """`3 times, 12.1 µs, 4 KiB`."""
    return f"{counted(spent.times, 'time')}, {amount_text(spent.seconds, 'time')}, {amount_text(spent.size, 'bytes')}"


def call_text(check: ShapeCheck, costs: Costs) -> str:
    """What the call of a check did in all, `the call: 3 times, 1.2 ms, 64 KiB`; "" if its place is no call."""
    call = costs.by_binding.get(id(check.place))
    is_call = isinstance(check.place, e.Binding) and isinstance(check.place.value, e.Call)
    return f"the call: {spent_text(call)}" if call is not None and is_call else ""


def share_text(costs: Costs) -> str:
    """`checks took 35.1 µs of 210 µs (17 %)`."""
    share = f" ({100 * costs.checking / costs.seconds:.0f} %)" if costs.seconds else ""
    whole = amount_text(costs.seconds, "time")
    return f"checks took {amount_text(costs.checking, 'time')} of {whole}{share}"


def site_rows(sites: Sequence[Site]) -> list[list[str]]:
    """The columns of a table of places: time of the checks, times, bytes, time of the call, the place, what is checked there."""
    return [
        [
            amount_text(site.spent.seconds, "time"),
            str(site.spent.times),
            amount_text(site.spent.size, "bytes"),
            "" if site.call is None else amount_text(site.call.seconds, "time"),
            _place(site.checks[0]),
            _conditions(site.checks),
        ]
        for site in sites
    ]


HEADS = ("checks", "times", "bytes", "call", "place", "left to the run")


def _place(check: ShapeCheck) -> str:
    if check.kind == PARAMETERS:
        return f"{check.function}: each call from outside"
    if check.kind == RESULT:
        return f"{check.function}: the result"
    span = getattr(check.place, "span", None)
    var = getattr(check.place, "var", None)
    name = f"{var.name}, {check.word}" if var is not None else check.word
    return f"{check.function}: {name}{'' if span is None else f', line {span.line}'}"


def _conditions(checks: Sequence[ShapeCheck]) -> str:
    """The first condition, and how many more there are."""
    more = len(checks) - 1
    return checks[0].text + (f" and {more} more" if more else "")
