"""Broadcasting in kernels: the shape of the result, and the index of the operand's element for each element of it."""

from __future__ import annotations

from relax_explorer.core.arith.prove import Answer, equal
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.decl import Site
from relax_explorer.core.ops.kit.te import Tensor, where


def index(x: Tensor | p.PrimExpr, i: tuple[p.PrimExpr, ...], shape: rules.Dims) -> p.PrimExpr:
    """The element of `x` for element `i` of a result of `shape`."""
    if isinstance(x, p.PrimExpr):
        return x
    offset = len(shape) - x.ndim
    return x[tuple([repeated(dim, shape[n + offset], i[n + offset]) for n, dim in enumerate(x.shape)])]


def repeated(dim: p.PrimExpr, length: p.PrimExpr, place: p.PrimExpr) -> p.PrimExpr:
    """The index into an axis of length `dim`, broadcast to `length`. If it is unknown whether `dim` is 1, the kernel tests it."""
    if dim is rules.ONE:
        return place if length is rules.ONE else p.IntImm(0)
    if isinstance(dim, p.IntImm) or equal(dim, length) is Answer.YES:
        return place
    return where(p.EQ(dim, rules.ONE), p.IntImm(0), place)


def result_shape(*operands: Tensor | p.PrimExpr) -> rules.Dims:
    """The broadcast shape of operands that inference accepted."""
    shape: rules.Dims = ()
    for x in operands:
        if isinstance(x, Tensor):
            broadcast = rules.broadcast(Site(None), shape, x.shape)
            shape = x.shape if broadcast is None else broadcast
    return shape
