"""The context of a partial derivative: builds expressions for the rules in `derivatives.py` and `derivatives_nn.py`.

A rule gets the call, the variable of its result and the adjoint of the result. It returns the increments of the adjoints of the
operands in order, None for an operand without a gradient. It raises NoGradient for a call that it cannot differentiate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from relax_explorer.core.arith.prove import Answer, shapes_equal
from relax_explorer.core.build.block_builder import BlockBuilder
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.passes.pattern_rules import call
from relax_explorer.core.phases import machine_calls as m

Increments = Sequence[e.Expr | None]


class NoGradient(Exception):
    """A call has no gradient. The message gives the reason."""


class Partials:
    """What the rules need: the operands, shapes, constants and arithmetic."""

    def __init__(self, build: BlockBuilder, value: e.Call, result: e.Var, adjoint: e.Expr) -> None:
        self.build, self.value, self.result, self.adjoint = build, value, result, adjoint
        self.args, self.attrs = value.args, value.attrs

    def emit(self, value: e.Expr) -> e.Var:
        """Bind an expression that is used more than once."""
        return self.build.emit(value)

    def fitted(self, increment: e.Expr, like: e.Expr) -> e.Expr:
        """An increment summed to the shape of an operand that was broadcast. Its operands are emitted."""
        increment = self.build.informed(increment)
        dims = self.dims(like)
        if shapes_equal(self.dims(increment), dims) is Answer.YES:
            return increment
        return call("relax.collapse_sum_to", increment, m.shape(dims))

    def tensor(self, expr: e.Expr) -> s.TensorStructInfo:
        """The StructInfo of a tensor."""
        info = expr.struct_info
        if not isinstance(info, s.TensorStructInfo) or info.dtype is None:
            raise NoGradient(f"{_name(expr)} is {info}, and its dtype must be known")
        return info

    def dims(self, expr: e.Expr) -> tuple[p.PrimExpr, ...]:
        """The lengths of a tensor."""
        info = expr.struct_info
        if not isinstance(info, s.TensorStructInfo) or info.dims is None:
            raise NoGradient(f"{_name(expr)} is {info}, and its shape must be known")
        return info.dims

    def numbers(self, expr: e.Expr) -> tuple[int, ...]:
        """The lengths of a tensor as numbers."""
        return self.known(self.dims(expr), expr)

    def known(self, dims: Sequence[p.PrimExpr], expr: e.Expr) -> tuple[int, ...]:
        """Some lengths of a tensor as numbers."""
        if not all(isinstance(dim, p.IntImm) for dim in dims):
            raise NoGradient(f"{_name(expr)} is {expr.struct_info}, and its lengths must be numbers")
        return tuple([dim.value for dim in dims if isinstance(dim, p.IntImm)])

    def shape(self, expr: e.Expr) -> e.ShapeExpr:
        """The shape of a tensor as an operand."""
        return m.shape(self.dims(expr))

    def dtype(self, expr: e.Expr) -> DType:
        """The dtype of a tensor."""
        found = self.tensor(expr).dtype
        assert found is not None  # `tensor` checked it
        return found

    def constant(self, value: float, like: e.Expr) -> e.Constant:
        """A number in the dtype of a tensor."""
        array = np.array(value, self.dtype(like).to_numpy())
        return e.Constant(array, s.constant_info(array))

    def axes(self, x: e.Expr) -> tuple[int, ...]:
        """The axes of a reduction of x, from 0; all of them if the call names none."""
        rank = len(self.dims(x))
        axis = self.attrs["axis"]
        return tuple(range(rank)) if axis is None else tuple([n % rank for n in axis])

    def count(self, x: e.Expr, axes: Sequence[int]) -> e.Expr:
        """How many elements of x each result of a reduction reads: a constant, or the sum of ones of a symbolic length."""
        dims = [self.dims(x)[axis] for axis in axes]
        if all(isinstance(dim, p.IntImm) for dim in dims):
            return self.constant(float(np.prod(self.known(dims, x), dtype=np.float64)), x)
        ones = call("relax.ones", m.shape(tuple(dims)), dtype=self.dtype(x))
        return call("relax.sum", ones, axis=None, keepdims=False)

    def unreduced(self, adjoint: e.Expr) -> e.Expr:
        """The adjoint of a reduction, with its axes."""
        axis = self.attrs["axis"]
        return (
            adjoint if self.attrs["keepdims"] or not axis else call("relax.expand_dims", adjoint, axis=axis)
        )


Rule = Callable[[Partials], Increments]


def _name(expr: e.Expr) -> str:
    return repr(expr.name) if isinstance(expr, e.Var) else "an operand"


def add(a: e.Expr, b: e.Expr) -> e.Call:
    """a + b."""
    return call("relax.add", a, b)


def sub(a: e.Expr, b: e.Expr) -> e.Call:
    """a - b."""
    return call("relax.subtract", a, b)


def mul(a: e.Expr, b: e.Expr) -> e.Call:
    """a * b."""
    return call("relax.multiply", a, b)


def div(a: e.Expr, b: e.Expr) -> e.Call:
    """a / b."""
    return call("relax.divide", a, b)


def neg(a: e.Expr) -> e.Call:
    """-a."""
    return call("relax.negative", a)


def where(condition: e.Expr, a: e.Expr, b: e.Expr) -> e.Call:
    """a where the condition holds, else b."""
    return call("relax.where", condition, a, b)
