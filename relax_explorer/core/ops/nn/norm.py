"""Normalisations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.binary_math import index
from relax_explorer.core.ops.kit.decl import REQUIRED, Axes, Fusion, Op, Site, Stops, attr, operand
from relax_explorer.core.ops.kit.ndarrays import Array, by_rows
from relax_explorer.core.ops.kit.special import wide
from relax_explorer.core.ops.kit.te import Te, Tensor, call
from relax_explorer.core.ops.tensor.manipulate import reshape_stage
from relax_explorer.core.ops.tensor.reduction import count, reduce_stage


def moments(te: Te, x: Tensor, axes: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Mean and variance over axes, which stay with length 1."""
    axes = sorted(axes)
    total = reduce_stage(te, x, axes, True, "x_red_sum", p.Add, p.as_prim(0, x.dtype))
    mean = te.compute("T_mean", total.shape, lambda *i: p.Div(total[i], count(x, axes)))

    def squared(*i: p.PrimExpr) -> p.PrimExpr:
        distance = p.Sub(x[i], index(mean, i, x.shape))
        return p.Mul(distance, distance)

    squares = te.compute("T_square", x.shape, squared)
    summed = reduce_stage(te, squares, axes, True, "x_red_square", p.Add, p.as_prim(0, x.dtype))
    variance = te.compute("T_variance", summed.shape, lambda *i: p.Div(summed[i], count(x, axes)))
    return mean, variance


def mean_over(x: Array, axes: tuple[int, ...]) -> Array:
    """Means of an array over axes, which stay with length 1; NaN for no elements."""
    result: Array = np.sum(x, axes, keepdims=True) / np.asarray(
        math.prod([x.shape[n] for n in axes]), x.dtype
    )
    return result


def array_moments(x: Array, axes: tuple[int, ...]) -> tuple[Array, Array]:
    """Mean and variance of an array over axes, which stay with length 1."""
    mean = mean_over(x, axes)
    return mean, mean_over(np.square(x - mean), axes)


def normalise(x: Array, axes: tuple[int, ...], epsilon: float, out: Array | None = None) -> Array:
    """An array with mean 0 and variance 1 over axes, written into `out` if it is given."""
    distance: Array = np.subtract(x, mean_over(x, axes), out=out)
    if axes in ((-1,), (x.ndim - 1,)):
        squares = np.vecdot(distance, distance)[..., np.newaxis]
    else:
        squares = np.sum(np.square(distance), axes, keepdims=True)
    variance = squares / np.asarray(math.prod([x.shape[n] for n in axes]), x.dtype)
    distance /= np.sqrt(variance + np.asarray(epsilon, x.dtype))
    return distance


class LayerNorm(Op, name="relax.nn.layer_norm"):
    """(data - mean) / sqrt(variance + epsilon) * gamma + beta, with the moments over axes.

    The divisor of the variance is the number of elements, not one less.
    """

    source = "Ba et al. 2016"
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
    gamma: Tensor = operand("factors, with the lengths of the axes, in the dtype of data")
    beta: Tensor = operand("offsets, with the lengths of the axes, in the dtype of data")
    axes: Axes = attr(REQUIRED, "the axes of the moments; negative ones count from the last")
    epsilon: float = attr(1e-5, "added to the variance, at least 0")
    center: bool = attr(True, "True adds beta; False ignores it")
    scale: bool = attr(True, "True multiplies by gamma; False ignores it")
    fusion = Fusion.OUT_ELEMENTWISE
    examples = (
        "f32[n,4] f32[4] f32[4] axes=[-1] -> f32[n,4]",
        "f32[n,2,3] f32[2,3] f32[2,3] axes=[1,2] center=False -> f32[n,2,3]",
    )

    @staticmethod
    def infer(
        at: Site,
        data: s.StructInfo,
        gamma: s.StructInfo,
        beta: s.StructInfo,
        axes: Axes,
        epsilon: float,
        center: bool,
        scale: bool,
    ) -> s.StructInfo:
        """The shape and dtype of data."""
        info = rules.tensor(at, data, "data")
        parts = {"gamma": rules.tensor(at, gamma, "gamma"), "beta": rules.tensor(at, beta, "beta")}
        return check_params(at, info, rules.axes(at, axes, info.ndim), parts, epsilon)

    @staticmethod
    def evaluate(
        data: Array, gamma: Array, beta: Array, axes: Axes, epsilon: float, center: bool, scale: bool
    ) -> Array:
        """Computed at least in float32."""
        factor = spread(gamma, data.shape, axes) if scale else None
        shift = spread(beta, data.shape, axes) if center else None

        def rows(x: Array, out: Array) -> None:
            normalise(x, tuple(axes), epsilon, out)
            if factor is not None:
                out *= factor
            if shift is not None:
                out += shift

        return by_rows(rows, wide(data), axes).astype(data.dtype, copy=False)

    @staticmethod
    def legalize(
        te: Te,
        data: Tensor,
        gamma: Tensor,
        beta: Tensor,
        axes: Axes,
        epsilon: float,
        center: bool,
        scale: bool,
    ) -> Tensor:
        """Moments, then one element at a time."""
        places = [n % data.ndim for n in axes]
        mean, variance = moments(te, data, places)
        small = p.FloatImm(epsilon, data.dtype)

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            inner = tuple([i[n] for n in places])
            root = call("rsqrt", p.Add(index(variance, i, data.shape), small))
            value: p.PrimExpr = p.Mul(p.Sub(data[i], index(mean, i, data.shape)), root)
            value = p.Mul(value, gamma[inner]) if scale else value
            return p.Add(value, beta[inner]) if center else value

        return te.compute("T_layer_norm", data.shape, element)


def spread(param: Array, shape: tuple[int, ...], axes: Axes) -> Array:
    """A parameter with the given `axes` of a shape, as an array that broadcasts to the shape."""
    places = [n % len(shape) for n in axes]
    turned = np.transpose(param, [places.index(n) for n in sorted(places)])
    return turned.reshape([length if n in places else 1 for n, length in enumerate(shape)])


def check_params(
    at: Site,
    info: s.TensorStructInfo,
    places: Sequence[int],
    parts: dict[str, s.TensorStructInfo],
    epsilon: float,
) -> s.TensorStructInfo:
    """The data's StructInfo, without its shape if the parameters are not proven to fit."""
    if epsilon < 0:
        text = f"epsilon is {epsilon}, at least 0 is needed"
        raise at.fail_by_spec(codes.BAD_ATTRIBUTE, text, help="1e-5 is usual")
    for name, part in {"data": info, **parts}.items():
        rules.need_float(at, part, name, known=True)
    rules.same_dtype(at, data=info, **parts)
    first = next((part.dims for part in parts.values() if part.dims is not None), ())
    lengths = [info.dims[n] for n in places] if info.dims is not None else first
    fits = True
    for name, part in parts.items():
        if part.ndim != len(places):
            has = f"has rank {part.ndim}" if part.ndim >= 0 else "has no known rank"
            text = f"{name} {has}, {len(places)} is needed, as many as axes are named"
            raise at.fail(codes.RANK_WRONG, text, **{name: f"this is {part}"})
        for n, length, dim in zip(places, lengths, part.dims or (), strict=False):
            answer = at.equal(length, dim)
            if answer is Answer.NO:
                owner = f"axis {n} of data" if info.dims is not None else next(iter(parts))
                text = f"{owner} has length {length}, {name} has {dim}"
                raise at.fail(codes.DIMS_DIFFER, text, **{name: f"this is {part}"})
            fits = fits and answer is Answer.YES
    return info if fits else s.TensorStructInfo(None, info.dtype, info.ndim)


class RmsNorm(Op, name="relax.nn.rms_norm"):
    """data / sqrt(mean of its squares + epsilon) * weight, with the mean over axes."""

    source = "Zhang and Sennrich 2019"
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
    weight: Tensor = operand("factors, with the lengths of the axes, in the dtype of data")
    axes: Axes = attr((-1,), "the axes of the mean; negative ones count from the last")
    epsilon: float = attr(1e-5, "added to the mean of squares, at least 0")
    fusion = Fusion.OUT_ELEMENTWISE
    examples = (
        "f32[n,4] f32[4] axes=[-1] -> f32[n,4]",
        "f32[n,2,3] f32[2,3] axes=[-2,-1] epsilon=0.5 -> f32[n,2,3]",
    )

    @staticmethod
    def infer(at: Site, data: s.StructInfo, weight: s.StructInfo, axes: Axes, epsilon: float) -> s.StructInfo:
        """The shape and dtype of data."""
        info, part = rules.tensor(at, data, "data"), rules.tensor(at, weight, "weight")
        return check_params(at, info, rules.axes(at, axes, info.ndim), {"weight": part}, epsilon)

    @staticmethod
    def evaluate(data: Array, weight: Array, axes: Axes, epsilon: float) -> Array:
        """Computed at least in float32."""
        factor = spread(weight, data.shape, axes)

        def rows(x: Array, out: Array) -> None:
            square = mean_over(np.multiply(x, x, out=out), tuple(axes))
            np.divide(x, np.sqrt(square + np.asarray(epsilon, x.dtype)), out=out)
            out *= factor

        return by_rows(rows, wide(data), axes).astype(data.dtype, copy=False)

    @staticmethod
    def legalize(te: Te, data: Tensor, weight: Tensor, axes: Axes, epsilon: float) -> Tensor:
        """Mean square, then one element at a time."""
        places = [n % data.ndim for n in axes]
        squares = te.compute("T_multiply", data.shape, lambda *i: p.Mul(data[i], data[i]))
        total = reduce_stage(
            te, squares, sorted(places), True, "T_multiply_red", p.Add, p.as_prim(0, data.dtype)
        )
        small = p.FloatImm(epsilon, data.dtype)
        root = te.compute(
            "rsqrt", total.shape, lambda *i: call("rsqrt", p.Add(p.Div(total[i], count(data, places)), small))
        )

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            return p.Mul(p.Mul(index(root, i, data.shape), data[i]), weight[tuple([i[n] for n in places])])

        return te.compute("T_rms_norm", data.shape, element)


class GroupNorm(Op, name="relax.nn.group_norm"):
    """(data - mean) / sqrt(variance + epsilon) * gamma + beta, with moments of each group of channels.

    The divisor of the variance is the number of elements, not one less.
    """

    source = "Wu and He 2018"
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
    num_groups: int = attr(REQUIRED, "the number of equal groups of channels, at least 1")
    channel_axis: int = attr(REQUIRED, "the axis of channels; negative counts from the last")
    axes: Axes = attr(REQUIRED, "the axes of the moments, in addition to the channels of a group")
    epsilon: float = attr(1e-5, "added to the variance, at least 0")
    center: bool = attr(True, "True adds beta; False ignores it")
    scale: bool = attr(True, "True multiplies by gamma; False ignores it")
    fusion = Fusion.OUT_ELEMENTWISE
    examples = (
        "f32[n,4,3,3] f32[4] f32[4] num_groups=2 channel_axis=1 axes=[2,3] -> f32[n,4,3,3]",
        "f32[2,n,6] f32[6] f32[6] num_groups=3 channel_axis=-1 axes=[1] scale=False -> f32[2,n,6]",
    )

    @staticmethod
    def infer(
        at: Site,
        data: s.StructInfo,
        gamma: s.StructInfo,
        beta: s.StructInfo,
        num_groups: int,
        channel_axis: int,
        axes: Axes,
        epsilon: float,
        **rest: object,
    ) -> s.StructInfo:
        """The shape and dtype of data."""
        info = rules.tensor(at, data, "data")
        parts = {"gamma": rules.tensor(at, gamma, "gamma"), "beta": rules.tensor(at, beta, "beta")}
        if num_groups <= 0:
            raise at.fail(codes.BAD_ATTRIBUTE, f"num_groups is {num_groups}, at least 1 is needed")
        channel = rules.axis(at, channel_axis, info.ndim, "channel_axis")
        if channel in rules.axes(at, axes, info.ndim):
            text = f"channel_axis {channel_axis} is among the axes {list(axes)} as well"
            raise at.fail(codes.AXIS_TWICE, text, data=f"this is {info}")
        length = info.dims[channel] if info.dims is not None else None
        if isinstance(length, p.IntImm) and length.value % num_groups:
            raise at.fail(
                codes.BAD_ATTRIBUTE,
                f"num_groups is {num_groups}, which does not divide the {length} channels along channel_axis {channel_axis}",
                data=f"this is {info}",
            )
        check_params(at, info, (channel,), parts, epsilon)
        return info

    @staticmethod
    def evaluate(
        data: Array,
        gamma: Array,
        beta: Array,
        num_groups: int,
        channel_axis: int,
        axes: Axes,
        epsilon: float,
        center: bool,
        scale: bool,
    ) -> Array:
        """Computed at least in float32."""
        channel = channel_axis % data.ndim
        grouped = wide(data).reshape(
            (*data.shape[:channel], num_groups, data.shape[channel] // num_groups, *data.shape[channel + 1 :])
        )
        inner = (channel + 1, *[n % data.ndim + (n % data.ndim > channel) for n in axes])
        x = normalise(grouped, inner, epsilon).reshape(data.shape)
        x = x * spread(gamma, data.shape, (channel,)) if scale else x
        return (x + spread(beta, data.shape, (channel,)) if center else x).astype(data.dtype, copy=False)

    @staticmethod
    def legalize(
        te: Te,
        data: Tensor,
        gamma: Tensor,
        beta: Tensor,
        num_groups: int,
        channel_axis: int,
        axes: Axes,
        epsilon: float,
        center: bool,
        scale: bool,
    ) -> Tensor:
        """Grouped, moments, then one element at a time."""
        channel = channel_axis % data.ndim
        size = simplify(p.FloorDiv(data.shape[channel], p.IntImm(num_groups)))
        shape = (*data.shape[:channel], p.IntImm(num_groups), size, *data.shape[channel + 1 :])
        grouped = reshape_stage(te, data, shape)
        inner = [channel + 1, *[n % data.ndim + (n % data.ndim > channel) for n in axes]]
        mean, variance = moments(te, grouped, inner)
        small = p.FloatImm(epsilon, data.dtype)

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            group, rest = p.FloorDiv(i[channel], size), p.FloorMod(i[channel], size)
            place = (*i[:channel], group, rest, *i[channel + 1 :])
            root = call("rsqrt", p.Add(index(variance, place, shape), small))
            value: p.PrimExpr = p.Mul(p.Sub(data[i], index(mean, place, shape)), root)
            value = p.Mul(value, gamma[i[channel]]) if scale else value
            return p.Add(value, beta[i[channel]]) if center else value

        return te.compute("T_group_norm", data.shape, element)


# -- batch norm ------------------------------------------------------------------------------------------------------
# Normalisations by channel: of batches and of single images.


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
