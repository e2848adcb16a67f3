"""Convolution, pooling and resizing of images."""

from __future__ import annotations

from typing import Any

import numpy as np

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT32, INT64, DType
from relax_explorer.core.ops import rules
from relax_explorer.core.ops.decl import Fusion, Ints, Op, Shape, Site, attr, operand
from relax_explorer.core.ops.special import wide
from relax_explorer.core.ops.te import Te, Tensor, call, cast, lowest, where

I = p.IntImm  # noqa: E741  # literals are most of what index arithmetic is


def pair(value: Any) -> tuple[int, int]:
    """One number for both axes, or two."""
    items = value if isinstance(value, tuple) else (value,)
    return (items[0], items[0]) if len(items) == 1 else (items[0], items[1])


def pads(value: Any) -> tuple[int, int, int, int]:
    """Top, left, bottom, right, from one, two or four numbers."""
    items = value if isinstance(value, tuple) else (value,)
    if len(items) == 1:
        return (items[0],) * 4
    return (items[0], items[1], items[0], items[1]) if len(items) == 2 else items


def out_length(
    length: p.PrimExpr, kernel: p.PrimExpr, stride: int, dilation: int, pad: int, ceil: bool = False
) -> p.PrimExpr:
    """How many windows fit: (length + pad - dilation * (kernel - 1) - 1) / stride + 1, rounded down or up."""
    room = p.Sub(p.Add(length, I(pad)), p.Add(p.Mul(p.Sub(kernel, I(1)), I(dilation)), I(1)))
    if ceil:
        room = p.Add(room, I(stride - 1))  # type: ignore[assignment]  # narrower in the base class
    return simplify(p.Add(p.FloorDiv(simplify(room), I(stride)), I(1)))


class Conv2d(Op, name="relax.nn.conv2d"):
    """Cross-correlation of images with kernels (Dumoulin and Visin 2016)."""

    data: Tensor = operand("images, by data_layout")
    weight: Tensor = operand("kernels, by kernel_layout")
    strides: Ints = attr((1, 1), "steps between windows", unit="elements")
    padding: Ints = attr(
        (0, 0, 0, 0),
        "zeros around: all, vertical and horizontal, or top, left, bottom, right",
        unit="elements",
    )
    dilation: Ints = attr((1, 1), "steps between kernel elements", unit="elements")
    groups: int = attr(1, "groups of channels that don't mix")
    data_layout: str = attr("NCHW", "order of the axes of the images")
    kernel_layout: str = attr("OIHW", "order of the axes of the kernels")
    out_layout: str | None = attr(None, "order of the axes of the result; data_layout when None")
    out_dtype: DType | None = attr(None, "dtype of the result; that of the data when None")
    fusion = Fusion.OUT_ELEMENTWISE
    examples = (
        "f32[n,3,8,8] f32[4,3,3,3] padding=[1,1,1,1] -> f32[n,4,8,8]",
        "f32[1,4,8,8] f32[4,2,3,3] groups=2 -> f32[1,4,6,6]",
    )

    @staticmethod
    def infer(
        at: Site, data: s.StructInfo, weight: s.StructInfo, strides: Any, padding: Any, dilation: Any, groups: int, data_layout: str,
        kernel_layout: str, out_layout: str | None, out_dtype: DType | None,
    ) -> s.StructInfo:  # fmt: skip
        """Images of the windows, a channel for each kernel."""
        x, w = rules.tensor(at, data, "data"), rules.tensor(at, weight, "weight")
        rules.need_rank(at, x, 4, "data")
        rules.need_rank(at, w, 4, "weight")
        kind = out_dtype if out_dtype is not None else rules.common_dtype(at, data=x, weight=w)
        for name, value in (
            ("data_layout", data_layout),
            ("out_layout", out_layout or data_layout),
            ("kernel_layout", kernel_layout),
        ):
            if sorted(value) != sorted("OIHW" if name == "kernel_layout" else "NCHW"):
                raise at.fail(
                    codes.BAD_ATTRIBUTE,
                    f"{name} is {value!r}; this explorer knows permutations of NCHW and OIHW",
                )
        _positive(at, strides=strides, dilation=dilation, groups=groups)
        if x.dims is None or w.dims is None:
            return s.TensorStructInfo(None, kind, 4)
        n, c, h, width = (x.dims[data_layout.index(axis)] for axis in "NCHW")
        o, i, kh, kw = (w.dims[kernel_layout.index(axis)] for axis in "OIHW")
        if at.equal(c, simplify(p.Mul(i, I(groups)))) is Answer.NO:
            text = f"the data has {c} channels, the kernels take {i} in each of {groups} groups"
            raise at.fail(
                codes.DIMS_DIFFER,
                text,
                data=f"shape {rules.text(x.dims)}",
                weight=f"shape {rules.text(w.dims)}",
            )
        (sh, sw), (dh, dw), (top, left, bottom, right) = pair(strides), pair(dilation), pads(padding)
        made = {
            "N": n,
            "C": o,
            "H": out_length(h, kh, sh, dh, top + bottom),
            "W": out_length(width, kw, sw, dw, left + right),
        }
        return s.TensorStructInfo(tuple([made[axis] for axis in out_layout or data_layout]), kind)

    @staticmethod
    def evaluate(
        data: Any, weight: Any, strides: Any, padding: Any, dilation: Any, groups: int, data_layout: str, kernel_layout: str,
        out_layout: str | None, out_dtype: DType | None,
    ) -> Any:  # fmt: skip
        """A product of windows and kernels for each group."""
        x = np.transpose(wide(data), [data_layout.index(axis) for axis in "NCHW"])
        w = np.transpose(wide(weight), [kernel_layout.index(axis) for axis in "OIHW"])
        windows = _windows(_padded(x, padding, 0), w.shape[2:], pair(strides), pair(dilation))
        n, c, oh, ow = windows.shape[:4]
        grouped = windows.reshape(n, groups, c // groups, oh, ow, *w.shape[2:])
        kernels = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
        made = np.einsum("ngchwkl,gockl->ngohw", grouped, kernels, optimize=True).reshape(
            n, w.shape[0], oh, ow
        )
        made = np.transpose(made, ["NCHW".index(axis) for axis in out_layout or data_layout])
        return np.ascontiguousarray(made).astype(
            out_dtype.to_numpy() if out_dtype is not None else data.dtype
        )

    @staticmethod
    def legalize(
        te: Te, data: Tensor, weight: Tensor, strides: Any, padding: Any, dilation: Any, groups: int, data_layout: str, kernel_layout: str,
        out_layout: str | None, out_dtype: DType | None,
    ) -> Tensor | None:  # fmt: skip
        """Padded images, then a sum over the window and the channels of the group."""
        if (data_layout, kernel_layout, out_layout or "NCHW") != ("NCHW", "OIHW", "NCHW"):
            return None
        (sh, sw), (dh, dw), (top, left, bottom, right) = pair(strides), pair(dilation), pads(padding)
        n, _, h, width = data.shape
        o, i, kh, kw = weight.shape
        kind = out_dtype or data.dtype
        zero = p.as_prim(0, data.dtype)
        padded = pad_stage(te, data, (top, left, bottom, right), zero)
        shape = (n, o, out_length(h, kh, sh, dh, top + bottom), out_length(width, kw, sw, dw, left + right))
        per_group = simplify(p.FloorDiv(o, I(groups)))

        def body(
            b: p.PrimExpr,
            f: p.PrimExpr,
            y: p.PrimExpr,
            x: p.PrimExpr,
            c: p.PrimExpr,
            ky: p.PrimExpr,
            kx: p.PrimExpr,
        ) -> p.PrimExpr:
            channel = c if groups == 1 else p.Add(p.Mul(p.FloorDiv(f, per_group), i), c)
            place = (
                b,
                channel,
                p.Add(p.Mul(y, I(sh)), p.Mul(ky, I(dh))),
                p.Add(p.Mul(x, I(sw)), p.Mul(kx, I(dw))),
            )
            return p.Mul(cast(padded[place], kind), cast(weight[f, c, ky, kx], kind))

        return te.sum("conv2d_nchw", shape, (i, kh, kw), body, kind)


def _positive(at: Site, **values: Any) -> None:
    for name, value in values.items():
        if any(item <= 0 for item in (value if isinstance(value, tuple) else (value,))):
            raise at.fail(codes.BAD_ATTRIBUTE, f"{name} is {value}, at least 1 is needed")


def pad_stage(te: Te, x: Tensor, padding: tuple[int, int, int, int], value: p.PrimExpr) -> Tensor:
    """Images (NCHW) with a border."""
    top, left, bottom, right = padding
    if not any(padding):
        return x
    n, c, h, w = x.shape
    shape = (n, c, simplify(p.Add(h, I(top + bottom))), simplify(p.Add(w, I(left + right))))

    def element(b: p.PrimExpr, k: p.PrimExpr, i: p.PrimExpr, j: p.PrimExpr) -> p.PrimExpr:
        inside = p.And(
            p.And(p.LE(I(top), i), p.LT(i, simplify(p.Add(h, I(top))))),
            p.And(p.LE(I(left), j), p.LT(j, simplify(p.Add(w, I(left))))),
        )
        return where(inside, x[b, k, p.Sub(i, I(top)), p.Sub(j, I(left))], value)

    return te.compute("pad_temp", shape, element)


def _padded(x: Any, padding: Any, value: Any) -> Any:
    top, left, bottom, right = pads(padding)
    return (
        np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=value)
        if any((top, left, bottom, right))
        else x
    )


def _windows(x: Any, kernel: Any, strides: tuple[int, int], dilation: tuple[int, int]) -> Any:
    """Views of all windows: (N, C, rows, columns, kernel rows, kernel columns)."""
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    views = np.lib.stride_tricks.sliding_window_view(x, spans, axis=(2, 3))
    return views[:, :, :: strides[0], :: strides[1], :: dilation[0], :: dilation[1]]


class Pool(Op):
    """Base of the poolings of images in NCHW."""

    data: Tensor = operand("images, NCHW")
    pool_size: Ints = attr((1, 1), "size of a window", unit="elements")
    strides: Ints = attr((1, 1), "steps between windows", unit="elements")
    dilation: Ints = attr((1, 1), "steps within a window", unit="elements")
    padding: Ints = attr(
        (0, 0, 0, 0), "border: all, vertical and horizontal, or top, left, bottom, right", unit="elements"
    )
    ceil_mode: bool = attr(False, "whether a last, partial window counts")
    count_include_pad: bool = attr(False, "whether the border counts in a mean")
    layout: str = attr("NCHW", "order of the axes of the images")
    out_layout: str | None = attr(None, "order of the axes of the result; layout when None")
    fusion = Fusion.OUT_ELEMENTWISE
    examples = ("f32[n,3,8,8] pool_size=[2,2] strides=[2,2] -> f32[n,3,4,4]",)

    @staticmethod
    def infer(
        at: Site,
        data: s.StructInfo,
        pool_size: Any,
        strides: Any,
        dilation: Any,
        padding: Any,
        ceil_mode: bool,
        layout: str,
        **rest: Any,
    ) -> s.StructInfo:
        """Images of the windows."""
        x = rules.tensor(at, data, "data")
        rules.need_rank(at, x, 4, "data")
        if layout != "NCHW" or (rest.get("out_layout") or layout) != "NCHW":
            raise at.fail(codes.BAD_ATTRIBUTE, f"layout is {layout!r}; this explorer knows NCHW")
        _positive(at, pool_size=pool_size, strides=strides, dilation=dilation)
        if x.dims is None:
            return s.TensorStructInfo(None, x.dtype, 4)
        return s.TensorStructInfo(
            pool_shape(x.dims, pool_size, strides, dilation, padding, ceil_mode), x.dtype
        )


def pool_shape(
    dims: rules.Dims, pool_size: Any, strides: Any, dilation: Any, padding: Any, ceil_mode: bool
) -> rules.Dims:
    """The shape of pooled images."""
    (kh, kw), (sh, sw), (dh, dw), (top, left, bottom, right) = (
        pair(pool_size),
        pair(strides),
        pair(dilation),
        pads(padding),
    )
    n, c, h, w = dims
    return (
        n,
        c,
        out_length(h, I(kh), sh, dh, top + bottom, ceil_mode),
        out_length(w, I(kw), sw, dw, left + right, ceil_mode),
    )


def _pool_windows(
    data: Any, value: Any, pool_size: Any, strides: Any, dilation: Any, padding: Any, ceil_mode: bool
) -> Any:
    top, left, bottom, right = pads(padding)
    extra = (pair(strides)[0] - 1, pair(strides)[1] - 1) if ceil_mode else (0, 0)
    x = _padded(data, (top, left, bottom + extra[0], right + extra[1]), value)
    return _windows(x, pair(pool_size), pair(strides), pair(dilation))


class MaxPool2d(Pool, name="relax.nn.max_pool2d"):
    """The largest element of each window."""

    @staticmethod
    def evaluate(
        data: Any, pool_size: Any, strides: Any, dilation: Any, padding: Any, ceil_mode: bool, **rest: Any
    ) -> Any:
        """The maximum over windows."""
        least = -np.inf if data.dtype.kind not in "iu" else np.iinfo(data.dtype).min
        return np.max(
            _pool_windows(data, least, pool_size, strides, dilation, padding, ceil_mode), axis=(4, 5)
        )

    @staticmethod
    def legalize(
        te: Te,
        data: Tensor,
        pool_size: Any,
        strides: Any,
        dilation: Any,
        padding: Any,
        ceil_mode: bool,
        **rest: Any,
    ) -> Tensor:
        """Bordered images, then a maximum over the window."""
        (kh, kw), (sh, sw), (dh, dw), (top, left, bottom, right) = (
            pair(pool_size),
            pair(strides),
            pair(dilation),
            pads(padding),
        )
        extra = (sh - 1, sw - 1) if ceil_mode else (0, 0)
        least = lowest(data.dtype)
        padded = pad_stage(te, data, (top, left, bottom + extra[0], right + extra[1]), least)
        shape = pool_shape(data.shape, pool_size, strides, dilation, padding, ceil_mode)

        def body(
            b: p.PrimExpr, c: p.PrimExpr, y: p.PrimExpr, x: p.PrimExpr, ky: p.PrimExpr, kx: p.PrimExpr
        ) -> p.PrimExpr:
            return padded[
                b, c, p.Add(p.Mul(y, I(sh)), p.Mul(ky, I(dh))), p.Add(p.Mul(x, I(sw)), p.Mul(kx, I(dw)))
            ]

        return te.reduce("pool_max", shape, (I(kh), I(kw)), body, p.Max, least, data.dtype)


class AvgPool2d(Pool, name="relax.nn.avg_pool2d"):
    """The mean of each window, its border left out unless count_include_pad."""

    no_legalize = "the border's share of a mean is not said in index expressions yet"

    @staticmethod
    def evaluate(
        data: Any,
        pool_size: Any,
        strides: Any,
        dilation: Any,
        padding: Any,
        ceil_mode: bool,
        count_include_pad: bool,
        **rest: Any,
    ) -> Any:
        """Sums over windows divided by how many elements count."""
        x = wide(data)
        total = np.sum(_pool_windows(x, 0, pool_size, strides, dilation, padding, ceil_mode), axis=(4, 5))
        inside = np.ones(x.shape, x.dtype)
        if count_include_pad:
            inside, padding = _padded(inside, padding, 1), 0
        counted = np.sum(
            _pool_windows(inside, 0, pool_size, strides, dilation, padding, ceil_mode), axis=(4, 5)
        )
        return (total / counted).astype(data.dtype)


class Resize2d(Op, name="relax.image.resize2d"):
    """Images in another size: nearest neighbour or linear (ONNX Resize)."""

    data: Tensor = operand("images, NCHW")
    size: Shape = operand("height and width of the result")
    roi: Any = attr((p.FloatImm(0.0),) * 4, "region of tf_crop_and_resize; unused otherwise")
    layout: str = attr("NCHW", "order of the axes of the images")
    method: str = attr("linear", "nearest_neighbor or linear")
    coordinate_transformation_mode: str = attr("half_pixel", "half_pixel, asymmetric or align_corners")
    rounding_method: str = attr("round", "round, floor or ceil, for nearest_neighbor")
    cubic_alpha: float = attr(-0.75, "coefficient of cubic")
    cubic_exclude: int = attr(0, "whether cubic leaves out what is outside")
    extrapolation_value: float = attr(0.0, "value outside, for tf_crop_and_resize")
    out_dtype: DType | None = attr(None, "dtype of the result; that of the data when None")
    fusion = Fusion.INJECTIVE
    examples = (
        'f32[1,3,4,4] (8,8) method="nearest_neighbor" coordinate_transformation_mode="asymmetric" -> f32[1,3,8,8]',
    )

    @staticmethod
    def infer(
        at: Site, data: s.StructInfo, size: s.StructInfo, layout: str, out_dtype: DType | None, **rest: Any
    ) -> s.StructInfo:
        """The same images in the new size."""
        x = rules.tensor(at, data, "data")
        rules.need_rank(at, x, 4, "data")
        if sorted(layout) != sorted("NCHW"):
            raise at.fail(
                codes.BAD_ATTRIBUTE, f"layout is {layout!r}; this explorer knows permutations of NCHW"
            )
        kind = out_dtype or x.dtype
        if (
            x.dims is None
            or not isinstance(size, s.ShapeStructInfo)
            or size.values is None
            or len(size.values) != 2
        ):
            return s.TensorStructInfo(None, kind, 4)
        made = dict(zip("HW", size.values, strict=True))
        return s.TensorStructInfo(
            tuple([made.get(axis, dim) for axis, dim in zip(layout, x.dims, strict=True)]), kind
        )

    @staticmethod
    def evaluate(
        data: Any, size: tuple[int, ...], roi: Any, layout: str, method: str, coordinate_transformation_mode: str, rounding_method: str,
        out_dtype: DType | None, **rest: Any,
    ) -> Any:  # fmt: skip
        """Rows, then columns."""
        x = data
        for axis, length in zip("HW", size, strict=True):
            x = _resized(
                x, layout.index(axis), length, method, coordinate_transformation_mode, rounding_method
            )
        return x.astype(out_dtype.to_numpy() if out_dtype is not None else data.dtype)

    @staticmethod
    def legalize(
        te: Te, data: Tensor, size: Any, roi: Any, layout: str, method: str, coordinate_transformation_mode: str, rounding_method: str,
        out_dtype: DType | None, **rest: Any,
    ) -> Tensor | None:  # fmt: skip
        """The nearest element; other methods have no lowering."""
        if method != "nearest_neighbor" or layout != "NCHW":
            return None
        n, c, h, w = data.shape
        rounding = {"round": "round", "floor": "floor", "ceil": "ceil"}.get(rounding_method)

        def nearest(i: p.PrimExpr, old: p.PrimExpr, new: p.PrimExpr) -> p.PrimExpr:
            scale = p.Div(cast(old, FLOAT32), cast(new, FLOAT32))
            x: p.PrimExpr = p.Cast(FLOAT32, i)
            half = p.FloatImm(0.5)
            if coordinate_transformation_mode == "half_pixel":
                place: p.PrimExpr = p.Sub(p.Mul(p.Add(x, half), scale), half)
            elif coordinate_transformation_mode == "align_corners":
                place = p.Mul(
                    x,
                    p.Div(
                        cast(simplify(p.Sub(old, I(1))), FLOAT32), cast(simplify(p.Sub(new, I(1))), FLOAT32)
                    ),
                )
            else:
                place = p.Mul(x, scale)
            found = p.Cast(INT64, call(rounding or "round", place))
            return p.Max(p.Min(found, simplify(p.Sub(old, I(1)))), I(0))

        kind = out_dtype or data.dtype
        shape = (n, c, size[0], size[1])
        return te.compute(
            "resize",
            shape,
            lambda b, k, i, j: cast(data[b, k, nearest(i, h, size[0]), nearest(j, w, size[1])], kind),
            kind,
        )


def _resized(x: Any, axis: int, length: int, method: str, mode: str, rounding: str) -> Any:
    old = x.shape[axis]
    i = np.arange(length, dtype=np.float32)
    if mode == "half_pixel":
        place = (i + np.float32(0.5)) * np.float32(old / length) - np.float32(0.5)
    elif mode == "align_corners":
        place = i * np.float32((old - 1) / (length - 1) if length > 1 else 0)
    elif mode == "asymmetric":
        place = i * np.float32(old / length)
    else:
        raise ValueError(f"coordinate_transformation_mode {mode!r} can't be run here")
    if method == "nearest_neighbor":
        rounded = {"round": np.rint, "floor": np.floor, "ceil": np.ceil}[rounding or "round"](place)
        return np.take(x, np.clip(rounded.astype(np.int64), 0, old - 1), axis)
    if method != "linear":
        raise ValueError(f"method {method!r} can't be run here")
    low = np.floor(place).astype(np.int64)
    shape = [1] * x.ndim
    shape[axis] = length
    share = (place - low).astype(np.float32).reshape(shape)
    first, second = (np.take(x, np.clip(low + n, 0, old - 1), axis) for n in (0, 1))
    return (first * (1 - share) + second * share).astype(x.dtype)
