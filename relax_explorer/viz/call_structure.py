"""The call structure of a module: which function calls which, and the groups of functions that call themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from relax_explorer.core.check.call_graph import call_graph, components, is_recursive, reached
from relax_explorer.core.check.storage import BOOKKEEPING
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings, exprs
from relax_explorer.core.passes import phase_table
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.viz.compact import OpClass, of_packed
from relax_explorer.viz.drawing import Drawing
from relax_explorer.viz.folding import MOST_LINES
from relax_explorer.viz.graph import Cluster, Edge, EdgeKind, Kind, Mark, Node
from relax_explorer.viz.kernel_class import of_function
from relax_explorer.viz.visible import counted

_KINDS = {
    Kind.FUNCTION: "public function",
    Kind.PRIVATE: "private function",
    Kind.PRIM_FUNC: "PrimFunc",
    Kind.PACKED: "packed function",
}
MOST_KERNELS = 12
"""With more PrimFuncs than this, those that a function calls are one node for each class of kernels."""
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
    held = marks or {}
    folds = len(module.functions) - len(calls) > MOST_KERNELS
    kernels = _folded(module, calls, held) if folds else {}
    nodes = (*_nodes(module, calls, groups, held, folds), *kernels.values())
    looks = dict.fromkeys(node.look for node in nodes)
    classes = {
        look: f"kernel: {item.word}" for item in OpClass if (look := f"is-{item.name.lower()}") in looks
    }
    legend = (*((str(kind), text) for kind, text in _KINDS.items() if kind in looks), *classes.items())
    notes = [cluster.title for cluster in clusters]
    if folds:
        notes.append("kernels and builtins of memory stand together by class")
    known = {node.id for node in nodes}
    edges = [edge for edge in _edges(calls) if edge.target in known]
    edges += [Edge(caller, node.id, node.shape_text) for (caller, _), node in kernels.items() if caller]
    return Drawing("Calls", nodes, tuple(edges), clusters, tuple(notes), legend)


def _folded(
    module: IRModule, calls: Mapping[str, Calls], marks: Mapping[str, Mark]
) -> dict[tuple[str, OpClass], Node]:
    """The kernels that each function calls, and the builtins of memory, by class. Kernels that none calls have the caller \"\"."""
    found: dict[tuple[str, OpClass], Counts] = {}
    left = {name: None for name in module.functions if name not in calls}
    for caller, (direct, passed) in calls.items():
        for (kind, name), count in (*direct.items(), *[(("function", name), 1) for name in passed]):
            own = _class_of(kind, name, module)
            if own is not None:
                left.pop(name, None)
                found.setdefault((caller, own), Counter())[kind, name] += count
    for name in left:
        found.setdefault(("", _class_of("function", name, module) or OpClass.OTHER), Counter())[
            "function", name
        ] = 0
    return {key: _group_of_kernels(*key, counts, marks) for key, counts in found.items()}


def _class_of(kind: str, name: str, module: IRModule) -> OpClass | None:
    """The class of what is folded: of kernels and of builtins of memory; None for other functions."""
    if kind == "packed":
        return OpClass.MEMORY if of_packed(name) is OpClass.MEMORY or name in BOOKKEEPING else None
    return of_function(name, module) if isinstance(module.functions.get(name), PrimFunc) else None


def _group_of_kernels(caller: str, own: OpClass, counts: Counts, marks: Mapping[str, Mark]) -> Node:
    names = [name for _, name in counts]
    noun = "builtin" if own is OpClass.MEMORY else "kernel"
    title = f"{counted(len(names), noun)}: {own.word}"
    lines = [name if count < 2 else f"{name} ×{count}" for (_, name), count in counts.items()]
    more = [f"and {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
    calls = sum(counts.values())
    kind = Kind.PACKED if own is OpClass.MEMORY else Kind.PRIM_FUNC
    return Node(
        f"{caller} {own.name.lower()}",
        title,
        (*(["not called"] * (not calls)), *lines[:MOST_LINES], *more),
        kind,
        detail="\n".join(lines),
        marks=frozenset({Mark.CHANGED}) if any(name in marks for name in names) else frozenset(),
        family=own.name.lower(),
        shape_text=counted(calls, "call") if calls else "not called",
        sources=tuple(names),
    )


def _nodes(
    module: IRModule,
    calls: Mapping[str, Calls],
    groups: Mapping[str, Cluster],
    marks: Mapping[str, Mark],
    folds: bool,
) -> Iterator[Node]:
    seen = _reached(module, calls)
    for name, fn in module.functions.items():
        kind, size = Kind.PRIM_FUNC, ""
        if isinstance(fn, e.Function):
            kind = Kind.FUNCTION if "global_symbol" in fn.attrs else Kind.PRIVATE
            size = _size(fn)
        elif folds:
            continue
        lines = [size] if size else []
        if name not in seen:
            lines.append("not reached from a public function")
        cluster = groups[name].id if name in groups else None
        held = frozenset({marks[name]}) if name in marks else frozenset()
        badge, family = "recursive" if cluster else "", of_function(name, module).name.lower()
        yield Node(
            name, name, tuple(lines), kind, size, cluster=cluster, marks=held, badge=badge, family=family
        )
    packed = dict.fromkeys(
        name for direct, _ in calls.values() for kind_, name in direct if kind_ == "packed"
    )
    for name in packed:
        if not folds or _class_of("packed", name, module) is None:
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


def _size(fn: e.Function) -> str:
    """How much a Relax function holds."""
    held = list(bindings(fn))
    nested = sum(type(binding.value) is e.Function for binding in held)
    return ", ".join([counted(len(held), "binding"), *([counted(nested, "nested function")] * bool(nested))])


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
