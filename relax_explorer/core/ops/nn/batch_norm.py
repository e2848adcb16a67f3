"""Normalisations by channel: of batches and of single images."""

from __future__ import annotations

import numpy as np

from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.array_types import Array
from relax_explorer.core.ops.kit.broadcasting import index
from relax_explorer.core.ops.kit.decl import REQUIRED, Axes, Fusion, Op, Site, Stops, attr, operand
from relax_explorer.core.ops.kit.special import wide
from relax_explorer.core.ops.kit.te import Te, Tensor, call
from relax_explorer.core.ops.nn.norm import array_moments, check_params, moments, normalise, spread
from relax_explorer.core.ops.tensor.reduction import count, reduce_stage


class BatchNorm(Op, name="relax.nn.batch_norm"):
    """(data - mean) / sqrt(variance + epsilon) * gamma + beta, with moments of each channel.

    In training these are the moments of the batch, and the moving moments become (1 - momentum) * old + momentum * new. Otherwise
    they are the moving moments, which do not change. The divisor of the variance is the number of elements, not one less.
    """

    source = "Ioffe and Szegedy 2015"
    raises = (codes.DTYPES_DIFFER, codes.AXIS_RANGE, codes.RANK_WRONG, codes.DIMS_DIFFER, codes.DTYPE_WRONG)
    stops = Stops.RELATIONS
    data: Tensor = operand("the tensor, floating point")
    gamma: Tensor = operand("a factor for each channel, in the dtype of data")
    beta: Tensor = operand("an offset for each channel, in the dtype of data")
    moving_mean: Tensor = operand("the mean of each channel so far, in the dtype of data")
    moving_var: Tensor = operand("the variance of each channel so far, in the dtype of data")
    axis: int = attr(REQUIRED, "the axis of channels; negative counts from the last")
    epsilon: float = attr(1e-5, "added to the variance, at least 0")
    center: bool = attr(True, "True adds beta; False ignores it")
    scale: bool = attr(True, "True multiplies by gamma; False ignores it")
    momentum: float = attr(0.1, "weight of the batch in the moving moments, from 0 to 1")
    training: bool = attr(True, "True uses the moments of the batch; False the moving ones")
    fusion = Fusion.OUT_ELEMENTWISE
    examples = (
        "f32[n,4,3] f32[4] f32[4] f32[4] f32[4] axis=1 training=False -> (f32[n,4,3],f32[4],f32[4])",
        "f32[n,4,3] f32[4] f32[4] f32[4] f32[4] axis=1 momentum=0.3 -> (f32[n,4,3],f32[4],f32[4])",
        "f32[2,3,c] f32[c] f32[c] f32[c] f32[c] axis=-1 center=False -> (f32[2,3,c],f32[c],f32[c])",
    )

    @staticmethod
    def infer(
        at: Site, data: s.StructInfo, gamma: s.StructInfo, beta: s.StructInfo, moving_mean: s.StructInfo, moving_var: s.StructInfo, axis: int,
        epsilon: float, momentum: float, **rest: object,
    ) -> s.StructInfo:  # fmt: skip
        """A tuple: a tensor of the shape and dtype of data, and the moving mean and variance, vectors of the channels."""
        if not 0 <= momentum <= 1:
            text = f"momentum is {momentum}, a weight from 0 to 1 is needed"
            raise at.fail_by_spec(codes.BAD_ATTRIBUTE, text, help="0.1 is usual")
        info = rules.tensor(at, data, "data")
        given = {"gamma": gamma, "beta": beta, "moving_mean": moving_mean, "moving_var": moving_var}
        parts = {name: rules.tensor(at, part, name) for name, part in given.items()}
        result = check_params(at, info, (rules.axis(at, axis, info.ndim),), parts, epsilon)
        fits = result is info
        vectors = [
            s.TensorStructInfo(parts[name].shape if fits else None, info.dtype, 1)
            for name in ("moving_mean", "moving_var")
        ]
        return s.TupleStructInfo((result, *vectors))

    @staticmethod
    def evaluate(
        data: Array,
        gamma: Array,
        beta: Array,
        moving_mean: Array,
        moving_var: Array,
        axis: int,
        epsilon: float,
        center: bool,
        scale: bool,
        momentum: float,
        training: bool,
    ) -> tuple[Array, Array, Array]:
        """Computed at least in float32."""
        x = wide(data)
        mean, variance = moving_mean, moving_var
        if training:
            others = tuple([n for n in range(data.ndim) if n != axis % data.ndim])
            mean, variance = (moment.ravel() for moment in array_moments(x, others))
            moving_mean = (moving_mean * (1 - momentum) + mean * momentum).astype(moving_mean.dtype)
            moving_var = (moving_var * (1 - momentum) + variance * momentum).astype(moving_var.dtype)
        x = (x - spread(mean, x.shape, (axis,))) / np.sqrt(
            spread(variance, x.shape, (axis,)) + np.asarray(epsilon, x.dtype)
        )
        x = x * spread(gamma, x.shape, (axis,)) if scale else x
        x = x + spread(beta, x.shape, (axis,)) if center else x
        return x.astype(data.dtype, copy=False), moving_mean, moving_var

    @staticmethod
    def legalize(
        te: Te, data: Tensor, gamma: Tensor, beta: Tensor, moving_mean: Tensor, moving_var: Tensor, axis: int, epsilon: float, center: bool,
        scale: bool, momentum: float, training: bool,
    ) -> list[Tensor]:  # fmt: skip
        """The moments of the batch when training, then one element at a time."""
        channel, mean, variance = axis % data.ndim, moving_mean, moving_var
        if training:
            others = [n for n in range(data.ndim) if n != channel]
            mean, variance = _vectors(te, data, others)
        small = p.FloatImm(epsilon, data.dtype)

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            c = i[channel]
            value: p.PrimExpr = p.Div(p.Sub(data[i], mean[c]), call("sqrt", p.Add(variance[c], small)))
            value = p.Mul(value, gamma[c]) if scale else value
            return p.Add(value, beta[c]) if center else value

        result = te.compute("T_add", data.shape, element)
        new_share, old_share = p.FloatImm(momentum, data.dtype), p.FloatImm(1 - momentum, data.dtype)

        def moved(old: Tensor, new: Tensor, name: str) -> Tensor:
            def mixed(i: p.PrimExpr) -> p.PrimExpr:
                return p.Add(p.Mul(old_share, old[i]), p.Mul(new_share, new[i])) if training else old[i]

            return te.compute(name, old.shape, mixed)

        return [result, moved(moving_mean, mean, "T_mean"), moved(moving_var, variance, "T_var")]


def _vectors(te: Te, x: Tensor, axes: list[int]) -> tuple[Tensor, Tensor]:
    """Mean and variance over all axes but one."""
    zero = p.as_prim(0, x.dtype)
    total = reduce_stage(te, x, axes, False, "x_red_sum", p.Add, zero)
    mean = te.compute("T_mean_batch", total.shape, lambda c: p.Div(total[c], count(x, axes)))
    left = next(n for n in range(x.ndim) if n not in axes)

    def squared(*i: p.PrimExpr) -> p.PrimExpr:
        distance = p.Sub(x[i], mean[i[left]])
        return p.Mul(distance, distance)

    squares = te.compute("T_square", x.shape, squared)
    summed = reduce_stage(te, squares, axes, False, "x_red_square", p.Add, zero)
    return mean, te.compute("T_variance", summed.shape, lambda c: p.Div(summed[c], count(x, axes)))


class InstanceNorm(Op, name="relax.nn.instance_norm"):
    """(data - mean) / sqrt(variance + epsilon) * gamma + beta, with the moments over axes.

    Each image and channel has moments of its own. The divisor of the variance is the number of elements, not one less.
    """

    source = "Ulyanov et al. 2016"
    raises = (
        codes.DTYPES_DIFFER,
        codes.AXIS_RANGE,
        codes.AXIS_TWICE,
        codes.RANK_WRONG,
        codes.DIMS_DIFFER,
        codes.DTYPE_WRONG,
    )
    stops = Stops.RELATIONS
    data: Tensor = operand("the tensor, floating point")
    gamma: Tensor = operand("a factor for each channel, in the dtype of data")
    beta: Tensor = operand("an offset for each channel, in the dtype of data")
    channel_axis: int = attr(REQUIRED, "the axis of channels; negative counts from the last")
    axes: Axes = attr(REQUIRED, "the axes of the moments, without the axis of channels")
    epsilon: float = attr(1e-5, "added to the variance, at least 0")
    center: bool = attr(True, "True adds beta; False ignores it")
    scale: bool = attr(True, "True multiplies by gamma; False ignores it")
    fusion = Fusion.OUT_ELEMENTWISE
    examples = (
        "f32[n,4,3,5] f32[4] f32[4] channel_axis=1 axes=[2,3] -> f32[n,4,3,5]",
        "f32[n,h,w,4] f32[4] f32[4] channel_axis=-1 axes=[1,2] scale=False -> f32[n,h,w,4]",
    )

    @staticmethod
    def infer(
        at: Site, data: s.StructInfo, gamma: s.StructInfo, beta: s.StructInfo, channel_axis: int, axes: Axes, epsilon: float,
        **rest: object,
    ) -> s.StructInfo:  # fmt: skip
        """The shape and dtype of data."""
        info = rules.tensor(at, data, "data")
        parts = {"gamma": rules.tensor(at, gamma, "gamma"), "beta": rules.tensor(at, beta, "beta")}
        channel = rules.axis(at, channel_axis, info.ndim, "channel_axis")
        if channel in rules.axes(at, axes, info.ndim):
            text = f"channel_axis {channel_axis} is among the axes {list(axes)} as well"
            raise at.fail(codes.AXIS_TWICE, text, data=f"this is {info}")
        check_params(at, info, (channel,), parts, epsilon)
        return info

    @staticmethod
    def evaluate(
        data: Array,
        gamma: Array,
        beta: Array,
        channel_axis: int,
        axes: Axes,
        epsilon: float,
        center: bool,
        scale: bool,
    ) -> Array:
        """Computed at least in float32."""
        x = normalise(wide(data), tuple(axes), epsilon)
        x = x * spread(gamma, x.shape, (channel_axis,)) if scale else x
        return (x + spread(beta, x.shape, (channel_axis,)) if center else x).astype(data.dtype, copy=False)

    @staticmethod
    def legalize(
        te: Te, data: Tensor, gamma: Tensor, beta: Tensor, channel_axis: int, axes: Axes, epsilon: float, center: bool, scale: bool
    ) -> Tensor:  # fmt: skip
        """Moments, then one element at a time."""
        channel = channel_axis % data.ndim
        mean, variance = moments(te, data, [n % data.ndim for n in axes])
        small = p.FloatImm(epsilon, data.dtype)

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            root = call("rsqrt", p.Add(index(variance, i, data.shape), small))
            value: p.PrimExpr = p.Mul(p.Sub(data[i], index(mean, i, data.shape)), root)
            value = p.Mul(value, gamma[i[channel]]) if scale else value
            return p.Add(value, beta[i[channel]]) if center else value

        return te.compute("T_instance_norm", data.shape, element)
