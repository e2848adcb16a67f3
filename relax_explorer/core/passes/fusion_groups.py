"""Groups of calls that one kernel may compute: each call joins its immediate post-dominator if the patterns allow it.

The rules are those of TVM's operator fusion (Chen et al., TVM, OSDI 2018, section 3): element-wise calls join any neighbour but
opaque ones, injective ones join each other, and a product or reduction takes in the element-wise calls after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.facts import variables
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.walk import all_blocks, contents, dataflow_blocks, info_holders, operands
from relax_explorer.core.ops.kit.decl import Fusion
from relax_explorer.core.passes import composites
from relax_explorer.core.passes.contract import PassSite, bad_option, by_name, module_pass
from relax_explorer.core.passes.function_groups import Group, lift
from relax_explorer.core.passes.readings import DATAFLOW, OPERATORS
from relax_explorer.core.patterns import pattern as q
from relax_explorer.core.patterns.matcher import Match, match
from relax_explorer.core.patterns.matches import binding_index, root_of, roots
from relax_explorer.core.patterns.pattern_text import read_pattern
from relax_explorer.core.phases.external_code import unmarked
from relax_explorer.core.phases.module_properties import (
    BYOC_MARKED,
    NO_NESTED_FUNCTIONS,
    NORMAL_FORM,
    PURITY_ERASED,
    SHAPES_LOWERED,
    SYMBOLS_ATTACHED,
)
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
        pattern = Fusion.OPAQUE if type(binding) is e.MatchCast else self._pattern(binding.value)
        key = binding.var if binding.var is not None else binding.value
        read = variables(binding.value)
        node = self._add(key, pattern, binding)
        node.is_visible = type(binding.var) is not e.DataflowVar
        for var in read:
            known = self.of.get(var)
            if known is not None and known is not node:
                known.readers.append((node, pattern))

    def _pattern(self, value: e.Expr) -> Fusion:
        """The pattern of the value of a binding."""
        if type(value) is e.TupleGetItem:
            return Fusion.OPAQUE if value.tuple in self.weights else Fusion.INJECTIVE
        if type(value) is not e.Call or not is_kernel_call(value):
            return Fusion.OPAQUE
        return self._of_kernel(value.args[0])

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


# -- fuse ops by pattern ---------------------------------------------------------------------------------------------
# FuseOpsByPattern: move what patterns match into functions, for a library or code generator.


@dataclass(frozen=True, slots=True)
class FusionPattern:
    """A pattern with the name of its functions, such as `dnnl.conv2d_relu`, and a test of its matches."""

    name: str
    pattern: q.Pattern
    check: Callable[[Match], bool] = lambda found: True


@module_pass(
    "FuseOpsByPattern",
    rebuilds=True,
    reads=[DATAFLOW, OPERATORS],
    requires=[NORMAL_FORM],
    invalidates=[BYOC_MARKED, NO_NESTED_FUNCTIONS, PURITY_ERASED, SHAPES_LOWERED, SYMBOLS_ATTACHED],
    kept_with={"annotate_codegen": BYOC_MARKED},
)
def fuse_ops_by_pattern(
    module: IRModule,
    at: PassSite,
    *,
    patterns: Annotated[
        tuple[str, ...], 'names and patterns, "my.dense: relu(matmul(_, _))"; earlier ones come first'
    ] = (),
    bind_constants: Annotated[bool, "constants stay in the functions; else they become operands"] = True,
    annotate_codegen: Annotated[
        bool, "wrap each function for the code generator in front of the point of its name"
    ] = False,
    entry_functions: Annotated[tuple[str, ...], "change only these functions; all by default"] = (),
) -> IRModule:
    """Move the bindings of each match in a dataflow block into a private function with the attribute `Composite`.

    FuseOpsByPattern{patterns="my.dense: relu(matmul(_, w))"} replaces a product and the relu of it by one call. The first match in
    text order counts. A binding belongs to one match. Operands that a pattern only names stay outside. A match that other bindings
    divide is not moved: they read one part of it, and another part reads them. In the profile `tvm` a match takes bindings from an
    earlier one, whose rest is a function by itself, unless they are its end; and it is cut at the ends of its block.
    """
    return fused(
        module, at, [_read(text) for text in patterns], bind_constants, annotate_codegen, entry_functions
    )


def _read(text: str) -> FusionPattern:
    name, colon, pattern = text.partition(":")
    read = read_pattern(pattern.strip()) if colon and name.strip() else None
    if not isinstance(read, q.Pattern):
        help = 'write patterns="my.dense: relu(matmul(_, _))"'
        raise bad_option(f"{text!r} is no name with a pattern", help)
    return FusionPattern(name.strip(), read)


def fused(
    module: IRModule,
    at: PassSite,
    patterns: Sequence[FusionPattern],
    bind_constants: bool = True,
    annotate_codegen: bool = False,
    entry_functions: Sequence[str] = (),
) -> IRModule:
    """The module with a function for each match; patterns come one after the other."""
    for pattern in patterns:
        for name, fn in by_name(at.editor.done()):
            if _is_open(name, fn, entry_functions):
                found = _SharedMatches(fn, pattern) if at.as_tvm else _Matches(fn, pattern)
                at.editor.replace(name, lift(fn, at, dict(found.grouping), not bind_constants))
    if annotate_codegen:
        composites.wrap(at)
    elif unmarked(at.editor.done()) is not None:
        at.waived.add(BYOC_MARKED)
    return at.editor.done()


def _is_open(name: str, fn: e.Function, entry_functions: Sequence[str]) -> bool:
    """True if matches in a function count: it was not made for a match itself."""
    closed = any(fn.attrs.get(attr) for attr in ("Primitive", "Composite", "Codegen"))
    return not closed and (not entry_functions or name in entry_functions)


class _Place(NamedTuple):
    """The place of a variable in the text: its number, which is its own, and its block and binding."""

    number: int
    block: e.BindingBlock
    binding: e.Binding


class _Matches:
    """The groups of the matches of one pattern in one function."""

    everywhere = False  # True if a match may end outside of dataflow blocks

    def __init__(self, fn: e.Function, pattern: FusionPattern) -> None:
        self.pattern, self.values = pattern, binding_index(fn).values
        self.attrs = Attrs({"Composite": pattern.name, "Primitive": True})
        self.grouping: dict[e.Binding, Group] = {}
        self.places: dict[e.Expr, _Place] = {}  # of the variables so far
        wanted = roots(pattern.pattern)
        for block in all_blocks(fn) if self.everywhere else dataflow_blocks(fn):
            for binding in block.bindings:
                if binding.var is None:
                    continue
                self.places[binding.var] = _Place(len(self.places), block, binding)
                if type(binding.value) is e.Call and (wanted is None or root_of(binding.value) in wanted):
                    found = match(pattern.pattern, binding.var, self.values)
                    if found is not None and pattern.check(found):
                        self._take(binding.var, block, found)

    def _take(self, root: e.Var, home: e.BindingBlock, found: Match) -> None:
        """Make a match a group, if all of it stands in one dataflow block, and belongs to no match yet."""
        members = {root}
        for part, operand in found.operands.items():
            while isinstance(part, _DESCRIBED) and isinstance(operand, e.Var):
                place = self.places.get(operand)
                if place is None or place.block is not home:
                    return  # it is computed outside of the block
                members.add(operand)
                operand = place.binding.value  # a copy is part of the match
        row = self._bindings(members)
        if not any(binding in self.grouping or _has_held_shape(binding) for binding in row):
            group = Group(self.attrs, row)
            self.grouping.update(dict.fromkeys(row, group))

    def _bindings(self, members: set[e.Var]) -> list[e.VarBinding]:
        """The bindings of variables, in text order. A pattern sees no match_casts."""
        found = [place.binding for place in sorted([self.places[var] for var in members])]
        return [binding for binding in found if type(binding) is e.VarBinding]


class _SharedMatches(_Matches):
    """The groups of the matches of one pattern as TVM finds them: a match takes bindings from earlier ones, and reaches into other blocks.

    The rest of an earlier match is a group by itself, with the name of the pattern; so is what each block has of a match. Only the end
    of an earlier match stays where it is: a match with it does not count.
    """

    everywhere = True

    def __init__(self, fn: e.Function, pattern: FusionPattern) -> None:
        self.ends: set[e.Var] = set()  # the roots of matches of several bindings
        super().__init__(fn, pattern)

    def _take(self, root: e.Var, home: e.BindingBlock, found: Match) -> None:
        members = {root}
        for part, operand in found.operands.items():
            while isinstance(part, _DESCRIBED) and isinstance(operand, e.Var) and operand in self.places:
                members.add(operand)
                operand = self.places[operand].binding.value
        if self.ends & members or any(_has_held_shape(self.places[var].binding) for var in members):
            return
        if len(members) > 1:
            self.ends.add(root)
        groups: dict[e.BindingBlock, Group] = {}
        for binding in self._bindings(members):
            block = self.places[binding.var].block
            if type(block) is e.DataflowBlock:
                if binding in self.grouping:
                    self.grouping[binding].bindings.remove(binding)
                group = self.grouping[binding] = groups.setdefault(block, Group(self.attrs))
                group.bindings.append(binding)


def _has_held_shape(binding: e.Binding) -> bool:
    """True if a variable holds the shape of a result or an operand: a function would not know it."""
    known = [binding.var, *operands(binding.value)]
    return any(info_holders(part.struct_info) for part in known if part is not None and part.struct_info)


# Other patterns only name or limit an operand, which stays outside.
_DESCRIBED = (q.CallOf, q.TupleOf, q.ItemOf)
