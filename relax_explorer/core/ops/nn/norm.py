"""Normalisations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypedDict, Unpack

import numpy as np

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.diagnostics import Code
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

Indices = tuple[p.PrimExpr, ...]


def moments(te: Te, x: Tensor, axes: Sequence[int], keep: bool = True) -> tuple[Tensor, Tensor]:
    """Mean and variance over axes, which stay with length 1 if `keep`."""
    axes, zero = sorted(axes), p.as_prim(0, x.dtype)
    left = [n for n in range(x.ndim) if n not in axes]
    total = reduce_stage(te, x, axes, keep, "x_red_sum", p.Add, zero)
    name = "T_mean" if keep else "T_mean_batch"
    mean = te.compute(name, total.shape, lambda *i: p.Div(total[i], count(x, axes)))

    def squared(*i: p.PrimExpr) -> p.PrimExpr:
        distance = p.Sub(x[i], index(mean, i, x.shape) if keep else mean[[i[n] for n in left]])
        return p.Mul(distance, distance)

    squares = te.compute("T_square", x.shape, squared)
    summed = reduce_stage(te, squares, axes, keep, "x_red_square", p.Add, zero)
    variance = te.compute("T_variance", summed.shape, lambda *i: p.Div(summed[i], count(x, axes)))
    return mean, variance


def mean_over(x: Array, axes: tuple[int, ...]) -> Array:
    """Means of an array over axes, which stay with length 1; NaN for no elements."""
    result: Array = np.add.reduce(x, axes, keepdims=True) / x.dtype.type(
        math.prod([x.shape[n] for n in axes])
    )
    return result


def mean_square(x: Array, axes: tuple[int, ...]) -> Array:
    """Means of the squares of an array over axes, which stay with length 1; NaN for no elements."""
    if axes in ((-1,), (x.ndim - 1,)):
        squares = np.vecdot(x, x)[..., np.newaxis]
    else:
        squares = np.add.reduce(np.square(x), axes, keepdims=True)
    result: Array = squares / x.dtype.type(math.prod([x.shape[n] for n in axes]))
    return result


def array_moments(x: Array, axes: tuple[int, ...]) -> tuple[Array, Array]:
    """Mean and variance of an array over axes, which stay with length 1."""
    mean = mean_over(x, axes)
    return mean, mean_over(np.square(x - mean), axes)


def normalise(x: Array, axes: tuple[int, ...], epsilon: float, out: Array | None = None) -> Array:
    """An array with mean 0 and variance 1 over axes, written into `out` if it is given."""
    distance: Array = np.subtract(x, mean_over(x, axes), out=out)
    distance /= np.sqrt(mean_square(distance, axes) + x.dtype.type(epsilon))
    return distance


class Normalisation(Op):
    """Base of the normalisations. Their parameters are tensors with the lengths of some axes of the data."""

    raises: ClassVar[tuple[Code, ...]] = (
        codes.DTYPES_DIFFER,
        codes.AXIS_RANGE,
        codes.AXIS_TWICE,
        codes.RANK_WRONG,
        codes.DIMS_DIFFER,
        codes.DTYPE_WRONG,
    )
    stops = Stops.RELATIONS
    fusion = Fusion.OUT_ELEMENTWISE
    data: Tensor = operand("the tensor, floating point")


class Moments(Normalisation):
    """Base of the normalisations by mean and variance, which are followed by factors and offsets."""

    gamma: Tensor = operand("a factor for each channel, in the dtype of data")
    beta: Tensor = operand("an offset for each channel, in the dtype of data")


_EPSILON = attr(1e-5, "added to the variance, at least 0")
_CENTER = attr(True, "True adds beta; False ignores it")
_SCALE = attr(True, "True multiplies by gamma; False ignores it")


class Scaling(TypedDict):
    """The attributes of a normalisation by mean and variance."""

    epsilon: float
    center: bool
    scale: bool


def scaled(
    x: Array, axes: Axes, gamma: Array, beta: Array, *, center: bool, scale: bool, **rest: object
) -> Array:
    """An array multiplied by `gamma` and with `beta` added; these have the given axes."""
    x = x * spread(gamma, x.shape, axes) if scale else x
    return x + spread(beta, x.shape, axes) if center else x


def scaled_element(
    value: p.PrimExpr, gamma: p.PrimExpr, beta: p.PrimExpr, center: bool, scale: bool
) -> p.PrimExpr:
    """`scaled` in a kernel."""
    value = p.Mul(value, gamma) if scale else value
    return p.Add(value, beta) if center else value


def normal_stage(
    te: Te, name: str, data: Tensor, gamma: Tensor, beta: Tensor, own: Sequence[int], grouped: Tensor, axes: Sequence[int],
    place: Callable[[Indices], Indices], *, epsilon: float, center: bool, scale: bool,
) -> Tensor:  # fmt: skip
    """The data, normalised by the moments over the `axes` of `grouped`, where `place` finds an element; `gamma` and `beta` have the axes `own`."""
    mean, variance = moments(te, grouped, axes)
    small = p.FloatImm(epsilon, data.dtype)

    def element(*i: p.PrimExpr) -> p.PrimExpr:
        at, inner = place(i), tuple([i[n] for n in own])
        root = call("rsqrt", p.Add(index(variance, at, grouped.shape), small))
        value = p.Mul(p.Sub(data[i], index(mean, at, grouped.shape)), root)
        return scaled_element(value, gamma[inner], beta[inner], center, scale)

    return te.compute(name, data.shape, element)


class LayerNorm(Moments, name="relax.nn.layer_norm"):
    """(data - mean) / sqrt(variance + epsilon) * gamma + beta, with the moments over axes.

    The divisor of the variance is the number of elements, not one less.
    """

    source = "Ba et al. 2016"
    gamma: Tensor = operand("factors, with the lengths of the axes, in the dtype of data")
    beta: Tensor = operand("offsets, with the lengths of the axes, in the dtype of data")
    axes: Axes = attr(REQUIRED, "the axes of the moments; negative ones count from the last")
    epsilon: float = _EPSILON
    center: bool = _CENTER
    scale: bool = _SCALE
    examples = (
        "f32[n,4] f32[4] f32[4] axes=[-1] -> f32[n,4]",
        "f32[n,2,3] f32[2,3] f32[2,3] axes=[1,2] center=False -> f32[n,2,3]",
    )
    by_kernel = True

    @classmethod
    def runs_by_kernel(cls, attrs: Mapping[str, Any]) -> bool:
        """If the moments run along memory."""
        return -1 in attrs["axes"]

    @staticmethod
    def infer(
        at: Site,
        data: s.StructInfo,
        gamma: s.StructInfo,
        beta: s.StructInfo,
        axes: Axes,
        epsilon: float,
        **rest: object,
    ) -> s.StructInfo:
        """The shape and dtype of data."""
        info, parts = tensors(at, data, gamma=gamma, beta=beta)
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
        te: Te, data: Tensor, gamma: Tensor, beta: Tensor, axes: Axes, **scaling: Unpack[Scaling]
    ) -> Tensor:
        """Moments, then one element at a time."""
        own = [n % data.ndim for n in axes]
        return normal_stage(te, "T_layer_norm", data, gamma, beta, own, data, own, lambda i: i, **scaling)


def tensors(
    at: Site, data: s.StructInfo, **params: s.StructInfo
) -> tuple[s.TensorStructInfo, dict[str, s.TensorStructInfo]]:
    """The data and the parameters by name, which must be tensors."""
    return rules.tensor(at, data, "data"), {name: rules.tensor(at, x, name) for name, x in params.items()}


def spread(param: Array, shape: tuple[int, ...], axes: Axes) -> Array:
    """A parameter with the given `axes` of a shape, as an array that broadcasts to the shape."""
    places = [n % len(shape) for n in axes]
    outer = len(shape) - len(places)
    if places == [*range(outer, len(shape))]:
        ones = (1,) * outer  # for one row, NumPy is five times as fast on operands of one rank
        return param.reshape(ones + param.shape)
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


class RmsNorm(Normalisation, name="relax.nn.rms_norm"):
    """data / sqrt(mean of its squares + epsilon) * weight, with the mean over axes."""

    source = "Zhang and Sennrich 2019"
    weight: Tensor = operand("factors, with the lengths of the axes, in the dtype of data")
    axes: Axes = attr((-1,), "the axes of the mean; negative ones count from the last")
    epsilon: float = attr(1e-5, "added to the mean of squares, at least 0")
    examples = (
        "f32[n,4] f32[4] axes=[-1] -> f32[n,4]",
        "f32[n,2,3] f32[2,3] axes=[-2,-1] epsilon=0.5 -> f32[n,2,3]",
    )
    by_kernel = True

    @classmethod
    def runs_by_kernel(cls, attrs: Mapping[str, Any]) -> bool:
        """If the mean runs along memory."""
        return -1 in attrs["axes"]

    @staticmethod
    def infer(at: Site, data: s.StructInfo, weight: s.StructInfo, axes: Axes, epsilon: float) -> s.StructInfo:
        """The shape and dtype of data."""
        info, parts = tensors(at, data, weight=weight)
        return check_params(at, info, rules.axes(at, axes, info.ndim), parts, epsilon)

    @staticmethod
    def evaluate(data: Array, weight: Array, axes: Axes, epsilon: float) -> Array:
        """Computed at least in float32."""
        factor = spread(weight, data.shape, axes)

        def rows(x: Array, out: Array) -> None:
            np.divide(x, np.sqrt(mean_square(x, tuple(axes)) + x.dtype.type(epsilon)), out=out)
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


class GroupNorm(Moments, name="relax.nn.group_norm"):
    """(data - mean) / sqrt(variance + epsilon) * gamma + beta, with moments of each group of channels.

    The divisor of the variance is the number of elements, not one less.
    """

    source = "Wu and He 2018"
    num_groups: int = attr(REQUIRED, "the number of equal groups of channels, at least 1")
    channel_axis: int = attr(REQUIRED, "the axis of channels; negative counts from the last")
    axes: Axes = attr(REQUIRED, "the axes of the moments, in addition to the channels of a group")
    epsilon: float = _EPSILON
    center: bool = _CENTER
    scale: bool = _SCALE
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
        info, parts = tensors(at, data, gamma=gamma, beta=beta)
        if num_groups <= 0:
            raise at.fail(codes.BAD_ATTRIBUTE, f"num_groups is {num_groups}, at least 1 is needed")
        channel = channel_beside(at, info, channel_axis, axes)
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
        data: Array, gamma: Array, beta: Array, num_groups: int, channel_axis: int, axes: Axes, **scaling: Unpack[Scaling]
    ) -> Array:  # fmt: skip
        """Computed at least in float32."""
        channel, inner = grouped_axes(data.ndim, channel_axis, axes)
        size = data.shape[channel] // num_groups
        shape = (*data.shape[:channel], num_groups, size, *data.shape[channel + 1 :])
        x = normalise(wide(data).reshape(shape), tuple(inner), scaling["epsilon"]).reshape(data.shape)
        return scaled(x, (channel,), gamma, beta, **scaling).astype(data.dtype, copy=False)

    @staticmethod
    def legalize(
        te: Te, data: Tensor, gamma: Tensor, beta: Tensor, num_groups: int, channel_axis: int, axes: Axes, **scaling: Unpack[Scaling]
    ) -> Tensor:  # fmt: skip
        """Grouped, moments, then one element at a time."""
        channel, inner = grouped_axes(data.ndim, channel_axis, axes)
        size = simplify(p.FloorDiv(data.shape[channel], p.IntImm(num_groups)))
        shape = (*data.shape[:channel], p.IntImm(num_groups), size, *data.shape[channel + 1 :])

        def place(i: Indices) -> Indices:
            group, rest = p.FloorDiv(i[channel], size), p.FloorMod(i[channel], size)
            return (*i[:channel], group, rest, *i[channel + 1 :])

        grouped = reshape_stage(te, data, shape)
        return normal_stage(
            te, "T_group_norm", data, gamma, beta, (channel,), grouped, inner, place, **scaling
        )


def channel_beside(at: Site, info: s.TensorStructInfo, channel_axis: int, axes: Axes) -> int:
    """The axis of channels, which must not be among the axes of the moments."""
    channel = rules.axis(at, channel_axis, info.ndim, "channel_axis")
    if channel in rules.axes(at, axes, info.ndim):
        text = f"channel_axis {channel_axis} is among the axes {list(axes)} as well"
        raise at.fail(codes.AXIS_TWICE, text, data=f"this is {info}")
    return channel


def grouped_axes(rank: int, channel_axis: int, axes: Axes) -> tuple[int, list[int]]:
    """The axis of groups, which comes before the channels of a group, and the axes of the moments behind the split."""
    channel = channel_axis % rank
    return channel, [channel + 1, *[n % rank + (n % rank > channel) for n in axes]]


# -- batch norm ------------------------------------------------------------------------------------------------------
# Normalisations by channel: of batches and of single images.


class BatchNorm(Moments, name="relax.nn.batch_norm"):
    """(data - mean) / sqrt(variance + epsilon) * gamma + beta, with moments of each channel.

    In training these are the moments of the batch, and the moving moments become (1 - momentum) * old + momentum * new. Otherwise
    they are the moving moments, which do not change. The divisor of the variance is the number of elements, not one less.
    """

    source = "Ioffe and Szegedy 2015"
    by_kernel = True
    raises = (codes.DTYPES_DIFFER, codes.AXIS_RANGE, codes.RANK_WRONG, codes.DIMS_DIFFER, codes.DTYPE_WRONG)
    moving_mean: Tensor = operand("the mean of each channel so far, in the dtype of data")
    moving_var: Tensor = operand("the variance of each channel so far, in the dtype of data")
    axis: int = attr(REQUIRED, "the axis of channels; negative counts from the last")
    epsilon: float = _EPSILON
    center: bool = _CENTER
    scale: bool = _SCALE
    momentum: float = attr(0.1, "weight of the batch in the moving moments, from 0 to 1")
    training: bool = attr(True, "True uses the moments of the batch; False the moving ones")
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
        params = {"gamma": gamma, "beta": beta, "moving_mean": moving_mean, "moving_var": moving_var}
        info, parts = tensors(at, data, **params)
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
        x = scaled(x, (axis,), gamma, beta, center=center, scale=scale)
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
            mean, variance = moments(te, data, others, keep=False)
        small = p.FloatImm(epsilon, data.dtype)

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            c = i[channel]
            value = p.Div(p.Sub(data[i], mean[c]), call("sqrt", p.Add(variance[c], small)))
            return scaled_element(value, gamma[c], beta[c], center, scale)

        result = te.compute("T_add", data.shape, element)
        new_share, old_share = p.FloatImm(momentum, data.dtype), p.FloatImm(1 - momentum, data.dtype)

        def moved(old: Tensor, new: Tensor, name: str) -> Tensor:
            def mixed(i: p.PrimExpr) -> p.PrimExpr:
                return p.Add(p.Mul(old_share, old[i]), p.Mul(new_share, new[i])) if training else old[i]

            return te.compute(name, old.shape, mixed)

        return [result, moved(moving_mean, mean, "T_mean"), moved(moving_var, variance, "T_var")]


class InstanceNorm(Moments, name="relax.nn.instance_norm"):
    """(data - mean) / sqrt(variance + epsilon) * gamma + beta, with the moments over axes.

    Each image and channel has moments of its own. The divisor of the variance is the number of elements, not one less.
    """

    source = "Ulyanov et al. 2016"
    by_kernel = True
    channel_axis: int = attr(REQUIRED, "the axis of channels; negative counts from the last")
    axes: Axes = attr(REQUIRED, "the axes of the moments, without the axis of channels")
    epsilon: float = _EPSILON
    center: bool = _CENTER
    scale: bool = _SCALE
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
        info, parts = tensors(at, data, gamma=gamma, beta=beta)
        channel = channel_beside(at, info, channel_axis, axes)
        check_params(at, info, (channel,), parts, epsilon)
        return info

    @staticmethod
    def evaluate(
        data: Array, gamma: Array, beta: Array, channel_axis: int, axes: Axes, **scaling: Unpack[Scaling]
    ) -> Array:
        """Computed at least in float32."""
        x = normalise(wide(data), tuple(axes), scaling["epsilon"])
        return scaled(x, (channel_axis,), gamma, beta, **scaling).astype(data.dtype, copy=False)

    @staticmethod
    def legalize(
        te: Te, data: Tensor, gamma: Tensor, beta: Tensor, channel_axis: int, axes: Axes, **scaling: Unpack[Scaling]
    ) -> Tensor:  # fmt: skip
        """Moments, then one element at a time."""
        own, inner = (channel_axis % data.ndim,), [n % data.ndim for n in axes]
        return normal_stage(
            te, "T_instance_norm", data, gamma, beta, own, data, inner, lambda i: i, **scaling
        )
