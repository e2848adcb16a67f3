"""The pattern of a PrimFunc (AnnotateTIROpPattern), and calls of kernels that one kernel may compute gathered by it (FuseOps)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Annotated

from relax_explorer.core.check.emission import FreshNames
from relax_explorer.core.check.normalize_function import function_info
from relax_explorer.core.check.wildcards import simplified
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.facts import facts
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Substitution, fresh_dims
from relax_explorer.core.ir.walk import all_dims, infos_of, merged_blocks, stated_infos
from relax_explorer.core.ops.kit.decl import Fusion
from relax_explorer.core.passes.contract import PassSite, function_pass, module_pass
from relax_explorer.core.passes.fusion_groups import Node, groups, has_none
from relax_explorer.core.passes.readings import DATAFLOW
from relax_explorer.core.passes.same_lengths import length_binders, mentioned_lengths, untold_lengths
from relax_explorer.core.phases import machine_calls as m
from relax_explorer.core.phases.module_properties import (
    CANONICAL_BINDINGS,
    NORMAL_FORM,
    PATTERNS_ANNOTATED,
    PURITY_ERASED,
    SHAPES_LOWERED,
    SYMBOLS_ATTACHED,
)
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferLoad
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.core.tir.traverse import children, expressions, subexpressions


@function_pass(
    "FuseOps",
    reads=[DATAFLOW],
    only_with=[DATAFLOW],
    requires=[NORMAL_FORM, PATTERNS_ANNOTATED],
    invalidates=[CANONICAL_BINDINGS, PURITY_ERASED, SHAPES_LOWERED, SYMBOLS_ATTACHED],
)
def fuse_ops(
    fn: e.Function,
    at: PassSite,
    *,
    fuse_opt_level: Annotated[int, "0 fuses nothing; -1, the default, means 2"] = -1,
) -> e.Function:
    """Gather neighbouring call_tir bindings of dataflow blocks into private functions with the attribute `Primitive`.

    Blocks of branches and nested functions stay as they are.

    The attribute `op_pattern` of each PrimFunc tells what it may be fused with; without it, nothing. Constants become
    parameters. A group that nothing reads goes. If the function tells its inputs (`num_input`), fields of other parameters are read outside
    of groups. FuseTIR then makes one PrimFunc of each function.
    """
    if fuse_opt_level == 0 or fn.attrs.get("Primitive") or "Codegen" in fn.attrs or has_none(fn, at.module):
        return fn
    of = groups(fn, at.module)
    if len(set(of.values())) == len(of):
        return fn
    fusion = _Fusion(fn, at, of)
    blocks = [fusion.block(block) if type(block) is e.DataflowBlock else block for block in fn.body.blocks]
    return replace(fn, body=replace(fn.body, blocks=tuple(merged_blocks(blocks))))


class _Fusion:
    """Makes functions of the groups of one function."""

    def __init__(self, fn: e.Function, at: PassSite, of: dict[e.Binding, Node]) -> None:
        self.at, self.of, self.known, self.names = at, of, facts(fn), FreshNames.of(fn)
        self.binders = length_binders(fn.params, self.known.bindings)
        self.read = set(chain.from_iterable(self.known.operands))

    def block(self, block: e.BindingBlock) -> e.BindingBlock:
        """A block with a call for each group of several bindings, after what the group reads, lengths of match_casts included."""
        members: dict[Node, list[e.Binding]] = {}
        home: dict[e.Var, Node] = {}
        for binding in block.bindings:
            members.setdefault(self.of[binding], []).append(binding)
            if binding.var is not None:
                home[binding.var] = self.of[binding]
        if len(members) == len(block.bindings):
            return block
        operands, number = self.known.operands, self.known.number
        casts = {dim: self.of[cast] for dim, cast in self.binders.items() if self.of.get(cast) in members}

        def needed(group: Node) -> Iterator[Node]:
            read = (var for binding in members[group] for var in operands[number[binding]])
            yield from (home[var] for var in read if var in home and home[var] is not group)
            if casts:
                lengths = (dim for binding in members[group] for dim in mentioned_lengths(binding))
                yield from (casts[dim] for dim in lengths if dim in casts and casts[dim] is not group)

        new: list[e.Binding] = []
        for group in _when_ready(members, needed):
            row = members[group]
            new += row if len(row) == 1 else self._calls(row)
        return replace(block, bindings=tuple(new))

    def _calls(self, row: list[e.Binding]) -> tuple[e.Binding, ...]:
        """The call of the function of a group, after the fields that it reads. A group that nothing reads goes."""
        at, last = self.at, row[-1]
        assert last.var is not None  # groups have variables only
        if type(last.var) is e.DataflowVar and last.var not in self.read:
            at.record(tuple(row))
            return ()
        group, info = _Group(row, self.names), last.var.struct_info
        result = simplified(info) if info is not None else None

        def make() -> tuple[e.GlobalVar, tuple[p.PrimVar, ...]]:
            return at.editor.add(group.name, _finished(group.body())), group.lengths

        callee, lengths = at.once(("fused", *group.parts), make)
        args = [argument for _, _, argument, _ in group.inputs]
        args += [m.shape(lengths)] if lengths else []
        call = e.Call(callee, tuple(args), struct_info=result, span=last.value.span)
        new = e.VarBinding(last.var, call, None if result is info else info, last.span)
        at.record(tuple(row), new)
        if group.fields:
            at.record(last, tuple(group.fields))
        return (*group.fields, new)


def _when_ready(groups: Iterable[Node], needed: Callable[[Node], Iterator[Node]]) -> Iterator[Node]:
    """The groups in order, each after those that it needs. What a group needs is asked once."""
    done: set[Node] = set()
    for first in groups:
        stack = [(first, needed(first))] if first not in done else []
        while stack:
            group, others = stack[-1]
            missing = next((other for other in others if other not in done), None)
            if missing is not None:
                stack.append((missing, needed(missing)))
                continue
            stack.pop()
            done.add(group)
            yield group


@dataclass
class _Group:
    """The bindings of one group, and what they read from outside."""

    bindings: list[e.Binding]
    names: FreshNames
    # What each parameter stands for, its name, the argument, and its StructInfo.
    inputs: list[tuple[object, str, e.Expr, s.StructInfo]] = field(default_factory=list)
    # Fields of tuples from outside, read in front of the call.
    fields: list[e.Binding] = field(default_factory=list)
    name: str = "fused"
    slots: dict[object, int] = field(default_factory=dict)  # numbers of the variables of the new function
    parts: list[object] = field(default_factory=list)  # equal for groups with equal functions
    unnamed: int = 0  # the parameters that are named after their number
    own: set[e.Expr | None] = field(default_factory=set)  # the variables that the group binds

    def __post_init__(self) -> None:
        self.own = {binding.var for binding in self.bindings}
        for binding in self.bindings:
            value = binding.value
            if type(value) is e.TupleGetItem and value.tuple not in self.own:
                self._field(binding, value)
                continue
            if type(value) is e.Call:
                self._call(value)
            elif type(value) is e.TupleGetItem:
                self.parts += [value.index, self._slot(value.tuple)]
            self.slots[binding.var] = len(self.slots)
        self.parts += [info for *_, info in self.inputs]
        self.parts += [b.annotation or (b.var and b.var.struct_info) for b in self.bindings]

    def _call(self, value: e.Call) -> None:
        kernel, inputs, *rest = value.args
        name = getattr(kernel, "name", "")
        self.name += f"_{name}"
        fields = inputs.fields if isinstance(inputs, e.Tuple) else (inputs,)
        self.parts += [value.op, name, value.attrs, value.sinfo_args, *map(self._slot, fields)]
        self.parts += [getattr(arg, "values", arg) for arg in rest]

    def _slot(self, leaf: e.Expr) -> object:
        """The number of the variable that the new function reads in place of a leaf. Numbers and lengths that it knows stay."""
        if type(leaf) is e.PrimValue and (leaf.value in self.dims or not p.free_vars(leaf.value)):
            return leaf.value
        key = _key(leaf)
        if key not in self.slots:
            name = leaf.name if isinstance(leaf, e.Var) else _length(leaf)
            self._param(key, name or f"param_{self.unnamed}", leaf)
        return self.slots[key]

    def _param(self, key: object, name: str, argument: e.Expr) -> None:
        self.slots[key] = len(self.slots)
        self.unnamed += name.startswith("param_")
        self.inputs.append((key, name, argument, s.without_values(argument.struct_info or s.OBJECT)))

    def _field(self, binding: e.Binding, value: e.TupleGetItem) -> None:
        """Read a field of a tuple from outside in front of the call, and make it a parameter."""
        assert binding.var is not None  # groups have variables only
        key = value.tuple, value.index
        if key not in self.slots:
            tuple_name = getattr(value.tuple, "name", "tuple")
            new = e.VarBinding(
                e.DataflowVar(self.names("lv"), value.struct_info, value.span), value, None, binding.span
            )
            self.fields.append(new)
            self._param(key, f"{tuple_name}_{value.index}", new.var)
        self.slots[binding.var] = self.slots[key]

    @cached_property
    def lengths(self) -> tuple[p.PrimVar, ...]:
        """Shape variables of the group that its parameters do not tell. If there are any, they are the last parameter."""
        return untold_lengths(dict.fromkeys([info for *_, info in self.inputs]), self.infos)

    @cached_property
    def dims(self) -> dict[p.PrimVar, None]:
        """The shape variables in the StructInfo of the bindings, in order."""
        return dict.fromkeys(dim for info in self.infos for dim in all_dims(info))

    @cached_property
    def infos(self) -> list[s.StructInfo]:
        """The StructInfo of the bindings, each once."""
        return list(dict.fromkeys([info for binding in self.bindings for info in stated_infos(binding)]))

    def body(self) -> e.Function:
        """The function that computes the group, with shape variables of the function around it, and without StructInfo."""
        inner: dict[object, e.Var] = {key: e.Var(name, info) for key, name, _, info in self.inputs}
        params = list(inner.values())
        if self.lengths:
            params.append(e.Var("tir_vars", s.ShapeStructInfo(self.lengths)))
        taken = FreshNames()
        emitted: list[e.Binding] = []
        for binding in self.bindings:
            value, old = binding.value, binding.var
            assert old is not None  # groups have variables only
            if type(value) is e.TupleGetItem and value.tuple not in self.own:
                inner[old] = inner[value.tuple, value.index]
                continue
            is_last = binding is self.bindings[-1]
            name = taken("gv" if is_last else old.name)
            var = (e.Var if is_last else e.DataflowVar)(name, old.struct_info, old.span)
            emitted.append(e.VarBinding(var, _inside(value, inner), binding.annotation, binding.span))
            inner[old] = var
        result = emitted[-1].var
        assert result is not None  # likewise
        info = result.struct_info
        body = e.SeqExpr((e.DataflowBlock(tuple(emitted)),), result, info)
        return e.Function(tuple(params), body, info, None, Attrs({"Primitive": True}))


def _inside(value: e.Expr, inner: dict[object, e.Var]) -> e.Expr:
    """A value that reads the variables of the new function."""

    def leaf(old: e.Expr) -> e.Expr:
        return inner.get(_key(old), old)

    if type(value) is e.TupleGetItem:
        return replace(value, tuple=leaf(value.tuple))
    assert type(value) is e.Call  # groups have calls of kernels and fields only
    kernel, inputs, *rest = value.args
    fields = inputs.fields if isinstance(inputs, e.Tuple) else (inputs,)
    return replace(value, args=(kernel, e.tuple_of(tuple(map(leaf, fields))), *rest))


def _finished(fn: e.Function) -> e.Function:
    """A function with shape variables of its own, and its StructInfo."""
    dims = dict.fromkeys(dim for info in infos_of(fn.params) for dim in all_dims(info))
    fn = Substitution({}, fresh_dims(dims)).function(fn)
    return replace(fn, struct_info=function_info(fn, True))


def _key(leaf: e.Expr) -> object:
    """Equal for leaves that are one operand: a length, and a constant that a text mentions again."""
    if type(leaf) is e.Constant:
        return "constant", leaf.identity, leaf.struct_info
    return ("length", leaf.value) if type(leaf) is e.PrimValue and _length(leaf) else leaf


def _length(leaf: e.Expr) -> str:
    """The name of a shape variable that is an operand."""
    return leaf.value.name if type(leaf) is e.PrimValue and type(leaf.value) is p.PrimVar else ""


# -- op pattern ------------------------------------------------------------------------------------------------------
# AnnotateTIROpPattern: the pattern of a PrimFunc, by which operators are fused.


def op_pattern(fn: t.PrimFunc) -> Fusion:
    """The pattern of a PrimFunc, from the indices of its loads and stores, block by block."""
    kind = Fusion.ELEMENTWISE
    todo: list[t.Stmt] = [fn.body]
    while todo:
        node = todo.pop(0)
        if not isinstance(node, t.SBlock):
            if isinstance(node, (t.BufferStore, t.Evaluate)):
                return Fusion.OPAQUE  # outside of a block
            todo[:0] = children(node)
        elif node.name == "root":
            todo[:0] = [node.body]
        else:
            kind = _with_block(kind, node)
    return kind


def _with_block(kind: Fusion, block: t.SBlock) -> Fusion:
    """The pattern of a PrimFunc after one more block, which has pattern `kind` so far."""
    stores = _stores(block.body)
    if not stores:
        return Fusion.OPAQUE
    store = stores[-1]  # reductions to several results write each of them at the same place
    loads = _loads(block.body)
    pattern = _by_indices(store, loads)
    if pattern is not Fusion.OPAQUE:
        # A reduction and what is computed from its result, such as a softmax, is fused with what follows only.
        return Fusion.OUT_ELEMENTWISE if kind is Fusion.REDUCE else max(kind, pattern)
    reduced = {axis.var for axis in block.iter_vars if axis.kind == "reduce"}
    if not reduced:
        return Fusion.OPAQUE
    if (len(stores) == 1 and _adds_products(store)) or not all(
        _is_plain(load.indices, reduced) for load in loads
    ):
        return max(kind, Fusion.OUT_ELEMENTWISE)
    return max(kind, Fusion.REDUCE)


def _stores(node: t.Stmt) -> list[t.BufferStore]:
    if isinstance(node, t.BufferStore):
        return [node]
    return [store for child in children(node) for store in _stores(child)]


def _loads(node: t.Stmt) -> list[BufferLoad]:
    found = [expr for expr in subexpressions(*expressions(node)) if isinstance(expr, BufferLoad)]
    return found + [load for child in children(node) for load in _loads(child)]


def _by_indices(store: t.BufferStore, loads: Sequence[BufferLoad]) -> Fusion:
    """The loosest relation between the index of the store and those of the loads."""
    pattern = Fusion.ELEMENTWISE
    same = False
    for load in loads:
        if load.indices == store.indices:
            same = True
        elif _is_broadcast(store, load):
            pattern = max(pattern, Fusion.BROADCAST)
        elif _is_injective(store, load):
            pattern = max(pattern, Fusion.INJECTIVE)
        else:
            return Fusion.OPAQUE
    return Fusion.ELEMENTWISE if pattern is Fusion.BROADCAST and same else pattern


def _is_broadcast(store: t.BufferStore, load: BufferLoad) -> bool:
    """True if the indices of the load are among those of the store, in the same order, apart from axes of one element."""
    place = 0
    for index, length in zip(load.indices, load.buffer.shape, strict=True):
        if _is_number(length, 1) and _is_number(index, 0):
            continue
        while place < len(store.indices) and store.indices[place] is not index:
            place += 1
        if place == len(store.indices):
            return False
    return True


def _is_number(expr: p.PrimExpr, value: int) -> bool:
    return isinstance(expr, p.IntImm) and expr.value == value


def _is_injective(store: t.BufferStore, load: BufferLoad) -> bool:
    """True if the load depends on the variables of the store's index only, and not on values in memory."""
    if not all(isinstance(index, p.PrimVar) for index in store.indices):
        return False
    if any(isinstance(expr, BufferLoad) for expr in subexpressions(*load.indices)):
        return False
    return set(_variables(load.indices)) <= set(store.indices)


def _variables(exprs: Sequence[p.PrimExpr]) -> list[p.PrimVar]:
    return [expr for expr in subexpressions(*exprs) if isinstance(expr, p.PrimVar)]


def _adds_products(store: t.BufferStore) -> bool:
    """True for `c[i, j] = c[i, j] + a[i, k] * b[k, j]`, also with conversions, where the operands use axes of the result."""
    total = store.value
    if not isinstance(total, p.Add) or not isinstance(total.a, BufferLoad) or not isinstance(total.b, p.Mul):
        return False
    factors = [_unconverted(total.b.a), _unconverted(total.b.b)]
    return all(isinstance(factor, BufferLoad) and _reuses(store, factor) for factor in factors)


def _unconverted(expr: p.PrimExpr) -> p.PrimExpr:
    while isinstance(expr, p.Cast):
        expr = expr.value
    return expr


def _reuses(store: t.BufferStore, load: BufferLoad) -> bool:
    """True if some axis of the store is missing in the load, so that its elements are used several times."""
    if not all(isinstance(index, p.PrimVar) for index in store.indices):
        return False
    return bool(set(store.indices) - set(_variables(load.indices)))


def _is_plain(indices: Sequence[p.PrimExpr], reduced: set[p.PrimVar]) -> bool:
    """True if an index that uses a reduced axis is this axis alone."""
    return all(isinstance(index, p.PrimVar) or reduced.isdisjoint(_variables((index,))) for index in indices)


@module_pass("AnnotateTIROpPattern", requires=[NORMAL_FORM], establishes=[PATTERNS_ANNOTATED])
def annotate_tir_op_pattern(module: IRModule, at: PassSite) -> IRModule:
    """Set the attribute `op_pattern` of each PrimFunc that lacks it, for FuseOps.

    0 is element-wise, 1 broadcast, 2 injective, 3 a reduction, 4 a reduction or product that later element-wise kernels may join,
    and 8 opaque.
    """
    for name, fn in module.functions.items():
        if isinstance(fn, PrimFunc) and "op_pattern" not in fn.attrs:
            at.editor.replace(name, replace(fn, attrs=fn.attrs.having(op_pattern=int(op_pattern(fn)))))
    return at.editor.done()
