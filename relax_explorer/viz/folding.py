"""Folds a graph: weights and constants into their readers, and layers that follow each other and compute the same."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import facts
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.walk import bindings, contents
from relax_explorer.viz.drawing import Drawing
from relax_explorer.viz.graph import Cluster, Edge, Graph, Kind, Node
from relax_explorer.viz.value_graph import VIEW

APART_FROM = 100  # nodes from which on a weight is drawn at each of its readers
FROM = 9  # weights from which on they are folded without being asked
MOST_LINES = 4  # folded values that a node names


def fields_of_weights(fn: e.Function, packed: Collection[e.Var]) -> dict[e.Binding, e.Var]:
    """The bindings that take a field of a parameter that is a tuple of weights, each with the parameter."""
    if e.TupleGetItem not in contents(fn).values or not packed:
        return {}
    return {
        binding: value.tuple
        for binding in bindings(fn)
        if type(value := binding.value) is e.TupleGetItem
        and isinstance(value.tuple, e.Var)
        and value.tuple in packed
    }


def eased(drawing: Drawing, names: Collection[str], weights: str) -> Drawing:
    """The graph with weights folded (fold), as nodes (nodes), folded if there are many (auto), or as it is (whole)."""
    count = len(names) + sum([node.kind is Kind.CONSTANT for node in drawing.nodes])
    if weights == "fold" or (weights == "auto" and count >= FROM):
        return folded(drawing, names)
    is_large = weights != "whole" and len(drawing.nodes) >= APART_FROM
    return at_each_reader(drawing) if is_large else drawing


def folded(drawing: Drawing, names: Collection[str]) -> Drawing:
    """The graph with these parameters, and all constants, as lines of the nodes that read them."""
    gone = {
        node.id for node in drawing.nodes
        if node.kind is Kind.CONSTANT or (node.kind is Kind.PARAMETER and node.title in names)
    }  # fmt: skip
    read: dict[str, list[Node]] = defaultdict(list)
    for edge in drawing.edges:
        if edge.source in gone:
            read[edge.target].append(drawing.node(edge.source))
    nodes = tuple(
        _with_lines(node, read[node.id]) if node.id in read else node
        for node in drawing.nodes
        if node.id not in gone
    )
    edges = tuple(edge for edge in drawing.edges if edge.source not in gone)
    note = f"{len(gone)} weights and constants are lines of their readers" if gone else ""
    return replace(drawing, nodes=nodes, edges=edges, notes=(*drawing.notes, *([note] if note else [])))


def at_each_reader(drawing: Drawing) -> Drawing:
    """The graph with a copy of each parameter and constant for every reader. Long lines from shared weights take minutes to lay out."""
    readers: dict[str, list[int]] = defaultdict(list)
    leaves = {node.id: node for node in drawing.nodes if node.kind in (Kind.PARAMETER, Kind.CONSTANT)}
    for number, edge in enumerate(drawing.edges):
        if edge.source in leaves:
            readers[edge.source].append(number)
    edges: list[Edge] = list(drawing.edges)
    copies: dict[str, list[Node]] = {}
    taken = {node.id for node in drawing.nodes}
    for name, numbers in readers.items():
        for number in numbers[1:]:
            edge = drawing.edges[number]
            copy = f"{name}@{edge.target}"
            while copy in taken:
                copy += "'"
            taken.add(copy)
            beside = replace(leaves[name], id=copy, cluster=drawing.node(edge.target).cluster)
            copies.setdefault(name, []).append(beside)
            edges[number] = replace(edge, source=copy)
    if not copies:
        return drawing
    nodes = tuple(item for node in drawing.nodes for item in (node, *copies.get(node.id, ())))
    note = f"{len(copies)} weights and constants are drawn at each reader"
    return replace(drawing, nodes=nodes, edges=tuple(edges), notes=(*drawing.notes, note))


def _with_lines(node: Node, values: list[Node]) -> Node:
    own = tuple(f"{value.title} {value.shape_text}" for value in dict.fromkeys(values))
    more = (f"and {len(own) - MOST_LINES} more",) if len(own) > MOST_LINES else ()
    detail = "\n".join([node.detail, *[f"reads {text}" for text in own]])
    return replace(node, lines=(*node.lines, *own[:MOST_LINES], *more), detail=detail)


# -- inside ----------------------------------------------------------------------------------------------------------
# What a called function computes, drawn in place of the call as a cluster.


RESULT = "return"


@dataclass(frozen=True, slots=True)
class Inside:
    """Parts of a larger graph. Edges may begin at nodes outside."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    clusters: tuple[Cluster, ...]


def frame_of(call: str) -> str:
    """The cluster of the inside of a call."""
    return f"{call}.inside"


def placed_inside(
    callee: Graph, call: str, title: str, cluster: str | None, arguments: Mapping[str, str], taken: set[str]
) -> Inside:
    """The graph of a callee under new names, inside a new cluster within `cluster`.

    `arguments` names the nodes outside that stand for parameters of the callee. The node `call` stands for its result. `taken` are
    the names that others have; the new ones are added.
    """
    frame, prefix = frame_of(call), f"{call}/"
    while any(f"{prefix}{node.id}" in taken for node in callee.nodes):
        prefix += "'"
    taken.update(f"{prefix}{node.id}" for node in callee.nodes)
    names = {node.id: f"{prefix}{node.id}" for node in callee.nodes} | {RESULT: call} | dict(arguments)
    nodes = [
        replace(node, id=names[node.id], cluster=frame if node.cluster is None else f"{prefix}{node.cluster}")
        for node in callee.nodes
        if node.id != RESULT and node.id not in arguments
    ]
    edges = [replace(edge, source=names[edge.source], target=names[edge.target]) for edge in callee.edges]
    inner = [
        Cluster(f"{prefix}{item.id}", item.title, frame if item.parent is None else f"{prefix}{item.parent}")
        for item in callee.clusters
    ]
    return Inside(tuple(nodes), tuple(edges), (Cluster(frame, title, cluster), *inner))


# -- repeats ---------------------------------------------------------------------------------------------------------
# Finds layers: pieces of a function that follow each other, compute the same, and feed each other the same way.
#
# Pieces are equal if their bindings have the same operators, attributes, StructInfo and wiring. Only names and
# weights may differ: parameters, fields of a tuple parameter, and constants of floats. A value that leaves a piece
# goes to the next piece, or to the same readers from every piece; the last piece may have more readers.


LEAST_LENGTH = 3  # bindings of a piece
LEAST_SAVED = 12  # bindings that need not be shown
_MOST_LENGTHS = 48  # lengths that are tried
_MOST_STARTS = 6  # starts that are tried for a length
_DEEPEST = 20  # nesting of a value
_WEIGHT_KINDS = "fV"  # kinds of dtypes that weights have; V holds bfloat16 and float8

Slot = tuple[str, object]


@dataclass(frozen=True, slots=True)
class Repeat:
    """`count` equal pieces of `length` bindings. `carried` are the positions in a piece of what the next piece reads."""

    bindings: tuple[e.Binding, ...]
    length: int
    count: int
    carried: tuple[int, ...]


def repeats(fn: e.Function) -> list[Repeat]:
    """The repeated pieces of a function, in text order. They do not overlap, and none crosses a block."""
    return _REPEATS.of(fn, _repeats)


_REPEATS: PerNode[list[Repeat]] = PerNode()


def _repeats(fn: e.Function) -> list[Repeat]:
    found: list[Repeat] = []
    for block in fn.body.blocks:
        if len(block.bindings) >= LEAST_SAVED + LEAST_LENGTH:
            found += _Block(fn, block.bindings).repeats()
    return found


class _Block:
    """A block with what the search needs: a key, the operands, and the readers of each binding."""

    def __init__(self, fn: e.Function, bindings: tuple[e.Binding, ...]) -> None:
        self.bindings = bindings
        self.place = {binding.var: at for at, binding in enumerate(bindings) if binding.var is not None}
        self.weights = set(fn.params)
        self.slots: list[list[e.Var]] = []
        numbers: dict[Hashable, int] = {}
        self.keys: list[int] = []
        for binding in bindings:
            slots: list[e.Var] = []
            key = _key(binding, slots)
            self.keys.append(numbers.setdefault(key, len(numbers)))
            self.slots.append(slots)
            value = binding.value
            if type(value) is e.TupleGetItem and value.tuple in self.weights and binding.var is not None:
                self.weights.add(binding.var)
                self.keys[-1] = numbers.setdefault(("field", binding.var.struct_info), len(numbers))
                slots.clear()
        derived = facts(fn)
        first = derived.number[bindings[0]]
        self.readers = [
            frozenset(number - first for number in derived.users(binding.var)) if binding.var is not None else frozenset()
            for binding in bindings
        ]  # fmt: skip

    def repeats(self) -> list[Repeat]:
        """The repeated pieces, the longest stretches first served."""
        taken = bytearray(len(self.keys))
        chosen: list[tuple[int, Repeat]] = []
        for length in self._lengths():
            for start, end in self._stretches(length, taken):
                for first, repeat in self._best(start, end, length):
                    taken[first : first + repeat.length * repeat.count] = b"\x01" * (
                        repeat.length * repeat.count
                    )
                    chosen.append((first, repeat))
        return [repeat for _, repeat in sorted(chosen, key=lambda item: item[0])]

    def _lengths(self) -> list[int]:
        """Lengths that pieces may have, best first: distances at which most keys repeat."""
        last: dict[int, int] = {}
        gaps: Counter[int] = Counter()
        for at, key in enumerate(self.keys):
            if key in last:
                gaps[at - last[key]] += 1
            last[key] = at
        likely = [gap for gap, _ in gaps.most_common(_MOST_LENGTHS) if gap >= LEAST_LENGTH]
        keys = self.keys
        equal = {gap: sum([x == y for x, y in zip(keys, keys[gap:], strict=False)]) for gap in likely}
        return sorted(likely, key=lambda gap: (-equal[gap], gap))

    def _stretches(self, length: int, taken: bytearray) -> Iterator[tuple[int, int]]:
        """Stretches of free bindings in which every key is that of the binding `length` later."""
        keys, start = self.keys, 0
        count = len(keys) - length
        for at in range(count + 1):
            if at < count and keys[at] == keys[at + length] and not taken[at] and not taken[at + length]:
                continue
            if at - start >= length:
                yield start, at + length
            start = at + 1

    def _best(self, start: int, end: int, length: int) -> list[tuple[int, Repeat]]:
        """The repeats in a stretch from the start at which least values cross to the next piece."""
        shifts = sorted(range(length), key=lambda shift: (self._crossing(start + shift, length), shift))
        best: list[tuple[int, Repeat]] = []
        saved = LEAST_SAVED - 1
        for shift in shifts[:_MOST_STARTS]:
            found = self._verified(start + shift, (end - start - shift) // length, length)
            total = sum(repeat.length * (repeat.count - 1) for _, repeat in found)
            if total > saved:
                best, saved = found, total
        return best

    def _crossing(self, start: int, length: int) -> int:
        """The number of values of the piece at `start` that are read behind it."""
        end = start + length
        return sum(any(reader >= end for reader in self.readers[at]) for at in range(start, end))

    # -- verification ---------------------------------------------------------------------------------------------

    def _verified(self, start: int, count: int, length: int) -> list[tuple[int, Repeat]]:
        """The longest runs of equal pieces among `count` pieces."""
        found, first = [], 0
        while first < count - 1:
            last = first
            while last + 1 < count and self._follows(start, length, first, last):
                last += 1
            while last > first and not self._leaves(start, length, first, last):
                last -= 1
            pieces = last - first + 1
            if length * (pieces - 1) >= LEAST_SAVED:
                at = start + first * length
                held = self.bindings[at : at + pieces * length]
                found.append((at, Repeat(held, length, pieces, self._carried(at, length))))
            first = last + 1
        return found

    def _follows(self, start: int, length: int, first: int, piece: int) -> bool:
        """True if the next piece continues the run from `first` to `piece`."""
        at = start + piece * length
        if piece > first and self._outside(at, length) != self._outside(start + first * length, length):
            return False
        return self._same_wiring(at, length, piece == first)

    def _leaves(self, start: int, length: int, first: int, last: int) -> bool:
        """True if the last piece has the readers of the others, and perhaps more."""
        others = self._outside(start + first * length, length)
        own = [self.readers[start + last * length + at] for at in range(length)]
        return all(few <= more for few, more in zip(others, own, strict=True))

    def _outside(self, at: int, length: int) -> list[frozenset[int]]:
        """For each binding of a piece its readers outside of the piece and the next one."""
        return [
            frozenset(reader for reader in self.readers[at + k] if not at <= reader < at + 2 * length)
            for k in range(length)
        ]

    def _same_wiring(self, at: int, length: int, is_first: bool) -> bool:
        """True if the piece at `at` and the next read the same, up to weights, and the next reads this one."""
        matched = _Matched(self.weights)
        for k in range(length):
            for left, right in zip(self.slots[at + k], self.slots[at + length + k], strict=True):
                one = self._slot(left, at, length, is_first)
                other = self._slot(right, at + length, length, False)
                if is_first and other[0] == "before" and one[0] == "outside":
                    equal = matched.initial.setdefault(other[1], left) is left
                elif one[0] == other[0] == "outside":
                    equal = matched.outside(left, right)
                else:
                    equal = one == other
                if not equal:
                    return False
        return self._is_chain(at, length)

    def _is_chain(self, at: int, length: int) -> bool:
        """True if what the piece at `at` hands on is computed in the next piece from what that one was handed."""
        derived: set[object] = set()
        for k in range(length):
            slots = [self._slot(var, at + length, length, False) for var in self.slots[at + length + k]]
            if any(kind == "before" or (kind == "inside" and place in derived) for kind, place in slots):
                derived.add(k)
        return not derived.isdisjoint(self._carried(at, length))

    def _slot(self, var: e.Var, at: int, length: int, is_first: bool) -> Slot:
        """Where an operand of the piece at `at` comes from: inside, the piece before, or outside."""
        place = self.place.get(var)
        if place is not None and at <= place < at + length:
            return "inside", place - at
        if place is not None and not is_first and at - length <= place < at:
            return "before", place - at + length
        return "outside", None

    def _carried(self, at: int, length: int) -> tuple[int, ...]:
        """The positions in the piece at `at` that the next piece reads."""
        following = range(at + length, at + 2 * length)
        return tuple(k for k in range(length) if any(reader in following for reader in self.readers[at + k]))


class _Matched:
    """The values from outside that two pieces read at the same places, and what the first piece reads in place of one before."""

    def __init__(self, weights: set[e.Var]) -> None:
        self.weights = weights
        self.initial: dict[object, e.Var] = {}
        self.partner: dict[e.Var, e.Var] = {}
        self.back: dict[e.Var, e.Var] = {}

    def outside(self, left: e.Var, right: e.Var) -> bool:
        """True if both are one value, or weights that are read at the same places."""
        if left is not right and not (left in self.weights and right in self.weights):
            return False
        return self.partner.setdefault(left, right) is right and self.back.setdefault(right, left) is left


def _key(binding: e.Binding, slots: list[e.Var]) -> Hashable:
    """The operation of a binding without the names of its operands, which are added to `slots`.

    Bindings with nested functions or branches, and those of unknown StructInfo, are equal to no other.
    """
    var = binding.var
    if type(binding) is not e.VarBinding or var is None or var.struct_info is None:
        return object()
    value = _value_key(binding.value, slots, 0)
    return object() if value is None else (var.struct_info, value)


def _value_key(value: e.Expr, slots: list[e.Var], depth: int) -> Hashable | None:
    """The key of a value; None if it has none."""
    if isinstance(value, e.Var):
        slots.append(value)
        return None if value.struct_info is None else ("value", value.struct_info)
    if depth > _DEEPEST:
        return None
    if depth and type(value) is e.Call and value.op is VIEW:  # a reshape that is part of its reader
        _value_key(value.args[0], slots, depth + 1)
        return None if value.struct_info is None else ("value", value.struct_info)
    if type(value) is e.Constant:
        return _constant_key(value)
    head = _head(value)
    if head is None:
        return None
    parts = value.args if type(value) is e.Call else value.fields if type(value) is e.Tuple else ()
    parts = (value.tuple,) if type(value) is e.TupleGetItem else parts
    keys = [_value_key(part, slots, depth + 1) for part in parts]
    return None if None in keys else (type(value).__name__, head, *keys)


def _head(value: e.Expr) -> Hashable | None:
    """What a value is, without its operands."""
    match value:
        case e.Call(op=e.OpRef() | e.GlobalVar() | e.ExternFunc() as op):
            return (type(op), op.name, value.attrs, value.sinfo_args)
        case e.TupleGetItem():
            return value.index
        case e.Tuple():
            return len(value.fields)
        case e.ShapeExpr():
            return value.values
        case e.PrimValue() | e.StringImm() | e.DataTypeImm():
            return value.value
        case e.GlobalVar() | e.ExternFunc():
            return value.name
    return None


def _constant_key(value: e.Constant) -> Hashable | None:
    """Scalars and integers count by their elements; arrays of floats are weights."""
    data = value.data
    if data is None or value.struct_info is None:
        return None
    if data.ndim and data.dtype.kind in _WEIGHT_KINDS:
        return ("weight", value.struct_info)
    return ("constant", value.struct_info, data.tobytes())


def pieces(repeat: Repeat) -> Iterator[tuple[e.Binding, ...]]:
    """The bindings of each of the equal pieces of a repeat, in order."""
    bounds = range(0, repeat.length * repeat.count + 1, repeat.length)
    return (repeat.bindings[start:end] for start, end in pairwise(bounds))


# -- repeat folding --------------------------------------------------------------------------------------------------
# Draws equal layers once: the first one stands for all, in a cluster that tells how many there are.


def layers_once(drawing: Drawing, repeats: list[Repeat]) -> Drawing:
    """The graph with the first piece of each repeat in place of all."""
    for number, repeat in enumerate(repeats):
        drawing = _folded(drawing, repeat, f"repeat{number}")
    return drawing


def _folded(drawing: Drawing, repeat: Repeat, cluster: str) -> Drawing:
    held = {id(node.sources[0]): node.id for node in drawing.nodes if node.sources and "/" not in node.id}
    rows = [[held.get(id(binding), "") for binding in piece] for piece in pieces(repeat)]
    if any("" in row for row in rows):  # another block is not drawn
        return drawing
    shown = {other: first for row in rows for first, other in zip(rows[0], row, strict=True)}
    gone = {name for row in rows[1:] for name in row}
    frames = {frame_of(name) for name in gone}
    closed = {item.id for item in drawing.clusters if frames.intersection(drawing.cluster_path(item.id))}
    gone |= {node.id for node in drawing.nodes if node.cluster in closed}
    gone |= _only_for(drawing, gone)
    parents = {_outer(drawing, name) for name in rows[0]}
    around = cluster if len(parents) == 1 else None
    members = {first: [drawing.node(row[k]) for row in rows] for k, first in enumerate(rows[0])}
    nodes = [
        _standing(node, members[node.id], around) if node.id in members else node
        for node in drawing.nodes
        if node.id not in gone
    ]
    edges = dict.fromkeys(
        replace(edge, source=shown.get(edge.source, edge.source))
        for edge in drawing.edges
        if edge.target not in gone and (edge.source not in gone or edge.source in shown)
    )
    carried = ", ".join(rows[0][k] for k in repeat.carried)
    count, length = repeat.count, repeat.length
    note = f"{count} equal layers of {length} bindings are drawn once (×{count}); each reads {carried} of the one before"
    own = {frame_of(name) for name in rows[0]}
    clusters = [
        replace(item, parent=around) if item.id in own and around is not None else item
        for item in drawing.clusters
        if item.id not in closed
    ]
    if around is not None:
        clusters.append(Cluster(around, f"×{count}: each layer reads {carried} of the one before", *parents))
    notes = (*drawing.notes, note)
    return replace(drawing, nodes=tuple(nodes), edges=tuple(edges), clusters=tuple(clusters), notes=notes)


def _outer(drawing: Drawing, name: str) -> str | None:
    """The cluster around a node, that of its inside not counted."""
    path = [item for item in drawing.cluster_path(drawing.node(name).cluster) if item != frame_of(name)]
    return path[-1] if path else None


def _only_for(drawing: Drawing, gone: set[str]) -> set[str]:
    """The weights and constants that only hidden nodes read."""
    readers: dict[str, list[Edge]] = {}
    for edge in drawing.edges:
        readers.setdefault(edge.source, []).append(edge)
    fed: dict[str, list[Edge]] = {}
    for edge in drawing.edges:
        fed.setdefault(edge.target, []).append(edge)
    return {
        name for name, found in readers.items()
        if all(edge.target in gone for edge in found) and _is_given(drawing, drawing.node(name), fed.get(name, ()))
    }  # fmt: skip


def _is_given(drawing: Drawing, node: Node, reads: Sequence[Edge]) -> bool:
    """True for a value that nothing computes: a parameter, a constant, or a field of a parameter."""
    is_field = node.kind is Kind.TUPLE and all(
        drawing.node(edge.source).kind is Kind.PARAMETER for edge in reads
    )
    return not reads or is_field


def _standing(node: Node, equal: list[Node], cluster: str | None) -> Node:
    """A node that stands for equal ones."""
    names = ", ".join(item.id for item in equal[1:])
    return replace(
        node,
        badge=f"×{len(equal)}",
        cluster=cluster if cluster is not None and node.cluster != frame_of(node.id) else node.cluster,
        marks=frozenset().union(*(item.marks for item in equal)),
        sources=tuple(source for item in equal for source in item.sources),
        detail=f"{node.detail}\nstands for {names} too",
    )
