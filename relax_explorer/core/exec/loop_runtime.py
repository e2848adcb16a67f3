"""Functions of numba that printed loops (`loop_text`) call: arithmetic, checks, memory, casts to narrow floats, and sorting."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.base import BaseContext
from numba.core.extending import intrinsic
from numba.core.types import Type
from numba.core.typing import Context, Signature

from relax_explorer.core.ops.kit.ndarrays import Array, Number

Codegen = Callable[[BaseContext, ir.IRBuilder, Signature, Sequence[ir.Value]], ir.Value]
Intrinsic = Callable[..., int]
_LONG = ir.IntType(64)


def _wide(builder: ir.IRBuilder, value: ir.Value, type_: Type) -> ir.Value:
    """Extend an integer to 64 bits."""
    if value.type.width >= 64:
        return value
    return builder.sext(value, _LONG) if getattr(type_, "signed", False) else builder.zext(value, _LONG)


def _trap(
    context: BaseContext,
    builder: ir.IRBuilder,
    error: type[Exception],
    value_types: Sequence[Type],
    values: Sequence[ir.Value],
) -> None:
    """Fill the note and raise an error in the kernel. `values` are (note, site, index, length, variables)."""
    note, site, *operands = values
    place = cgutils.create_struct_proxy(value_types[0])(context, builder, note).data
    words = [_wide(builder, site, value_types[1])]
    for type_, value in zip(value_types[2:], operands, strict=True):
        if isinstance(type_, types.BaseTuple):
            parts = cgutils.unpack_tuple(builder, value, len(type_))
            words += [_wide(builder, part, each) for part, each in zip(parts, type_, strict=True)]
        else:
            words.append(_wide(builder, value, type_))
    for number, value in enumerate(words):
        builder.store(value, builder.gep(place, [ir.Constant(_LONG, number)]))
    context.call_conv.return_user_exc(builder, error, ())


@intrinsic
def at(
    typing: Context, index: Type, length: Type, note: Type, site: Type, *names: Type
) -> tuple[Signature, Codegen]:
    """A checked index of an axis."""
    kinds = (index, length, note, site, types.Tuple(names))

    def codegen(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, args: Sequence[ir.Value]
    ) -> ir.Value:
        wide, bound = _wide(builder, args[0], index), _wide(builder, args[1], length)
        outside = builder.icmp_unsigned(">=", wide, bound)
        with builder.if_then(outside, likely=False):
            values = (args[2], args[3], wide, bound, args[4])
            _trap(context, builder, IndexError, (note, site, types.int64, types.int64, kinds[4]), values)
        return wide

    return types.uintp(*kinds), codegen


@intrinsic
def inside(typing: Context, index: Type) -> tuple[Signature, Codegen]:
    """An index that is known to lie inside its axis."""

    def codegen(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, args: Sequence[ir.Value]
    ) -> ir.Value:
        return _wide(builder, args[0], index)

    return types.uintp(index), codegen


@intrinsic
def poll(typing: Context, address: Type) -> tuple[Signature, Codegen]:
    """Stop the kernel if the flag at an address is set."""

    def codegen(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, args: Sequence[ir.Value]
    ) -> ir.Value:
        place = builder.inttoptr(args[0], _LONG.as_pointer())
        flag = builder.load_atomic(place, "monotonic", 8)
        with builder.if_then(builder.icmp_unsigned("!=", flag, flag.type(0)), likely=False):
            context.call_conv.return_user_exc(builder, InterruptedError, ())
        return context.get_dummy_value()

    return types.none(address), codegen


def _operation(name: str) -> Intrinsic:
    """A wrapping operation of two integers."""

    @intrinsic
    def apply(typing: Context, a: Type, b: Type) -> tuple[Signature, Codegen]:
        result_type = types.uint64 if types.uint64 in (a, b) else types.int64

        def codegen(
            context: BaseContext, builder: ir.IRBuilder, signature: Signature, args: Sequence[ir.Value]
        ) -> ir.Value:
            return getattr(builder, name)(_wide(builder, args[0], a), _wide(builder, args[1], b))

        return result_type(a, b), codegen

    return apply


# `quotient` and `rest` need a dividend of at least 0 and a divisor of at least 1.
add, sub, mul, quotient, rest = map(_operation, ("add", "sub", "mul", "udiv", "urem"))
left, right = _operation("shl"), _operation("ashr")
right_unsigned = _operation("lshr")


@intrinsic
def nonzero(
    typing: Context, divisor: Type, note: Type, site: Type, *names: Type
) -> tuple[Signature, Codegen]:
    """A checked divisor: not 0."""
    kinds = (divisor, note, site, types.Tuple(names))

    def codegen(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, args: Sequence[ir.Value]
    ) -> ir.Value:
        zero = builder.icmp_unsigned("==", args[0], args[0].type(0))
        with builder.if_then(zero, likely=False):
            values = (args[1], args[2], ir.Constant(_LONG, 0), ir.Constant(_LONG, 0), args[3])
            _trap(
                context, builder, ZeroDivisionError, (note, site, types.int64, types.int64, kinds[3]), values
            )
        return args[0]

    return divisor(*kinds), codegen


@intrinsic
def distance(
    typing: Context, by: Type, bits: Type, note: Type, site: Type, *names: Type
) -> tuple[Signature, Codegen]:
    """A checked distance of a shift: less than the number of bits."""
    kinds = (by, bits, note, site, types.Tuple(names))

    def codegen(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, args: Sequence[ir.Value]
    ) -> ir.Value:
        wide, most = _wide(builder, args[0], by), _wide(builder, args[1], bits)
        with builder.if_then(builder.icmp_unsigned(">=", wide, most), likely=False):
            values = (args[2], args[3], wide, most, args[4])
            _trap(
                context, builder, ZeroDivisionError, (note, site, types.int64, types.int64, kinds[4]), values
            )
        return wide

    return types.int64(*kinds), codegen


def _division(name: str) -> Intrinsic:
    """A division of signed integers with a divisor other than 0. The least integer divided by -1 wraps."""

    @intrinsic
    def apply(typing: Context, a: Type, b: Type) -> tuple[Signature, Codegen]:
        def codegen(
            context: BaseContext, builder: ir.IRBuilder, signature: Signature, args: Sequence[ir.Value]
        ) -> ir.Value:
            x, y = _wide(builder, args[0], a), _wide(builder, args[1], b)
            minus = builder.icmp_signed("==", y, y.type(-1))
            safe = builder.select(minus, y.type(1), y)  # x / 1 = -(x / -1), and x % 1 = x % -1 = 0
            result: ir.Value = builder.sdiv(x, safe) if "div" in name else builder.srem(x, safe)
            if name.startswith("floor"):
                left_over = builder.srem(x, safe)
                inexact = builder.icmp_signed("!=", left_over, x.type(0))
                apart = builder.icmp_signed("<", builder.xor(left_over, safe), x.type(0))
                step = builder.select(
                    builder.and_(inexact, apart), safe if "mod" in name else x.type(-1), x.type(0)
                )
                result = builder.add(result, step)
            if "div" in name:
                result = builder.select(minus, builder.neg(result), result)
            return result

        return types.int64(a, b), codegen

    return apply


floor_div, floor_mod, trunc_div, trunc_mod = map(
    _division, ("floor_div", "floor_mod", "trunc_div", "trunc_mod")
)


@intrinsic
def whole(typing: Context, like: Any, value: Type) -> tuple[Signature, Codegen]:
    """A float converted to an integer type. A value that does not fit becomes the least integer, as on x86."""

    def codegen(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, args: Sequence[ir.Value]
    ) -> ir.Value:
        bits = 32 if like.bitwidth < 32 or like == types.int32 else 64
        target, x = ir.IntType(bits), args[1]
        limit = float(1 << (bits - 1))
        fits = builder.and_(
            builder.fcmp_ordered(">=", x, x.type(-limit)), builder.fcmp_ordered("<", x, x.type(limit))
        )
        number = builder.fptosi(builder.select(fits, x, x.type(0.0)), target)
        number = builder.select(fits, number, target(-(1 << (bits - 1))))
        if like == types.uint64:
            large = builder.and_(
                builder.fcmp_ordered(">=", x, x.type(limit)), builder.fcmp_ordered("<", x, x.type(2 * limit))
            )
            upper = builder.fptoui(builder.select(large, x, x.type(0.0)), target)
            number = builder.select(large, upper, number)
        return number if like.bitwidth == bits else builder.trunc(number, ir.IntType(like.bitwidth))

    return like(like, value), codegen


@intrinsic
def positive(typing: Context, step: Type, note: Type, site: Type, *names: Type) -> tuple[Signature, Codegen]:
    """A checked step of a loop: at least 1."""
    kinds = (step, note, site, types.Tuple(names))

    def codegen(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, args: Sequence[ir.Value]
    ) -> ir.Value:
        with builder.if_then(builder.icmp_signed("<", args[0], args[0].type(1)), likely=False):
            values = (args[1], args[2], args[0], ir.Constant(_LONG, 0), args[3])
            _trap(context, builder, ZeroDivisionError, (note, site, step, types.int64, kinds[3]), values)
        return args[0]

    return step(*kinds), codegen


@njit(error_model="numpy")
def power(base: int, exponent: int) -> int:
    """A wrapping integer power. For a negative exponent, division rounds towards 0."""
    result = sub(base, sub(base, 1))
    if exponent < 0:
        odd = (exponent & 1) == 1
        return result if base == 1 or (base == -1 and not odd) else (base if base == -1 else sub(base, base))
    while exponent > 0:
        if exponent & 1:
            result = mul(result, base)
        base = mul(base, base)
        exponent = exponent >> 1
    return result


@njit(error_model="numpy")
def piece(start: int, end: int, size: int) -> np.int64:
    """The end of one piece of a loop."""
    left_over = np.uint64(end) - np.uint64(start)
    return start + (np.int64(size) if left_over > np.uint64(size) else np.int64(left_over))


@njit(error_model="numpy")
def larger(a: float, b: float) -> float:
    """The larger of two numbers; the second if one is NaN."""
    return a if a > b else b


@njit(error_model="numpy")
def smaller(a: float, b: float) -> float:
    """The smaller of two numbers; the second if one is NaN."""
    return a if a < b else b


@njit(error_model="numpy")
def room(shape: tuple[int, ...], most: int) -> int:
    """The number of elements of a shape; `most + 1` if there are more than `most`, -1 for a negative length."""
    size = 1
    for length in shape:
        if length < 0:
            return -1
    for length in shape:
        if length == 0:
            return 0
    for length in shape:
        if length > most // size:
            return most + 1
        size *= length
    return size


@njit(error_model="numpy")
def allocated(shape: tuple[int, ...], content: Number, most: int, fill: bool) -> Array:
    """Allocate memory for a kernel. With `fill` every element is `content`."""
    size = room(shape, most)
    if size < 0 or size > most:
        raise MemoryError
    array = np.empty(shape, np.asarray(content).dtype)
    if fill:
        array[...] = content
    return array


@njit(error_model="numpy")
def window(flat: Array, start: int, shape: tuple[int, ...]) -> Array:
    """A view of memory that begins at element `start`."""
    size = room(shape, len(flat))
    if start < 0 or size < 0 or start > len(flat) or size > len(flat) - start:
        raise BufferError
    return flat[start : start + size].reshape(shape)


# -- narrow floats ---------------------------------------------------------------------------------------------------
# Casts to floats of 16 bits and fewer inside kernels, which compute such elements as float32.


@njit
def narrow(value: float, mantissa: int, least: int, most: float, beyond: float) -> np.float32:
    """A float rounded to `mantissa` bits behind the first one, half to even.

    `least` is the exponent of the smallest normal number, and `most` the largest number. Larger ones become `beyond`.
    """
    if value == 0.0 or not math.isfinite(value):
        return np.float32(value if value == 0.0 or math.isnan(value) else math.copysign(beyond, value))
    exponent = max(math.frexp(value)[1] - 1, least) - mantissa
    unit = math.ldexp(1.0, exponent)
    rounded = np.rint(value / unit) * unit
    return np.float32(rounded if abs(rounded) <= most else math.copysign(beyond, value))


# -- sorting ---------------------------------------------------------------------------------------------------------
# The sorting functions of TVM's runtime, for kernels. They are stable, as in TVM (src/runtime/contrib/sort).
#
# They are loops over elements: numba compiles slices, fancy indices and `np.argsort` in five times as long.


# Only called by compiled code, and so without an entry for Python, which takes longer to compile than the function.
_inner = njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)


@_inner
def lanes(x: Array, axis: int) -> Array:
    """A tensor reshaped to three axes: before `axis`, `axis`, after `axis`."""
    before, after = 1, 1
    for k in range(axis):
        before *= x.shape[k]
    for k in range(axis + 1, x.ndim):
        after *= x.shape[k]
    return x.reshape((before, x.shape[axis], after))


@_inner
def alike(rows: Array, result: Array, count: int) -> None:
    """Raise ValueError unless the output has the same number of rows, each of length `count`."""
    if result.shape[0] != rows.shape[0] or result.shape[2] != rows.shape[2] or result.shape[1] != count:
        raise ValueError("lengths differ")
    if count > rows.shape[1]:
        raise ValueError("lengths differ")


@_inner
def follows(a: float, b: float, ascending: bool) -> bool:
    """True if `a` stands behind `b`. A NaN is larger than every number, as in numpy."""
    if ascending:
        return b < a or (a != a and b == b)
    return a < b or (b != b and a == a)


@_inner
def order(row: Array, count: int, ascending: bool, taken: Array, spare: Array) -> None:
    """Write the indices that sort the first `count` elements of a row to `taken`, stable."""
    for k in range(count):
        taken[k] = k
    width = 1
    while width < count:
        for start in range(0, count, 2 * width):
            left, middle, end = start, min(start + width, count), min(start + 2 * width, count)
            right = middle
            for k in range(start, end):
                if left < middle and (
                    right >= end or not follows(row[taken[left]], row[taken[right]], ascending)
                ):
                    spare[k] = taken[left]
                    left += 1
                else:
                    spare[k] = taken[right]
                    right += 1
        for k in range(count):
            taken[k] = spare[k]
        width *= 2


@njit(error_model="numpy")
def sort(data: Array, out: Array, axis: int, ascending: bool) -> None:
    """Sort the elements along an axis."""
    if out.shape[axis] != data.shape[axis]:
        raise ValueError("lengths differ")
    top_values(data, out, data.shape[axis], axis, ascending)


@njit(error_model="numpy")
def argsort(data: Array, out: Array, axis: int, ascending: bool) -> None:
    """The indices that sort the elements along an axis."""
    if out.shape[axis] != data.shape[axis]:
        raise ValueError("lengths differ")
    top_indices(data, out, data.shape[axis], axis, ascending)


@njit(error_model="numpy")
def argsort_valid(data: Array, counts: Array, out: Array, axis: int, ascending: bool) -> None:
    """`argsort` of the first `counts` elements. The others keep their places."""
    rows, result = lanes(data, axis), lanes(out, axis)
    alike(rows, result, rows.shape[1])
    if counts.size != rows.shape[0] * rows.shape[2]:
        raise ValueError("lengths differ")
    valid = counts.reshape((rows.shape[0], rows.shape[2]))
    length = rows.shape[1]
    row, taken, spare = np.empty(length, rows.dtype), np.empty(length, np.int64), np.empty(length, np.int64)
    for i in range(rows.shape[0]):
        for j in range(rows.shape[2]):
            count = max(0, min(valid[i, j], length))
            for k in range(length):
                row[k] = rows[i, k, j]
            order(row, count, ascending, taken, spare)
            for k in range(length):
                result[i, k, j] = taken[k] if k < count else k


@njit(error_model="numpy")
def top_values(data: Array, out: Array, count: int, axis: int, ascending: bool) -> None:
    """The first elements of the sorted axis."""
    rows, result = lanes(data, axis), lanes(out, axis)
    alike(rows, result, result.shape[1])
    length = rows.shape[1]
    row, taken, spare = np.empty(length, rows.dtype), np.empty(length, np.int64), np.empty(length, np.int64)
    for i in range(rows.shape[0]):
        for j in range(rows.shape[2]):
            for k in range(length):
                row[k] = rows[i, k, j]
            order(row, length, ascending, taken, spare)
            for k in range(result.shape[1]):
                result[i, k, j] = row[taken[k]]


@njit(error_model="numpy")
def top_indices(data: Array, out: Array, count: int, axis: int, ascending: bool) -> None:
    """The indices of the first elements of the sorted axis."""
    rows, result = lanes(data, axis), lanes(out, axis)
    alike(rows, result, result.shape[1])
    length = rows.shape[1]
    row, taken, spare = np.empty(length, rows.dtype), np.empty(length, np.int64), np.empty(length, np.int64)
    for i in range(rows.shape[0]):
        for j in range(rows.shape[2]):
            for k in range(length):
                row[k] = rows[i, k, j]
            order(row, length, ascending, taken, spare)
            for k in range(result.shape[1]):
                result[i, k, j] = taken[k]


@njit(error_model="numpy")
def top_both(data: Array, values: Array, indices: Array, count: int, axis: int, ascending: bool) -> None:
    """The values and the indices of the first elements of the sorted axis."""
    top_values(data, values, count, axis, ascending)
    top_indices(data, indices, count, axis, ascending)
