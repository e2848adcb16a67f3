"""Nests of loops: which are plain reductions, which fill a buffer, where they poll, and whose iterations threads may share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ops.kit.ndarrays import are_shared
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.independent import Iterations, independent_iterations
from relax_explorer.core.tir.prim_expr import BufferLoad, BufferPtr
from relax_explorer.core.tir.stmt import Buffer
from relax_explorer.core.tir.traverse import children, expressions, statements, subexpressions


def is_filled_first(buffer: Buffer, following: Sequence[t.Stmt]) -> bool:
    """True if the first of these statements that mentions a buffer is a loop nest that writes each of its elements."""
    for node in _parts(following):
        if _mentions(node, buffer):
            return _fills(node, buffer)
    return False


def _parts(nodes: Sequence[t.Stmt]) -> Iterator[t.Stmt]:
    for node in nodes:
        if type(node) is t.SeqStmt:
            yield from _parts(node.stmts)
        else:
            yield node


def _mentions(node: t.Stmt, buffer: Buffer) -> bool:
    for part in statements(node):
        if type(part) is t.BufferStore and part.buffer is buffer:
            return True
        if _reads(buffer, *expressions(part)):
            return True
    return False


def _reads(buffer: Buffer, *exprs: p.PrimExpr) -> bool:
    return any(
        isinstance(expr, (BufferLoad, BufferPtr)) and expr.buffer is buffer for expr in subexpressions(*exprs)
    )


def buffers(*nodes: t.Stmt) -> list[Buffer]:
    """The buffers that statements read, write or declare, in order."""
    found: dict[Buffer, None] = {}
    for node in nodes:
        for part in statements(node):
            if type(part) is t.BufferStore:
                found[part.buffer] = None
            for expr in subexpressions(*expressions(part)):
                if isinstance(expr, (BufferLoad, BufferPtr)):
                    found[expr.buffer] = None
    return list(found)


def _fills(node: t.Stmt, buffer: Buffer) -> bool:
    """True for loops from 0 around one store that they all index, possibly in one block. For a reduction, `init` counts."""
    chain, block = reduction_nest(node) if type(node) is t.For else ([], None)
    if block is not None and block.init is not None:
        pairs = list(zip(block.iter_vars, block.iter_values, strict=True))
        names = {axis.var: value for axis, value in pairs if axis.kind != "reduce"}
        taken = set(names.values())
        extents = {loop.var: loop.extent for loop in chain if loop.var in taken}
        return _writes_all(block.init, buffer, extents, names)
    extents = {}
    while type(node) is t.For:
        is_plain = isinstance(node.start, p.IntImm) and node.start.value == 0 and node.step is None
        if not is_plain or node.kind == "thread_binding":
            return False
        extents[node.var] = node.extent
        node = node.body
    names = {var: var for var in extents}
    if type(node) is t.SBlock:
        if node.predicate is not None or node.alloc_buffers or node.match_buffers or node.init is not None:
            return False
        names = dict(zip([axis.var for axis in node.iter_vars], node.iter_values, strict=True))
        node = node.body
    return _writes_all(node, buffer, extents, names)


def _writes_all(
    node: t.Stmt,
    buffer: Buffer,
    extents: Mapping[p.PrimVar, p.PrimExpr],
    names: Mapping[p.PrimVar, p.PrimExpr],
) -> bool:
    if type(node) is not t.BufferStore or node.buffer is not buffer or _reads(buffer, node.value):
        return False
    loops = [names.get(index) if type(index) is p.PrimVar else None for index in node.indices]
    return (
        set(loops) == set(extents)  # each loop is one index, so no element is left out
        and len(loops) == len(extents)
        and all(
            [
                type(loop) is p.PrimVar and same_length(extents[loop], dim)
                for loop, dim in zip(loops, buffer.shape, strict=True)
            ]
        )
    )


def same_length(a: p.PrimExpr, b: p.PrimExpr) -> bool:
    """True if two lengths are known to be one."""
    if isinstance(a, p.IntImm) and isinstance(b, p.IntImm):
        return a.value == b.value
    return a is b and not any(isinstance(part, BufferLoad) for part in subexpressions(a))


def reduction_nest(node: t.For) -> tuple[list[t.For], t.SBlock | None]:
    """The loops of a plain reduction and its block: every axis is one loop from 0, and there is nothing else.

    Each element of the result is started and summed by itself. So all may be started first, and the loops may be exchanged.
    """
    chain: list[t.For] = []
    current: t.Stmt = node
    while type(current) is t.For and current.kind != "thread_binding" and current.step is None:
        if not isinstance(current.start, p.IntImm) or current.start.value:
            return chain, None
        chain.append(current)
        current = current.body
    if (
        type(current) is not t.SBlock
        or current.init is None
        or current.predicate is not None
        or current.alloc_buffers
    ):
        return chain, None
    loops = [loop.var for loop in chain]
    plain = (
        sorted(map(id, current.iter_values)) == sorted(map(id, loops)) and type(current.body) is t.BufferStore
    )
    bound = set(loops)
    square = all(not bound & set(p.free_vars(loop.extent)) for loop in chain)
    has_reduce = any(axis.kind == "reduce" for axis in current.iter_vars)
    return chain, current if plain and square and has_reduce and _is_apart(current) else None


def _is_apart(block: t.SBlock) -> bool:
    """True if each element of the result is written for one point of the spatial axes, and read only there."""
    first, store = block.init, block.body
    if type(first) is not t.BufferStore or type(store) is not t.BufferStore:
        return False
    buffer, indices = store.buffer, store.indices
    if first.buffer is not buffer or first.indices != indices or _reads(buffer, *indices, first.value):
        return False
    accesses = [expr for expr in subexpressions(store.value) if isinstance(expr, (BufferLoad, BufferPtr))]
    if any(
        expr.buffer is buffer and (type(expr) is not BufferLoad or expr.indices != indices)
        for expr in accesses
    ):
        return False
    summed = {axis.var for axis in block.iter_vars if axis.kind == "reduce"}
    if not summed.isdisjoint(p.free_vars(*indices, first.value)):
        return False
    return {axis.var for axis in block.iter_vars} - summed <= set(map(_moved, indices))


def _moved(index: p.PrimExpr) -> p.PrimExpr:
    """The variable of an index `v` or `v + 1`; another index itself."""
    return index.a if type(index) is p.Add and isinstance(index.b, p.IntImm) else index


# -- lanes -----------------------------------------------------------------------------------------------------------
# Reductions whose terms lie one after the other in memory: they are summed in lanes, which become vectors.


LANES = 32  # partial results: four vectors of eight, as many as a processor adds at a time
SHORTEST = 64  # terms from which lanes pay


def lane_loop(spatial: Sequence[t.For], summed: Sequence[t.For], block: t.SBlock) -> t.For | None:
    """The loop of a reduction over neighbouring terms, if the innermost loop over results does not go along memory as well."""
    store = block.body
    if type(store) is not t.BufferStore or store.buffer.dtype.name not in ("float32", "float64"):
        return None
    loops = {axis.var: value for axis, value in zip(block.iter_vars, block.iter_values, strict=True)}
    loads = [
        expr
        for expr in subexpressions(store.value)
        if type(expr) is BufferLoad and expr.buffer is not store.buffer
    ]
    wide = [loop for loop in spatial if not _is_one(loop.extent)]
    across = sum([_is_strided(load, wide[-1].var, loops) for load in loads]) if wide else len(loads) + 1
    for loop in reversed(summed):
        is_long = not isinstance(loop.extent, p.IntImm) or loop.extent.value >= SHORTEST
        if is_long and sum([_is_strided(load, loop.var, loops) for load in loads]) < across:
            return loop
    return None


FEW = 64  # terms of a sum over a window that are written one after the other
FEW_IN_A_ROW = 8  # along a single axis: a longer one is as fast as a loop, and compiled sooner


def are_few(summed: Sequence[t.For], store: t.Stmt) -> bool:
    """True for the loops of a reduction of floats that has few terms, whatever the lengths."""
    extents = [loop.extent.value if isinstance(loop.extent, p.IntImm) else FEW + 1 for loop in summed]
    is_of_floats = type(store) is t.BufferStore and store.buffer.dtype.name in ("float32", "float64")
    most = FEW if sum([extent > 1 for extent in extents]) > 1 else FEW_IN_A_ROW
    return is_of_floats and 0 < prod(extents) <= most


def _is_one(extent: p.PrimExpr) -> bool:
    return isinstance(extent, p.IntImm) and extent.value == 1


def _is_strided(load: BufferLoad, var: p.PrimVar, loops: Mapping[p.PrimVar, p.PrimExpr]) -> bool:
    """True if the next iteration of a loop reads an element that is not the next one, nor the same."""
    pairs = list(zip(load.indices, load.buffer.shape, strict=True))
    while pairs and _is_one(pairs[-1][1]):
        pairs.pop()
    strides = [step(index, var, loops) for index, _ in pairs]
    return any(strides[:-1]) or strides[-1:] not in ([], [0], [1])


def step(index: p.PrimExpr, var: p.PrimVar, loops: Mapping[p.PrimVar, p.PrimExpr]) -> int:
    """By how much an index grows with a loop: 0 or 1, and 2 for anything else."""
    index = loops.get(index, index) if type(index) is p.PrimVar else index
    if index is var:
        return 1
    if type(index) is p.Add:
        return min(step(index.a, var, loops) + step(index.b, var, loops), 2)
    held = [loops.get(item, item) for item in p.free_vars(index)]
    return 2 if var in held else 0


# -- tiles -----------------------------------------------------------------------------------------------------------
# A nest that reads along columns what it writes along rows, as a transposition does: each line of the cache that it reads is used up
# while it is there.


TILE = (
    64,
    8,
)  # rows and columns of results: of 4096² numbers, a transposition takes a third of the time (tests/perf: run-transpose)


def tile(chain: Sequence[t.For], block: t.SBlock) -> tuple[t.For, t.For] | None:
    """The loop along the neighbours that a nest reads, and its innermost one, along those that it writes. None if they are one."""
    store = block.body
    axes = zip(block.iter_vars, block.iter_values, strict=True)
    loops = {axis.var: value for axis, value in axes}
    if (
        type(store) is not t.BufferStore
        or len(loops) != len(chain)
        or set(loops.values()) != {loop.var for loop in chain}
    ):
        return None
    if (
        any(axis.kind != "spatial" for axis in block.iter_vars)
        or not loops.keys() <= set(store.indices)
        or _reads(store.buffer, store.value)
    ):
        return None
    inner = chain[-1]
    if _is_strided(BufferLoad(store.buffer, store.indices), inner.var, loops):
        return None
    loads = [expr for expr in subexpressions(store.value) if type(expr) is BufferLoad]
    for outer in chain[:-1]:
        for load in loads:
            along = [step(index, outer.var, loops) for index in load.indices]
            if along[-1:] == [1] and not any(along[:-1]) and _is_strided(load, inner.var, loops):
                return outer, inner
    return None


# -- scans -----------------------------------------------------------------------------------------------------------
# Loops that mostly keep what they have, as one that looks for the position of a maximum does.


BLOCK = 64  # iterations that are skipped together


def keeping(node: t.For) -> list[p.PrimExpr] | None:
    """The conditions under which an iteration changes nothing, if each store of a loop is `B[…] = Select(condition, B[…], other)`.

    The elements are the same ones in each iteration, and nothing else of these buffers is read. None for another loop.
    """
    stores = node.body.stmts if type(node.body) is t.SeqStmt else (node.body,)
    is_long = not isinstance(node.extent, p.IntImm) or node.extent.value >= 4 * BLOCK
    if node.kind == "thread_binding" or node.step is not None or not is_long:
        return None
    found, places = [], {}
    for store in stores:
        if type(store) is not t.BufferStore or type(store.value) is not p.Select or store.buffer in places:
            return None
        choice, place = store.value, BufferLoad(store.buffer, store.indices)
        if node.var in p.free_vars(*store.indices) or any(map(_loads, store.indices)):
            return None
        if place not in (choice.true_value, choice.false_value):
            return None
        places[store.buffer] = place
        found.append(choice.condition if choice.true_value == place else p.Not(choice.condition))
    read = [
        part
        for store in stores
        for part in subexpressions(*expressions(store))
        if isinstance(part, BufferLoad | BufferPtr)
    ]
    return found if all([places.get(part.buffer, part) == part for part in read]) else None


def unlike(condition: p.PrimExpr, var: p.PrimVar) -> p.PrimExpr | None:
    """The value that a variable must not have. None for another condition on it."""
    if type(condition) is not p.Not or type(condition.a) is not p.EQ:
        return None
    pair = condition.a.a, condition.a.b
    other = pair[0] if pair[1] is var else pair[1] if pair[0] is var else None
    return None if other is None or var in p.free_vars(other) else other


def _loads(index: p.PrimExpr) -> bool:
    return any(isinstance(part, BufferLoad | p.PrimCall) for part in subexpressions(index))


# -- borders ---------------------------------------------------------------------------------------------------------
# A nest that pads asks at each element whether it lies in the margin. Its loops run in parts in which that is known.


@dataclass(frozen=True, slots=True)
class Borders:
    """The conditions of a nest, and where those on its outermost loop begin and cease to hold. None: they always, or never, do."""

    conditions: tuple[p.PrimExpr, ...]
    low: p.PrimExpr | None
    high: p.PrimExpr | None

    @property
    def places(self) -> list[p.PrimExpr]:
        """The borders that there are."""
        return [place for place in (self.low, self.high) if place is not None]


def borders(node: t.For) -> Borders | None:
    """The borders of a nest around one store. None if it has no condition on the outermost loop, or several borders of a kind."""
    loops, body = [node.var], node.body
    while type(body) is t.For:
        loops.append(body.var)
        body = body.body
    axes: dict[p.PrimVar, p.PrimExpr] = {}
    if type(body) is t.SBlock:
        axes = {axis.var: value for axis, value in zip(body.iter_vars, body.iter_values, strict=True)}
        body = body.body
    if type(body) is not t.BufferStore:
        return None
    conditions = tuple(
        [
            p.substitute(expr.args[0], axes)
            for expr in subexpressions(body.value)
            if isinstance(expr, p.PrimCall) and expr.op == "if_then_else"
        ]
    )
    found: tuple[set[p.PrimExpr], set[p.PrimExpr]] = set(), set()
    for condition in conditions:
        for part in _conjuncts(condition):
            place = _border(part, node.var)
            if place is not None and set(p.free_vars(place[1])).isdisjoint(loops):
                found[place[0]].add(place[1])
    if node.step is not None or max(map(len, found)) != 1:
        return None
    return Borders(conditions, *[next(iter(places), None) for places in found])


def _conjuncts(condition: p.PrimExpr) -> Iterator[p.PrimExpr]:
    if type(condition) is p.And:
        yield from _conjuncts(condition.a)
        yield from _conjuncts(condition.b)
    else:
        yield condition


def _border(condition: p.PrimExpr, var: p.PrimVar) -> tuple[int, p.PrimExpr] | None:
    """0 and the least value of a variable for which a comparison holds, or 1 and the first one behind. None for another condition."""
    if not isinstance(condition, p.LT | p.LE | p.GT | p.GE) or var not in (condition.a, condition.b):
        return None
    is_left = condition.a is var
    bound = condition.b if is_left else condition.a
    if _loads(bound):
        return None
    is_high = isinstance(condition, p.LT | p.LE) == is_left
    is_strict = isinstance(condition, p.LT | p.GT)
    return int(is_high), bound if is_strict == is_high else p.Add(bound, p.IntImm(1, bound.dtype))


# -- polls -----------------------------------------------------------------------------------------------------------
# Place the polls of a kernel, which check the stop flag: rare enough to cost nothing, frequent enough to stop in
# milliseconds.


SMALL = 1 << 22  # statements that may run without a poll
HEAVY = 1 << 10  # compared with so many statements, a poll is cheap
PIECE = 1 << 16  # iterations of a loop between two polls
SHORT = 1 << 28  # an innermost loop of fewer iterations ends soon, so it needs no poll

NEVER, EACH, PIECES = "never", "in each iteration", "between pieces"


def loop(extent: p.PrimExpr, work: int) -> tuple[str, int]:
    """Where a loop polls, and how many statements then run without a poll. The body runs `work` statements without one."""
    if isinstance(extent, p.IntImm) and extent.value * work <= SMALL:
        return NEVER, max(extent.value * work, 1)
    return (EACH, work) if work >= HEAVY else (PIECES, PIECE * work)


def nest(loops: Iterable[t.For], work: int) -> list[str]:
    """Where the loops of a nest poll, outermost first."""
    modes = []
    for node in reversed(list(loops)):
        mode, work = loop(node.extent, work)
        modes.append(mode)
    return modes[::-1]


class Polls:
    """The number of statements that run without a poll, for each statement of a PrimFunc."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}

    def work(self, node: t.Stmt) -> int:
        """The number for one statement."""
        count = self._known.get(id(node))
        if count is None:
            inner = sum([self.work(child) for child in children(node)])
            count = loop(node.extent, max(inner, 1))[1] if type(node) is t.For else max(inner, 1)
            self._known[id(node)] = count
        return count


# -- threads of GPUs -------------------------------------------------------------------------------------------------
# Loops over GPU threads, run as plain loops: one thread after the other.
#
# That is right unless a thread reads what another one writes meanwhile. Blocks of TensorIR mean sequential loops: a
# tile in shared memory is filled by loops over all threads before its first use. Kernels written by hand put the
# store and the load into the same loop instead, with a barrier between them; these are found here.


_WAITING = ("tvm_storage_sync", "tvm_thread_allreduce", "tvm_warp_shuffle", "ptx_", "cuda_")
_Depends = Mapping[p.PrimExpr, frozenset[p.PrimExpr]]  # the loops over threads that a variable depends on


@dataclass(frozen=True, slots=True)
class _Touch:
    """A store or load in shared memory: the loops over threads around it, and those that its index depends on.

    `block` is the block with axes around it. Schedules keep what blocks read of each other, and of their own element, as in a
    run of plain loops.
    """

    buffer: Buffer
    indices: tuple[p.PrimExpr, ...]
    is_store: bool
    loops: tuple[p.PrimExpr, ...]
    depends: frozenset[p.PrimExpr]
    block: t.SBlock | None

    def is_kept_by(self, other: _Touch) -> bool:
        """True if a schedule keeps the order of this access and another one."""
        if self.block is None or other.block is None:
            return False
        return self.block is not other.block or self.indices == other.indices


def exchange(fn: t.PrimFunc) -> bool:
    """True if the threads of a PrimFunc exchange values, so that they can't run one after the other."""
    for node in statements(fn.body):
        for expr in subexpressions(*expressions(node)):
            if isinstance(expr, p.PrimCall) and expr.op.startswith(_WAITING):
                return True
    touches = list(_touches(fn.body, (), {}, None))
    stores = [touch for touch in touches if touch.is_store]
    for load in touches:
        for store in stores:
            if store.buffer is load.buffer and not load.is_store and not load.is_kept_by(store):
                common = set(store.loops) & set(load.loops)
                if common & store.depends:
                    return True
    return False


def _touches(
    node: t.Stmt, loops: tuple[p.PrimExpr, ...], depends: _Depends, block: t.SBlock | None
) -> Iterator[_Touch]:
    """The accesses of shared memory inside a statement."""
    if type(node) is t.SeqStmt:
        for part in node.stmts:
            yield from _touches(part, loops, depends, block)
            if type(part) is t.LetStmt:
                depends = {**depends, part.var: _behind(part.value, depends)}
        return
    if type(node) is t.For:
        is_thread = node.kind == "thread_binding" and str(node.thread).startswith("threadIdx")
        own = frozenset({node.var}) if is_thread else frozenset()
        depends = {**depends, node.var: own | _behind(node.start, depends) | _behind(node.extent, depends)}
        loops = (*loops, node.var) if is_thread else loops
    elif type(node) is t.SBlock:
        values = zip(node.iter_vars, node.iter_values, strict=True)
        depends = {**depends, **{axis.var: _behind(value, depends) for axis, value in values}}
        block = node if node.iter_vars else block
    if type(node) is t.BufferStore and _is_shared(node.buffer):
        yield _Touch(node.buffer, node.indices, True, loops, _behind_all(node.indices, depends), block)
    for expr in subexpressions(*expressions(node)):
        if isinstance(expr, (BufferLoad, BufferPtr)) and _is_shared(expr.buffer):
            indices = expr.indices if type(expr) is BufferLoad else ()
            yield _Touch(expr.buffer, indices, type(expr) is BufferPtr, loops, frozenset(loops), block)
    for inner in children(node):
        yield from _touches(inner, loops, depends, block)


def _is_shared(buffer: Buffer) -> bool:
    """True for memory of several threads. Memory of the scope `local` belongs to one."""
    return buffer.scope.startswith(("shared", "warp", "wmma", "m16n8k8", "metal"))


def _behind(expr: p.PrimExpr, depends: _Depends) -> frozenset[p.PrimExpr]:
    return frozenset().union(*[depends.get(var, frozenset()) for var in p.free_vars(expr)])


def _behind_all(exprs: tuple[p.PrimExpr, ...], depends: _Depends) -> frozenset[p.PrimExpr]:
    return frozenset().union(*[_behind(expr, depends) for expr in exprs])


# -- parallel loops --------------------------------------------------------------------------------------------------
# The loop of a PrimFunc whose iterations threads share, if that is proved to change nothing (`tir/independent`).
#
# Those that the program calls parallel, and serial ones where nothing may stop the kernel: there, all iterations before must be done.


PARALLEL, ANY = ("parallel",), ("parallel", "serial")  # the kinds of loops that are shared
# Operations from which two threads are faster than one (tests/perf: run-parallel). Their start takes 0.08 ms: 2**20 cheap stores
# took 0.20 instead of 0.12 ms, four times as many 0.63 instead of 0.88 ms, and 2**20 stores of two calls 3.6 instead of 7.0 ms.
WORTHWHILE = 1 << 24
KNOWN_LENGTHS = 4096  # combinations of lengths in the cache of a PrimFunc
_SHARED: PerNode[dict[tuple[object, ...], Iterations | None]] = PerNode()


def parallel_loop(fn: t.PrimFunc, kinds: Collection[str] = PARALLEL) -> t.For | None:
    """The loop of these kinds that is the whole body of a PrimFunc. None if the body is another one."""
    nest = _nest(fn, kinds)
    return nest[-1] if nest else None


def _nest(fn: t.PrimFunc, kinds: Collection[str]) -> list[t.For]:
    """The loops of one iteration around the parallel loop, and that one. Empty if there is none."""
    node, nest = fn.body, []
    while type(node) is t.SBlock and not (
        node.iter_vars or node.alloc_buffers or node.match_buffers or node.init or node.predicate
    ):
        node = node.body
    while type(node) is t.For and is_parallel(node, kinds):
        nest.append(node)
        if node.extent is not p.IntImm(1, node.extent.dtype) or not isinstance(node.start, p.IntImm):
            break
        node = node.body
    return nest


def is_parallel(node: t.Stmt, kinds: Collection[str] = PARALLEL) -> bool:
    """True for a loop of these kinds over signed integers."""
    return type(node) is t.For and node.kind in kinds and node.var.dtype.kind == "int"


def shared_iterations(
    fn: t.PrimFunc, points: Mapping[p.PrimVar, int], kinds: Collection[str] = PARALLEL
) -> Iterations | None:
    """The iterations that threads share for these lengths. None if the loop runs in order."""
    nest = _nest(fn, kinds)
    if not nest:
        return None
    known, key = _SHARED.of(fn, lambda _: {}), (*kinds, *points.values())
    if key not in known:
        if len(known) >= KNOWN_LENGTHS:
            known.clear()
        found = _worthwhile(nest, points)
        known[key] = found if found is not None and are_shared(found.operations) else None
    return known[key]


def is_always_serial(fn: t.PrimFunc, lengths: Sequence[p.PrimVar], kinds: Collection[str] = PARALLEL) -> bool:
    """True if threads share no loop of a PrimFunc, however many there are, whatever its lengths."""
    nest = _nest(fn, kinds)
    return not nest or (not lengths and _worthwhile(nest, {}) is None)


def _worthwhile(nest: Sequence[t.For], points: Mapping[p.PrimVar, int]) -> Iterations | None:
    """The iterations of the last loop of a nest, if they are independent and enough for threads."""
    around = {loop.var: loop.start.value for loop in nest[:-1] if isinstance(loop.start, p.IntImm)}
    found = independent_iterations(nest[-1], {**points, **around})
    return found if found is not None and found.operations >= WORTHWHILE else None
