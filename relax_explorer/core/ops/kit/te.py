"""Index expressions: an operator's `legalize` rule describes its result element by element, and a PrimFunc is made of it.

def legalize(te, x, y):
    return te.compute("T_add", shape, lambda *i: x[i] + y[i])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.dtype import FLOAT16, FLOAT32, INT64, DType, limits
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferLoad
from relax_explorer.core.tir.stmt import Buffer, BufferRegion, Range
from relax_explorer.core.tir.traverse import subexpressions

Body = Callable[..., p.PrimExpr]


class Tensor:
    """A tensor in index expressions: `x[i, j]` is an element; an index is a scalar expression or a tuple of them."""

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer

    @property
    def shape(self) -> tuple[p.PrimExpr, ...]:
        """The lengths of the axes."""
        return self.buffer.shape

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.buffer.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.buffer.shape)

    def __getitem__(self, index: p.PrimExpr | int | Sequence[p.PrimExpr | int]) -> p.PrimExpr:
        indices = tuple(index) if isinstance(index, (tuple, list)) else (index,)
        return BufferLoad(self.buffer, tuple([p.as_prim(item, INT64) for item in indices]))


class Literal(Tensor):
    """A tensor of rank 0 whose element is written into the kernel."""

    def __init__(self, value: p.PrimExpr) -> None:
        super().__init__(Buffer("literal", (), value.dtype))
        self._value = value

    def __getitem__(self, index: p.PrimExpr | int | Sequence[p.PrimExpr | int]) -> p.PrimExpr:
        return self._value


class Te:
    """Collects the stages of one lowering; each is a nest of loops around one block."""

    def __init__(self) -> None:
        self.nests: list[t.Stmt] = []
        self.filled: dict[Buffer, None] = {}  # the buffers that stages fill, in order
        self._names: dict[str, int] = {}

    def add(self, nest: t.Stmt, *filled: Buffer) -> None:
        """Append a stage that fills these buffers."""
        self.nests.append(nest)
        self.filled.update(dict.fromkeys(filled))

    def fresh(self, hint: str) -> str:
        """An unused name for a buffer or a block."""
        count = self._names.get(hint, 0)
        self._names[hint] = count + 1
        return f"{hint}_{count}" if count else hint

    def compute(
        self,
        name: str,
        shape: Sequence[p.PrimExpr],
        body: Body,
        dtype: DType | None = None,
        annotations: dict[str, Any] | None = None,
    ) -> Tensor:
        """The tensor whose element at `i` is `body(*i)`. `annotations` go to the block."""
        axes = [p.PrimVar(f"ax{n}") for n in range(len(shape))]
        inner = [p.PrimVar(f"v_{axis.name}") for axis in axes]
        value = body(*inner)
        buffer = Buffer(self.fresh(name), tuple(shape), dtype or value.dtype)
        iters = tuple([t.IterVar(v, Range(p.IntImm(0), n)) for v, n in zip(inner, shape, strict=True)])
        store = t.BufferStore(buffer, tuple(inner), stored(value, buffer.dtype))
        return self._stage(buffer, iters, axes, store, None, annotations)

    def reduce(
        self, name: str, shape: Sequence[p.PrimExpr], over: Sequence[p.PrimExpr], body: Body,
        combine: Callable[[p.PrimExpr, p.PrimExpr], p.PrimExpr], start: p.PrimExpr, dtype: DType | None = None,
    ) -> Tensor:  # fmt: skip
        """The tensor whose element at `i` reduces `body(*i, *k)` over all `k` below `over` with `combine`, beginning with `start`."""
        axes = [p.PrimVar(f"ax{n}") for n in range(len(shape))] + [
            p.PrimVar(f"k{n}") for n in range(len(over))
        ]
        inner = [p.PrimVar(f"v_{axis.name}") for axis in axes]
        value = body(*inner)
        buffer = Buffer(self.fresh(name), tuple(shape), dtype or value.dtype)
        kinds = ["spatial"] * len(shape) + ["reduce"] * len(over)
        lengths = (*shape, *over)
        iters = tuple(
            [
                t.IterVar(v, Range(p.IntImm(0), n), kind)
                for v, n, kind in zip(inner, lengths, kinds, strict=True)
            ]
        )
        place = tuple(inner[: len(shape)])
        old = BufferLoad(buffer, place)
        store = t.BufferStore(buffer, place, stored(combine(old, cast(value, buffer.dtype)), buffer.dtype))
        return self._stage(
            buffer, iters, axes, store, t.BufferStore(buffer, place, cast(start, buffer.dtype))
        )

    def sum(
        self,
        name: str,
        shape: Sequence[p.PrimExpr],
        over: Sequence[p.PrimExpr],
        body: Body,
        dtype: DType | None = None,
    ) -> Tensor:
        """The sum of `body(*i, *k)` over `k`."""
        probe = dtype or body(*[p.PrimVar("i") for _ in (*shape, *over)]).dtype
        return self.reduce(name, shape, over, body, p.Add, p.as_prim(0, probe), probe)

    def _stage(
        self,
        buffer: Buffer,
        iters: tuple[t.IterVar, ...],
        axes: list[p.PrimVar],
        store: t.BufferStore,
        init: t.Stmt | None,
        annotations: dict[str, Any] | None = None,
    ) -> Tensor:
        reads = _regions(store.value, buffer)
        points = (True,) * len(store.indices)
        writes = (BufferRegion(buffer, tuple([Range(i, p.IntImm(1)) for i in store.indices]), points),)
        values: tuple[p.PrimExpr, ...] = tuple(axes)
        notes = Attrs(annotations or {})
        if not iters:  # a block of a single element has an axis of length 1
            iters, values = (t.IterVar(p.PrimVar("vi"), Range(p.IntImm(0), p.IntImm(1))),), (p.IntImm(0),)
        nest: t.Stmt = t.SBlock(
            buffer.name, iters, values, store, None, reads, writes, init, annotations=notes
        )
        for var, axis in zip(reversed(axes), reversed(iters), strict=bool(axes)):
            nest = t.For(var, p.IntImm(0), axis.domain.extent, nest)
        self.add(nest, buffer)
        return Tensor(buffer)


def _regions(value: p.PrimExpr, output: Buffer) -> tuple[BufferRegion, ...]:
    """The regions that a block reads: a point for a plain index, the whole buffer for a computed one."""
    seen: dict[Buffer, tuple[p.PrimExpr, ...] | None] = {}
    for part in subexpressions(value):
        if isinstance(part, BufferLoad) and part.buffer is not output:
            simple = all(not isinstance(sub, BufferLoad) for sub in subexpressions(*part.indices))
            first = seen.get(part.buffer, part.indices)
            seen[part.buffer] = part.indices if simple and first == part.indices else None
    regions = []
    for buffer, indices in seen.items():
        if indices is not None and all(isinstance(i, (p.PrimVar, p.IntImm)) for i in indices):
            regions.append(
                BufferRegion(buffer, tuple([Range(i, p.IntImm(1)) for i in indices]), (True,) * len(indices))
            )
        else:
            ranges = tuple([Range(p.IntImm(0), n) for n in buffer.shape])
            regions.append(BufferRegion(buffer, ranges, (False,) * len(ranges)))
    return tuple(regions)


def cast(value: p.PrimExpr, dtype: DType) -> p.PrimExpr:
    """`value` converted to `dtype`. Literals are converted at once and wrap around, as at run time."""
    if value.dtype is dtype:
        return value
    if isinstance(value, (p.IntImm, p.FloatImm)) and dtype.is_float:
        return p.as_prim(float(value.value), dtype)
    if isinstance(value, (p.IntImm, p.FloatImm)) and dtype.is_bool:
        return p.as_prim(bool(value.value), dtype)
    if isinstance(value, p.IntImm) and dtype.is_int:
        return wrapped(value.value, dtype)
    return p.Cast(dtype, value)


_OF_TRUTH: dict[type, type[p.Binary]] = {p.Add: p.Or, p.Max: p.Or, p.Mul: p.And, p.Min: p.And}


def stored(value: p.PrimExpr, dtype: DType) -> p.PrimExpr:
    """`value` as stored into a tensor of `dtype`. Bool sums become `or`, bool products `and`, because TVM does not add bools."""
    return _logical(value) if value.dtype is dtype and dtype.is_bool else cast(value, dtype)


def _logical(value: p.PrimExpr) -> p.PrimExpr:
    if isinstance(value, p.PrimCall) and value.op == "if_then_else":
        condition, *sides = value.args
        return where(condition, *map(_logical, sides))
    if not value.dtype.is_bool or not isinstance(value, p.Binary):
        return value
    return _OF_TRUTH.get(type(value), type(value))(_logical(value.a), _logical(value.b))


def wrapped(value: int, dtype: DType) -> p.IntImm:
    """An integer as a literal of an integer dtype, wrapped around to its width."""
    rest = value & ((1 << dtype.bits) - 1)
    negative = dtype.kind == "int" and rest >> (dtype.bits - 1)
    return p.IntImm(rest - (1 << dtype.bits) if negative else rest, dtype)


def call(name: str, *args: p.PrimExpr) -> p.PrimExpr:
    """A call of an intrinsic such as exp, with the dtype of its first argument."""
    return p.PrimCall(name, args, args[0].dtype)


def erf(value: p.PrimExpr) -> p.PrimExpr:
    """The error function. float16 is computed in float32, because TVM has no erf for float16."""
    return cast(call("erf", cast(value, FLOAT32)), FLOAT16) if value.dtype is FLOAT16 else call("erf", value)


def where(condition: p.PrimExpr, yes: p.PrimExpr, no: p.PrimExpr) -> p.PrimExpr:
    """`yes` if the condition holds, else `no`. Only the chosen one is evaluated."""
    return p.PrimCall("if_then_else", (condition, yes, no), yes.dtype)


def is_inside(index: p.PrimExpr, length: p.PrimExpr) -> p.PrimExpr:
    """The condition that an index lies in [0, length)."""
    return p.And(p.LE(p.IntImm(0), index), p.LT(index, length))


def lowest(dtype: DType) -> p.PrimExpr:
    """The smallest finite value of a dtype."""
    return p.IntImm(0, dtype) if dtype.is_bool else p.as_prim(limits(dtype)[0], dtype)


def highest(dtype: DType) -> p.PrimExpr:
    """The largest finite value of a dtype."""
    return p.IntImm(1, dtype) if dtype.is_bool else p.as_prim(limits(dtype)[1], dtype)


def prim_func(
    te: Te, inputs: Sequence[Tensor], scalars: Sequence[p.PrimVar], outputs: Sequence[Tensor]
) -> t.PrimFunc:
    """The PrimFunc of the collected stages. Its parameters are inputs, scalars, outputs; the root block allocates the other tensors."""
    output_buffers = {tensor.buffer for tensor in outputs}
    inner = tuple([buffer for buffer in te.filled if buffer not in output_buffers])
    nests = tuple(te.nests)
    body: t.Stmt = nests[0] if len(nests) == 1 else t.SeqStmt(nests)
    if inner:
        body = t.SBlock("root", (), (), body, alloc_buffers=inner)
    elif type(body) is t.SBlock:  # a block without loops is written inside an explicit root
        body = t.SBlock("root", (), (), body, None, (), ())
    params: tuple[Buffer | p.PrimVar, ...] = (
        *[x.buffer for x in inputs],
        *scalars,
        *[x.buffer for x in outputs],
    )
    return t.PrimFunc(params, body, None, Attrs({"tirx.noalias": True}), True)


def flat_index(i: Sequence[p.PrimExpr], shape: Sequence[p.PrimExpr]) -> p.PrimExpr:
    """The position of an element in row-major order."""
    position: p.PrimExpr | None = None
    for number, length in zip(i, shape, strict=True):
        position = number if position is None else p.Add(p.Mul(position, length), number)
    return p.IntImm(0) if position is None else position


def unflatten(position: p.PrimExpr, shape: Sequence[p.PrimExpr]) -> tuple[p.PrimExpr, ...]:
    """The indices of a position in row-major order."""
    indices: list[p.PrimExpr] = []
    for number, length in enumerate(reversed(shape)):
        last = number == len(shape) - 1
        indices.append(position if last else p.FloorMod(position, length))
        position = p.FloorDiv(position, length)
    return tuple(reversed(indices))


# -- loops -----------------------------------------------------------------------------------------------------------
# Stages made of statements, for kernels that no index expression describes. They run in order for each index of outer
# axes.
#
# def row(i):
#     return loop(n, lambda k: store(out, (i, k), x[i, k]))
#
# ordered(te, (rows,), (out,), row)


Index = Sequence[p.PrimExpr | int]


def tensor(te: Te, name: str, shape: Sequence[p.PrimExpr], dtype: DType) -> Tensor:
    """A tensor that a stage of statements fills."""
    return Tensor(Buffer(te.fresh(name), tuple(shape), dtype))


def ordered(
    te: Te, outer: Sequence[p.PrimExpr], filled: Sequence[Tensor], body: Callable[..., t.Stmt]
) -> None:
    """A stage that runs `body(*i)` for each index `i` of the outer axes; it fills the tensors `filled`.

    The iterations must be independent: no iteration reads or writes an element that another one writes.
    """
    loops = [p.PrimVar(f"ax{n}") for n in range(len(outer))]
    axes = [p.PrimVar(f"v_ax{n}") for n in range(len(outer))]
    statement = body(*axes)
    iters = tuple(
        [t.IterVar(v, Range(p.IntImm(0), length), "spatial") for v, length in zip(axes, outer, strict=True)]
    )
    values: tuple[p.PrimExpr, ...] = tuple(loops)
    if not iters:  # a block has at least one axis
        iters, values = (t.IterVar(p.PrimVar("vi"), Range(p.IntImm(0), p.IntImm(1))),), (p.IntImm(0),)
    first = filled[0].buffer
    name = te.fresh(first.name) if first in te.filled else first.name
    nest: t.Stmt = t.SBlock(name, iters, values, statement)
    for var, length in zip(reversed(loops), reversed(outer), strict=True):
        nest = t.For(var, p.IntImm(0), length, nest)
    te.add(nest, *[output.buffer for output in filled])


def store(target: Tensor, index: Index, value: p.PrimExpr | float) -> t.Stmt:
    """`target[index] = value`, converted to the dtype of the tensor."""
    where = tuple([p.as_prim(item, INT64) for item in index])
    return t.BufferStore(target.buffer, where, stored(p.as_prim(value), target.dtype))


def seq(*statements: t.Stmt) -> t.Stmt:
    """Statements in order."""
    return statements[0] if len(statements) == 1 else t.SeqStmt(tuple(statements))


def loop(length: p.PrimExpr | int, body: Callable[[p.PrimVar], t.Stmt], name: str = "k") -> t.Stmt:
    """`body(k)` for each k from 0, one after the other."""
    var = p.PrimVar(name)
    return t.For(var, p.IntImm(0), p.as_prim(length, INT64), body(var))


def grid(lengths: Sequence[p.PrimExpr], body: Callable[..., t.Stmt], name: str = "k") -> t.Stmt:
    """`body(*k)` for each index of a box, the last axis fastest."""
    places = [p.PrimVar(f"{name}{n}") for n in range(len(lengths))]
    nest = body(*places)
    for var, length in zip(reversed(places), reversed(lengths), strict=True):
        nest = t.For(var, p.IntImm(0), length, nest)
    return nest


def check(condition: p.PrimExpr, message: str) -> t.Stmt:
    """A statement that stops the run with `message` if the condition is false."""
    return t.AssertStmt(condition, (message,))


def check_index(index: p.PrimExpr, length: p.PrimExpr) -> t.Stmt:
    """A statement that stops the run if an index (counted from 0) is out of bounds, so that no other memory is written."""
    return check(is_inside(index, length), "an index is outside the tensor")


def when(condition: p.PrimExpr, then: t.Stmt, otherwise: t.Stmt | None = None) -> t.Stmt:
    """`then` if the condition holds, else `otherwise`."""
    return t.IfThenElse(condition, then, otherwise)
