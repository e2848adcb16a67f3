"""Groups of calls that one kernel may compute: each call joins its immediate post-dominator if the patterns allow it.

The rules are those of TVM's operator fusion (Chen et al., TVM, OSDI 2018, section 3): element-wise calls join any neighbour but
opaque ones, injective ones join each other, and a product or reduction takes in the element-wise calls after it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.facts import free_variables
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.walk import contents, operands
from relax_explorer.core.ops.kit.decl import Fusion
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir.stmt import PrimFunc

MAX_DEPTH = 256  # calls in one group
_Test = Callable[[Fusion, bool], bool]
_PATTERNS = frozenset(Fusion)


@dataclass(eq=False, slots=True)
class Node:
    """A binding or a parameter, with its readers and the patterns by which they read it."""

    pattern: Fusion
    binding: e.Binding | None = None
    is_visible: bool = False  # something outside of the dataflow block reads it
    readers: list[tuple[Node, Fusion]] = field(default_factory=list)
    # the immediate post-dominator, the loosest pattern on the paths to it, and the depth in the tree of post-dominators
    dominator: Node | None = None
    path: Fusion = Fusion.OPAQUE
    depth: int = 1
    # the group, as a forest: the root has the pattern and the size of the whole group
    parent: Node | None = None
    kind: Fusion = Fusion.OPAQUE
    size: int = 1

    def root(self) -> Node:
        """The root of the group."""
        node = self
        while node.parent is not None:
            node = node.parent
        while self.parent is not None and self.parent is not node:
            self.parent, self = node, self.parent  # shortens later walks
        return node


def groups(fn: e.Function, module: IRModule) -> dict[e.Binding, Node]:
    """The group of each binding in the outer dataflow blocks of a function, as the root of the group."""
    graph = _Graph(fn, module)
    _dominate(graph.nodes)
    for phase in range(2):
        for node in graph.nodes:
            _try(node, phase)
    return {node.binding: node.root() for node in graph.nodes if node.binding is not None}


def has_none(fn: e.Function, module: IRModule) -> bool:
    """True if no group has two bindings: the function calls no kernel with a pattern, and takes no tuple out of another one."""
    has = contents(fn)
    if not has.operators.isdisjoint(_KERNEL_CALLS) and _ANNOTATED.of(module, _annotated):
        return False
    if e.TupleGetItem not in has.values:
        return True
    values = [b.value for block in fn.body.blocks for b in block.bindings if type(b.value) is e.TupleGetItem]
    return not any(type(value.struct_info) is s.TupleStructInfo for value in values)


def _annotated(module: IRModule) -> bool:
    return any(isinstance(fn, PrimFunc) and "op_pattern" in fn.attrs for fn in module.functions.values())


_ANNOTATED: PerNode[bool] = PerNode()


class _Graph:
    """The values of the dataflow blocks of a function, in text order."""

    def __init__(self, fn: e.Function, module: IRModule) -> None:
        self.module = module
        self.nodes: list[Node] = []
        self.of: dict[e.Expr, Node] = {}
        self.patterns: dict[str, Fusion] = {}  # of the kernels so far
        self.weights = set(_weights(fn))
        for param in fn.params:
            self._add(param, Fusion.OPAQUE).is_visible = True
        for block in fn.body.blocks:
            for binding in block.bindings if type(block) is e.DataflowBlock else ():
                self._binding(binding)

    def _add(self, key: e.Expr, pattern: Fusion, binding: e.Binding | None = None) -> Node:
        node = Node(pattern, binding, kind=pattern)
        self.nodes.append(node)
        self.of[key] = node
        return node

    def _binding(self, binding: e.Binding) -> None:
        pattern, read = self._pattern(binding)
        key = binding.var if binding.var is not None else binding.value
        node = self._add(key, pattern, binding)
        node.is_visible = type(binding.var) is not e.DataflowVar
        for leaf in read:
            known = self.of.get(leaf)
            if known is not None and known is not node:
                known.readers.append((node, pattern))

    def _pattern(self, binding: e.Binding) -> tuple[Fusion, list[e.Expr]]:
        """The pattern of a binding, and the leaves that it reads."""
        value = binding.value
        if type(binding) is e.MatchCast:
            return Fusion.OPAQUE, [value]
        if type(value) is e.TupleGetItem:
            return Fusion.OPAQUE if value.tuple in self.weights else Fusion.INJECTIVE, [value.tuple]
        if type(value) is e.Call and is_kernel_call(value):
            return self._of_kernel(value.args[0]), _leaves(value.args[1])
        if type(value) is e.Function:
            return Fusion.OPAQUE, list(free_variables(value))
        return Fusion.OPAQUE, _leaves(value)

    def _of_kernel(self, callee: e.Expr) -> Fusion:
        if not isinstance(callee, e.GlobalVar):
            return Fusion.OPAQUE
        found = self.patterns.get(callee.name)
        if found is None:
            kernel = self.module.functions.get(callee.name)
            number = kernel.attrs.get("op_pattern") if isinstance(kernel, PrimFunc) else None
            found = Fusion(number) if number in _PATTERNS else Fusion.OPAQUE
            self.patterns[callee.name] = found
        return found


def _weights(fn: e.Function) -> tuple[e.Var, ...]:
    """The parameters behind the inputs, if the function tells how many inputs it has."""
    count = fn.attrs.get("num_input")
    return fn.params[count:] if isinstance(count, int) else ()


def is_kernel_call(value: e.Expr) -> bool:
    """True for call_tir and call_tir_inplace."""
    return type(value) is e.Call and value.op in _KERNEL_CALLS


_KERNEL_CALLS = frozenset({e.op_ref("relax.call_tir"), e.op_ref("relax.call_tir_inplace")})


def _leaves(value: e.Expr) -> list[e.Expr]:
    if type(value) is e.Tuple and e.LEAVES.issuperset(map(type, value.fields)):
        return list(value.fields)  # most often
    if type(value) is e.Call and type(value.op) is e.OpRef and e.LEAVES.issuperset(map(type, value.args)):
        return [value.op, *value.args]
    found: list[e.Expr] = []
    todo = [value]
    while todo:
        item = todo.pop()
        inner = operands(item)
        if inner:
            todo.extend(inner[::-1])
        else:
            found.append(item)
    return found


# -- post-dominators -------------------------------------------------------------------------------------------------------


def _dominate(nodes: list[Node]) -> None:
    """Find the immediate post-dominator of each node: the first node on all paths from it to the results."""
    for node in reversed(nodes):
        if node.is_visible or not node.readers:
            continue
        path = Fusion.ELEMENTWISE
        common: Node | None = node.readers[0][0]
        for reader, pattern in node.readers:
            common, passed = _common(common, reader)
            path = max(path, pattern, passed)
        if common is not None:
            node.dominator, node.path, node.depth = common, path, common.depth + 1


def _common(a: Node | None, b: Node | None) -> tuple[Node | None, Fusion]:
    """The nearest node that post-dominates two nodes, and the loosest pattern on the way to it."""
    passed = Fusion.ELEMENTWISE
    while a is not b:
        if a is None or b is None:
            return None, passed
        if a.depth >= b.depth:
            deeper, a = a, a.dominator
        else:
            deeper, b = b, b.dominator
        passed = max(passed, deeper.path)
    return a, passed


# -- groups ----------------------------------------------------------------------------------------------------------------


def _try(node: Node, phase: int) -> None:
    """Let a node join the group of its post-dominator, if the patterns on all paths between allow it."""
    group, sink = node.root(), node.dominator
    if group.kind is Fusion.OPAQUE or sink is None or node.binding is None:
        return
    if sink.root() is group:
        return
    if group.kind is Fusion.OUT_ELEMENTWISE:
        test = _through_broadcast if phase == 0 and node.path is Fusion.ELEMENTWISE else None
    elif group.kind <= Fusion.BROADCAST:
        test = _into_any if node.path <= Fusion.INJECTIVE or node.path is Fusion.REDUCE else None
    elif group.kind is Fusion.INJECTIVE:
        test = _through_injective if phase == 1 else None
    else:
        test = None
    if test is None:
        return
    between = _between(node, sink)
    if _size(node, between) <= MAX_DEPTH and all(test(item.root().kind, item is sink) for item in between):
        _join(node, between, sink.root())


def _through_broadcast(kind: Fusion, is_sink: bool) -> bool:
    return kind <= Fusion.BROADCAST


def _through_injective(kind: Fusion, is_sink: bool) -> bool:
    return kind <= Fusion.INJECTIVE


def _into_any(kind: Fusion, is_sink: bool) -> bool:
    return kind <= (Fusion.OUT_ELEMENTWISE if is_sink else Fusion.INJECTIVE)


def _between(node: Node, sink: Node) -> list[Node]:
    """The nodes on the paths from a node to its post-dominator, without the node, with the sink."""
    found: list[Node] = []
    seen, todo = {node}, [reader for reader, _ in node.readers]
    while todo:
        item = todo.pop()
        if item in seen:
            continue
        seen.add(item)
        found.append(item)
        if item is not sink:
            todo.extend([reader for reader, _ in item.readers])
    return found


def _size(node: Node, between: list[Node]) -> int:
    return sum([root.size for root in {item.root() for item in (node, *between)}])


def _join(node: Node, between: list[Node], target: Node) -> None:
    """Merge a node, and those on its paths to the sink, into the group of the sink."""
    for item in (node, *between):
        root = item.root()
        if root is not target:
            root.parent = target
            target.size += root.size
            target.kind = max(target.kind, root.kind)
