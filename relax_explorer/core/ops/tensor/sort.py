"""Operators that sort elements, search in sorted elements, and select elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, TypeVar

import numpy as np

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT32, INT64, DType, from_numpy
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit import te as loops
from relax_explorer.core.ops.kit.decl import Axes, Fusion, Op, Prim, Site, Stops, attr, operand
from relax_explorer.core.ops.kit.ndarrays import Array, Number
from relax_explorer.core.ops.kit.special import BadValue
from relax_explorer.core.ops.kit.te import Te, Tensor, cast
from relax_explorer.core.ops.tensor.manipulate import reshape_stage
from relax_explorer.core.ops.tensor.reduction import warn_of_nothing
from relax_explorer.core.tir.stmt import Stmt

_T = TypeVar("_T", Array, Tensor)

_ROUNDS = 62  # an axis is at most 2**_ROUNDS long


class Sort(Op, name="relax.sort"):
    """The elements in ascending or descending order along an axis.

    NaN counts as the largest.
    """

    source = "numpy.sort"
    raises = (codes.AXIS_RANGE,)
    stops = Stops.RANKS
    x: Tensor = operand("the tensor")
    axis: int = attr(-1, "the axis; negative counts from the last")
    descending: bool = attr(False, "True puts the largest first; False the smallest")
    examples: ClassVar[tuple[str, ...]] = (
        "f32[n,4] -> f32[n,4]",
        "i32[5] descending=True -> i32[5]",
        "f32[3,n,2] axis=1 -> f32[3,n,2]",
    )

    @staticmethod
    def infer(at: Site, x: s.StructInfo, axis: int, descending: bool) -> s.StructInfo:
        """The shape and dtype of x."""
        info = rules.tensor(at, x, "x")
        rules.axis(at, axis, info.ndim)
        return info

    @staticmethod
    def evaluate(x: Array, axis: int, descending: bool) -> Array:
        """numpy.argsort, then the elements at these indices."""
        return np.take_along_axis(x, order(x, axis, descending), axis)

    @staticmethod
    def legalize(te: Te, x: Tensor, axis: int, descending: bool) -> Tensor:
        """The element whose position in sorted order is the index."""
        place = axis % x.ndim
        return _picked(te, x, order_stage(te, x, place, descending), x.shape, place)


class Argsort(Op, name="relax.argsort"):
    """The indices of the elements along an axis, in the order of `sort`.

    Equal elements keep their order, whether ascending or descending. NaN counts as the largest.
    """

    source = "numpy.argsort"
    raises = (codes.AXIS_RANGE,)
    stops = Stops.RANKS
    data: Tensor = operand("the tensor")
    axis: int = attr(-1, "the axis; negative counts from the last")
    descending: bool = attr(False, "True puts the largest first; False the smallest")
    dtype: DType | None = attr(INT32, "dtype of the indices; None means the dtype of data")
    examples: ClassVar[tuple[str, ...]] = (
        "f32[n,4] -> i32[n,4]",
        'i32[5] descending=True dtype="int64" -> i64[5]',
    )

    @staticmethod
    def infer(at: Site, data: s.StructInfo, axis: int, descending: bool, dtype: DType | None) -> s.StructInfo:
        """The shape of data, of dtype."""
        info = rules.tensor(at, data, "data")
        rules.axis(at, axis, info.ndim)
        return rules.like(info, dtype or info.dtype)

    @staticmethod
    def evaluate(data: Array, axis: int, descending: bool, dtype: DType | None) -> Array:
        """numpy.argsort."""
        return order(data, axis, descending).astype(dtype.to_numpy() if dtype else data.dtype)

    @staticmethod
    def legalize(te: Te, data: Tensor, axis: int, descending: bool, dtype: DType | None) -> Tensor:
        """The index of the element whose position in sorted order is this one."""
        positions = order_stage(te, data, axis % data.ndim, descending)
        return te.compute("T_argsort", data.shape, lambda *i: cast(positions[i], dtype or data.dtype))


class Topk(Op, name="relax.topk"):
    """The k largest or smallest elements along an axis, in order, and their indices.

    Of equal elements, the one with the smaller index comes first. NaN counts as the largest.
    """

    source = "ONNX TopK"
    raises = (codes.AXIS_RANGE,)
    stops = Stops.LENGTHS
    data: Tensor = operand("the tensor")
    k: int = attr(
        1,
        "the number of elements; below 1, or above a known length, it means all; the run stops if an unknown length turns out less",
    )
    axis: int = attr(-1, "the axis; negative counts from the last")
    ret_type: str = attr("both", "the result: both (a tuple of values and indices), values, or indices")
    largest: bool = attr(True, "True takes the largest elements; False the smallest")
    dtype: DType | None = attr(INT32, "dtype of the indices; None means the dtype of data")
    examples: ClassVar[tuple[str, ...]] = (
        "f32[n,4] k=2 -> (f32[n,2],i32[n,2])",
        'f32[3,4] k=2 axis=0 ret_type="values" largest=False -> f32[2,4]',
        'i32[2,5] k=0 ret_type="indices" dtype="int64" -> i64[2,5]',
    )

    @staticmethod
    def infer(
        at: Site, data: s.StructInfo, k: int, axis: int, ret_type: str, largest: bool, dtype: DType | None
    ) -> s.StructInfo:
        """The shape of data with the axis k long: values of the dtype of data, indices of dtype, or both as a tuple."""
        info = rules.tensor(at, data, "data")
        place = rules.axis(at, axis, info.ndim)
        values = s.TensorStructInfo(None, info.dtype, info.ndim)
        if info.dims is not None:
            shape = (*info.dims[:place], _kept(info.dims[place], k), *info.dims[place + 1 :])
            values = s.TensorStructInfo(shape, info.dtype)
        indices = rules.like(values, dtype or info.dtype)
        kinds = {"both": s.TupleStructInfo((values, indices)), "values": values, "indices": indices}
        if ret_type not in kinds:
            raise at.fail(
                codes.BAD_ATTRIBUTE, f"ret_type is {ret_type!r}, it must be one of both, values, indices"
            )
        return kinds[ret_type]

    @staticmethod
    def evaluate(
        data: Array, k: int, axis: int, ret_type: str, largest: bool, dtype: DType | None
    ) -> Array | tuple[Array, Array]:
        """The first indices of numpy.argsort, and their elements; a few of many by numpy.partition."""
        count = min(k, data.shape[axis]) if k > 0 else data.shape[axis]
        positions = first_of_order(data, axis, largest, count)
        indices = positions.astype(dtype.to_numpy() if dtype else data.dtype)
        return _chosen(ret_type, np.take_along_axis(data, positions, axis), indices)

    @staticmethod
    def legalize(
        te: Te, data: Tensor, k: int, axis: int, ret_type: str, largest: bool, dtype: DType | None
    ) -> Tensor | tuple[Tensor, Tensor]:
        """The first indices in order, and their elements."""
        place = axis % data.ndim
        shape = (*data.shape[:place], _kept(data.shape[place], k), *data.shape[place + 1 :])
        positions = order_stage(te, data, place, largest)
        if ret_type == "values":
            return _picked(te, data, positions, shape, place)
        values = _picked(te, data, positions, shape, place) if ret_type == "both" else positions
        kind = dtype or data.dtype
        return _chosen(ret_type, values, te.compute("T_topk", shape, lambda *i: cast(positions[i], kind)))


class Bucketize(Op, name="relax.bucketize"):
    """For each element, the number of boundaries before it.

    NaN comes before all boundaries, so it gives 0. Boundaries that do not ascend are accepted, but the result is then
    undefined.
    """

    source = "torch.bucketize"
    raises = (codes.RANK_WRONG,)
    input_tensor: Tensor = operand("the elements")
    boundaries: Tensor = operand("a vector in ascending order")
    out_int32: bool = attr(False, "True returns int32; False int64")
    right: bool = attr(False, "True counts boundaries that equal the element")
    examples: ClassVar[tuple[str, ...]] = (
        "f32[n,4] f32[5] -> i64[n,4]",
        "i32[4] i32[m] out_int32=True right=True -> i32[4]",
    )

    @staticmethod
    def infer(
        at: Site, input_tensor: s.StructInfo, boundaries: s.StructInfo, out_int32: bool, right: bool
    ) -> s.StructInfo:
        """The shape of input_tensor, int64 or int32."""
        info = rules.tensor(at, input_tensor, "input_tensor")
        rules.need_rank(at, rules.tensor(at, boundaries, "boundaries"), 1, "boundaries")
        return rules.like(info, INT32 if out_int32 else INT64)

    @staticmethod
    def evaluate(input_tensor: Array, boundaries: Array, out_int32: bool, right: bool) -> Array:
        """A binary search of all elements at once; NaN comes before the first boundary."""
        low = np.zeros(input_tensor.shape, np.int64)
        high = np.full(input_tensor.shape, len(boundaries), np.int64)
        for _ in range(len(boundaries).bit_length()):
            open_, middle = low < high, (low + high) // 2
            bound = boundaries[np.minimum(middle, len(boundaries) - 1)]
            after = bound <= input_tensor if right else bound < input_tensor
            low = np.where(open_ & after, middle + 1, low)
            high = np.where(open_ & ~after, middle, high)
        return np.asarray(low).astype(np.int32 if out_int32 else np.int64)

    @staticmethod
    def legalize(te: Te, input_tensor: Tensor, boundaries: Tensor, out_int32: bool, right: bool) -> Tensor:
        """A binary search for each element."""
        length = simplify(boundaries.shape[0])
        buckets = loops.tensor(te, "T_searchsorted", input_tensor.shape, INT32 if out_int32 else INT64)
        left = loops.tensor(te, "T_between", (*input_tensor.shape, p.IntImm(2)), INT64)
        element = _compared(input_tensor.dtype, boundaries.dtype)

        def search(*i: p.PrimExpr) -> Stmt:
            low, high = left[(*i, 0)], left[(*i, 1)]
            middle = p.FloorDiv(p.Add(low, high), p.IntImm(2))
            bound, value = cast(boundaries[middle], element), cast(input_tensor[i], element)
            halve = loops.when(
                p.LE(bound, value) if right else p.LT(bound, value),
                loops.store(left, (*i, 0), p.Add(middle, rules.ONE)),
                loops.store(left, (*i, 1), middle),
            )
            rounds = length.value.bit_length() if isinstance(length, p.IntImm) else _ROUNDS
            return loops.seq(
                loops.store(left, (*i, 0), 0),
                loops.store(left, (*i, 1), length),
                loops.loop(rounds, lambda _: loops.when(p.LT(low, high), halve)),
                loops.store(buckets, i, low),
            )

        loops.ordered(te, input_tensor.shape, (buckets, left), search)
        return buckets


class Unique(Op, name="relax.unique"):
    """The distinct elements of a tensor, or its distinct slices along an axis.

    Their number is known only at run time. Further results follow in a tuple, each a vector of int64.
    """

    source = "numpy.unique"
    raises = (codes.AXIS_RANGE,)
    x: Tensor = operand("the tensor")
    sorted: Prim = operand("True for ascending order, which numpy's order is in any case", default=True)
    return_index: Prim = operand("True to give, for each, the index of the first one", default=False)
    return_inverse: Prim = operand("True to give, for each element of x, which of them it is", default=False)
    return_counts: Prim = operand("True to give, for each, how often it is there", default=False)
    axis: Prim | None = operand(
        "the axis along which slices are compared, an integer; elements are when left out", default=None
    )
    packed = "relax.run.unique"
    examples = (
        "f32[n,4] -> f32[?]",
        "f32[] 1 1 0 0 -> (f32[1],i64[1])",
        "i32[5] 1 1 1 1 -> (i32[?],i64[?],i64[?],i64[?])",
        "i32[3,4] 1 0 0 1 -1 -> (i32[?,?],i64[?])",
    )

    @staticmethod
    def infer(at: Site, x: s.StructInfo, *flags: s.StructInfo | None) -> s.StructInfo:
        """A vector (with an axis, a tensor of the rank of x) in the dtype of x; a tuple if there are further results."""
        info = rules.tensor(at, x, "x")
        for q, flag in zip(at.op.operands[1:], flags, strict=False) if at.op is not None else ():
            if isinstance(flag, s.PrimStructInfo) and flag.dtype.is_float:
                text = f"{q.name} is {flag.dtype}, an integer is needed"
                raise at.fail(codes.WRONG_KIND, text, **{q.name: f"this is {flag}"})
        numbers = [_literal(flag) for flag in flags]
        along = len(flags) > 4 and flags[4] is not None
        if along and numbers[4] is not None:
            rules.axis(at, numbers[4], info.ndim)
        first = s.TensorStructInfo(None, info.dtype, info.ndim if along else 1)
        if info.ndim == 0:  # a scalar is one element
            first = s.TensorStructInfo((rules.ONE,), info.dtype)
        lengths = first.shape if info.ndim == 0 else None
        extras = [s.TensorStructInfo(lengths, INT64, 1) for number in numbers[1:4] if number]
        return s.TupleStructInfo((first, *extras)) if extras else first

    @staticmethod
    def evaluate(
        x: Array,
        sorted: Number,
        return_index: Number,
        return_inverse: Number,
        return_counts: Number,
        axis: Number | None,
    ) -> Array | tuple[Array, ...]:
        """numpy.unique, which orders in any case."""
        flags = [bool(flag) for flag in (return_index, return_inverse, return_counts)]
        find: Callable[..., Array | tuple[Array, ...]] = (
            np.unique
        )  # numpy has a separate type for each choice of flags
        results = find(x, *flags, axis=None if axis is None else int(axis))
        if not isinstance(results, tuple):
            return results
        return (results[0], *[part.reshape(-1).astype(np.int64) for part in results[1:]])


class Nonzero(Op, name="relax.nonzero"):
    """The indices of the nonzero elements, one column for each, in row-major order.

    NaN is not 0. For a tensor of rank 0 the result has no rows.
    """

    source = "ONNX NonZero"
    x: Tensor = operand("the tensor")
    packed = "relax.run.nonzero"
    examples = ("f32[n,4] -> i64[?,?]", "bool[3] -> i64[?,?]")

    @staticmethod
    def infer(at: Site, x: s.StructInfo) -> s.StructInfo:
        """An int64 matrix: a row for each axis of x, a column for each nonzero element."""
        rules.tensor(at, x, "x")
        return s.TensorStructInfo(None, INT64, 2)

    @staticmethod
    def evaluate(x: Array) -> Array:
        """numpy.nonzero; a scalar counts as a vector of one."""
        return np.stack(np.nonzero(np.atleast_1d(x))).astype(np.int64)[: x.ndim]


_FEW = 8  # a row that is this many times as long as what is taken of it is not sorted


def order(x: Array, axis: int, descending: bool) -> Array:
    """The indices that sort `x`; the sort is stable."""
    if not descending:
        return np.argsort(x, axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - np.argsort(np.flip(x, axis), axis, kind="stable"), axis)


def first_of_order(x: Array, axis: int, descending: bool, count: int) -> Array:
    """The first indices that sort `x`; the sort is stable."""
    length = x.shape[axis]
    if not 0 < count * _FEW <= length or x.dtype.kind not in "iuf" or x.dtype.itemsize < 4:
        return np.take(order(x, axis, descending), range(count), axis)
    rows = np.moveaxis(x, axis, -1).reshape(-1, length)
    place = length - count if descending else count - 1
    last = np.partition(rows, place, -1)[:, place, None]  # NaN is the largest, as in a sort
    none, is_none = np.isnan(rows), np.isnan(last)
    chosen = (rows >= last) | none if descending else (rows <= last) | is_none
    chosen = np.where(is_none, none if descending else True, chosen)
    found = np.empty((len(rows), count), np.intp)
    plain = np.count_nonzero(chosen, -1) == count  # the others have more elements like the last one
    picked = np.nonzero(chosen[plain])[1].reshape(-1, count)
    within = order(np.take_along_axis(rows[plain], picked, -1), -1, descending)
    found[plain] = np.take_along_axis(picked, within, -1)
    found[~plain] = order(rows[~plain], -1, descending)[:, :count]
    shape = (*np.delete(x.shape, axis % x.ndim), count)
    return np.moveaxis(found.reshape(shape), -1, axis)


def _chosen(ret_type: str, values: _T, indices: _T) -> _T | tuple[_T, _T]:
    if ret_type == "both":
        return values, indices
    return values if ret_type == "values" else indices


def _compared(a: DType, b: DType) -> DType:
    """The dtype for comparing numbers of two dtypes."""
    return a if a is b else from_numpy(np.result_type(a.to_numpy(), b.to_numpy()))


def _literal(info: s.StructInfo | None) -> int | None:
    """The value of a scalar operand."""
    value = info.value if isinstance(info, s.PrimStructInfo) else None
    return value.value if isinstance(value, p.IntImm) else None


def _kept(length: p.PrimExpr, k: int) -> p.PrimExpr:
    """The number of elements that `topk` keeps."""
    if k < 1 or (isinstance(length, p.IntImm) and length.value <= k):
        return length
    return p.IntImm(k)


def _before(a: p.PrimExpr, b: p.PrimExpr, descending: bool) -> p.PrimExpr:
    """True if `a` comes before `b`; NaN is the largest."""
    small, large = (b, a) if descending else (a, b)
    less: p.PrimExpr = p.LT(small, large)
    if not small.dtype.is_float:
        return less
    return p.Or(less, p.And(p.NE(large, large), p.EQ(small, small)))


def _two_runs(ends: Tensor, i: tuple[p.PrimExpr, ...], left: p.PrimExpr, right: p.PrimExpr) -> Stmt:
    """The starts of the next two runs to merge."""
    return loops.seq(loops.store(ends, (*i, 0), left), loops.store(ends, (*i, 1), right))


def _doubling(length: p.PrimExpr, merge: Callable[[p.PrimExpr], Stmt]) -> Stmt:
    """`merge(width)` for widths of 1, 2, 4 … while there is more than one run."""

    def turn(k: p.PrimVar) -> Stmt:
        width = p.PrimCall("shift_left", (rules.ONE, k), INT64)
        return loops.when(p.LT(width, length), merge(width))

    rounds = (length.value - 1).bit_length() if isinstance(length, p.IntImm) and length.value else _ROUNDS
    return loops.loop(rounds, turn, "turn")


def order_stage(te: Te, x: Tensor, place: int, descending: bool) -> Tensor:
    """The index of the element of each rank, by merging sorted runs of 1, 2, 4 … elements: stable, n log n steps.

    `T_next` holds two positions: the first unmerged elements of the two runs.
    """
    length = simplify(x.shape[place])
    perm = loops.tensor(te, "T_order", x.shape, INT64)
    merged = loops.tensor(te, "T_merged", x.shape, INT64)
    outer = (*x.shape[:place], *x.shape[place + 1 :])
    ends = loops.tensor(te, "T_next", (*outer, p.IntImm(2)), INT64)

    def row(*i: p.PrimExpr) -> Stmt:
        def at(k: p.PrimExpr) -> tuple[p.PrimExpr, ...]:
            return (*i[:place], k, *i[place:])

        left, right = ends[(*i, 0)], ends[(*i, 1)]

        def take(k: p.PrimExpr, half: int) -> Stmt:
            run = ends[(*i, half)]
            return loops.seq(
                loops.store(merged, at(k), perm[at(run)]),
                loops.store(ends, (*i, half), p.Add(run, rules.ONE)),
            )

        def merge(width: p.PrimExpr) -> Stmt:
            def step(k: p.PrimVar) -> Stmt:
                both = p.Mul(width, p.IntImm(2))
                begin = p.Mul(p.FloorDiv(k, both), both)
                middle = p.Min(p.Add(begin, width), length)
                end = p.Min(p.Add(begin, both), length)
                fresh = _two_runs(ends, i, k, p.Min(p.Add(k, width), length))
                first = _before(x[at(perm[at(right)])], x[at(perm[at(left)])], descending)
                # The right run's element goes first if the left run has ended, or if it comes first in order.
                other = loops.when(p.GE(right, end), take(k, 0), loops.when(first, take(k, 1), take(k, 0)))
                choice = loops.when(p.GE(left, middle), take(k, 1), other)
                return loops.seq(loops.when(p.EQ(k, begin), fresh), choice)

            copy = loops.loop(length, lambda k: loops.store(perm, at(k), merged[at(k)]))
            return loops.seq(loops.loop(length, step), copy)

        return loops.seq(loops.loop(length, lambda k: loops.store(perm, at(k), k)), _doubling(length, merge))

    loops.ordered(te, outer, (perm, merged, ends), row)
    return perm


def _picked(te: Te, x: Tensor, positions: Tensor, shape: Sequence[p.PrimExpr], place: int) -> Tensor:
    """The elements at the first indices along an axis."""
    return te.compute("T_sorted", shape, lambda *i: x[(*i[:place], positions[i], *i[place + 1 :])])


# -- median ----------------------------------------------------------------------------------------------------------
# The middle element in order.


class Median(Op, name="relax.median"):
    """The middle element along axes, in ascending order; the lower one if there are two.

    NaN counts as the largest. The run stops if there are no elements.
    """

    source = "torch.median"
    raises = (codes.AXIS_RANGE, codes.AXIS_TWICE, codes.OF_NOTHING)
    stops = Stops.RANKS
    x: Tensor = operand("the tensor")
    axis: Axes | None = attr(
        None, "the axes to reduce, at least one; negative count from the last; all when None"
    )
    keepdims: bool = attr(False, "True keeps the reduced axes with length 1")
    fusion = Fusion.OPAQUE
    examples = (
        "f32[n,4] axis=[1] -> (f32[n],i64[n])",
        "f32[3,4] -> f32[]",
        "f32[3,n,2] axis=-1 keepdims=True -> (f32[3,n,1],i64[3,n,1])",
        "i32[2,3,n] axis=[0,1] -> i32[n]",
    )

    @staticmethod
    def infer(at: Site, x: s.StructInfo, axis: Axes | None, keepdims: bool) -> s.StructInfo:
        """The shape of x without the reduced axes, the dtype of x. If a single axis is given, a tuple with the int64 indices, too."""
        info = rules.tensor(at, x, "x")
        if axis == ():
            raise at.fail(
                codes.BAD_ATTRIBUTE,
                "axis is [], at least one axis is needed",
                help="leave axis out, or name one",
            )
        over = rules.axes(at, axis, info.ndim, "axis") if info.ndim >= 0 or axis is not None else []
        warn_of_nothing(at, x, tuple(over))
        values = _reduced(info, over, axis is None, keepdims)
        if axis is None or len(over) > 1:
            return values
        return s.TupleStructInfo((values, rules.like(values, INT64)))

    @staticmethod
    def evaluate(data: Array, axis: Axes | None, keepdims: bool) -> Array | tuple[Array, Array]:
        """The middle element of a stable sort."""
        single, over = _axes(axis, data.ndim)
        flat, place = _flattened(data, over)
        if flat.shape[place] == 0:
            text = ", ".join(map(str, over)) or "0"
            raise BadValue(f"axis {text} of x has length 0, and the median of no elements is undefined")
        index = np.take(order(flat, place, False), [(flat.shape[place] - 1) // 2], place)
        value = np.take_along_axis(flat, index, place)
        shape = tuple([1 if n in over else length for n, length in enumerate(data.shape)])
        if not keepdims:
            shape = tuple([length for n, length in enumerate(data.shape) if n not in over])
        medians = value.reshape(shape)
        return (medians, index.astype(np.int64).reshape(shape)) if single else medians

    @staticmethod
    def legalize(te: Te, data: Tensor, axis: Axes | None, keepdims: bool) -> Tensor | tuple[Tensor, Tensor]:
        """The axes are merged into one and sorted."""
        single, over = _axes(axis, data.ndim)
        kept = [n for n in range(data.ndim) if n not in over]
        x, place = data, over[0] if over else 0
        if not single:
            joined = rules.volume([data.shape[n] for n in over])
            turned = te.compute(
                "T_transpose",
                [data.shape[n] for n in (*kept, *over)],
                lambda *i: data[tuple([i[(*kept, *over).index(n)] for n in range(data.ndim)])],
            )
            x, place = reshape_stage(te, turned, (*[data.shape[n] for n in kept], joined)), len(kept)
        sorted_order = order_stage(te, x, place, False)
        middle = simplify(p.FloorDiv(p.Sub(x.shape[place], rules.ONE), p.IntImm(2)))
        shape = [rules.ONE if n in over else length for n, length in enumerate(data.shape)]
        shape = shape if keepdims else [data.shape[n] for n in kept]

        def at(i: tuple[p.PrimExpr, ...]) -> tuple[p.PrimExpr, ...]:
            outer = [i[n] for n in kept] if keepdims else list(i)
            return (*outer[:place], middle, *outer[place:])

        def value(*i: p.PrimExpr) -> p.PrimExpr:
            where = at(i)
            return x[(*where[:place], sorted_order[where], *where[place + 1 :])]

        values = loops.tensor(te, "T_median", shape, data.dtype)
        places = loops.tensor(te, "T_place", shape, INT64)

        def choose(*i: p.PrimExpr) -> Stmt:
            stores = [loops.store(values, i, value(*i))]
            stores += [loops.store(places, i, sorted_order[at(i)])] if single else []
            if not isinstance(x.shape[place], p.IntImm) or x.shape[place] is rules.ZERO:
                there = p.LT(rules.ZERO, x.shape[place])
                message = "the median of no elements is undefined: a reduced axis has length 0"
                stores.insert(0, loops.check(there, message))
            return loops.seq(*stores)

        loops.ordered(te, shape, (values, places) if single else (values,), choose)
        return (values, places) if single else values


def _axes(axis: Axes | None, ndim: int) -> tuple[bool, list[int]]:
    """True if a single axis is given, and the reduced axes."""
    if axis is None:
        return False, list(range(ndim))
    named = [item % ndim for item in (axis if isinstance(axis, tuple) else (axis,))]
    return len(named) == 1, sorted(named)


def _flattened(data: Array, over: list[int]) -> tuple[Array, int]:
    """The data with the reduced axes merged into one, and the number of that axis."""
    if len(over) == 1:
        return data, over[0]
    kept = [n for n in range(data.ndim) if n not in over]
    size = int(np.prod([data.shape[n] for n in over], dtype=np.int64))
    return np.transpose(data, (*kept, *over)).reshape((*[data.shape[n] for n in kept], size)), len(kept)


def _reduced(
    info: s.TensorStructInfo, over: list[int], everything: bool, keepdims: bool
) -> s.TensorStructInfo:
    if everything and (info.ndim >= 0 or not keepdims):
        return s.TensorStructInfo((rules.ONE,) * info.ndim if keepdims else (), info.dtype)
    if info.dims is None:
        left = -1 if info.ndim < 0 else info.ndim if keepdims else info.ndim - len(over)
        return s.TensorStructInfo(() if left == 0 else None, info.dtype, left)
    dims = [rules.ONE if n in over else dim for n, dim in enumerate(info.dims)]
    kept = dims if keepdims else [dim for n, dim in enumerate(info.dims) if n not in over]
    return s.TensorStructInfo(tuple(kept), info.dtype)
