"""Partial derivatives of operators of neural networks."""

from __future__ import annotations

from dataclasses import dataclass

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.passes import machine_calls as m
from relax_explorer.core.passes.partials import (
    Increments,
    NoGradient,
    Partials,
    Rule,
    add,
    div,
    mul,
    neg,
    sub,
    where,
)
from relax_explorer.core.passes.pattern_rules import call


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
