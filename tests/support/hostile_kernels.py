"""Random hostile PrimFuncs: indices that wrap, divisors that become 0, loops and memory of odd lengths.

One PrimFunc holds many cases; its scalar `which` selects one. The seed determines everything.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import BOOL, FLOAT32, INT32, INT64, DType, dtype
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.intervals import limits
from relax_explorer.core.tir.prim_expr import BufferLoad, BufferPtr
from relax_explorer.core.tir.stmt import Buffer, Range

INTEGERS = [dtype(name) for name in ("int8", "int16", "int32", "int64", "uint8", "uint32", "uint64")]
USUAL = [INT32, INT32, INT64, INT64, dtype("int8"), dtype("uint8")]
_ARITHMETIC: list[type[p.Binary]] = [
    p.Add,
    p.Add,
    p.Sub,
    p.Sub,
    p.Mul,
    p.Mul,
    p.FloorDiv,
    p.FloorMod,
    p.Div,
    p.Mod,
    p.Min,
    p.Max,
]
_COMPARISONS: list[type[p.Binary]] = [p.EQ, p.NE, p.LT, p.LE, p.GT, p.GE]


class Maker:
    """Builds cases; `expressions` counts the expressions used as an index, a value, a length or a bound."""

    def __init__(self, random: Random, symbolic: bool, views: bool = True) -> None:
        self.random, self.expressions = random, 0
        self.views = views  # kernels without views are compiled by LLVM directly, the others by numba
        self.n = p.PrimVar("n", INT64)
        self.which = p.PrimVar("which", INT32)
        self.scalars = [p.PrimVar(f"k_{kind}", kind) for kind in INTEGERS]
        lengths = [(5,), (7,), (6,), (4,), (3,), (3, 4), (9,)]
        kinds = ["int8", "int32", "int64", "uint8", "uint64", "int32", "float32"]
        self.buffers = [
            Buffer(f"B{k}", tuple(map(p.IntImm, shape)), dtype(kind))
            for k, (shape, kind) in enumerate(zip(lengths, kinds, strict=True))
        ]
        if symbolic:
            self.buffers += [
                Buffer("S0", (self.n,), INT32),
                Buffer("S1", (self.n, p.IntImm(3)), dtype("int16")),
            ]
        self.known: list[p.PrimVar] = []
        self.readable: list[Buffer] = []
        self.is_narrow = False  # only loop variables and literals, which the analysis can bound

    def function(self, cases: int) -> t.PrimFunc:
        """A PrimFunc with a number of cases."""
        body = [
            t.IfThenElse(p.EQ(self.which, p.IntImm(number, INT32)), self.case()) for number in range(cases)
        ]
        return t.PrimFunc((*self.buffers, *self.scalars, self.which), t.SeqStmt(tuple(body)))

    def case(self) -> t.Stmt:
        """One case: loops, lets, memory and conditions around a store or two."""
        self.readable = list(self.buffers)
        symbolic = [self.n] if len(self.buffers) > 7 else []
        self.known = [*self.scalars, *symbolic * 3]
        return self.around(self.random.choice((0, 1, 1, 2, 2)))

    def around(self, depth: int) -> t.Stmt:
        """Statements inside `depth` loops."""
        lines: list[t.Stmt] = []
        kinds = (self.let, self.memory, self.view) if self.views else (self.let, self.memory)
        while self.random.random() < 0.3:
            lines.append(self.random.choice(kinds)())
        if depth:
            lines.append(self.loop(depth))
        elif self.random.random() < 0.15:
            lines.append(self.block())
        elif self.random.random() < 0.2:
            lines.append(t.IfThenElse(self.condition(2), self.store(), self.store()))
        else:
            lines += [self.store() for _ in range(self.random.choice((1, 1, 2)))]
        return lines[0] if len(lines) == 1 else t.SeqStmt(tuple(lines))

    def loop(self, depth: int) -> t.Stmt:
        kind = self.random.choice(USUAL if self.random.random() < 0.8 else INTEGERS)
        start = self.literal(kind) if self.random.random() < 0.2 else p.IntImm(0, kind)
        odd = self.random.random()
        extent: p.PrimExpr = p.IntImm(self.random.randint(0, 9), kind)
        if odd < 0.2:
            extent = self.counted(kind, 1)
        if odd > 0.9:
            extent = p.IntImm(self.random.choice((100, 127)), kind)
        if kind is INT64 and self.n in self.known and self.random.random() < 0.5:
            extent = self.n
        step: p.PrimExpr | None = None
        if self.random.random() < 0.1:
            odd = self.random.random()
            step = self.counted(kind, 1) if odd < 0.3 else p.IntImm(self.random.randint(1, 3), kind)
        var = p.PrimVar(f"i{len(self.known)}", kind)
        before, memory = list(self.known), list(self.readable)
        self.known += [var] * 6
        made = t.For(var, start, extent, self.around(depth - 1), step=step)
        self.known, self.readable = before, memory
        return made

    def let(self) -> t.Stmt:
        kind = self.random.choice(USUAL)
        made = t.LetStmt(p.PrimVar(f"x{len(self.known)}", kind), self.counted(kind, 3))
        self.known += [made.var] * 3
        return made

    def memory(self) -> t.Stmt:
        length = p.IntImm(self.random.randint(0, 6)) if self.random.random() < 0.7 else self.counted(INT64, 2)
        buffer = Buffer(f"M{len(self.readable)}", (length,), self.random.choice([*USUAL, FLOAT32]))
        self.readable += [buffer] * 3
        return t.AllocBuffer(buffer)

    def view(self) -> t.Stmt:
        whole = self.random.choice(self.buffers)
        length = p.IntImm(self.random.randint(0, 4)) if self.random.random() < 0.7 else self.counted(INT64, 2)
        offset = self.counted(INT64, 1) if self.random.random() < 0.3 else p.IntImm(self.random.randint(0, 3))
        buffer = Buffer(
            f"V{len(self.readable)}", (length,), whole.dtype, data=BufferPtr(whole), elem_offset=offset
        )
        self.readable += [buffer] * 3
        return t.AllocBuffer(buffer, "decl_buffer")

    def block(self) -> t.Stmt:
        kind = self.random.choice(USUAL)
        var = p.PrimVar(f"v{len(self.known)}", kind)
        value = self.counted(self.random.choice((kind, kind, INT64)), 2)
        self.known += [var] * 3
        axis = t.IterVar(var, Range(p.IntImm(0, kind), p.IntImm(7, kind)))
        predicate = self.condition(1) if self.random.random() < 0.3 else None
        return t.SBlock("block", (axis,), (value,), self.store(), predicate)

    def store(self) -> t.Stmt:
        buffer = self.random.choice(self.readable)
        depth = self.random.choice((1, 2, 2, 3))
        indices = self.indices(buffer, depth)
        value = self.counted(INT64 if buffer.dtype.is_float else buffer.dtype, depth)
        return t.BufferStore(buffer, indices, p.Cast(FLOAT32, value) if buffer.dtype.is_float else value)

    # -- expressions ----------------------------------------------------------------------------------------------

    def indices(self, buffer: Buffer, depth: int) -> tuple[p.PrimExpr, ...]:
        """Indices that are often in range."""
        return tuple([self.index(length, depth) for length in buffer.shape])

    def index(self, length: p.PrimExpr, depth: int) -> p.PrimExpr:
        kind = self.random.choice(USUAL if self.random.random() < 0.85 else INTEGERS)
        self.is_narrow = self.random.random() < 0.6
        found = self.counted(kind, depth)
        self.is_narrow = False
        size = length.value if isinstance(length, p.IntImm) else self.random.randint(1, 9)
        if self.random.random() < 0.35 or not 1 <= size <= limits(kind)[1]:
            return found
        most = p.IntImm(size, kind)
        way = self.random.random()
        if way < 0.4:
            return p.FloorMod(found, most)
        if way < 0.7:
            return p.Max(p.Min(found, p.IntImm(size - 1, kind)), p.IntImm(0, kind))
        if way < 0.85:
            return p.PrimCall("bitwise_and", (found, p.IntImm(3, kind)), kind)
        inner = p.And(p.GE(found, p.IntImm(0, kind)), p.LT(found, most))
        return p.Select(inner, found, p.IntImm(0, kind))

    def counted(self, kind: DType, depth: int) -> p.PrimExpr:
        """An expression, added to the count."""
        self.expressions += 1
        return self.expr(kind, depth)

    def expr(self, kind: DType, depth: int) -> p.PrimExpr:
        """An expression of an integer dtype."""
        if depth <= 0 or self.random.random() < 0.15:
            return self.leaf(kind)
        if self.is_narrow:
            return self.random.choice((self.arithmetic, self.arithmetic, self.cast))(kind, depth)
        rules: list[Callable[[DType, int], p.PrimExpr]] = [
            self.arithmetic, self.arithmetic, self.arithmetic, self.cast, self.load, self.choice, self.bits, self.leaf_of,
        ]  # fmt: skip
        return self.random.choice(rules)(kind, depth)

    def leaf_of(self, kind: DType, depth: int) -> p.PrimExpr:
        return self.leaf(kind)

    def leaf(self, kind: DType) -> p.PrimExpr:
        if self.random.random() < 0.35:
            return self.literal(kind)
        known = self.known
        if self.is_narrow:
            known = [var for var in known if var not in self.scalars] or [self.which]
        same = [var for var in known if var.dtype is kind]
        var = self.random.choice(same if same and self.random.random() < 0.7 else known)
        return var if var.dtype is kind else p.Cast(kind, var)

    def literal(self, kind: DType) -> p.PrimExpr:
        low, high = limits(kind)
        edges = (low, low + 1, high, high - 1, 1 << self.random.randrange(kind.bits - 1), high // 3)
        value = self.random.choice(edges) if self.random.random() < 0.3 else self.random.randint(-4, 9)
        if self.is_narrow and self.random.random() < 0.5:  # so that a few iterations overflow a narrow dtype
            value = self.random.randint(10, 1 << min(kind.bits - 1, self.random.randint(5, 32)))
        return p.IntImm(min(max(value, low), high), kind)

    def arithmetic(self, kind: DType, depth: int) -> p.PrimExpr:
        operator = self.random.choice(_ARITHMETIC)
        other = self.literal(kind) if self.random.random() < 0.4 else self.expr(kind, depth - 1)
        return operator(self.expr(kind, depth - 1), other)

    def cast(self, kind: DType, depth: int) -> p.PrimExpr:
        if self.is_narrow:
            return p.Cast(kind, self.expr(self.random.choice((*INTEGERS[:2], *INTEGERS)), depth - 1))
        if self.random.random() < 0.15:
            floats = [buffer for buffer in self.readable if buffer.dtype.is_float]
            buffer = self.random.choice(floats)
            return p.Cast(kind, BufferLoad(buffer, self.indices(buffer, 0)))
        if self.random.random() < 0.1:
            return p.Cast(kind, self.condition(depth - 1))
        return p.Cast(kind, self.expr(self.random.choice(INTEGERS), depth - 1))

    def load(self, kind: DType, depth: int) -> p.PrimExpr:
        same = [buffer for buffer in self.readable if buffer.dtype is kind]
        if not same:
            return self.cast(kind, depth)
        buffer = self.random.choice(same)
        return BufferLoad(buffer, self.indices(buffer, depth - 2))

    def choice(self, kind: DType, depth: int) -> p.PrimExpr:
        parts = (self.condition(depth - 1), self.expr(kind, depth - 1), self.expr(kind, depth - 1))
        return p.Select(*parts) if self.random.random() < 0.5 else p.PrimCall("if_then_else", parts, kind)

    def bits(self, kind: DType, depth: int) -> p.PrimExpr:
        operator = self.random.choice(
            ("shift_left", "shift_right", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "abs")
        )
        value = self.expr(kind, depth - 1)
        if operator in ("bitwise_not", "abs"):
            return p.PrimCall(operator, (value,), kind)
        other = self.expr(kind, depth - 1)
        if operator.startswith("shift") and self.random.random() < 0.7:
            other = p.IntImm(self.random.randint(0, kind.bits - 1), kind)
        return p.PrimCall(operator, (value, other), kind)

    def condition(self, depth: int) -> p.PrimExpr:
        """A Boolean expression."""
        if depth > 1 and self.random.random() < 0.2:
            both: list[type[p.Binary]] = [p.And, p.Or]
            joined = self.random.choice(both)
            return joined(self.condition(depth - 1), self.condition(depth - 1))
        if depth > 1 and self.random.random() < 0.1:
            return p.Not(self.condition(depth - 1))
        if self.random.random() < 0.05:
            return p.Cast(BOOL, self.expr(INT32, depth - 1))
        kind = self.random.choice(INTEGERS)
        operator = self.random.choice(_COMPARISONS)
        return operator(self.expr(kind, depth - 1), self.expr(kind, depth - 1))
