"""FuseOps: gather calls of kernels that one kernel may compute into private functions."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import is_
from typing import Annotated

from relax_explorer.core.check.emission import FreshNames
from relax_explorer.core.check.normalize_function import function_info
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.facts import facts, reads
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.ir.walk import all_dims, dataflow_blocks, defined_dims, map_block, map_sequences
from relax_explorer.core.passes import machine_calls as m
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.fusion_groups import Node, groups, is_kernel_call
from relax_explorer.core.passes.properties import (
    CANONICAL_BINDINGS,
    NORMAL_FORM,
    PATTERNS_ANNOTATED,
    PURITY_ERASED,
    SHAPES_LOWERED,
    SYMBOLS_ATTACHED,
)
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite


@function_pass(
    "FuseOps",
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

    The attribute `op_pattern` of each PrimFunc tells what it may be fused with; without it, nothing. Constants become
    parameters. A group that nothing reads goes. FuseTIR then makes one PrimFunc of each function.
    """
    if fuse_opt_level == 0 or fn.attrs.get("Primitive") or "Codegen" in fn.attrs:
        return fn
    of = groups(fn, at.module)
    fused = _members(of)
    if not fused:
        return fn
    by_var = {b.var: root for b, root in of.items() if root in fused and b.var is not None}
    names = FreshNames.of(fn)
    known = facts(fn)

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        root = None if binding.var is None else by_var.get(binding.var)
        if root is None or binding.var is None:
            return binding
        if binding.var is not fused[root][-1].var:
            return ()
        if type(binding.var) is e.DataflowVar and not known.users(binding.var):
            at.record(tuple(fused[root]))
            return ()
        group = _Group(fused[root], names)
        body = group.body()
        shape = "fused", tuple(group.parts), body.ret_struct_info
        callee = at.shared.get(shape)
        if callee is None:
            callee = at.shared[shape] = at.editor.add(group.name, _finished(body))
        info = binding.var.struct_info
        call = e.Call(callee, tuple(group.arguments), struct_info=info, span=binding.value.span)
        new = e.VarBinding(binding.var, call, None, binding.span)
        at.record(tuple(fused[root]), new)
        return (*group.fields, new)

    return rewrite(_in_groups(fn, of), at, rule)


def _members(of: dict[e.Binding, Node]) -> dict[Node, list[e.Binding]]:
    """The bindings of each group that has several."""
    members: dict[Node, list[e.Binding]] = {}
    for binding, root in of.items():
        members.setdefault(root, []).append(binding)
    return {root: row for root, row in members.items() if len(row) > 1}


def _in_groups(fn: e.Function, of: dict[e.Binding, Node]) -> e.Function:
    """The function with the bindings of a group next to each other, after those that the group reads."""
    changed: dict[e.BindingBlock, e.BindingBlock] = {
        block: _sorted(block, of) for block in dataflow_blocks(fn)
    }
    return replace(fn, body=_with_blocks(fn.body, changed))


def _with_blocks(seq: e.SeqExpr, changed: dict[e.BindingBlock, e.BindingBlock]) -> e.SeqExpr:
    def binding_of(binding: e.Binding) -> e.Binding:
        return map_sequences(binding, lambda inner: _with_blocks(inner, changed))

    blocks = tuple([map_block(changed.get(block, block), binding_of) for block in seq.blocks])
    return replace(seq, blocks=seq.blocks if all(map(is_, blocks, seq.blocks)) else blocks)


def _sorted(block: e.BindingBlock, of: dict[e.Binding, Node]) -> e.BindingBlock:
    members: dict[Node, list[e.Binding]] = {}
    home: dict[e.Var, Node] = {}
    for binding in block.bindings:
        members.setdefault(of[binding], []).append(binding)
        if binding.var is not None:
            home[binding.var] = of[binding]
    order: list[e.Binding] = []
    done: set[Node] = set()
    for first in members:
        stack = [first]
        while stack:
            group = stack[-1]
            if group in done:
                stack.pop()
                continue
            needed = [home[var] for b in members[group] for var in reads(b) if var in home]
            missing = [other for other in needed if other is not group and other not in done]
            if missing:
                stack.append(missing[0])
                continue
            done.add(group)
            order += members[group]
    same = all(map(is_, order, block.bindings))
    return block if same else replace(block, bindings=tuple(order))


@dataclass
class _Group:
    """The bindings of one group, and what they read from outside."""

    bindings: list[e.Binding]
    names: FreshNames
    params: list[e.Var] = field(default_factory=list)
    arguments: list[e.Expr] = field(default_factory=list)
    fields: list[e.Binding] = field(
        default_factory=list
    )  # fields of tuples from outside, read in front of the call
    inner: dict[object, e.Expr] = field(default_factory=dict)  # variables of the new function by old ones
    dims: set[p.PrimVar] = field(init=False)  # shape variables in the StructInfo of the bindings
    name: str = "fused"
    slots: dict[e.Expr, int] = field(default_factory=dict)  # the numbers of the variables of the new function
    parts: list[object] = field(default_factory=list)  # equal for groups with equal functions

    def __post_init__(self) -> None:
        infos = [binding.var.struct_info for binding in self.bindings if binding.var is not None]
        self.dims = {dim for info in infos if info is not None for dim in all_dims(info)}

    def body(self) -> e.Function:
        """The function that computes the group, with shape variables of the function around it, and without StructInfo."""
        own = {binding.var for binding in self.bindings}
        taken = FreshNames()
        emitted: list[e.Binding] = []
        for binding in self.bindings:
            value = binding.value
            if type(value) is e.TupleGetItem and value.tuple not in own:
                self._field(binding, value)
                continue
            emitted.append(self._copied(binding, own, taken))
        result = emitted[-1].var
        assert result is not None  # groups have variables only
        info = result.struct_info
        lengths = self._lengths()
        if lengths:
            self.params.append(e.Var("tir_vars", s.ShapeStructInfo(lengths)))
            self.arguments.append(m.shape(lengths))
        body = e.SeqExpr((e.DataflowBlock(tuple(emitted)),), result, info)
        self.parts += [param.struct_info for param in self.params]
        return e.Function(tuple(self.params), body, info, None, Attrs({"Primitive": True}))

    def _copied(self, binding: e.Binding, own: set[e.Var | None], taken: FreshNames) -> e.Binding:
        """A binding of the new function. The last one defines its result."""
        value = binding.value
        if type(value) is e.Call and is_kernel_call(value):
            kernel, inputs = value.args[:2]
            self.name += f"_{getattr(kernel, 'name', '')}"
            fields = inputs.fields if isinstance(inputs, e.Tuple) else (inputs,)
            new = e.tuple_of(tuple(map(self._inside, fields)))
            self.parts += [
                value.op,
                getattr(kernel, "name", ""),
                value.attrs,
                value.sinfo_args,
                *map(self._slot, new.fields),
            ]
            self.parts += [getattr(arg, "values", arg) for arg in value.args[2:]]
            value = replace(value, args=(kernel, new, *value.args[2:]))
        elif type(value) is e.TupleGetItem:
            value = replace(value, tuple=self._inside(value.tuple))
            self.parts += [value.index, self._slot(value.tuple)]
        old = binding.var
        assert old is not None  # groups have variables only
        is_last = binding is self.bindings[-1]
        name = taken("gv" if is_last else old.name)
        var = (e.Var if is_last else e.DataflowVar)(name, old.struct_info, old.span)
        self.inner[old] = var
        self.slots[var] = len(self.slots)
        return e.VarBinding(var, value, None, binding.span)

    def _slot(self, leaf: e.Expr) -> object:
        return leaf.value if isinstance(leaf, e.PrimValue) else self.slots[leaf]

    def _inside(self, leaf: e.Expr) -> e.Expr:
        """What the new function reads in place of a leaf: one of its variables, or a parameter."""
        if type(leaf) is e.PrimValue and leaf.value in self.dims:
            return leaf
        key = _key(leaf)
        if key not in self.inner:
            unnamed = sum(param.name.startswith("param_") for param in self.params)
            name = leaf.name if isinstance(leaf, e.Var) else _length(leaf) or f"param_{unnamed}"
            self._param(key, name, leaf)
        return self.inner[key]

    def _param(self, key: object, name: str, argument: e.Expr) -> None:
        info = argument.struct_info
        if isinstance(info, s.PrimStructInfo):
            info = s.PrimStructInfo(info.dtype)
        param = e.Var(name, info)
        self.params.append(param)
        self.slots[param] = len(self.slots)
        self.arguments.append(argument)
        self.inner[key] = param

    def _field(self, binding: e.Binding, value: e.TupleGetItem) -> None:
        """Read a field of a tuple from outside in front of the call, and make it a parameter."""
        assert binding.var is not None  # groups have variables only
        key = value.tuple, value.index
        if key not in self.inner:
            tuple_name = getattr(value.tuple, "name", "tuple")
            new = e.VarBinding(
                e.DataflowVar(self.names("lv"), value.struct_info, value.span), value, None, binding.span
            )
            self.fields.append(new)
            self._param(key, f"{tuple_name}_{value.index}", new.var)
        self.inner[binding.var] = self.inner[key]

    def _lengths(self) -> tuple[p.PrimVar, ...]:
        """Shape variables of the group that its parameters do not tell."""
        told = {dim for param in self.params for dim in defined_dims(param.struct_info or s.OBJECT)}
        infos = [param.struct_info for param in self.params]
        infos += [binding.var.struct_info for binding in self.bindings if binding.var is not None]
        used = dict.fromkeys(dim for item in infos if item is not None for dim in all_dims(item))
        return tuple([dim for dim in used if dim not in told])


def _finished(fn: e.Function) -> e.Function:
    """A function with shape variables of its own, and its StructInfo."""
    fn = Substitution({}, _renewed(fn)).function(fn)
    return replace(fn, struct_info=function_info(fn, True))


def _key(leaf: e.Expr) -> object:
    return ("length", leaf.value) if type(leaf) is e.PrimValue and _length(leaf) else leaf


def _length(leaf: e.Expr) -> str:
    """The name of a shape variable that is an operand."""
    return leaf.value.name if type(leaf) is e.PrimValue and type(leaf.value) is p.PrimVar else ""


def _renewed(fn: e.Function) -> dict[p.PrimVar, p.PrimExpr]:
    """New shape variables for those of a function that was cut out of another one."""
    infos = [param.struct_info for param in fn.params]
    infos += [b.var.struct_info for block in fn.body.blocks for b in block.bindings if b.var is not None]
    found = dict.fromkeys(dim for info in infos if info is not None for dim in all_dims(info))
    return {dim: p.PrimVar(dim.name, dim.dtype) for dim in found}
