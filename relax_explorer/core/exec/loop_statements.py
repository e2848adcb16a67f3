"""Translate PrimFuncs to loops (`loop_ir`). No name or string of the program enters them: variables are v0, buffers b0.

Arithmetic keeps TIR's dtypes (`loop_expr`). Elements of float16, bfloat16 and float8 are computed as float32; the caller converts
the arrays. Memory allocated by a kernel starts with NaN, the least integer (the largest of an unsigned dtype) or True. A
program that reads it before a write has a bug, and gets the same numbers each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from math import nan, prod
from typing import Any

from relax_explorer.core.exec import kernel_memory, loop_nests
from relax_explorer.core.exec import loop_ir as ir
from relax_explorer.core.exec.loop_expr import Expressions, element
from relax_explorer.core.exec.loop_ir import Apply, Const, Convert, Expr, Op, Var
from relax_explorer.core.exec.loop_lanes import STARTS, fold_of, lane_of
from relax_explorer.core.exec.loop_nests import exchange, is_filled_first, lane_loop, reduction_nest
from relax_explorer.core.exec.values import MEMORY_LIMIT
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import HANDLE, DType
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.intervals import Interval, Intervals, limits, wrapped
from relax_explorer.core.tir.stmt import Buffer
from relax_explorer.core.tir.traverse import statements

_MOST = (1 << 63) - 1
# Sample lengths for deciding the facts of a kernel with symbolic lengths: an increasing row and a decreasing row.
_SAMPLES = (
    (101, 103, 107, 109, 113, 127, 131, 137, 139, 149),
    (97, 89, 83, 79, 73, 71, 67, 61, 59, 53),
)


def translate(
    fn: t.PrimFunc,
    points: Mapping[p.PrimVar, int] | None = None,
    trusting: bool = True,
    in_order: bool = False,
    divided: t.For | None = None,
    spread: bool = False,
) -> Translation:
    """The translation of a PrimFunc. `points` are the values of the length variables for which facts are decided.

    Unless it is `trusting`, the kernel relies on no fact. With `in_order`, no loops are exchanged. The loop `divided` runs for the
    values from `first` to `last` only, which the kernel takes as numbers before the note. With `spread` it is a parallel loop, and
    nothing polls.
    """
    if points is not None:
        return Translation(fn, [Intervals(points)], trusting, in_order)
    variables = length_variables(fn)
    rows = _SAMPLES if variables else _SAMPLES[:1]
    samples = [
        Intervals({var: row[number % len(row)] for number, var in enumerate(variables)}) for row in rows
    ]
    return Translation(fn, samples, trusting, in_order, divided, spread)


def shape_variables(fn: t.PrimFunc) -> list[p.PrimVar]:
    """The variables of the parameters' dimensions, except those that are parameters themselves."""
    scalars = {param for param in fn.params if isinstance(param, p.PrimVar)}
    return [var for var in length_variables(fn) if var not in scalars]


def length_variables(fn: t.PrimFunc) -> list[p.PrimVar]:
    """The variables of the parameters' dimensions."""
    dims = [dim for param in fn.params if isinstance(param, Buffer) for dim in param.shape]
    return [var for var in p.free_vars(*dims) if var.dtype.is_int]


class Translation(Expressions):
    """Translates a PrimFunc, statement by statement."""

    def __init__(
        self,
        fn: t.PrimFunc,
        samples: Sequence[Intervals],
        trusting: bool,
        in_order: bool = False,
        divided: t.For | None = None,
        spread: bool = False,
    ) -> None:
        super().__init__(fn, samples, trusting)
        self.in_order, self.divided, self.spread = in_order, divided, spread
        self.out: list[ir.Stmt] = []  # the statements of the innermost loop or branch
        self.ways: list[bool] = []  # which nests run in lanes or in tiles, as far as that depends on facts
        self.messages: list[str] = []  # the messages of assertions
        self.polls = loop_nests.Polls()
        self.temporaries = 0
        self.following: tuple[t.Stmt, ...] = ()  # the statements after the current one in its sequence
        for param in fn.params:
            if isinstance(param, Buffer):
                self.measure(param)
        self.routine = self._routine()

    @contextmanager
    def block(self) -> Iterator[list[ir.Stmt]]:
        """Collect the statements that are made meanwhile."""
        outer, self.out = self.out, []
        yield self.out
        self.out = outer

    @contextmanager
    def branch(self, condition: Expr) -> Iterator[None]:
        """Around the statements that a condition guards."""
        with self.block() as inner:
            yield
        self.out.append(ir.If(condition, tuple(inner)))

    def _routine(self) -> ir.Routine:
        params = [self.name(variable) for variable in (*self.fn.params, *shape_variables(self.fn))]
        params += [] if self.divided is None else ["first", "last"]
        for param in self.fn.params:
            if isinstance(param, p.PrimVar) and param.dtype is not HANDLE:
                name = self.name(param)
                self.out.append(ir.Assign(name, _scalar(param.dtype, Var(name))))
        self.statement(self.fn.body)
        if self.hides:  # the first byte of an address is 0, so this is -1
            self.out.insert(0, ir.Assign("ones", Op("~", (Apply("right", (Var("stop"), Const(56))),))))
        return ir.Routine(tuple(params), tuple(self.out))

    @cached_property
    def exchange(self) -> str:
        """How GPU threads exchange values; empty if they can run one after the other."""
        return exchange(self.fn)

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

    # -- statements -----------------------------------------------------------------------------------------------

    def statement(self, node: t.Stmt) -> None:
        """Translate one statement."""
        rule = _STATEMENTS.get(type(node))
        if rule is None:
            raise self.refuse(f"the statement {type(node).__name__}", node)
        if type(node) not in (t.SeqStmt, t.AttrStmt):
            self.statement_now = node
        rule(self, node)

    def _seq(self, node: t.SeqStmt) -> None:
        for number, statement in enumerate(node.stmts, 1):
            self.following = node.stmts[number:]
            self.statement(statement)

    # -- loops ----------------------------------------------------------------------------------------------------

    def _for(self, node: t.For) -> None:
        if node.kind == "thread_binding" and self.exchange:
            raise self.refuse(f"a loop over GPU threads {self.exchange}", node)
        chain, block = reduction_nest(node)
        if block is not None and not self.in_order:
            self._reduction(chain, block)
            return
        tiled = None if self.in_order or self.spread else self._tiles(node)
        if tiled is not None and self._in_tiles(*tiled):
            return
        state = self._loop_state()
        with self._loop(node, node.body, loop_nests.loop(node.extent, self.polls.work(node.body))[0]):
            self.statement(node.body)
        self._release(state)

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
                self._axes(block, None)
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
        self, node: t.For, inner: t.Stmt, looks: str, part: tuple[Expr, Expr] | None = None
    ) -> Iterator[None]:
        """Around the body of a loop, or of a part of it. The end `start + extent` wraps like the loop variable."""
        self.statement_now = node
        var, low, high, end = node.var, *self._bounds(node)
        step = self._step(node)
        if self.spread:
            looks = loop_nests.NEVER
        if looks is loop_nests.PIECES and not any(type(item) is t.For for item in statements(inner)):
            extent = _as(var.dtype, node.extent)
            is_short = self.fact(lambda sample: sample.lies(extent, (-_MOST, loop_nests.SHORT)))
            looks = loop_nests.NEVER if is_short else looks
        self._enter(var, _as(var.dtype, node.start), end)
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
        var, start = node.var, _as(node.var.dtype, node.start)
        end: p.PrimExpr = p.Add(start, _as(var.dtype, node.extent))
        is_from_0 = _is_from_0(node)
        if is_from_0:
            end = _as(var.dtype, node.extent)
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
        step = _as(node.var.dtype, node.step)
        value = _signed(node.var.dtype, self.expr(step))
        site, known = self.site("step"), self.fact(lambda sample: sample.lies(step, (1, (1 << 63) - 1)))
        return value if known else ir.Check("step", value, *site)

    def _enter(self, var: p.PrimVar, start: p.PrimExpr, end: p.PrimExpr) -> None:
        for sample in self.samples:
            first, last = sample.of(start), sample.of(end)
            is_known = first is not None and last is not None and var.dtype.name != "uint64"
            if first is None or last is None or not is_known:
                sample.bind(var, None)
                continue
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
        self._nest(spatial, block, block.init, spatial_axes)
        lanes = lane_loop(spatial, inner, block)
        if lanes is not None and self._in_lanes(spatial, inner, block, lanes):
            return
        is_spread = self.spread and spatial[-1:] == [self.divided]
        outer = spatial if is_spread else spatial[:-1]
        self._nest([*outer, *inner, *spatial[len(outer) :]], block, block.body, None)

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
                self._enter(last.var, _as(last.var.dtype, last.start), end)
                with self.block() as body:
                    body.append(ir.Assign(self.name(last.var), Op("+", (Var(base), Var(lane_of(name))))))
                    self._axes(block, None)
                    self.statement(block.body)
                fold = fold_of(body.pop(), name, base, tuple(body), high, looks[-1] is not loop_nests.NEVER)
                if fold is not None:
                    self.out += fold.terms()
            if fold is not None and (fold.symbol in STARTS or not outer):
                self._axes(block, {axis.var for axis in block.iter_vars if axis.kind != "reduce"})
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
            self._axes(block, axes)
            self.statement(body)
        self._release(state)

    # -- blocks ---------------------------------------------------------------------------------------------------

    def _axes(self, block: t.SBlock, chosen: set[p.PrimVar] | None) -> None:
        for axis, value in zip(block.iter_vars, block.iter_values, strict=True):
            if chosen is None or axis.var in chosen:
                self.out.append(ir.Assign(self.name(axis.var), self.value(axis.var, value)))

    def _block(self, node: t.SBlock) -> None:
        self._axes(node, None)
        if node.predicate is None:
            self._inside(node)
            return
        with self.branch(self.expr(node.predicate)):
            self._inside(node)

    def _inside(self, node: t.SBlock) -> None:
        """What stands in a block behind its axes and its predicate."""
        self.following = () if node.init is not None else (node.body,)
        for buffer in node.alloc_buffers:
            self._allocate(buffer)
        if node.match_buffers:
            raise self.refuse("T.match_buffer inside a block", node)
        if node.init is not None:
            condition: Expr | None = None
            for axis in node.iter_vars:
                if axis.kind == "reduce":
                    start = self.expr(_as(axis.var.dtype, axis.domain.start))
                    test = Op("==", (Var(self.name(axis.var)), start))
                    condition = test if condition is None else Op("and", (condition, test))
            with self.branch(Const(True) if condition is None else condition):
                self.statement(node.init)
        self.statement(node.body)

    def _shape(self, buffer: Buffer) -> tuple[Expr, ...]:
        return tuple([Convert("int64", self.expr(dim)) for dim in buffer.shape])

    def _allocate(self, buffer: Buffer) -> None:
        dtype = buffer.dtype
        if dtype.lanes != 1 or dtype is HANDLE:
            raise self.refuse(f"{buffer.name}, a buffer of {dtype},")
        size = max(dtype.bits, 32 if dtype.is_float else 8) // 8
        most, shape = MEMORY_LIMIT // size, self._shape(buffer)
        lengths = [dim.value if isinstance(dim, p.IntImm) else -1 for dim in buffer.shape]
        is_filled = bool(shape) and is_filled_first(buffer, self.following)
        is_small = is_filled and min(lengths) >= 0 and prod(lengths) <= most
        poison = None if is_filled else _poison(dtype)
        name = self.name(buffer)
        self.out.append(ir.Allocate(name, element(dtype), shape, poison, None if is_small else most))
        if shape:
            self.measure(buffer)

    def _alloc(self, node: t.AllocBuffer) -> None:
        buffer = node.buffer
        if buffer.is_scalar:
            content = Convert(element(buffer.dtype), Const(_poison(buffer.dtype)))
            self.out.append(ir.Assign(self.name(buffer), content))
            return
        if buffer.data is None:
            self._allocate(buffer)
            return
        start = kernel_memory.view_start(buffer, self.pointers.get(buffer.data, buffer.data))
        flat, shape = self.expr(buffer.data), self._shape(buffer)
        if start is None:
            raise self.refuse(f"{buffer.name}, a view with strides or of another dtype,", node)
        first = Convert("int64", self.expr(start))
        self.out.append(ir.Window(self.name(buffer), flat, first, shape))
        self.measure(buffer)

    # -- effects --------------------------------------------------------------------------------------------------

    def put(self, place: ir.Element | Var, value: Expr) -> None:
        """Write an element, or the only one of a scalar."""
        self.out.append(ir.Assign(place.name, value) if isinstance(place, Var) else ir.Store(place, value))

    def _store(self, node: t.BufferStore) -> None:
        place, value = self.place(node.buffer, node.indices), self.expr(node.value)
        self.put(place, value)

    def _evaluate(self, node: t.Evaluate) -> None:
        value = node.value
        if isinstance(value, p.PrimCall) and value.op == "ret":
            self.out.append(ir.Return(self.expr(value.args[0])))
            return
        call = kernel_memory.known_call(value)
        if call is not None:
            self.out.append(ir.Packed(call[0], tuple([self._passed(part) for part in call[1]])))
        elif not is_idle(value):
            raise self.refuse(f"{_effect(value)}, evaluated for its effect,", node)

    def _passed(self, part: Buffer | p.PrimExpr) -> Expr:
        """An argument of a packed function. A literal would be a type of its own, for which numba compiles the function anew."""
        if isinstance(part, Buffer):
            return Var(self.name(part))
        return Convert("bool_" if part.dtype.is_bool else "int64", self.expr(part))

    def _let(self, node: t.LetStmt) -> None:
        self.out.append(ir.Assign(self.name(node.var), self.value(node.var, node.value)))
        if node.var.dtype is HANDLE:
            self.pointers[node.var] = self.pointers.get(node.value, node.value)

    def _if(self, node: t.IfThenElse) -> None:
        condition = self.expr(node.condition)
        with self.block() as then:
            self.statement(node.then_case)
        with self.block() as otherwise:
            if node.else_case is not None:
                self.statement(node.else_case)
        self.out.append(ir.If(condition, tuple(then), tuple(otherwise)))

    def _while(self, node: t.While) -> None:
        condition = self.expr(node.condition)
        with self.block() as body:
            self.statement(node.body)
        self.out.append(ir.While(condition, tuple(body)))

    def _attr(self, node: t.AttrStmt) -> None:
        if node.key == "launch_thread":
            raise self.refuse("a launched GPU thread", node)
        self.statement(node.body)

    def _assert(self, node: t.AssertStmt) -> None:
        with self.branch(Op("not", (self.expr(node.condition),))):
            self.out.append(ir.Fail(len(self.messages)))
        self.messages.append(node.message)


def _as(dtype: DType, value: p.PrimExpr) -> p.PrimExpr:
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


def _scalar(dtype: DType, value: Expr) -> Expr:
    """A scalar parameter converted to its dtype."""
    return Op("!=", (value, Const(0))) if dtype.is_bool else Convert(element(dtype), value)


def _poison(dtype: DType) -> bool | int | float:
    """The content of uninitialized memory."""
    if dtype.is_bool:
        return True
    return limits(dtype)[0 if dtype.kind == "int" else 1] if dtype.is_int else nan


def is_idle(value: p.PrimExpr) -> bool:
    """True if evaluating an expression does nothing."""
    return isinstance(value, (p.IntImm, p.PrimVar)) or (
        isinstance(value, p.PrimCall) and value.op == "assume"
    )


def _effect(value: p.PrimExpr) -> str:
    """A short description of an evaluated expression."""
    if isinstance(value, p.PrimCall) and value.op == "call_packed" and value.args:
        return f"a call of {value.args[0]}"
    return f"{str(value)[:60]}"


_STATEMENTS: dict[type, Callable[[Translation, Any], None]] = {
    t.SeqStmt: Translation._seq,
    t.For: Translation._for,
    t.SBlock: Translation._block,
    t.AllocBuffer: Translation._alloc,
    t.BufferStore: Translation._store,
    t.Evaluate: Translation._evaluate,
    t.LetStmt: Translation._let,
    t.IfThenElse: Translation._if,
    t.While: Translation._while,
    t.AttrStmt: Translation._attr,
    t.AssertStmt: Translation._assert,
}
