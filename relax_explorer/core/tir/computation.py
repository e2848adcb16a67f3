"""What a PrimFunc computes, from its loops: sums of products, other reductions, arithmetic on elements, or elements in other places."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferLoad
from relax_explorer.core.tir.traverse import statements, subexpressions


class Computation(IntEnum):
    """What a statement does. Of several statements, the highest one counts."""

    UNKNOWN = 0  # foreign code, or lengths alone
    FILL = 1
    MOVE = 2
    ARITHMETIC = 3
    REDUCTION = 4
    CONTRACTION = 5


_CHOICES = ("if_then_else",)
_KNOWN: PerNode[Computation] = PerNode()


def computation(fn: t.PrimFunc) -> Computation:
    """What a PrimFunc computes, whatever its name, and whether its loops have blocks or not."""
    return _KNOWN.of(fn, lambda fn: _Stores(fn).strongest())


class _Stores:
    """The stores of a PrimFunc. `lets` are values with names, `axes` the serial loops behind the variable of a loop or a block."""

    def __init__(self, fn: t.PrimFunc) -> None:
        self.fn = fn
        self.lets: dict[p.PrimExpr, p.PrimExpr] = {}
        self.axes: dict[p.PrimExpr, frozenset[p.PrimExpr]] = {}

    def strongest(self) -> Computation:
        """What the function does. One without loops and blocks computes lengths."""
        found, has_loops = Computation.UNKNOWN, False
        for node in statements(self.fn.body):
            if type(node) is t.For:
                has_loops = True
                self.axes[node.var] = frozenset() if node.thread else frozenset([node.var])
            elif type(node) is t.SBlock:
                has_loops = True
                for axis, value in zip(node.iter_vars, node.iter_values, strict=False):
                    self.axes[axis.var] = self._axes_of(value)
            elif type(node) is t.LetStmt:
                self.lets[node.var] = node.value
            elif type(node) is t.BufferStore:
                found = max(found, self._store(node))
            if type(node) is t.Evaluate and any(_multiplies_tiles(x) for x in subexpressions(node.value)):
                found = Computation.CONTRACTION
        return found if has_loops else Computation.UNKNOWN

    def _store(self, store: t.BufferStore) -> Computation:
        loads = [part for part in self._inside(store.value) if isinstance(part, BufferLoad)]
        own = [load for load in loads if load.buffer is store.buffer]
        if own:
            summed = self._axes_of(store.value) - self._axes_of(*store.indices)
            if any(load.indices != store.indices for load in own) and self._computes(store.value):
                return Computation.REDUCTION  # a scan
            if summed and any(load.indices == store.indices for load in own):
                is_product = any(self._is_product(part, summed) for part in self._inside(store.value))
                return Computation.CONTRACTION if is_product else Computation.REDUCTION
        if not loads:
            return Computation.FILL
        return Computation.ARITHMETIC if self._computes(store.value) else Computation.MOVE

    def _inside(self, *exprs: p.PrimExpr) -> Iterator[p.PrimExpr]:
        """The parts of values, with those behind names, each once; not those of indices of loads."""
        stack, seen = list(exprs), set[p.PrimExpr]()
        while stack:
            item = stack.pop()
            item = self.lets.get(item, item)
            if item not in seen:
                seen.add(item)
                yield item
                stack += () if isinstance(item, BufferLoad) else item.children()

    def _axes_of(self, *exprs: p.PrimExpr) -> frozenset[p.PrimExpr]:
        """The serial loops that values depend on, by indices too."""
        found, stack, seen = set[p.PrimExpr](), list(exprs), set[p.PrimExpr]()
        while stack:
            item = stack.pop()
            item = self.lets.get(item, item)
            if item not in seen:
                seen.add(item)
                found |= self.axes.get(item, frozenset())
                stack += item.children()
        return frozenset(found)

    def _is_product(self, expr: p.PrimExpr, summed: frozenset[p.PrimExpr]) -> bool:
        """True for a product of two different values that both change along what is summed: the sum of squares is none."""
        factors: tuple[p.PrimExpr, ...] = ()
        if isinstance(expr, p.Mul) or (isinstance(expr, p.PrimCall) and expr.op == "fma"):
            factors = expr.children()[:2]
        return len(dict.fromkeys(factors)) == 2 and not any(
            self._axes_of(side).isdisjoint(summed) or not self._loads(side) for side in factors
        )

    def _loads(self, expr: p.PrimExpr) -> bool:
        return any(isinstance(part, BufferLoad) for part in self._inside(expr))

    def _computes(self, expr: p.PrimExpr) -> bool:
        """True if an element is changed, compared or converted on its way. Which one is taken may depend on its place."""
        stack, seen = [(expr, False)], set[tuple[p.PrimExpr, bool]]()
        while stack:
            item, is_changed = stack.pop()
            item = self.lets.get(item, item)
            if (item, is_changed) in seen:
                continue
            seen.add((item, is_changed))
            if isinstance(item, BufferLoad):
                if is_changed:
                    return True
            elif isinstance(item, p.Select) or (isinstance(item, p.PrimCall) and item.op in _CHOICES):
                condition, *others = item.children()
                stack += [(condition, True), *((other, is_changed) for other in others)]
            else:
                stack += [(part, True) for part in item.children()]
        return False


def _multiplies_tiles(expr: p.PrimExpr) -> bool:
    """True for the instructions of tensor cores."""
    return isinstance(expr, p.PrimCall) and "mma" in expr.op
