"""AnnotateTIROpPattern: the pattern of a PrimFunc, by which operators are fused."""

from __future__ import annotations

from collections.abc import Sequence

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ops.kit.decl import Fusion
from relax_explorer.core.passes.contract import PassSite, module_pass
from relax_explorer.core.phases.module_properties import NORMAL_FORM, PATTERNS_ANNOTATED
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferLoad
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.core.tir.traverse import children, expressions, subexpressions


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
