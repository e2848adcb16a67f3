"""Windows over the spatial axes of images and signals, shared by convolution and pooling."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypedDict

import numpy as np

from relax_explorer.core.arith.prove import Answer, at_least
from relax_explorer.core.arith.simplify import polynomial, simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.decl import Ints, Op, Site
from relax_explorer.core.ops.kit.ndarrays import Array, Number
from relax_explorer.core.ops.kit.te import Te, Tensor, where

Pads = Sequence[tuple[int, int]]
_CALLED = {"W": "signals", "HW": "images", "DHW": "volumes"}


class Spatial(Op):
    """Base of the operators of signals, images and volumes; `spatial` names their axes: W, HW or DHW.

    One declaration serves all three: a default that is a function is called with the names of the axes, and IMAGES in the
    documentation becomes signals, images or volumes.
    """

    spatial: ClassVar[str] = ""
    left_out: ClassVar[tuple[str, ...]] = ()  # parameters of the base class that the operator lacks

    def __init_subclass__(cls, name: str = "", spatial: str = "", **options: object) -> None:
        if spatial:
            cls.spatial = spatial
            kept = [q for q in cls.parameters if q.name not in cls.left_out]
            called = _CALLED[spatial]
            docs = [replace(q, doc=q.doc.replace("IMAGES", called)) for q in kept]
            cls.parameters = tuple(
                [replace(q, default=q.default(spatial)) if callable(q.default) else q for q in docs]
            )
        super().__init_subclass__(name=name, **options)


class Windowed(Spatial):
    """Base of the operators that move windows along their axes. Their attributes are expanded to one number for each axis."""

    same_layout: ClassVar[str] = "layout"  # the attribute that replaces out_layout if it is None
    takes_lists: ClassVar[bool] = False  # True if a single number is refused where a list is needed

    def __init_subclass__(cls, name: str = "", spatial: str = "", **options: object) -> None:
        if spatial:
            cls.refine = completed(len(spatial), cls.takes_lists, out_layout=cls.same_layout)
        super().__init_subclass__(name=name, spatial=spatial, **options)


def every(number: int) -> Callable[[str], tuple[int, ...]]:
    """The default of an attribute with one number for each spatial axis."""
    return lambda spatial: (number,) * len(spatial)


def border(number: int) -> Callable[[str], tuple[int, ...]]:
    """The default of a padding: one number before and one after each spatial axis."""
    return lambda spatial: (number,) * (2 * len(spatial))


def in_order(before: str) -> Callable[[str], str]:
    """The default of a layout: two letters, then the spatial axes."""
    return lambda spatial: before + spatial


def each(value: int | Ints, rank: int) -> tuple[int, ...]:
    """One number for each of the `rank` spatial axes; a single number is repeated."""
    items = value if isinstance(value, tuple) else (value,)
    return tuple(items * rank if len(items) == 1 else items)


def pads(value: int | Ints, rank: int) -> Pads:
    """The padding (before, after) of each axis. `value` is one number, one for each axis, or all before and then all after."""
    items = value if isinstance(value, tuple) else (value,)
    items = items * rank if len(items) == 1 else items
    items = items * 2 if len(items) == rank else items
    return list(zip(items[:rank], items[rank:], strict=True))


class Numbers(TypedDict, total=False):
    """The attributes of a call that describe its windows. Each has one number, or one for each axis."""

    pool_size: Ints
    strides: Ints
    padding: Ints
    dilation: Ints
    output_padding: Ints
    ceil_mode: bool
    count_include_pad: bool


@dataclass(slots=True)
class Window:
    """The windows along one axis."""

    size: int  # of a pooling; the windows of a convolution are as long as its kernels
    stride: int
    dilation: int
    pad: tuple[int, int]
    further: int  # elements at the end of a transposed convolution
    ceil: bool
    border_counts: bool

    @property
    def ends(self) -> tuple[int, int]:
        """The border, wide enough for a last, partial window."""
        before, after = self.pad
        return before, after + (self.stride - 1 if self.ceil else 0)

    def count(self, length: p.PrimExpr, kernel: p.PrimExpr) -> p.PrimExpr:
        """The number of windows: (length + pad - dilation * (kernel - 1) - 1) / stride + 1, rounded down, or up with `ceil`.

        With `ceil`, a last window that would start behind the operand is dropped, as in PyTorch.
        """
        before, after = self.pad
        span = p.Add(p.Mul(p.Sub(kernel, rules.ONE), p.IntImm(self.dilation)), rules.ONE)
        room = simplify(p.Sub(p.Add(length, p.IntImm(sum(self.ends))), span))
        poly, stride = polynomial(room), self.stride
        exact = poly.get((), 0) % stride == 0 or all(
            c % stride == 0 for monomial, c in poly.items() if monomial
        )
        written = p.Add(p.FloorDiv(room, p.IntImm(stride)), rules.ONE)
        count = simplify(written) if exact else written
        if not self.ceil or (
            isinstance(kernel, p.IntImm) and stride - 1 + after < (kernel.value - 1) * self.dilation + 1
        ):
            return count
        fewer = simplify(p.Sub(count, rules.ONE))
        start, behind = simplify(p.Mul(fewer, p.IntImm(stride))), simplify(p.Add(length, p.IntImm(before)))
        beyond = at_least(p.Sub(start, behind), 0)
        if beyond is not Answer.UNKNOWN:
            return fewer if beyond is Answer.YES else count
        return where(p.GE(start, behind), fewer, count)

    def reaching(
        self, place: p.PrimExpr, tap: p.PrimExpr, count: p.PrimExpr
    ) -> tuple[p.PrimExpr, p.PrimExpr, list[p.PrimExpr]]:
        """The start of the window, of `count` ones, whose tap lies at `place`, the window, and the tests that there is one.

        It must also start at 0 or later.
        """
        step = p.IntImm(self.stride)
        start = simplify(p.Sub(p.Add(place, p.IntImm(self.pad[0])), p.Mul(tap, p.IntImm(self.dilation))))
        window = p.FloorDiv(start, step)
        exact = [p.EQ(p.FloorMod(start, step), rules.ZERO)] if self.stride > 1 else []
        return start, window, [p.LT(window, count), *exact]

    def counted(self, i: p.PrimExpr, length: p.PrimExpr) -> p.PrimExpr:
        """The number of taps of window `i` inside an axis, or, if the border counts, inside the axis and its border."""
        start = simplify(p.Sub(p.Mul(i, p.IntImm(self.stride)), p.IntImm(self.pad[0])))

        def first_from(place: p.PrimExpr) -> p.PrimExpr:  # the number of the first tap at or after `place`
            behind = simplify(p.Add(p.Sub(place, start), p.IntImm(self.dilation - 1)))
            return simplify(p.FloorDiv(behind, p.IntImm(self.dilation)))

        end = simplify(p.Add(length, p.IntImm(self.pad[1] if self.border_counts else 0)))
        last = p.Min(first_from(end), p.IntImm(self.size))
        return last if self.border_counts else p.Sub(last, p.Max(first_from(rules.ZERO), rules.ZERO))


Windows = dict[str, Window]
"""The windows along each axis, by its letter."""


def windows_of(axes: str, numbers: Numbers) -> Windows:
    """The windows along `axes`."""
    rank = len(axes)
    sizes, strides = each(numbers.get("pool_size", 1), rank), each(numbers.get("strides", 1), rank)
    dilation, further = each(numbers.get("dilation", 1), rank), each(numbers.get("output_padding", 0), rank)
    ceil, border = numbers.get("ceil_mode", False), numbers.get("count_include_pad", False)
    rows = zip(sizes, strides, dilation, pads(numbers.get("padding", 0), rank), further, strict=True)
    return {axis: Window(*row, ceil, border) for axis, row in zip(axes, rows, strict=True)}


def completed(rank: int, lists: bool = False, **same: str) -> Callable[[e.Call, list[s.StructInfo]], e.Call]:
    """A `refine` rule that expands window attributes to one number for each axis.

    `same` maps an attribute to the attribute that replaces it if it is None. With `lists` a single number is not expanded, so
    that inference refuses it.
    """

    def refine(call: e.Call, infos: list[s.StructInfo]) -> e.Call:
        attrs = call.attrs
        for name, value in attrs.items():
            items = value if isinstance(value, tuple) else (value,)
            if lists and isinstance(value, int):
                continue
            if (
                name in ("strides", "dilation", "pool_size", "output_size", "output_padding")
                and len(items) == 1
                and value is not None
            ):
                attrs = attrs.having(**{name: items * rank})
            elif name == "padding" and len(items) in (1, rank):
                attrs = attrs.having(padding=items * (2 * rank // len(items)))
            elif name in same and value is None:
                attrs = attrs.having(**{name: attrs[same[name]]})
        return (
            call
            if attrs is call.attrs
            else e.Call(call.op, call.args, attrs, call.sinfo_args, None, call.span)
        )

    return staticmethod(refine)


_ONE_EACH = "write one number for all axes, or one for each"


def need_window(
    at: Site, rank: int, *, strides: Ints, padding: Ints, dilation: Ints, pool_size: Ints = (1,), **rest: object,
) -> None:  # fmt: skip
    """Refuse paddings that are negative or have the wrong length, and other attributes with numbers below 1."""
    positive: dict[str, int | Ints] = {"pool_size": pool_size, "strides": strides, "dilation": dilation}
    for name, value in positive.items():
        items = value if isinstance(value, tuple) else (value,)
        if any(number <= 0 for number in items) or len(items) not in (1, rank):
            expected = "a number from 1 on is" if rank == 1 else f"1 or {rank} numbers from 1 on are"
            actual = list(value) if isinstance(value, tuple) else value
            checked = len(items) not in (1, rank) or (name == "strides" and 0 in items)  # by TVM, too
            text = f"{name} is {actual}, {expected} needed"
            raise (at.fail if checked else at.fail_by_spec)(codes.BAD_ATTRIBUTE, text, help=_ONE_EACH)
    if isinstance(padding, tuple) and len(padding) not in (1, rank, 2 * rank):
        expected = "1 or 2" if rank == 1 else f"1, {rank} or {2 * rank}"
        text = f"padding has {len(padding)} numbers, {expected} are needed"
        raise at.fail(codes.BAD_ATTRIBUTE, text, help=_ONE_EACH)
    if any(number < 0 for number in (padding if isinstance(padding, tuple) else (padding,))):
        actual = list(padding) if isinstance(padding, tuple) else padding
        text = f"padding is {actual}, numbers from 0 on are needed"
        help = "cut elements off with strided_slice before"
        raise at.fail_by_spec(codes.BAD_ATTRIBUTE, text, help=help)


def need_fit(
    at: Site, spatial: str, size: Mapping[str, p.PrimExpr], output: Mapping[str, p.PrimExpr], **labels: str
) -> None:
    """Refuse windows that are certainly larger than an axis; the result would have a negative length."""
    numbers = "this pool_size, with these strides, padding and dilation,"
    if at.op is not None and not any(q.name == "pool_size" for q in at.op.attributes):
        numbers = "these strides, padding and dilation"
    for axis in spatial:
        count = output[axis]
        if isinstance(count, p.IntImm) and count.value < 0:
            text = (
                f"no window of {numbers} fits into the axis {axis} of length {size[axis]}: "
                f"the result would have {count} elements"
            )
            help = "use smaller windows, or a padding"
            raise at.fail_by_spec(codes.BAD_ATTRIBUTE, text, **labels, help=help)


def padded(x: Array, axes: Sequence[int], pad: Pads, value: Number | Array) -> Array:
    """An array with a border of `value` around `axes`. Negative padding crops, and may crop into the opposite border."""
    if not any(map(any, pad)):
        return x
    shape, taken, place = list(x.shape), [slice(None)] * x.ndim, [slice(None)] * x.ndim
    for axis, (before, after) in zip(axes, pad, strict=True):
        first, end = max(0, -before), x.shape[axis] + min(0, after)
        end = max(first, end)
        shape[axis] = x.shape[axis] + before + after
        taken[axis] = slice(first, end)
        place[axis] = slice(first + before, end + before) if first < end else slice(0)
    result = np.full(shape, value, x.dtype)
    result[tuple(place)] = x[tuple(taken)]
    return result


def views(x: Array, kernel: Sequence[int], windows: Collection[Window]) -> Array:
    """All windows over the last axes. The last axes of x become window counts; the axes of a window follow."""
    outer, inner = x.shape[: x.ndim - len(kernel)], x.shape[x.ndim - len(kernel) :]
    strides, dilation = [w.stride for w in windows], [w.dilation for w in windows]
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    if any(length < span for length, span in zip(inner, spans, strict=True)):  # numpy refuses such windows
        room = [max(0, length - span + 1) for length, span in zip(inner, spans, strict=True)]
        counts = [-(-places // step) for places, step in zip(room, strides, strict=True)]
        return np.zeros((*outer, *counts, *kernel), x.dtype)
    made = np.lib.stride_tricks.sliding_window_view(x, spans, axis=tuple(range(len(outer), x.ndim)))
    steps: tuple[Any, ...] = (..., *[slice(None, None, step) for step in (*strides, *dilation)])
    result: Array = made[steps]
    return result


def all_of(tests: Sequence[p.PrimExpr]) -> p.PrimExpr:
    """The conjunction of the tests, at least one."""
    conjunction = tests[0]
    for test in tests[1:]:
        conjunction = p.And(conjunction, test)
    return conjunction


def pad_stage(te: Te, x: Tensor, ends: Mapping[int, tuple[int, int]], value: p.PrimExpr) -> Tensor:
    """A tensor with a border of `value` at the `ends` of axes. Negative padding crops."""
    if not any(map(any, ends.values())):
        return x
    shape = [
        simplify(p.Add(dim, p.IntImm(sum(ends[n])))) if n in ends else dim for n, dim in enumerate(x.shape)
    ]

    def element(*i: p.PrimExpr) -> p.PrimExpr:
        inside: list[p.PrimExpr] = []
        place = list(i)
        for n, (before, after) in ends.items():
            if before > 0:
                inside.append(p.LE(p.IntImm(before), i[n]))
            if after > 0:
                inside.append(p.LT(i[n], simplify(p.Add(x.shape[n], p.IntImm(before)))))
            place[n] = simplify(p.Sub(i[n], p.IntImm(before)))
        return where(all_of(inside), x[place], value) if inside else x[place]

    return te.compute("pad_temp", shape, element)
