"""The loops of a translated PrimFunc: in parts, tiles or lanes, with polls between. The order of what is computed for an element stays,
but for reductions in lanes (`loop_lanes`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise, product

from relax_explorer.core.exec import loop_ir as ir
from relax_explorer.core.exec import loop_nests
from relax_explorer.core.exec.loop_expr import Expressions
from relax_explorer.core.exec.loop_ir import Apply, Const, Convert, Expr, Op, Var
from relax_explorer.core.exec.loop_lanes import STARTS, fold_of, lane_of, update_of
from relax_explorer.core.exec.loop_nests import lane_loop, reduction_nest
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.intervals import Interval, Intervals, wrapped
from relax_explorer.core.tir.traverse import statements

_Ends = tuple[p.PrimExpr, p.PrimExpr]  # the first value of a variable, and the one behind the last
_MOST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Manner:
    """How a kernel runs: it relies on facts, in the order of its text; one loop in parts, or by threads. `translate` tells more."""

    trusting: bool = True
    in_order: bool = False
    divided: t.For | None = None
    spread: bool = False


class Loops(Expressions):
    """Translates loops, and the axes of blocks. What stands inside is left to `statement`."""

    def __init__(self, fn: t.PrimFunc, samples: Sequence[Intervals], manner: Manner) -> None:
        super().__init__(fn, samples, manner.trusting)
        self.in_order, self.divided, self.spread = manner.in_order, manner.divided, manner.spread
        self.out: list[ir.Stmt] = []  # the statements of the innermost loop or branch
        self.ways: list[
            bool
        ] = []  # which nests run in parts, lanes or tiles, as far as that depends on facts
        self.polls = loop_nests.Polls()
        self.temporaries = 0

    def statement(self, node: t.Stmt) -> None:
        """Translate one statement."""
        raise NotImplementedError

    @contextmanager
    def block(self) -> Iterator[list[ir.Stmt]]:
        """Collect the statements that are made meanwhile."""
        outer, self.out = self.out, []
        yield self.out
        self.out = outer

    def bind(self, var: p.PrimVar, interval: Callable[[Intervals], Interval | None]) -> None:
        """Bind a variable to its interval in each sample."""
        for sample in self.samples:
            sample.bind(var, interval(sample))

    def value(self, var: p.PrimVar, value: p.PrimExpr) -> Expr:
        """The value of a variable, converted to its dtype."""
        if not (var.dtype.is_int and value.dtype.is_int):
            return self.expr(value)
        value = value if value.dtype is var.dtype else p.Cast(var.dtype, value)
        with self.index():
            result = self.expr(value)
        self.bind(var, lambda sample: sample.of(value))
        return result

    def loop(self, node: t.For) -> None:
        """Translate a loop."""
        chain, block = reduction_nest(node)
        if block is not None and not self.in_order:
            self._reduction(chain, block)
            return
        tiled = None if self.in_order or self.spread else self._tiles(node)
        if tiled is not None and self._in_tiles(*tiled):
            return
        keeping = loop_nests.keeping(node)
        if (
            keeping is not None
            and not self.in_order
            and node is not self.divided
            and self._in_blocks(node, keeping)
        ):
            return
        sites = len(self.sites)
        for part in self._parts(node):
            del self.sites[sites:]  # each part has those of the whole
            state = self._loop_state()
            with self._loop(
                node, node.body, loop_nests.loop(node.extent, self.polls.work(node.body))[0], *part
            ):
                self.statement(node.body)
            self._release(state)

    def _in_blocks(self, node: t.For, keeping: list[p.PrimExpr]) -> bool:
        """Emit a loop that skips blocks of iterations in which nothing changes. False, with nothing done, where the kernel may stop."""
        known = len(self.sites), len(self.facts), len(self.out)
        self.temporaries += 2
        base, mark, name = f"t{self.temporaries - 1}", f"t{self.temporaries}", self.name(node.var)
        low, high, end = self._bounds(node)
        size, sites = Const(loop_nests.BLOCK), len(self.sites)
        state = self._loop_state()
        self._enter(node.var, converted(node.var.dtype, node.start), end)
        changes: list[Expr] = []  # in an iteration
        others: list[Expr] = []  # in a block
        for condition in keeping:
            place = loop_nests.unlike(condition, node.var)
            if place is None:
                changes.append(Op("not", (self.expr(condition),)))
            else:
                value = self.expr(place)
                others.append(
                    Op("and", (Op("<=", (Var(base), value)), Op("<", (value, Op("+", (Var(base), size))))))
                )
        del self.sites[sites:]  # the statements have them, too
        with self.block() as body:
            self.statement(node.body)
        self._release(state)
        until = Op("+", (Var(base), size))
        tests = [ir.Assign(mark, Op("or", (change, Var(mark)))) for change in changes]
        looks = loop_nests.loop(node.extent, self.polls.work(node.body))[0]
        whole = Op("-", (high, ir.Apply("floor_mod", (Op("-", (high, low)), size))))
        block = (
            *(() if looks is loop_nests.NEVER else (ir.Poll(),)),
            ir.Assign(mark, Const(False)),
            *[ir.Assign(mark, Op("or", (other, Var(mark)))) for other in others],
            ir.For(name, Var(base), until, tuple(tests)),
            ir.If(Var(mark), (ir.For(name, Var(base), until, tuple(body)),)),
        )
        self.out += [ir.For(base, low, whole, block, size), ir.For(name, whole, high, tuple(body))]
        may_stop = any(type(part) is ir.Check for node in self.out[known[2] :] for part in ir.parts(node))
        return self._went(not may_stop, known)

    def _parts(self, node: t.For) -> list[tuple[tuple[Expr, Expr], _Ends] | tuple[()]]:
        """Where the parts of a loop begin and end in which the conditions of its nest are known. One without ends is the whole."""
        borders = loop_nests.borders(node) if self.trusting and node is not self.divided else None
        if borders is None or not set(p.free_vars(*borders.places)).isdisjoint(self.loops):
            return [()]
        is_known = all(
            sample.of(test) in ((0, 0), (1, 1)) for sample in self.samples for test in borders.conditions
        )
        self.ways.append(is_known)
        if is_known:
            return [()]
        dtype = node.var.dtype
        start, end = converted(dtype, node.start), self._bounds(node)[2]
        cuts = [start, *[converted(dtype, place) for place in borders.places], end]
        if len(cuts) > 3:
            cuts[2] = p.Max(cuts[1], cuts[2])
        return [((self.expr(a), self.expr(b)), (a, b)) for a, b in pairwise(cuts)]

    def _tiles(self, node: t.For) -> tuple[list[t.For], t.SBlock, t.For, t.For] | None:
        """The loops of a nest that runs in tiles, its block, and the loops of a tile."""
        chain: list[t.For] = []
        current: t.Stmt = node
        while (
            type(current) is t.For
            and current.kind == "serial"
            and current.step is None
            and _is_from_0(current)
        ):
            chain.append(current)
            current = current.body
        if (
            type(current) is not t.SBlock
            or current.predicate
            or current.alloc_buffers
            or current.match_buffers
        ):
            return None
        found = loop_nests.tile(chain, current)
        variables = {loop.var for loop in chain}
        extents = [] if found is None else [loop.extent for loop in found]
        if found is None or not all(
            isinstance(n, p.IntImm) or (type(n) is p.PrimVar and n not in variables) for n in extents
        ):
            return None
        return chain, current, *found

    def _in_tiles(self, chain: list[t.For], block: t.SBlock, outer: t.For, inner: t.For) -> bool:
        """Emit a nest so that its last loops run over a tile of `outer` and `inner`, and the loops over tiles around them.

        False, with nothing done, where the kernel may stop: the first place in the order of the program counts.
        """
        known = len(self.sites), len(self.facts), len(self.out)
        self.temporaries += 2
        tiles: list[tuple[t.For, str, Expr, Expr, Expr]] = []
        for loop, length in zip((outer, inner), loop_nests.TILE, strict=True):
            low, high, _ = self._bounds(loop)
            if loop is self.divided:
                low, high = Apply("larger", (low, Var("first"))), Apply("smaller", (high, Var("last")))
            tiles.append((loop, f"t{self.temporaries - len(tiles)}", low, high, Const(length)))
        state = self._loop_state()
        looks = loop_nests.nest(chain, self.polls.work(block.body))
        with ExitStack() as around:
            for loop, look in zip(chain, looks, strict=True):
                if loop not in (outer, inner):
                    around.enter_context(self._loop(loop, loop.body, look))
            with self.block() as body, ExitStack() as tile:
                for loop, first, _, high, size in tiles:
                    part = Var(first), Apply("smaller", (Op("+", (Var(first), size)), high))
                    tile.enter_context(self._loop(loop, block.body, loop_nests.NEVER, part))
                self.axes(block, None)
                self.statement(block.body)
            (_, rows, *bounds, height), (_, columns, *others, width) = tiles
            poll = (ir.Poll(),) if any(look is not loop_nests.NEVER for look in looks) else ()
            across = ir.For(columns, others[0], others[1], tuple(body), width)
            self.out.append(ir.For(rows, bounds[0], bounds[1], (*poll, across), height))
        self._release(state)
        may_stop = any(type(part) is ir.Check for node in body for part in ir.parts(node))
        return self._went(not may_stop, known)

    def _loop_state(self) -> tuple[int, list[bool]]:
        """The state that a loop changes and restores: the number of open loops, and the samples that never enter it."""
        return len(self.loops), [sample.is_dead for sample in self.samples]

    def _release(self, state: tuple[int, list[bool]]) -> None:
        del self.loops[state[0] :]
        for sample, was in zip(self.samples, state[1], strict=True):
            sample.is_dead = was

    @contextmanager
    def _loop(
        self,
        node: t.For,
        inner: t.Stmt,
        looks: str,
        part: tuple[Expr, Expr] | None = None,
        ends: _Ends | None = None,
    ) -> Iterator[None]:
        """Around the body of a loop, or of a part of it, whose `ends` tell more of its variable. The end `start + extent` wraps like it."""
        self.statement_now = node
        var, low, high, end = node.var, *self._bounds(node)
        step = self._step(node)
        if self.spread:
            looks = loop_nests.NEVER
        if looks is loop_nests.PIECES and not any(type(item) is t.For for item in statements(inner)):
            extent = converted(var.dtype, node.extent)
            is_short = self.fact(lambda sample: sample.lies(extent, (-_MOST, loop_nests.SHORT)))
            looks = loop_nests.NEVER if is_short else looks
        self._enter(var, converted(var.dtype, node.start), end, ends)
        if node is self.divided and part is None:
            part = Var("first"), Var("last")
        if part is not None:
            low, high = Apply("larger", (low, part[0])), Apply("smaller", (high, part[1]))
        name = self.name(var)
        with self.block() as body:
            if looks is loop_nests.EACH or (step is not None and looks is not loop_nests.NEVER):
                body.append(ir.Poll())
            if var.dtype.name == "uint64":
                body.append(ir.Assign(name, Convert("uint64", Var(name))))
            yield
        if looks is loop_nests.PIECES and step is None:
            self._in_pieces(name, low, high, tuple(body))
        else:
            self.out.append(ir.For(name, low, high, tuple(body), step, self.spread and node is self.divided))

    def _bounds(self, node: t.For) -> tuple[Expr, Expr, p.PrimExpr]:
        """The first value of a loop, its end, and its end as an expression of the PrimFunc."""
        var, start = node.var, converted(node.var.dtype, node.start)
        end: p.PrimExpr = p.Add(start, converted(var.dtype, node.extent))
        is_from_0 = _is_from_0(node)
        if is_from_0:
            end = converted(var.dtype, node.extent)
        low, high = _signed(var.dtype, self.expr(start)), _signed(var.dtype, self.expr(end))
        if (not is_from_0 or var.dtype.name == "uint64") and not self.fact(
            lambda sample: sample.keeps(end) and var.dtype.name != "uint64"
        ):
            # `range` needs the difference as a signed number, so it must be between 0 and 2**63 - 1.
            high = Apply("piece", (low, Apply("larger", (high, low)), Const(_MOST)))
        return low, high, end

    def _in_pieces(self, name: str, low: Expr, high: Expr, body: tuple[ir.Stmt, ...]) -> None:
        """A loop that polls between pieces of its iterations."""
        self.temporaries += 2
        first, last = f"t{self.temporaries - 1}", f"t{self.temporaries}"
        size = Const(loop_nests.PIECE)
        end = Apply("piece", (Var(first), Var(last), size))
        inner = ir.For(name, Var(first), end, body)
        self.out += [
            ir.Assign(last, high),
            ir.For(first, low, Var(last), (ir.Poll(), inner), size),
        ]

    def _step(self, node: t.For) -> Expr | None:
        if node.step is None:
            return None
        step = converted(node.var.dtype, node.step)
        value = _signed(node.var.dtype, self.expr(step))
        site, known = self.site("step"), self.fact(lambda sample: sample.lies(step, (1, (1 << 63) - 1)))
        return value if known else ir.Check("step", value, *site)

    def _enter(self, var: p.PrimVar, start: p.PrimExpr, end: p.PrimExpr, ends: _Ends | None = None) -> None:
        for sample in self.samples:
            first, last = sample.of(start), sample.of(end)
            is_known = first is not None and last is not None and var.dtype.name != "uint64"
            if first is None or last is None or not is_known:
                sample.bind(var, None)
                continue
            least, most = [sample.of(place) for place in ends] if ends is not None else (None, None)
            if least is not None and most is not None:
                first, last = (max(first[0], least[0]), first[1]), (last[0], min(last[1], most[1]))
            sample.is_dead = sample.is_dead or last[1] <= first[0]
            sample.bind(var, (first[0], max(last[1] - 1, first[0])))
        self.loops.append(var)

    def _reduction(self, chain: list[t.For], block: t.SBlock) -> None:
        """Emit `init` in separate loops, then the reduction: in lanes, or with its innermost spatial loop inside and the order of the terms."""
        reduce_vars = {
            value
            for axis, value in zip(block.iter_vars, block.iter_values, strict=True)
            if axis.kind == "reduce"
        }
        spatial = [loop for loop in chain if loop.var not in reduce_vars]
        inner = [loop for loop in chain if loop.var in reduce_vars]
        assert block.init is not None  # `reduction_nest` requires it
        spatial_axes = {axis.var for axis in block.iter_vars if axis.kind != "reduce"}
        if loop_nests.are_few(inner, block.body) and spatial and self._unrolled(spatial, inner, block):
            return
        self._nest(spatial, block, block.init, spatial_axes)
        lanes = lane_loop(spatial, inner, block)
        if lanes is not None and self._in_lanes(spatial, inner, block, lanes):
            return
        is_spread = self.spread and spatial[-1:] == [self.divided]
        outer = spatial if is_spread else spatial[:-1]
        self._nest([*outer, *inner, *spatial[len(outer) :]], block, block.body, None)

    def _unrolled(self, spatial: list[t.For], inner: list[t.For], block: t.SBlock) -> bool:
        """Emit a reduction over few terms one after the other, so that its result stays in a register. The order of the terms stays.

        False, with nothing done, where the kernel may stop.
        """
        known = len(self.sites), len(self.facts), len(self.out)
        self.temporaries += 1
        total, body = Var(f"t{self.temporaries}"), []
        looks = loop_nests.nest([*spatial, *inner], self.polls.work(block.body))
        state = self._loop_state()
        with ExitStack() as around:
            for loop, look in zip(spatial, looks, strict=False):
                around.enter_context(self._loop(loop, block.body, look))
            self.axes(block, {axis.var for axis in block.iter_vars if axis.kind != "reduce"})
            with self.block() as body:
                self._terms(inner, block, total)
            self.out += body
        self._release(state)
        return self._went(bool(body), known)

    def _terms(self, inner: list[t.For], block: t.SBlock, total: Var) -> None:
        """Emit the start of a reduction, each of its terms, and the store of the `total`; nothing if its form is another one."""
        reduced = {axis.var for axis in block.iter_vars if axis.kind == "reduce"}
        assert block.init is not None  # `reduction_nest` requires it
        self.statement(block.init)
        start, sites = self.out.pop(), len(self.sites)
        if not isinstance(start, ir.Store):
            return
        place, state = start.place, self._loop_state()
        self.out.append(ir.Assign(total.name, Convert(place.element, start.value)))
        for numbers in product(
            *[range(loop.extent.value) for loop in inner if isinstance(loop.extent, p.IntImm)]
        ):
            del self.sites[sites:]  # each term has the same
            for loop, number in zip(inner, numbers, strict=True):
                self._enter(loop.var, p.IntImm(number, loop.var.dtype), p.IntImm(number + 1, loop.var.dtype))
                self.out.append(ir.Assign(self.name(loop.var), Const(number)))
            self.axes(block, reduced)
            self.statement(block.body)
            self._release(state)
            update = update_of(self.out.pop())
            if update is None or update.place != place:
                self.out.clear()
                return
            self.out.append(ir.Assign(total.name, update.joined(total, update.term)))
        self.out.append(ir.Store(place, total))

    def _in_lanes(self, spatial: list[t.For], inner: list[t.For], block: t.SBlock, last: t.For) -> bool:
        """Emit a reduction with `last` as its innermost loop: term k goes to lane k % LANES, and the halves of the lanes are combined
        until one is left. False, with nothing done, where the kernel may stop.
        """
        known = len(self.sites), len(self.facts), len(self.out)
        self.temporaries += 2
        base, name = f"t{self.temporaries - 1}", f"t{self.temporaries}"
        outer = [loop for loop in inner if loop is not last]
        looks = loop_nests.nest([*spatial, *outer, last], self.polls.work(block.body))
        state = self._loop_state()
        with ExitStack() as rows:
            for loop, look in zip(spatial, looks, strict=False):
                rows.enter_context(self._loop(loop, block.body, look))
            with self.block() as sums, ExitStack() as around:
                for loop, look in zip(outer, looks[len(spatial) :], strict=False):
                    around.enter_context(self._loop(loop, block.body, look))
                _, high, end = self._bounds(last)
                self._enter(last.var, converted(last.var.dtype, last.start), end)
                with self.block() as body:
                    body.append(ir.Assign(self.name(last.var), Op("+", (Var(base), Var(lane_of(name))))))
                    self.axes(block, None)
                    self.statement(block.body)
                fold = fold_of(body.pop(), name, base, tuple(body), high, looks[-1] is not loop_nests.NEVER)
                if fold is not None:
                    self.out += fold.terms()
            if fold is not None and (fold.symbol in STARTS or not outer):
                self.axes(block, {axis.var for axis in block.iter_vars if axis.kind != "reduce"})
                self.out += [*fold.started(), *sums, *fold.finished()]
            else:
                fold = None
        self._release(state)
        return self._went(fold is not None, known)

    def _went(self, is_taken: bool, known: tuple[int, int, int]) -> bool:
        """Note whether a way is taken. If not, what was emitted since then is dropped."""
        self.ways.append(is_taken)
        if not is_taken:
            del self.sites[known[0] :], self.facts[known[1] :], self.out[known[2] :]
        return is_taken

    def _nest(self, loops: list[t.For], block: t.SBlock, body: t.Stmt, axes: set[p.PrimVar] | None) -> None:
        state = self._loop_state()
        with ExitStack() as around:
            for loop, looks in zip(loops, loop_nests.nest(loops, self.polls.work(body)), strict=True):
                around.enter_context(self._loop(loop, body if loop is loops[-1] else loop, looks))
            self.axes(block, axes)
            self.statement(body)
        self._release(state)

    def axes(self, block: t.SBlock, chosen: set[p.PrimVar] | None) -> None:
        """Set the axes of a block; only the `chosen` ones, unless None."""
        for axis, value in zip(block.iter_vars, block.iter_values, strict=True):
            if chosen is None or axis.var in chosen:
                self.out.append(ir.Assign(self.name(axis.var), self.value(axis.var, value)))


def converted(dtype: DType, value: p.PrimExpr) -> p.PrimExpr:
    """An integer expression converted to a dtype."""
    if value.dtype is dtype:
        return value
    if isinstance(value, p.IntImm) and wrapped((value.value, value.value), dtype)[0] == value.value:
        return p.IntImm(value.value, dtype)
    return p.Cast(dtype, value)


def _is_from_0(node: t.For) -> bool:
    return isinstance(node.start, p.IntImm) and node.start.value == 0


def _signed(dtype: DType, value: Expr) -> Expr:
    """A bound of a loop, which counts with signed integers."""
    return Convert("int64", value) if dtype.name == "uint64" else value
