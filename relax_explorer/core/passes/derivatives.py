"""The gradient of each operator, and the context in which the rules build it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from relax_explorer.core.arith.prove import Answer, product, shapes_equal
from relax_explorer.core.build.block_builder import BlockBuilder
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64, DType
from relax_explorer.core.passes.pattern_rules import call
from relax_explorer.core.phases import machine_calls as m

# -- partials --------------------------------------------------------------------------------------------------------
# The context of a partial derivative: builds expressions for the rules.
#
# A rule gets the call, the variable of its result and the adjoint of the result. It returns the increments of the
# adjoints of the operands in order, None for an operand without a gradient. It raises NoGradient for a call that it
# cannot differentiate.


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


# -- derivatives -----------------------------------------------------------------------------------------------------
# The gradient of each operator.


def _relu(d: Partials) -> Increments:
    (x,) = d.args
    zero = d.constant(0, x)
    return [where(call("relax.less", x, zero), zero, d.adjoint)]


def _silu(d: Partials) -> Increments:
    (x,) = d.args
    sigmoid = d.emit(call("relax.sigmoid", x))
    return [mul(d.adjoint, add(sigmoid, mul(d.result, sub(d.constant(1, x), sigmoid))))]


def _softmax(d: Partials) -> Increments:
    total = call("relax.sum", mul(d.adjoint, d.result), axis=(d.attrs["axis"],), keepdims=True)
    return [mul(sub(d.adjoint, total), d.result)]


def _log_softmax(d: Partials) -> Increments:
    total = call("relax.sum", d.adjoint, axis=(d.attrs["axis"],), keepdims=True)
    return [sub(d.adjoint, mul(total, call("relax.exp", d.result)))]


def _cross_entropy_with_logits(d: Partials) -> Increments:
    x, y = d.args
    adjoint = d.adjoint
    if len(d.dims(x)) > 1:
        adjoint = d.emit(div(adjoint, d.count(x, (0,))))
    return [mul(neg(adjoint), y), mul(neg(adjoint), x)]


def _nll_loss(d: Partials) -> Increments:
    attrs = {name: d.attrs[name] for name in ("reduction", "ignore_index")}
    return [call("relax.grad.nll_loss_backward", d.adjoint, *d.args, **attrs), *[None] * (len(d.args) - 1)]


def _pool(name: str) -> Rule:
    """The rule of a pool, whose gradient is an operator with the same attributes."""
    return lambda d: [e.Call(e.op_ref(name), (d.adjoint, *d.args), d.attrs)]


@dataclass(frozen=True, slots=True)
class _Convolution:
    """The lengths of a convolution in NCHW, OIHW and NCHW. Pairs are of height and width."""

    batch: int
    channels: int
    size: tuple[int, ...]
    filters: int
    kernel: tuple[int, ...]
    out: tuple[int, ...]
    padding: tuple[int, int]  # the sum of both ends

    @staticmethod
    def of(d: Partials) -> _Convolution:
        """The lengths of a call."""
        data, weight = d.args
        batch, channels, *size = d.numbers(data)
        filters, _, *kernel = d.numbers(weight)
        top, left, bottom, right = d.attrs["padding"]
        out = d.numbers(d.result)[2:]
        return _Convolution(
            batch, channels, tuple(size), filters, tuple(kernel), out, (top + bottom, left + right)
        )


def _conv2d(d: Partials) -> Increments:
    data, weight = d.args
    layouts = (d.attrs["data_layout"], d.attrs["kernel_layout"], d.attrs["out_layout"] or "NCHW")
    if layouts != ("NCHW", "OIHW", "NCHW"):
        raise NoGradient("only the layouts NCHW, OIHW and NCHW have a gradient")
    if not d.dtype(data) is d.dtype(weight) is d.dtype(d.adjoint):
        raise NoGradient("its operands and its result have different dtypes")
    lengths = _Convolution.of(d)
    return [_of_data(d, lengths), _of_weight(d, lengths)]


def _of_data(d: Partials, c: _Convolution) -> e.Expr:
    """The transposed convolution of the adjoint with the same weight."""
    strides, dilation = d.attrs["strides"], d.attrs["dilation"]
    # What the strides of the convolution did not reach.
    rest = [
        c.size[n] + c.padding[n] - (c.out[n] - 1) * strides[n] - (c.kernel[n] - 1) * dilation[n] - 1
        for n in (0, 1)
    ]
    return call(
        "relax.nn.conv2d_transpose", d.adjoint, d.args[1], strides=strides, padding=d.attrs["padding"],
        output_padding=tuple(rest), dilation=dilation, groups=d.attrs["groups"], data_layout="NCHW", kernel_layout="IOHW",
        out_layout="NCHW", out_dtype=d.attrs["out_dtype"],
    )  # fmt: skip


def _of_weight(d: Partials, c: _Convolution) -> e.Expr:
    """The convolution of the data with the adjoint as its weight, where batch and channels exchange their roles."""
    strides, dilation, groups = d.attrs["strides"], d.attrs["dilation"], d.attrs["groups"]
    each = c.channels // groups
    images: e.Expr = d.args[0]
    if groups != 1:  # the groups join the batch
        images = call("relax.reshape", images, m.shape(_prims(c.batch, groups, each, *c.size)))
        images = call("relax.permute_dims", images, axes=(1, 0, 2, 3, 4))
        images = call("relax.reshape", images, m.shape(_prims(c.batch * groups, each, *c.size)))
    increment = call(
        "relax.nn.conv2d", images, d.adjoint, strides=dilation, padding=d.attrs["padding"], dilation=strides, groups=groups,
        data_layout="CNHW", kernel_layout="IOHW", out_layout="CNHW", out_dtype=d.attrs["out_dtype"],
    )  # fmt: skip
    reached = [
        (c.size[n] - (c.out[n] - 1) * strides[n] - 1 + c.padding[n]) // dilation[n] + 1 for n in (0, 1)
    ]
    if tuple(reached) == c.kernel:
        return increment
    begin, end = _numbers(0, 0, 0, 0), _numbers(c.filters, each, *c.kernel)
    return call("relax.strided_slice", increment, _numbers(0, 1, 2, 3), begin, end)


def _prims(*values: int) -> tuple[p.PrimExpr, ...]:
    return tuple([p.IntImm(value, INT64) for value in values])


def _numbers(*values: int) -> e.Tuple:
    return e.tuple_of(tuple([m.number(value) for value in values]))


NN_RULES: dict[str, Rule] = {
    "avg_pool2d": _pool("relax.grad.avg_pool2d_backward"),
    "conv2d": _conv2d,
    "cross_entropy_with_logits": _cross_entropy_with_logits,
    "log_softmax": _log_softmax,
    "max_pool2d": _pool("relax.grad.max_pool2d_backward"),
    "nll_loss": _nll_loss,
    "relu": _relu,
    "silu": _silu,
    "softmax": _softmax,
}


def _add(d: Partials) -> Increments:
    return [d.fitted(d.adjoint, x) for x in d.args]


def _subtract(d: Partials) -> Increments:
    x, y = d.args
    return [d.fitted(d.adjoint, x), d.fitted(neg(d.adjoint), y)]


def _multiply(d: Partials) -> Increments:
    x, y = d.args
    return [d.fitted(mul(d.adjoint, y), x), d.fitted(mul(d.adjoint, x), y)]


def _divide(d: Partials) -> Increments:
    x, y = d.args
    return [d.fitted(div(d.adjoint, y), x), d.fitted(div(mul(neg(d.adjoint), d.result), y), y)]


def _power(d: Partials) -> Increments:
    x, y = d.args
    lower = call("relax.power", x, sub(y, d.constant(1, y)))
    base = d.fitted(mul(mul(d.adjoint, y), lower), x)
    return [base, d.fitted(mul(mul(d.adjoint, d.result), call("relax.log", x)), y)]


def _choice(first_loses: str, second_loses: str) -> Rule:
    """The rule of maximum and minimum: the adjoint goes to the operand that was chosen; of two equal ones, to the first or second."""

    def rule(d: Partials) -> Increments:
        x, y = d.args
        zero = d.constant(0, x)
        return [
            d.fitted(where(call(first_loses, x, y), zero, d.adjoint), x),
            d.fitted(where(call(second_loses, x, y), zero, d.adjoint), y),
        ]

    return rule


def _none(d: Partials) -> Increments:
    """Steps and new tensors: the result does not vary with the operands."""
    return [None] * len(d.args)


def _abs(d: Partials) -> Increments:
    (x,) = d.args
    one = d.constant(1, x)
    return [mul(d.adjoint, where(call("relax.less", x, d.constant(0, x)), neg(one), one))]


def _sigmoid(d: Partials) -> Increments:
    return [mul(mul(d.adjoint, d.result), sub(d.constant(1, d.args[0]), d.result))]


def _tanh(d: Partials) -> Increments:
    return [mul(d.adjoint, sub(d.constant(1, d.args[0]), mul(d.result, d.result)))]


def _sqrt(d: Partials) -> Increments:
    return [div(mul(d.constant(0.5, d.args[0]), d.adjoint), d.result)]


def _sum(d: Partials) -> Increments:
    return [call("relax.broadcast_to", d.unreduced(d.adjoint), d.shape(d.args[0]))]


def _mean(d: Partials) -> Increments:
    (x,) = d.args
    each = d.unreduced(div(d.adjoint, d.count(x, d.axes(x))))
    return [call("relax.broadcast_to", each, d.shape(x))]


def _variance(d: Partials) -> Increments:
    (x,) = d.args
    axes = d.axes(x)
    count = d.count(x, axes)
    total = call("relax.sum", x, axis=d.attrs["axis"], keepdims=True)
    if isinstance(count, e.Constant):
        twice, mean = 2 / count.data.item(), 2 / count.data.item() ** 2
        centred = sub(mul(d.constant(twice, x), x), mul(d.constant(mean, x), total))
    else:
        number = d.emit(count)
        centred = mul(div(d.constant(2, x), number), sub(x, div(total, number)))
    return [mul(d.unreduced(d.adjoint), centred)]


def _permute_dims(d: Partials) -> Increments:
    axes = d.attrs["axes"]
    if axes is None:
        return [call("relax.permute_dims", d.adjoint, axes=None)]
    back = sorted(range(len(axes)), key=lambda n: axes[n] % len(axes))
    return [call("relax.permute_dims", d.adjoint, axes=tuple(back))]


def _concat(d: Partials) -> Increments:
    (tensors,) = d.args
    fields = tensors.struct_info.fields if isinstance(tensors.struct_info, s.TupleStructInfo) else ()
    axis = d.attrs["axis"]
    if axis is None:
        raise NoGradient("its tensors are flattened")
    ends: list[int] = []
    for number, info in enumerate(fields[:-1]):
        field = e.TupleGetItem(tensors, number, info)
        (length,) = d.known(d.dims(field)[axis:][:1], field)
        ends.append(length + (ends[-1] if ends else 0))
    return [call("relax.split", d.adjoint, indices_or_sections=tuple(ends), axis=axis)]


def _split(d: Partials) -> Increments:
    return [call("relax.concat", d.adjoint, axis=d.attrs["axis"])]


def _cumsum(d: Partials) -> Increments:
    """The sum of the adjoints of all later results: the total without those of the earlier ones."""
    (x,) = d.args
    axis, adjoint = d.attrs["axis"], d.adjoint
    total = call("relax.sum", adjoint, axis=None if axis is None else (axis,), keepdims=True)
    rest = sub(total, call("relax.cumsum", adjoint, axis=axis))
    if not d.attrs["exclusive"]:
        rest = add(rest, adjoint if axis is not None else call("relax.flatten", adjoint))
    if axis is None:
        rest = call("relax.reshape", rest, d.shape(x))
    if d.attrs["dtype"] is not None:
        rest = call("relax.astype", rest, dtype=d.dtype(x))
    return [rest]


def _take(d: Partials) -> Increments:
    """The elements of the adjoint go to the places that they were taken from. `take_backward` has one axis of indices."""
    x, indices = d.args
    axis, adjoint = d.attrs["axis"], d.adjoint
    lengths = d.dims(indices)
    if len(lengths) != 1:
        before = (axis or 0) % len(d.dims(x))
        outer, inner = d.dims(d.result)[:before], d.dims(d.result)[before + len(lengths) :]
        count = product(lengths)
        indices = call("relax.reshape", indices, m.shape((count,)))
        adjoint = call("relax.reshape", adjoint, m.shape((*outer, count, *inner)))
    return [call("relax.grad.take_backward", adjoint, x, indices, axis=axis), None]


def _where(d: Partials) -> Increments:
    condition, x, y = d.args
    return [
        None,
        d.fitted(where(condition, d.adjoint, d.constant(0, x)), x),
        d.fitted(where(condition, d.constant(0, y), d.adjoint), y),
    ]


def _reshape(d: Partials) -> Increments:
    return [call("relax.reshape", d.adjoint, d.shape(d.args[0])), None]


def _broadcast_to(d: Partials) -> Increments:
    return [call("relax.collapse_sum_to", d.adjoint, d.shape(d.args[0])), None]


def _triu(d: Partials) -> Increments:
    return [call("relax.triu", d.adjoint, *d.args[1:]), *[None] * len(d.args[1:])]


def _matmul(d: Partials) -> Increments:
    a, b = d.args
    rank_a, rank_b = len(d.dims(a)), len(d.dims(b))
    if not d.dtype(a) is d.dtype(b) is d.dtype(d.adjoint):
        raise NoGradient("its operands and its result have different dtypes")
    if rank_a == rank_b == 1:
        return [d.fitted(mul(d.adjoint, b), a), d.fitted(mul(d.adjoint, a), b)]
    if rank_a == 1:
        column = call("relax.expand_dims", a, axis=(1,))
        row = d.emit(call("relax.expand_dims", d.adjoint, axis=(-2,)))
        return [d.fitted(_product(row, _transposed(b, rank_b)), a), d.fitted(_product(column, row), b)]
    if rank_b == 1:
        columns = d.emit(call("relax.expand_dims", d.adjoint, axis=(-1,)))
        first = d.fitted(_product(columns, call("relax.expand_dims", b, axis=(0,))), a)
        second = call("relax.squeeze", _product(_transposed(a, rank_a), columns), axis=(-1,))
        return [first, d.fitted(second, b)]
    first = d.fitted(_product(d.adjoint, _transposed(b, rank_b)), a)
    return [first, d.fitted(_product(_transposed(a, rank_a), d.adjoint), b)]


def _product(a: e.Expr, b: e.Expr) -> e.Call:
    return call("relax.matmul", a, b, out_dtype=None)


def _transposed(x: e.Expr, rank: int) -> e.Call:
    """A tensor with its last two axes exchanged."""
    axes = (*range(rank - 2), rank - 1, rank - 2)
    return call("relax.permute_dims", x, axes=axes)


_RULES: dict[str, Rule] = {
    "abs": _abs,
    "add": _add,
    "astype": lambda d: [call("relax.astype", d.adjoint, dtype=d.dtype(d.args[0]))],
    "broadcast_to": _broadcast_to,
    "concat": _concat,
    "cos": lambda d: [mul(neg(d.adjoint), call("relax.sin", d.args[0]))],
    "cumsum": _cumsum,
    "divide": _divide,
    # Checkpoints only tell which values may be computed once more.
    "grad.end_checkpoint": lambda d: [d.adjoint],
    "grad.start_checkpoint": lambda d: [d.adjoint],
    "exp": lambda d: [mul(d.adjoint, d.result)],
    "expand_dims": lambda d: [call("relax.squeeze", d.adjoint, axis=d.attrs["axis"])],
    "log": lambda d: [div(d.adjoint, d.args[0])],
    "matmul": _matmul,
    "maximum": _choice("relax.less", "relax.greater_equal"),
    "mean": _mean,
    "minimum": _choice("relax.greater_equal", "relax.less"),
    "multiply": _multiply,
    "negative": lambda d: [neg(d.adjoint)],
    "permute_dims": _permute_dims,
    "power": _power,
    "reshape": _reshape,
    "sigmoid": _sigmoid,
    "sin": lambda d: [mul(d.adjoint, call("relax.cos", d.args[0]))],
    "split": _split,
    "sqrt": _sqrt,
    "subtract": _subtract,
    "sum": _sum,
    "take": _take,
    "tanh": _tanh,
    "triu": _triu,
    "variance": _variance,
    "where": _where,
}
_FLAT = (
    "equal", "full", "full_like", "greater", "greater_equal", "less", "less_equal", "not_equal", "ones", "ones_like", "zeros",
    "zeros_like", "grad.no_grad",
)  # fmt: skip
RULES: dict[str, Rule] = {
    **{f"relax.{name}": rule for name, rule in _RULES.items()},
    **{f"relax.{name}": _none for name in _FLAT},
    **{f"relax.nn.{name}": rule for name, rule in NN_RULES.items()},
}
"""The rule of each operator with a gradient."""
