"""The work of a PrimFunc, counted from its loops: how often each statement runs, as an amount in the lengths of its parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from relax_explorer.core.arith.polynomial import Polynomial, combine, multiply
from relax_explorer.core.check.storage import width
from relax_explorer.core.cost import amounts
from relax_explorer.core.cost.amounts import ONE, amount, literal
from relax_explorer.core.cost.work import Work
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ops.kit.flop_count import FUNCTIONS, volume
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.matched_views import without_views
from relax_explorer.core.tir.prim_expr import BufferLoad
from relax_explorer.core.tir.traverse import accesses, is_impure, memory

_ARITHMETIC = (p.Add, p.Sub, p.Mul, p.Div, p.Mod, p.FloorDiv, p.FloorMod, p.Min, p.Max)
_CHOICES = ("if_then_else",)


class Counts(NamedTuple):
    """What one evaluation of an expression does; `loads` has the elements that it reads of each buffer."""

    flops: int = 0
    functions: int = 0
    integers: int = 0
    loads: tuple[tuple[t.Buffer, int], ...] = ()
    calls: tuple[str, ...] = ()  # whose work is not known

    def plus(self, other: Counts) -> Counts:
        """Both."""
        loads = dict(self.loads)
        for buffer, times in other.loads:
            loads[buffer] = loads.get(buffer, 0) + times
        return Counts(
            self.flops + other.flops,
            self.functions + other.functions,
            self.integers + other.integers,
            tuple(loads.items()),
            self.calls + other.calls,
        )

    def or_else(self, other: Counts) -> Counts:
        """The larger one of both, number by number."""
        loads = dict(self.loads)
        for buffer, times in other.loads:
            loads[buffer] = max(loads.get(buffer, 0), times)
        return Counts(
            max(self.flops, other.flops),
            max(self.functions, other.functions),
            max(self.integers, other.integers),
            tuple(loads.items()),
            self.calls + other.calls,
        )


NONE = Counts()


class Expressions:
    """Counts of expressions, each expression once: they share parts.

    What depends on parameters alone is computed once before the loops, so it has no counts.
    """

    def __init__(self, parameters: Iterable[p.PrimVar]) -> None:
        self._known: dict[p.PrimExpr, Counts] = {}
        self._fixed: set[p.PrimExpr] = set(parameters)

    def of(self, expr: p.PrimExpr) -> Counts:
        """The counts of an expression. It may be deep, so its parts come first."""
        stack = [expr]
        while stack:
            node = stack[-1]
            missing = [part for part in node.children() if part not in self._known]
            if missing and node not in self._known:
                stack += missing
                continue
            stack.pop()
            if node not in self._known:
                self._known[node] = NONE if self._is_fixed(node) else self._counts(node)
        return self._known[expr]

    def _is_fixed(self, node: p.PrimExpr) -> bool:
        """True if all operands are numbers or parameters; their parts were seen before."""
        parts = node.children()
        is_leaf = not parts and (node.is_literal or node in self._fixed)
        is_made = (
            bool(parts) and not isinstance(node, BufferLoad) and all(part in self._fixed for part in parts)
        )
        if is_leaf or is_made:
            self._fixed.add(node)
        return is_leaf or is_made

    def _counts(self, node: p.PrimExpr) -> Counts:
        parts = [self._known[part] for part in node.children()]
        if isinstance(node, BufferLoad):
            lanes = max(1, node.dtype.lanes // max(1, node.buffer.dtype.lanes))
            return _indices(parts).plus(Counts(loads=((node.buffer, lanes),)))
        if isinstance(node, p.Select) or (isinstance(node, p.PrimCall) and node.op in _CHOICES):
            return parts[0].plus(parts[1].or_else(parts[2]))
        together = NONE
        for part in parts:
            together = together.plus(part)
        if isinstance(node, p.PrimCall):
            return together.plus(_of_call(node))
        if isinstance(node, p.Comparison | p.Not):
            return together._replace(integers=0)
        if isinstance(node, _ARITHMETIC):
            lanes = node.dtype.lanes
            return together.plus(Counts(lanes) if node.dtype.is_float else Counts(integers=lanes))
        return together


def _indices(parts: Sequence[Counts]) -> Counts:
    """The counts of indices: their arithmetic finds a place, and makes no element."""
    found = NONE
    for part in parts:
        found = found.plus(Counts(loads=part.loads, calls=part.calls))
    return found


def _of_place(counts: Counts) -> Counts:
    """The counts of an integer variable: it is about places."""
    return counts._replace(integers=0)


def _of_call(call: p.PrimCall) -> Counts:
    """The counts of an intrinsic itself, without its arguments."""
    if call.op in FUNCTIONS:
        lanes = call.dtype.lanes
        return Counts(lanes, lanes)
    if call.op == "fma":
        return Counts(2 * call.dtype.lanes)
    return Counts(calls=(call.op,)) if is_impure(call) else NONE


# -- tally -----------------------------------------------------------------------------------------------------------
# The amounts of statements: counts of their expressions times the trips of the loops around them.


@dataclass(slots=True)
class Tally:
    """Operations, and elements read and stored of each buffer."""

    flops: Polynomial = field(default_factory=dict)
    functions: Polynomial = field(default_factory=dict)
    integers: Polynomial = field(default_factory=dict)
    loads: dict[t.Buffer, Polynomial] = field(default_factory=dict)
    stores: dict[t.Buffer, Polynomial] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)
    at_most: dict[str, None] = field(default_factory=dict)

    def add(self, counts: Counts, trips: Polynomial) -> None:
        """Add an expression that is evaluated so often."""
        self.flops = combine(self.flops, trips, counts.flops) if counts.flops else self.flops
        self.functions = combine(self.functions, trips, counts.functions)
        self.integers = combine(self.integers, trips, counts.integers)
        for buffer, times in counts.loads:
            self.loads[buffer] = combine(self.loads.get(buffer, {}), trips, times)
        for name in counts.calls:
            self.unknown[f"T.{name}, whose work is not known"] = None

    def join(self, other: Tally) -> None:
        """Add all of another tally."""
        self.flops = combine(self.flops, other.flops)
        self.functions = combine(self.functions, other.functions)
        self.integers = combine(self.integers, other.integers)
        for own, theirs in ((self.loads, other.loads), (self.stores, other.stores)):
            for buffer, times in theirs.items():
                own[buffer] = combine(own.get(buffer, {}), times)
        self.unknown.update(other.unknown)
        self.at_most.update(other.at_most)


class _Loops:
    """A walk over the statements of a PrimFunc, recursive in their nesting only."""

    def __init__(self, fn: t.PrimFunc) -> None:
        self.expressions = Expressions(_parameters(fn))
        self.lets: dict[p.PrimVar, p.PrimExpr] = {}
        self.highest: dict[p.PrimVar, p.PrimExpr] = {}  # values of loop variables in the last iteration
        self.loop_vars: set[p.PrimVar] = set()
        self.views: dict[t.Buffer, t.Buffer] = {}  # with the buffers behind them
        self.allocated: list[t.Buffer] = []

    def walk(self, node: t.Stmt, trips: Polynomial, tally: Tally) -> None:
        """Add a statement that runs so often."""
        match node:
            case t.SeqStmt():
                for statement in node.stmts:
                    self.walk(statement, trips, tally)
            case t.BufferStore():
                self.store(node, trips, tally)
            case t.For():
                self.loop(node, trips, tally)
            case t.SBlock():
                self.block(node, trips, tally)
            case t.IfThenElse():
                self.branch(node, trips, tally)
            case _:
                self.rare(node, trips, tally)

    def rare(self, node: t.Stmt, trips: Polynomial, tally: Tally) -> None:
        """A statement that few kernels have. One that declares or checks something has no work."""
        match node:
            case t.While():
                tally.unknown["a while loop; one trip is counted"] = None
                tally.add(self.expressions.of(node.condition), trips)
                self.walk(node.body, trips, tally)
            case t.AttrStmt():
                is_launch = node.key == "thread_extent"
                inner = self.length(node.value, node.key, tally) if is_launch else ONE
                self.walk(node.body, multiply(trips, inner), tally)
            case t.LetStmt():
                self.lets[node.var] = node.value
                counts = self.expressions.of(node.value)
                tally.add(counts if node.value.dtype.is_float else _of_place(counts), trips)
            case t.AllocBuffer() if node.buffer.data is None:
                self.allocated.append(node.buffer)
            case t.Evaluate():
                tally.add(self.expressions.of(node.value), trips)

    def store(self, node: t.BufferStore, trips: Polynomial, tally: Tally) -> None:
        """A store: the value, loads among the indices, and the element."""
        tally.add(self.expressions.of(node.value), trips)
        tally.add(_indices([self.expressions.of(index) for index in node.indices]), trips)
        lanes = max([index.dtype.lanes for index in node.indices], default=1)
        tally.stores[node.buffer] = combine(tally.stores.get(node.buffer, {}), trips, lanes)

    def loop(self, node: t.For, trips: Polynomial, tally: Tally) -> None:
        """A loop: its body, as often as it runs."""
        extent = node.extent
        if node.step is not None:
            extent = p.FloorDiv(p.Add(extent, p.Sub(node.step, p.IntImm(1, extent.dtype))), node.step)
        self.loop_vars.add(node.var)
        self.highest[node.var] = p.Add(node.start, p.Sub(node.extent, p.IntImm(1, extent.dtype)))
        self.walk(node.body, multiply(trips, self.length(extent, node.var.name, tally)), tally)

    def block(self, node: t.SBlock, trips: Polynomial, tally: Tally) -> None:
        """A block: its axes stand for values of loop variables, its init runs once for each element."""
        for axis, bound in zip(node.iter_vars, node.iter_values, strict=False):
            self.lets[axis.var] = bound
        self.allocated += node.alloc_buffers
        for view in node.match_buffers:
            self.views[view.buffer] = view.source.buffer
        if node.predicate is not None and not isinstance(node.predicate, p.IntImm):
            tally.at_most[f"block {node.name} runs under a condition"] = None
        if node.init is not None:
            spatial = [axis.domain.extent for axis in node.iter_vars if axis.kind == "spatial"]
            self.walk(node.init, volume([self.resolved(extent) for extent in spatial]), tally)
        self.walk(node.body, trips, tally)

    def branch(self, node: t.IfThenElse, trips: Polynomial, tally: Tally) -> None:
        """A condition: the branch with more operations counts."""
        tally.add(self.expressions.of(node.condition), trips)
        sides = [Tally(), Tally()]
        for side, case in zip(sides, (node.then_case, node.else_case), strict=True):
            if case is not None:
                self.walk(case, trips, side)
        flops = [side.flops for side in sides]
        if flops[0] != flops[1]:
            tally.at_most["a branch of a kernel counts as if it always ran"] = None
        chosen = sides[1] if amounts.larger(flops[0], flops[1]) > 0 else sides[0]
        other = sides[0] if chosen is sides[1] else sides[1]
        for mine, theirs in ((chosen.loads, other.loads), (chosen.stores, other.stores)):
            for buffer, times in theirs.items():
                mine[buffer] = times if amounts.larger(mine.get(buffer, {}), times) > 0 else mine[buffer]
        chosen.unknown.update(other.unknown)
        tally.join(chosen)

    def resolved(self, expr: p.PrimExpr) -> p.PrimExpr:
        """An expression without variables of lets and axes. They may be nested as deep as the loops."""
        while any(var in self.lets for var in p.free_vars(expr)):
            expr = p.substitute(expr, {var: self.lets[var] for var in p.free_vars(expr) if var in self.lets})
        return expr

    def length(self, extent: p.PrimExpr, name: str, tally: Tally) -> Polynomial:
        """How often a loop runs; where that depends on a loop around it, as often as in the last iteration."""
        known = self.resolved(extent)
        if _has_load(known):
            tally.unknown[f"loop {name} runs as often as elements tell; one trip is counted"] = None
            return ONE
        while inner := [var for var in p.free_vars(known) if var in self.loop_vars]:
            tally.at_most[f"loop {name} runs as often as {inner[0].name} tells; its longest run counts"] = (
                None
            )
            known = self.resolved(p.substitute(known, {var: self.highest[var] for var in inner}))
        return amount(known)

    def of_buffer(self, param: t.Buffer, elements: dict[t.Buffer, Polynomial]) -> Polynomial:
        """The accesses to a buffer, also through views of it."""
        return amounts.total([times for buffer, times in elements.items() if self._base(buffer) is param])

    def _base(self, buffer: t.Buffer) -> t.Buffer:
        """The buffer behind a view."""
        while buffer in self.views and self.views[buffer] is not buffer:
            buffer = self.views[buffer]
        return buffer


def _has_load(expr: p.PrimExpr) -> bool:
    stack = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, BufferLoad):
            return True
        stack.extend(node.children())
    return False


# -- kernel ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KernelWork:
    """The work of one call of a PrimFunc, in the lengths of its parameters, and the bytes that it allocates while it runs.

    `reads` are the bytes that it reads of each parameter.
    """

    work: Work
    scratch: Polynomial
    reads: tuple[Polynomial, ...]

    def with_repeated(self, parameters: Iterable[int]) -> Work:
        """The work if these parameters are values that others are, too: their elements are read once."""
        again = amounts.total([self.reads[number] for number in parameters])
        return replace(self.work, read=combine(self.work.read, again, -1)) if again else self.work


_KNOWN: PerNode[KernelWork] = PerNode()


def kernel_work(fn: t.PrimFunc) -> KernelWork:
    """The work of a PrimFunc, found once."""
    return _KNOWN.of(fn, _kernel_work)


def _kernel_work(fn: t.PrimFunc) -> KernelWork:
    fn = without_views(fn)
    loops, tally = _Loops(fn), Tally()
    loops.views.update({view: source for view, source in memory(fn.body).items() if source is not None})
    loops.walk(fn.body, ONE, tally)
    touched = accesses(fn)
    reads: list[Polynomial] = [{} for _ in fn.params]
    written: Polynomial = {}
    for number, param in enumerate(fn.params):
        if not isinstance(param, t.Buffer):
            continue
        loads, stores = loops.of_buffer(param, tally.loads), loops.of_buffer(param, tally.stores)
        if touched is None or number in touched.read:
            reads[number] = _moved(param, loads)
        written = combine(written, _moved(param, stores))
    numbers = (tally.flops, tally.functions, tally.integers, amounts.total(reads), written)
    work = Work.of(numbers, tuple(tally.unknown), tuple(tally.at_most))
    return KernelWork(work, amounts.total([_size(buffer) for buffer in loops.allocated]), tuple(reads))


def _parameters(fn: t.PrimFunc) -> Iterator[p.PrimVar]:
    """The scalar parameters, and the variables in the lengths of the others."""
    for param in fn.params:
        yield from p.free_vars(*param.shape) if isinstance(param, t.Buffer) else (param,)


def _size(buffer: t.Buffer) -> Polynomial:
    return multiply(volume(buffer.shape), literal(width(buffer.dtype)))


def _moved(buffer: t.Buffer, elements: Polynomial) -> Polynomial:
    """The bytes that must move for so many accesses to elements of a buffer: at most all of it, once."""
    return amounts.least(_size(buffer), multiply(elements, literal(width(buffer.dtype))))
