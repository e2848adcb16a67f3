"""The dataflow graph of a Relax function: a node for each binding, shapes on the edges, branches and blocks as clusters."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.cost.parameters import weight_parameters
from relax_explorer.core.cost.parameters import weights as weights_of
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.expected import expect
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.facts import variables
from relax_explorer.core.ir.walk import operands
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.syntax.names import Names
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.viz import folding
from relax_explorer.viz.compact import OpClass, scalar
from relax_explorer.viz.drawing import Drawing
from relax_explorer.viz.folding import Repeat, frame_of, layers_once, placed_inside, repeats
from relax_explorer.viz.graph import Cluster, Edge, Kind, Mark, Node
from relax_explorer.viz.kernel_class import called_function, class_of, kernel_text
from relax_explorer.viz.short import short_info
from relax_explorer.viz.storage_view import size_text
from relax_explorer.viz.value_graph import Seen, seen, values
from relax_explorer.viz.visible import counted

CHANGED = frozenset({Mark.CHANGED})


def graph(
    module: IRModule,
    function: str = "",
    changed: Collection[e.Binding] | Mapping[e.Binding, frozenset[Mark]] = (),
    current: e.Binding | None = None,
    selected: e.Binding | None = None,
    block: int | None = None,
    weights: str = "auto",
    layers: str = "each",
    inside: Collection[str] = (),
    memory: bool = False,
) -> Drawing:
    """The graph of one Relax function (the entry if no name is given), or of its block number `block` alone.

    `weights` folds weights and constants into their readers (fold), or not (nodes); auto folds many, whole leaves the graph as it is.
    `layers` draws each of several equal layers (each), or the first one for all (once). Calls of the functions `inside` are
    clusters with what these compute. A lowered function is drawn by its values (`value_graph.py`); `memory` draws its allocations,
    ends of lives and lengths, too.

    Raises Failure if the module has no such function, ValueError if the function has no such block.

    >>> drawing = rxe.graph(module)
    >>> "<svg" in drawing.svg()
    True
    """
    expect(module, IRModule, "graph takes a module")
    module, _ = normalize_with(
        module
    )  # so that each computation has a node, also in a module that was only parsed
    name = function_of(module, function)
    fn = module.relax_functions[name]
    count = len(fn.body.blocks)
    if block is not None and not 0 <= block < count:
        raise ValueError(f"{name} has {counted(count, 'block')}, no block {block}")
    marks = dict(changed) if isinstance(changed, Mapping) else dict.fromkeys(changed, CHANGED)
    packed = weight_parameters(fn)
    builder = _Builder(name, fn, marks, current, selected, module, inside, memory=memory, packed=packed)
    drawing = builder.build(block)
    return builder.eased(builder.with_layers_once(drawing) if layers == "once" else drawing, weights)


def layer_graphs(module: IRModule, function: str) -> tuple[Drawing, Drawing | None]:
    """The graph of one Relax function with equal layers once, and with each of them if there are any."""
    module, _ = normalize_with(module)
    fn = module.relax_functions[function_of(module, function)]
    builder = _Builder(function, fn, {}, None, None, module, packed=weight_parameters(fn))
    whole = builder.build(None)
    once = builder.with_layers_once(whole)
    return builder.eased(once, "auto"), builder.eased(whole, "auto") if once is not whole else None


def function_of(module: IRModule, function: str) -> str:
    """The name of the function to draw: `function`, or the entry. Raises Failure if there is none."""
    functions = module.relax_functions
    name = function or ("main" if "main" in functions else next(iter(functions), ""))
    if name not in functions:
        from relax_explorer.core.codes.runtime import UNKNOWN_FUNCTION

        text = f"the module has no Relax function {name!r}"
        raise Failure(Diagnostic(UNKNOWN_FUNCTION, text, help=f"it has {', '.join(functions) or 'none'}"))
    return name


class _Builder:
    def __init__(
        self,
        name: str,
        fn: e.Function,
        marks: dict[e.Binding, frozenset[Mark]],
        current: e.Binding | None,
        selected: e.Binding | None,
        module: IRModule,
        inside: Collection[str] = (),
        around: tuple[str, ...] = (),
        memory: bool = False,
        packed: Collection[e.Var] = (),
    ) -> None:
        self.values = values(module, fn, memory)
        self.name, self.fn, self.written, self.memory = name, self.values.fn, fn, memory
        self.module, self.inside, self.around = module, inside, (*around, name)
        self.marks, self.current, self.selected = marks, current, selected
        self.packed = frozenset[e.Expr](packed)
        self.fields = folding.fields_of_weights(self.fn, packed)
        self.held = set[str]()  # the names of these fields
        self.names = Names()
        self.ids: dict[e.Var | e.Binding, str] = {}
        self.taken: set[str] = set()
        self.unnamed = 0
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self.clusters: list[Cluster] = []

    def build(self, block: int | None) -> Drawing:
        """The graph."""
        for param in self.fn.params:
            self.names(param)
        self._sequence(self.fn.body, None, block)
        if block is None:
            self._output("return", "return", self.fn.body.body, None)
        used = {edge.source for edge in self.edges}
        unpacked = {param for param in self.fields.values() if self._id(param) not in used}
        inputs: list[e.Var] = [
            param for param in self.fn.params
            if self._id(param) in used or (block is None and param not in unpacked)
        ]  # fmt: skip
        if block is not None:  # a value of another block is an input, too
            drawn = {node.id for node in self.nodes}
            others = [var for var, node_id in self.ids.items() if node_id in used - drawn]
            inputs += [var for var in others if isinstance(var, e.Var) and var not in inputs]
        nodes = [
            _value_node(
                self._id(var),
                self.names(var),
                Kind.PARAMETER,
                var,
                sources=(var, *self.values.origins.get(var, ())),
            )
            for var in inputs
        ]
        nodes += self.nodes
        known = {node.id for node in nodes}
        edges = [edge for edge in self.edges if edge.source in known and edge.target in known]
        hidden = self.values.hidden
        notes = (
            (f"{counted(hidden, 'binding')} of memory and lengths {'is' if hidden == 1 else 'are'} hidden",)
            if hidden
            else ()
        )
        storages = tuple([(name, size_text(size)) for name, size in self.values.storages.items()])
        clusters = tuple(self.clusters)
        return Drawing(self.name, tuple(nodes), tuple(edges), clusters, notes, storages=storages)

    def eased(self, drawing: Drawing, weights: str) -> Drawing:
        """A graph with its weights folded into their readers, or not."""
        return folding.eased(drawing, weights_of(self.written) | self.held, weights)

    def with_layers_once(self, drawing: Drawing) -> Drawing:
        """A graph with the first of equal layers in place of all; the same object if there are none."""
        found = repeats(self.fn)
        return layers_once(drawing, [self._as_written(repeat) for repeat in found]) if found else drawing

    def _as_written(self, repeat: Repeat) -> Repeat:
        """A repeat of bindings of the program, instead of those that are drawn."""
        return replace(
            repeat, bindings=tuple([self.values.sources(binding)[0] for binding in repeat.bindings])
        )

    def _id(self, source: e.Var | e.Binding) -> str:
        """The name in the printed text, made unique: dropped results are all printed as `_`, and numbered here."""
        node_id = self.ids.get(source)
        if node_id is None:
            name = self.names(source) if isinstance(source, e.Var) else "_"
            self.unnamed += name == "_"
            node_id = self.ids[source] = f"_{self.unnamed}" if name == "_" and self.unnamed > 1 else name
            while node_id in self.taken:
                node_id = self.ids[source] = f"{node_id}'"
            self.taken.add(node_id)
        return node_id

    def _sequence(self, seq: e.SeqExpr, cluster: str | None, only: int | None = None) -> None:
        several = len(seq.blocks) > 1
        for number, block in enumerate(seq.blocks):
            if only is not None and number != only:
                for binding in block.bindings:
                    if binding.var is not None:
                        self.names(binding.var)  # later names follow from it
                continue
            inside = cluster
            if several and type(block) is e.DataflowBlock:
                inside = f"{cluster or 'f'}.b{number}"
                self.clusters.append(Cluster(inside, f"dataflow block {number}", cluster))
            for binding in block.bindings:
                self._binding(binding, inside, type(block) is e.DataflowBlock)

    def _binding(self, binding: e.Binding, cluster: str | None, in_dataflow: bool) -> None:
        value, var = binding.value, binding.var
        node_id = self._id(var if var is not None else binding)
        name = self.names(var) if var is not None else ""
        title, lines, kind = self._text(binding, name)
        family = class_of(value, self.module) if isinstance(binding, e.VarBinding) else OpClass.OTHER
        info = var.struct_info if var is not None else None
        sources = self.values.sources(binding)
        detail = f"{name}: {info}" if name else str(info)
        marks = set[Mark]().union(*[self.marks[item] for item in sources if item in self.marks])
        marks |= {Mark.CURRENT} if self.current in sources else set()
        marks |= {Mark.SELECTED} if self.selected in sources else set()
        self.nodes.append(
            Node(
                node_id,
                title,
                lines,
                kind,
                short_info(info),
                "\n".join([detail, *self._details(binding, family)]),
                cluster,
                frozenset(marks),
                family.name.lower(),
                is_output=in_dataflow and type(var) is e.Var,
                place=self.values.places.get(binding, ""),
                sources=sources,
            )
        )
        callee = self._opened(value)
        if binding in self.fields:
            self.held.add(name)
        elif type(value) is e.If:
            self._branches(value, node_id, name, cluster, short_info(info))
        elif callee is not None:
            self._call_inside(value, node_id, callee, cluster)
        else:
            self._read(value, node_id, cluster)

    def _details(self, binding: e.Binding, family: OpClass) -> Iterator[str]:
        """What else a node stands for, and what its kernel is."""
        others = [item.var.name for item in self.values.sources(binding)[1:] if item.var is not None]
        if others:
            yield f"stands for {', '.join(others)} too"
        kernel = self.module.functions.get(called_function(binding.value))
        if isinstance(kernel, PrimFunc):
            yield kernel_text(kernel, family)

    def _branches(self, value: e.If, node_id: str, name: str, cluster: str | None, shape: str) -> None:
        """Draw the branches of an `if` as clusters; their results lead to its node."""
        self._read(value.condition, node_id, cluster, is_operand=True)
        for branch, label in ((value.true_branch, "then"), (value.false_branch, "else")):
            inner = f"{node_id}.{label}"
            self.clusters.append(Cluster(inner, f"{name}: {label}", cluster))
            result = branch
            if isinstance(branch, e.SeqExpr):
                self._sequence(branch, inner)
                result = branch.body
            self._output(f"{node_id}.{label}.out", label, result, inner)
            self.edges.append(Edge(f"{node_id}.{label}.out", node_id, shape))

    def _opened(self, value: e.Expr) -> str | None:
        """The name of the function whose inside is drawn at a call; none calls itself there."""
        if type(value) is not e.Call or not isinstance(value.op, e.GlobalVar):
            return None
        name = value.op.name
        fn = self.module.functions.get(name)
        fits = type(fn) is e.Function and len(fn.params) == len(value.args)
        return name if fits and name in self.inside and name not in self.around else None

    def _call_inside(self, call: e.Expr, node_id: str, name: str, cluster: str | None) -> None:
        """Draw what a call computes; its node, moved into the cluster, stands for the result."""
        assert type(call) is e.Call  # the caller found its callee
        fn = self.module.relax_functions[name]
        given = zip(fn.params, call.args, strict=True)
        packed = [param for param, arg in given if arg in self.packed]
        inner = _Builder(
            name,
            fn,
            self.marks,
            self.current,
            self.selected,
            self.module,
            self.inside,
            self.around,
            self.memory,
            packed,
        )
        drawing = inner.build(None)
        self.held |= inner.held
        arguments = {
            inner.ids[param]: self._id(arg)
            for param, arg in zip(fn.params, call.args, strict=True)
            if isinstance(arg, e.Var)
        }
        placed = placed_inside(drawing, node_id, f"{node_id} = {name}", cluster, arguments, self.taken)
        self.nodes[-1] = replace(self.nodes[-1], cluster=frame_of(node_id))
        self.nodes[-1:] = [*placed.nodes, self.nodes[-1]]
        self.edges += placed.edges
        self.clusters += placed.clusters

    def _output(self, node_id: str, title: str, expr: e.Expr, cluster: str | None) -> None:
        self.nodes.append(_value_node(node_id, title, Kind.OUTPUT, expr, cluster))
        self._read(expr, node_id, cluster, is_operand=True)

    def _read(self, expr: e.Expr, target: str, cluster: str | None, is_operand: bool = False) -> None:
        """Add edges from the operands of `expr`, or from itself, to `target`; each constant that is no scalar gets a node."""
        read: dict[Seen, tuple[int, ...]] = {(var, var.struct_info): () for var in variables(expr)}
        if (
            self.values.origins and type(expr) is not e.Function
        ):  # where operands are parts and forms of values
            read = seen((expr,) if is_operand else operands(expr))
        self.edges += [
            Edge(self._id(var), target, short_info(info), parts=parts) for (var, info), parts in read.items()
        ]
        for constant in _constants(expr):
            if constant.data is not None and constant.data.ndim == 0:
                continue
            constant_id = f"{target}.c{len(self.nodes)}"
            self.nodes.append(_value_node(constant_id, "constant", Kind.CONSTANT, constant, cluster))
            self.edges.append(Edge(constant_id, target, short_info(constant.struct_info)))

    def _text(self, binding: e.Binding, name: str) -> tuple[str, tuple[str, ...], Kind]:
        if binding in self.fields:
            return name, (), Kind.PARAMETER
        if type(binding) is e.MatchCast:
            return binding.word, (name, str(binding.struct_info)), Kind.MATCH_CAST
        value = binding.value
        if type(value) is e.Call:
            return self._call(value, name)
        if type(value) is e.TupleGetItem:
            return f"[{value.index}]", (name,), Kind.TUPLE
        title, kind = _TITLES.get(type(value), ("=", Kind.OPERATOR))
        return title, (name,), kind

    def _call(self, call: e.Call, name: str) -> tuple[str, tuple[str, ...], Kind]:
        op = call.op
        if type(op) is not e.OpRef:
            title = getattr(op, "name", "call")
            return title, _lines(title, name, ""), Kind.CALL
        short = op.name.removeprefix("relax.")
        if call.args and isinstance(call.args[0], (e.GlobalVar, e.ExternFunc)):
            title = call.args[0].name
            return title, _lines(title, name, short if short != "call_tir" else ""), Kind.CALL
        return short, _lines(short, name, _brief(call)), Kind.OPERATOR


_TITLES: dict[type, tuple[str, Kind]] = {
    e.If: ("if", Kind.BRANCH),
    e.Function: ("function", Kind.CALL),
    e.Tuple: ("tuple", Kind.TUPLE),
    e.Constant: ("constant", Kind.CONSTANT),
    e.ShapeExpr: ("shape", Kind.OPERATOR),
}


def _lines(title: str, name: str, more: str) -> tuple[str, ...]:
    """The lines below a title: the name, if it tells more than the title, and what else there is to say."""
    return tuple([text for text in (name, more) if text not in ("", "_", title)])


def _value_node(
    node_id: str,
    title: str,
    kind: Kind,
    value: e.Expr,
    cluster: str | None = None,
    sources: tuple[object, ...] = (),
) -> Node:
    """A node that shows only the StructInfo of a value."""
    info = value.struct_info
    return Node(node_id, title, (), kind, short_info(info), str(info), cluster, sources=sources)


def _brief(call: e.Call) -> str:
    """The scalars and the main attributes of a call."""
    parts = [number for arg in call.args if type(arg) is e.Constant and (number := scalar(arg))]
    own = call.struct_info.dims if isinstance(call.struct_info, s.TensorStructInfo) else None
    for arg in call.args:
        if type(arg) is e.ShapeExpr and arg.values != own:  # which the shape of the value tells
            parts.append(f"({', '.join(map(str, arg.values))})")
        elif type(arg) is e.PrimValue and not isinstance(arg.value, p.PrimVar):
            parts.append(str(arg.value))
    for key in ("axis", "axes", "strides", "groups", "num_groups", "indices_or_sections", "pool_size"):
        value = call.attrs.get(key)
        if value is not None and not isinstance(value, s.StructInfo):
            parts.append(f"{key}={list(value) if isinstance(value, tuple) else value}")
    text = " ".join(parts)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _constants(expr: e.Expr) -> list[e.Constant]:
    constants: list[e.Constant] = []
    stack = [expr]
    while stack:
        item = stack.pop()
        if type(item) is e.Constant:
            constants.append(item)
        stack.extend(operands(item))
    return list(reversed(constants))
