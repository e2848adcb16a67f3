"""Walks and rewrites Relax programs, without recursion along bindings. Unchanged nodes stay the same objects."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.fold import FormedDims, substitute
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.pauses import with_pauses

Map = Callable[[e.Expr], e.Expr]


def operands(expr: e.Expr) -> tuple[e.Expr, ...]:
    """The direct operands of `expr`, in evaluation order, without nested sequences and functions."""
    getter = _OPERANDS.get(type(expr))
    return getter(expr) if getter is not None else ()


_OPERANDS: dict[type, Callable[[Any], tuple[e.Expr, ...]]] = {
    e.Call: lambda x: (x.op, *x.args),
    e.Tuple: lambda x: x.fields,
    e.TupleGetItem: lambda x: (x.tuple,),
    e.If: lambda x: (x.condition,),
}


def called(value: e.Expr) -> str:
    """The name of the operator, or of the function of the module, that a value calls; empty for other values."""
    op = value.op if type(value) is e.Call else None
    return op.name if type(op) is e.OpRef or type(op) is e.GlobalVar else ""


def infos_of(exprs: Iterable[e.Expr]) -> tuple[s.StructInfo, ...]:
    """What is known of some values. An object is known to be one."""
    return tuple([expr.struct_info or s.OBJECT for expr in exprs])


def stated_infos(binding: e.Binding) -> list[s.StructInfo]:
    """The StructInfo of the variable of a binding, and what a match_cast states."""
    infos = [] if binding.var is None or binding.var.struct_info is None else [binding.var.struct_info]
    return [*infos, binding.struct_info] if type(binding) is e.MatchCast else infos


def sequences(expr: e.Expr) -> tuple[e.SeqExpr, ...]:
    """The sequences nested in the value of a binding: branches of an If, the body of a function."""
    if type(expr) is e.If:
        return tuple([b for b in (expr.true_branch, expr.false_branch) if isinstance(b, e.SeqExpr)])
    return (expr.body,) if type(expr) is e.Function else ()


def bindings(fn: e.Function, nested: bool = True) -> Iterator[e.Binding]:
    """All bindings of a function, in text order. With `nested`, also those of branches and nested functions."""
    stack: list[Iterator[Any]] = [iter(fn.body.blocks)]
    while stack:
        for entry in stack[-1]:
            if isinstance(entry, e.BindingBlock):
                if WITH_BLOCKS.isdisjoint([type(binding.value) for binding in entry.bindings]):
                    yield from with_pauses(entry.bindings)
                    continue
                stack.append(with_pauses(entry.bindings))
                break
            yield entry
            if nested and type(entry.value) in WITH_BLOCKS:
                stack.extend(iter(seq.blocks) for seq in reversed(sequences(entry.value)))
                break
        else:
            stack.pop()


WITH_BLOCKS = frozenset({e.If, e.Function})
"""The types of values with bindings inside."""


def all_blocks(fn: e.Function) -> Iterator[e.BindingBlock]:
    """All blocks of a function, in text order, with those of branches and nested functions."""
    stack = list(fn.body.blocks[::-1])
    while stack:
        block = stack.pop()
        yield block
        values = [binding.value for binding in block.bindings]
        if not WITH_BLOCKS.isdisjoint(map(type, values)):
            for value in reversed(values):
                for seq in reversed(sequences(value)):
                    stack.extend(seq.blocks[::-1])


def dataflow_blocks(fn: e.Function) -> Iterator[e.DataflowBlock]:
    """All dataflow blocks of a function, in text order."""
    return (block for block in all_blocks(fn) if type(block) is e.DataflowBlock)


def any_expr(fn: e.Function, test: Callable[[e.Expr], bool]) -> bool:
    """True if `test` holds for any expression in a function."""
    return any(test(expr) for expr in exprs(fn))


def exprs(fn: e.Function) -> Iterator[e.Expr]:
    """All expressions of a function, with operands of nested calls and results of sequences."""
    todo: list[e.Expr] = [fn.body.body]
    for binding in bindings(fn):
        todo.append(binding.value)
        todo.extend(seq.body for seq in sequences(binding.value))
        while todo:
            expr = todo.pop()
            yield expr
            todo.extend(operands(expr))
    while todo:
        expr = todo.pop()
        yield expr
        todo.extend(operands(expr))


def map_operands(expr: e.Expr, change: Map) -> e.Expr:
    """`expr` with `change` applied to each operand. The same object if none changes."""
    mapper = _MAPPERS.get(type(expr))
    return mapper(expr, change) if mapper is not None else expr


def _map_call(expr: e.Call, change: Map) -> e.Expr:
    op = change(expr.op)
    args = _map_all(expr.args, change)
    if op is expr.op and args is expr.args:
        return expr
    return e.Call(op, args, expr.attrs, expr.sinfo_args, expr.struct_info, expr.span)


def _map_all(items: tuple[e.Expr, ...], change: Map) -> tuple[e.Expr, ...]:
    new = tuple([change(item) for item in items])
    return items if all(map(_is, items, new)) else new


def _is(a: object, b: object) -> bool:
    return a is b


def _map_tuple(expr: e.Tuple, change: Map) -> e.Expr:
    fields = _map_all(expr.fields, change)
    return expr if fields is expr.fields else e.Tuple(fields, expr.struct_info, expr.span)


_MAPPERS: dict[type, Callable[[Any, Map], e.Expr]] = {
    e.Call: _map_call,
    e.Tuple: _map_tuple,
    e.TupleGetItem: lambda x, change: replace(x, tuple=change(x.tuple)),
    e.If: lambda x, change: replace(x, condition=change(x.condition)),
}


def info_vars(info: s.StructInfo) -> tuple[p.PrimVar, ...]:
    """The shape variables in a StructInfo, in order, except in function infos, which bind their own."""
    variables = _INFO_VARS.get(id(info))
    if variables is None:
        variables = _INFO_VARS.add(info, tuple(dict.fromkeys(_info_vars(info))))
    return variables


_INFO_VARS: PerNode[tuple[p.PrimVar, ...]] = PerNode()


def _info_vars(info: s.StructInfo) -> list[p.PrimVar]:
    if type(info) is s.TensorStructInfo:
        return p.free_vars(*info.dims) if info.dims is not None else []
    if type(info) is s.ShapeStructInfo:
        return p.free_vars(*(info.values or ()))
    if type(info) is s.TupleStructInfo:
        return [var for field in info.fields for var in _info_vars(field)]
    if type(info) is s.PrimStructInfo and info.value is not None:
        return p.free_vars(info.value)
    return []


def all_dims(info: s.StructInfo) -> list[p.PrimVar]:
    """The shape variables in a StructInfo, in order, also in function infos."""
    if isinstance(info, s.TupleStructInfo):
        return [var for field in info.fields for var in all_dims(field)]
    if isinstance(info, s.FuncStructInfo):
        return [var for part in (*(info.params or ()), info.ret) for var in all_dims(part)]
    return list(info_vars(info))


def defined_dims(info: s.StructInfo) -> list[p.PrimVar]:
    """The shape variables that a parameter or match_cast of this StructInfo binds: dimensions that are a single variable."""
    if isinstance(info, s.TensorStructInfo):
        return [dim for dim in info.dims or () if type(dim) is p.PrimVar]
    if isinstance(info, s.ShapeStructInfo):
        return [dim for dim in info.values or () if type(dim) is p.PrimVar]
    if isinstance(info, s.PrimStructInfo):
        return [info.value] if type(info.value) is p.PrimVar else []
    if isinstance(info, s.TupleStructInfo):
        return [var for field in info.fields for var in defined_dims(field)]
    return []


def info_holders(info: s.StructInfo) -> tuple[e.Var, ...]:
    """The variables in a StructInfo that hold a shape, in order."""
    if type(info) is s.TensorStructInfo:
        return () if type(info.shape) is tuple or not isinstance(info.shape, e.Var) else (info.shape,)
    if type(info) is s.TupleStructInfo:
        parts: tuple[s.StructInfo, ...] = info.fields
    elif type(info) is s.FuncStructInfo:
        parts = (*(info.params or ()), info.ret)
    else:
        return ()
    holders = _INFO_HOLDERS.get(id(info))
    if holders is None:
        holders = _INFO_HOLDERS.add(info, tuple([var for part in parts for var in info_holders(part)]))
    return holders


_INFO_HOLDERS: PerNode[tuple[e.Var, ...]] = PerNode()


def substitute_info(
    info: s.StructInfo, dims: Mapping[p.PrimVar, p.PrimExpr], variables: dict[e.Var, e.Expr] | None = None
) -> s.StructInfo:
    """`info` with shape variables (and variables that hold shapes) replaced. The same object if none occurs.

    Operators on new literals are folded. In a function info, shape variables of its parameters are not captured.
    """
    if type(info) is s.TensorStructInfo:
        shape = info.shape
        if type(shape) is tuple:
            new = tuple([substitute(dim, dims) for dim in shape])
        else:
            new = _shape_value(shape, variables)
        return (
            info
            if new is shape or new == shape
            else s.TensorStructInfo(new, info.dtype, info.ndim, info.vdevice)
        )
    if type(info) is s.ShapeStructInfo and info.values is not None:
        return s.ShapeStructInfo(tuple([substitute(dim, dims) for dim in info.values]))
    if type(info) is s.TupleStructInfo:
        return s.TupleStructInfo(tuple([substitute_info(field, dims, variables) for field in info.fields]))
    if type(info) is s.PrimStructInfo and info.value is not None:
        return s.PrimStructInfo(info.dtype, substitute(info.value, dims))
    return _substitute_function(info, dims, variables) if isinstance(info, s.FuncStructInfo) else info


def _substitute_function(
    info: s.FuncStructInfo, dims: Mapping[p.PrimVar, p.PrimExpr], variables: dict[e.Var, e.Expr] | None
) -> s.StructInfo:
    """A function info with variables replaced. Its own shape variables are renewed if the replacements contain them."""
    written = dict.fromkeys(all_dims(info))
    form = dims.form if type(dims) is FormedDims else None
    dims = {var: dims[var] for var in written if var in dims}
    incoming = set(p.free_vars(*dims.values()))
    bound = [var for param in info.params or () for var in defined_dims(param) if var not in dims]
    taken = incoming | written.keys()
    dims.update({var: renamed(var, taken) for var in bound if var in incoming})
    dims = FormedDims(dims, form) if form else dims
    params = info.params
    if params is not None:
        params = tuple([substitute_info(param, dims, variables) for param in params])
    return s.FuncStructInfo(params, substitute_info(info.ret, dims, variables), info.pure, info.derive_func)


_RENAMED: PerNode[p.PrimVar] = PerNode()


def renamed(var: p.PrimVar, taken: Collection[p.PrimVar]) -> p.PrimVar:
    """Another shape variable with the same name, not in `taken`. It is always the same one, so that interning works."""
    while var in taken:
        var = _RENAMED.get(id(var)) or _RENAMED.add(var, p.PrimVar(var.name, var.dtype))
    return var


def _shape_value(shape: Any, variables: dict[e.Var, e.Expr] | None) -> Any:
    value = variables.get(shape, shape) if variables and shape is not None else shape
    return value.values if isinstance(value, e.ShapeExpr) else value if isinstance(value, e.Var) else shape


def map_blocks(seq: e.SeqExpr, change: Callable[[e.Binding], e.Binding | tuple[e.Binding, ...]]) -> e.SeqExpr:
    """A sequence with `change` applied to each binding. `change` returns the binding, another, several, or () to drop it.

    Lists are copied only at the first change; an unchanged sequence is the same object. Empty blocks are dropped.
    """
    blocks: list[e.BindingBlock] | None = None
    for number, block in enumerate(seq.blocks):
        new = map_block(block, change)
        if new is not block and blocks is None:
            blocks = list(seq.blocks[:number])
        if blocks is not None and new.bindings:
            blocks.append(new)
    return seq if blocks is None else replace(seq, blocks=tuple(blocks))


def with_blocks(seq: e.SeqExpr, blocks: Sequence[e.BindingBlock], **changes: Any) -> e.SeqExpr:
    """A sequence with these blocks, and other changes. The same object if nothing changes."""
    same = len(blocks) == len(seq.blocks) and all(map(_is, blocks, seq.blocks))
    return replace(seq, blocks=seq.blocks if same else tuple(blocks), **changes)


def map_sequences(binding: e.Binding, change: Callable[[e.SeqExpr], e.SeqExpr]) -> e.Binding:
    """A binding with `change` applied to the branches of its If, or to the body of its function."""
    value = binding.value
    if type(value) is e.If:
        return replace(binding, value=map_branches(value, change))
    if type(value) is e.Function:
        return replace(binding, value=replace(value, body=change(value.body)))
    return binding


def map_branches(value: e.If, change: Callable[[e.SeqExpr], e.SeqExpr]) -> e.If:
    """An If with `change` applied to its branches."""
    true, false = (change(branch) for branch in sequences(value))
    return replace(value, true_branch=true, false_branch=false)


def merged_blocks(blocks: Sequence[e.BindingBlock]) -> list[e.BindingBlock]:
    """Blocks with neighbours of the same kind merged. Empty blocks are dropped."""
    runs: list[list[e.BindingBlock]] = []
    for block in blocks:
        if not block.bindings:
            continue
        if runs and type(runs[-1][0]) is type(block):
            runs[-1].append(block)
        else:
            runs.append([block])
    return [run[0] if len(run) == 1 else _joined(run) for run in runs]


def _joined(run: list[e.BindingBlock]) -> e.BindingBlock:
    return replace(run[0], bindings=tuple([binding for block in run for binding in block.bindings]))


def map_block(
    block: e.BindingBlock, change: Callable[[e.Binding], e.Binding | tuple[e.Binding, ...]]
) -> e.BindingBlock:
    """One block with `change` applied to each binding."""
    changed: list[e.Binding] | None = None
    for number, binding in enumerate(block.bindings):
        new = change(binding)
        if new is not binding and changed is None:
            changed = list(block.bindings[:number])
        if changed is not None:
            changed.extend(new if isinstance(new, tuple) else (new,))
    return block if changed is None else replace(block, bindings=tuple(changed))


# -- contents --------------------------------------------------------------------------------------------------------
# Which kinds of bindings a function has: most analyses ask first whether there is anything for them.


class Contents(NamedTuple):
    """What stands in a function, in its branches and in its nested functions."""

    blocks: Set[type]  # the types of its blocks
    bindings: Set[type]  # the types of its bindings
    values: Set[type]  # the types of their values
    operators: Set[e.Expr]  # those that it calls
    calls_packed: bool  # True if it calls a packed function
    calls_functions: bool  # True if it calls a function of the module, or a variable that holds one
    hides_infos: bool  # True if an annotation says something else than the StructInfo of its value


def contents(fn: e.Function) -> Contents:
    """The contents of a function, found in one walk and kept as long as it lives."""
    return _CONTENTS.of(fn, _contents)


_CONTENTS: PerNode[Contents] = PerNode()


def functions_in(fn: e.Function) -> list[e.Function]:
    """A function, and those nested in it, in text order."""
    if e.Function not in contents(fn).values:
        return [fn]
    return [fn, *[b.value for b in bindings(fn) if type(b.value) is e.Function]]


def casts_in(fn: e.Function) -> list[e.MatchCast]:
    """The match_casts of a function, in text order."""
    if e.MatchCast not in contents(fn).bindings:
        return []
    return [binding for binding in bindings(fn) if type(binding) is e.MatchCast]


def _contents(fn: e.Function) -> Contents:
    kinds, values, callees = set[type](), set[type](), set[e.Expr]()
    hides_infos = False
    todo = list(fn.body.blocks)
    for block in todo:  # it grows
        own = [binding.value for binding in block.bindings]
        kinds.update(map(type, block.bindings))
        values.update(map(type, own))
        callees.update([value.op for value in own if type(value) is e.Call])
        hides_infos = hides_infos or any([_hides_info(b) for b in block.bindings if b.annotation is not None])
        if not WITH_BLOCKS.isdisjoint(map(type, own)):
            todo += [inner for value in own for seq in sequences(value) for inner in seq.blocks]
    operators = {op for op in callees if type(op) is e.OpRef}
    others = set(map(type, callees - operators))
    return Contents(
        set(map(type, todo)),
        kinds,
        values,
        operators,
        e.ExternFunc in others,
        bool(others - {e.ExternFunc}),
        hides_infos,
    )


def _hides_info(binding: e.Binding) -> bool:
    return binding.var is not None and binding.var.struct_info is not binding.value.struct_info
