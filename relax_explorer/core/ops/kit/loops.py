"""Stages made of statements, for kernels that no index expression describes. They run in order for each index of outer axes.

def row(i):
    return loop(n, lambda k: store(out, (i, k), x[i, k]))

ordered(te, (rows,), (out,), row)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import INT64, DType
from relax_explorer.core.ops.kit.te import Te, Tensor, is_inside, stored
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.stmt import Buffer, Range

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
