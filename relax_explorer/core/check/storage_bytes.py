"""Storages of planned memory, the tensors that lie in them, and which bytes hold the elements of which tensor.

Only bytes count that a tensor certainly has: a length that only the run knows is at least 1, because an empty tensor harms nobody.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from relax_explorer.core.arith.bounds import bounds, polynomial_bounds
from relax_explorer.core.arith.form import CANONICAL
from relax_explorer.core.arith.polynomial import Polynomial, combine, over_variables
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import INT64, DType

When = frozenset[tuple[object, bool]]
"""Branches around a place: conditions of Ifs, each with the side."""
Bytes = tuple[int, int]
"""The first byte of a part of a storage, and the one behind its last."""

ALWAYS: When = frozenset()
NOWHERE: Bytes = (0, 0)
_KEPT = 16  # tensors that one byte may hold, depending on branches, and tensors at symbolic offsets: no more are told apart


def excluded(a: When, b: When) -> bool:
    """True if no run takes all branches of both."""
    small, large = (a, b) if len(a) <= len(b) else (b, a)
    return any([(condition, not side) in large for condition, side in small])


@dataclass(eq=False, slots=True)
class Loss:
    """A write into the bytes of a tensor whose elements were there. `repairs` are the branches of later writes to the tensor."""

    victim: Tensor
    written: e.Binding
    by: Tensor
    place: e.Binding
    when: When
    part: Bytes | None  # the bytes that are lost; None if they depend on symbolic lengths
    repairs: list[When] = field(default_factory=list)
    last_read: object = None


@dataclass(eq=False, slots=True)
class Tensor:
    """A tensor at an offset in a storage. Without a storage, nothing overlaps it. `bytes` is None at a symbolic offset."""

    name: str
    storage: Storage | None = None
    offset: p.PrimExpr | None = None
    size: p.PrimExpr | None = None
    bytes: Bytes | None = None
    written: e.Binding | None = None
    when: When = ALWAYS
    last_read: object = None
    losses: list[Loss] = field(default_factory=list)

    def extent(self) -> str:
        """Its bytes, as the plan has them."""
        if self.bytes is not None and isinstance(self.size, p.IntImm):
            return f"bytes {self.bytes[0]} to {self.bytes[1] - 1}"
        size = "an unknown number of" if self.size is None else str(self.size)
        return f"{size} bytes from byte {self.offset}"


class _Segment(NamedTuple):
    low: int
    high: int
    held: tuple[Tensor, ...]


@dataclass(eq=False, slots=True)
class Storage:
    """A piece of memory, or an unknown object whose fields may be such."""

    name: str
    size: p.PrimExpr | None = None
    fields: dict[int, Storage] = field(default_factory=dict)
    _starts: list[int] = field(default_factory=list)
    _segments: list[_Segment] = field(default_factory=list)
    _symbolic: list[Tensor] = field(default_factory=list)

    def field_of(self, index: int) -> Storage:
        """A field of the object, always the same one."""
        return self.fields.setdefault(index, Storage(f"{self.name}[{index}]"))

    def overwritten(self, by: Tensor, part: Bytes | None, when: When) -> list[Tensor]:
        """The tensors that had elements in the bytes that `by` now has, or that it has in this part."""
        if part is None and by.bytes is None:
            found = [tensor for tensor in self._tensors() if overlap(tensor, by)]
            self._symbolic = [*[item for item in self._symbolic if item is not by], by][-_KEPT:]
            return found
        own = by.bytes if part is None else part
        assert own is not None
        hit = [tensor for tensor in self._symbolic if overlap(tensor, by)] if part is None else []
        if hit and not when:
            self._symbolic = [tensor for tensor in self._symbolic if tensor not in hit]
        return hit + self._cover(own, by, when)

    def _tensors(self) -> list[Tensor]:
        return [*self._symbolic, *[tensor for item in self._segments[-_KEPT:] for tensor in item.held]]

    def _cover(self, own: Bytes, by: Tensor, when: When) -> list[Tensor]:
        """Let `by` hold these bytes, besides those that keep elements in runs that do not come here."""
        low, high = own
        if low >= high:
            return []
        first = max(bisect_right(self._starts, low) - 1, 0)
        last = first
        while last < len(self._segments) and self._segments[last].low < high:
            last += 1
        hit = [item for item in self._segments[first:last] if item.high > low]
        found = list(dict.fromkeys(tensor for item in hit for tensor in item.held))
        kept = [tensor for tensor in found if tensor is not by and not when <= tensor.when][-_KEPT + 1 :]
        new = [_Segment(item.low, low, item.held) for item in hit if item.low < low]
        new.append(_Segment(low, high, (*kept, by)))
        new += [_Segment(high, item.high, item.held) for item in hit if item.high > high]
        before = [item for item in self._segments[first:last] if item.high <= low]
        self._segments[first:last] = [*before, *new]
        self._starts[first:last] = [item.low for item in (*before, *new)]
        return found


def overlap(a: Tensor, b: Tensor) -> bool:
    """True if two tensors of one storage certainly have a byte in common, unless one is empty."""
    if a is b:
        return False
    if a.bytes is not None and b.bytes is not None:
        return max(a.bytes[0], b.bytes[0]) < min(a.bytes[1], b.bytes[1])
    if a.offset is None or b.offset is None or NOWHERE in (a.bytes, b.bytes):
        return False
    distance = combine(CANONICAL.polynomial(b.offset), CANONICAL.polynomial(a.offset), -1)
    low, high = polynomial_bounds(distance)
    if low is not None and low >= 0:
        return not distance or _is_inside(distance, a.size)
    return high is not None and high <= 0 and _is_inside(combine({}, distance, -1), b.size)


def _is_inside(distance: Polynomial, size: p.PrimExpr | None) -> bool:
    """True if a byte at this distance from the start of a tensor of this size certainly belongs to it."""
    if size is None:
        return False
    left = combine(CANONICAL.polynomial(size), distance, -1)
    rises = (
        all(factor >= 0 or not atoms for atoms, factor in left.items()) and over_variables(left) is not None
    )
    return rises and sum(left.values()) >= 1  # its least value: all lengths are 1


def _of_full(size: p.PrimExpr) -> p.PrimExpr:
    """A size whose variables are one larger: what holds of it for all lengths holds of the size for those from 1."""
    one = p.IntImm(1, INT64)
    return p.substitute(size, {var: p.Add(var, one) for var in p.free_vars(size)})


def certain_bytes(offset: p.PrimExpr | None, size: p.PrimExpr | None, width: int) -> Bytes | None:
    """The bytes that a tensor certainly has, unless it is empty. None if the offset is no number."""
    if isinstance(size, p.IntImm) and size.value <= 0:
        return NOWHERE
    if not isinstance(offset, p.IntImm):
        return None
    least = bounds(_of_full(size))[0] if size is not None else None
    return offset.value, offset.value + max(width, least or 0)


def size_in_bytes(lengths: Sequence[p.PrimExpr], dtype: DType) -> p.PrimExpr | None:
    """The size of a tensor of these lengths. None if it does not fit int64: no memory holds this."""
    number, size = width(dtype), None
    for length in lengths:
        if isinstance(length, p.IntImm):
            number *= length.value
        else:
            size = length if size is None else p.Mul(size, length)
    try:
        factor = p.IntImm(number, INT64)
    except OverflowError:
        return None
    return factor if size is None or number == 0 else p.Mul(factor, size)


def width(dtype: DType) -> int:
    """The size of an element in bytes."""
    return (dtype.bits * dtype.lanes + 7) // 8
