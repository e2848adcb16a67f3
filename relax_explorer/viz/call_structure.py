"""The call structure of a module: which function calls which, and the groups of functions that call themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from relax_explorer.core.check.call_graph import call_graph, components, is_recursive, reached
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings, exprs
from relax_explorer.core.passes import phase_table
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.viz.drawing import Drawing
from relax_explorer.viz.graph import Cluster, Edge, EdgeKind, Kind, Mark, Node

_KINDS = {
    Kind.FUNCTION: "public function",
    Kind.PRIVATE: "private function",
    Kind.PRIM_FUNC: "PrimFunc",
    Kind.PACKED: "packed function",
}
MOST_KERNELS = 60
"""With more PrimFuncs than this, each Relax function counts those that it calls."""
_OF_A_CALL = frozenset({
    "relax.call_tir", "relax.call_tir_inplace", "relax.call_tir_with_grad", "relax.call_dps_packed", "relax.call_pure_packed",
    "relax.call_inplace_packed", "relax.invoke_closure", "relax.invoke_pure_closure", "relax.vm.call_tir_dyn",
})  # fmt: skip
"""Operators that call their first operand."""
Counts = Counter[tuple[str, str]]
"""How often a function calls others, by the kind of the callee (function of the module, or packed) and its name."""
Calls = tuple[Counts, tuple[str, ...]]
"""What a function calls, and the functions that it hands on as values."""


def call_structure(module: IRModule, marks: Mapping[str, Mark] | None = None) -> Drawing:
    """The functions of a module and the packed functions that it calls, with an edge for each pair that calls.

    A group of functions that reach each other, and a function that calls itself, stands in a cluster of its own. `marks` are
    remarks on functions by name.
    """
    calls = {name: _called(fn) for name, fn in module.relax_functions.items()}
    groups = dict(_groups(module))
    clusters = tuple(dict.fromkeys(groups.values()))
    folds = len(module.functions) - len(calls) > MOST_KERNELS
    nodes = tuple(_nodes(module, calls, groups, marks or {}, folds))
    kinds = {node.kind for node in nodes}
    legend = tuple((str(kind), text) for kind, text in _KINDS.items() if kind in kinds)
    notes = [cluster.title for cluster in clusters]
    if folds:
        notes.append("PrimFuncs are counted where they are called")
    known = {node.id for node in nodes}
    edges = tuple(edge for edge in _edges(calls) if edge.target in known)
    return Drawing("Calls", nodes, edges, clusters, tuple(notes), legend)


def _nodes(
    module: IRModule,
    calls: Mapping[str, Calls],
    groups: Mapping[str, Cluster],
    marks: Mapping[str, Mark],
    folds: bool,
) -> Iterator[Node]:
    seen = _reached(module, calls)
    kernels = frozenset(module.functions).difference(calls) if folds else frozenset()
    for name, fn in module.functions.items():
        if name in kernels:
            continue
        kind, size = Kind.PRIM_FUNC, ""
        if isinstance(fn, e.Function):
            kind = Kind.FUNCTION if "global_symbol" in fn.attrs else Kind.PRIVATE
            size = _size(fn, calls[name][0], kernels)
        lines = [size] if size else []
        if name not in seen:
            lines.append("not reached from a public function")
        cluster = groups[name].id if name in groups else None
        held = frozenset({marks[name]}) if name in marks else frozenset()
        badge = "recursive" if cluster else ""
        yield Node(name, name, tuple(lines), kind, size, cluster=cluster, marks=held, badge=badge)
    packed = dict.fromkeys(
        name for direct, _ in calls.values() for kind_, name in direct if kind_ == "packed"
    )
    for name in packed:
        yield Node(f"packed {name}", name, ("packed function",), Kind.PACKED)


def _edges(calls: Mapping[str, Calls]) -> Iterator[Edge]:
    for name, (direct, passed) in calls.items():
        for (kind, other), count in direct.items():
            label = f"{count} calls" if count > 1 else ""
            yield Edge(name, f"packed {other}" if kind == "packed" else other, label)
        for other in passed:
            yield Edge(name, other, "as a value", EdgeKind.ORDER)


def _reached(module: IRModule, calls: Mapping[str, Calls]) -> set[str]:
    """The functions that a call of a public function may run, and the public ones."""
    functions = module.relax_functions
    public = [name for name, fn in functions.items() if "global_symbol" in fn.attrs]
    found = {other for name in public for other in reached(module, name)}
    found |= {
        other
        for name in found
        for other in (*[of for kind, of in calls[name][0] if kind == "function"], *calls[name][1])
    }
    outside = (
        name for name, fn in module.functions.items() if isinstance(fn, PrimFunc) and not fn.is_private
    )
    return found.union(outside)


def _groups(module: IRModule) -> Iterator[tuple[str, Cluster]]:
    """The recursive groups, by the names of their functions."""
    graph = call_graph(module)
    for group in components(graph):
        if is_recursive(group, graph):
            names = [name for name in module.functions if name in group]
            title = f"recursive: {names[0]}" if len(names) == 1 else f"recursive group: {', '.join(names)}"
            cluster = Cluster(f"group {names[0]}", title)
            yield from ((name, cluster) for name in names)


def _size(fn: e.Function, calls: Counts, folded: frozenset[str]) -> str:
    """How much a Relax function holds."""
    held = list(bindings(fn))
    nested = sum(type(binding.value) is e.Function for binding in held)
    inside = sum(name in folded for _, name in calls)
    counts = ((len(held), "binding"), (nested, "nested function"), (inside, "PrimFunc"))
    shown = [
        f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in counts if count or noun == "binding"
    ]
    return ", ".join(shown)


def _called(fn: e.Function) -> Calls:
    """How often a function calls others, and the functions that it only hands on."""
    calls: Counts = Counter()
    mentioned: Counter[str] = Counter()
    for expr in exprs(fn):
        if type(expr) is e.GlobalVar:
            mentioned[expr.name] += 1
        elif type(expr) is e.Call:
            callee = (
                expr.args[0]
                if type(expr.op) is e.OpRef and expr.op.name in _OF_A_CALL and expr.args
                else expr.op
            )
            if type(callee) is e.GlobalVar:
                calls["function", callee.name] += 1
            elif type(callee) is e.ExternFunc:
                calls["packed", callee.name] += 1
    passed = [name for name, count in mentioned.items() if count > calls["function", name]]
    return +calls, tuple(passed)


# -- phase graph -----------------------------------------------------------------------------------------------------
# A picture of the order of passes: which pass establishes a property, and which pass asks for it.


def phase_graph() -> Drawing:
    """The passes and the properties that some pass establishes, with an edge for each entry of their contracts."""
    rows = [row for row in phase_table.properties() if row.makers and row.of not in phase_table.ALWAYS]
    passes = dict.fromkeys(name for row in rows for name in (*row.makers, *row.needed_by, *row.required_by))
    nodes = [Node(f"pass {name}", name, kind=Kind.OPERATOR) for name in passes]
    nodes += [Node(row.of.name, row.of.name, (row.of.meaning,), Kind.OUTPUT) for row in rows]
    edges = []
    for row in rows:
        edges += [Edge(f"pass {name}", row.of.name, "establishes") for name in row.makers]
        edges += [Edge(row.of.name, f"pass {name}", "needed", EdgeKind.ORDER) for name in row.needed_by]
        edges += [Edge(row.of.name, f"pass {name}", "required", EdgeKind.SHAPE) for name in row.required_by]
    return Drawing("Order of passes", tuple(nodes), tuple(edges))
