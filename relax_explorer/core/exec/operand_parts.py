"""The elements of the operands that made one element of a result, for operators where this can be told.

Element-wise operators and broadcasting, operators that only move elements, reductions, softmax, normalizations, cumulative
sums and matrix products. For other operators there is no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_explorer.core.exec.values import Shape, Value
from relax_explorer.core.ops.kit.decl import Fusion, Op

Selection = tuple[int | slice, ...]
"""An index of an array: an element, or along some axes a slice."""
Parts = list[Selection | None]
"""One selection for each operand, tuples flattened; None for an operand without part in the element."""
_ALL = slice(None)


@dataclass(frozen=True, slots=True)
class Place:
    """One element of a value: the path to an array in tuples, and the index in the array."""

    path: tuple[int, ...]
    index: tuple[int, ...]


_OWN_BROADCAST = frozenset({"relax.nn.prelu", "relax.outer", "relax.nn.dropout"})
_MOVED_MOST = 1 << 22  # elements of the operands that are numbered to find a moved one


def parts(
    op: type[Op], attrs: Mapping[str, Any], operands: Sequence[Value], result: Value, place: Place
) -> Parts | None:
    """The parts of the operands that made one element of a result; None if it can't be told."""
    array = part_at(result, place.path)
    special = _SPECIAL.get(op.name)
    if special is not None:
        return special(attrs, operands, array, place.index)
    if op.fusion in (Fusion.ELEMENTWISE, Fusion.BROADCAST) and op.name not in _OWN_BROADCAST:
        found = _broadcast(operands, array, place.index)
        if found is not None:
            return found
    if op.fusion in (Fusion.INJECTIVE, Fusion.BROADCAST):
        return _moved(op, attrs, operands, array, place)
    return _reduced(attrs, operands, array, place.index) if op.fusion is Fusion.REDUCE else None


def part_at(value: Value, path: Sequence[int]) -> Value:
    """The field of a value at a path of tuple indices."""
    for number in path:
        value = value[number]
    return value


def written(selection: Selection) -> str:
    """A selection as text: `[0, 3, :]`."""
    return f"[{', '.join([_axis(part) for part in selection])}]"


def _axis(part: int | slice) -> str:
    return ":" if part == _ALL else f":{part.stop}" if isinstance(part, slice) else str(part)


def _broadcast(operands: Sequence[Value], result: Any, index: tuple[int, ...]) -> Parts | None:
    arrays = [value for value in operands if isinstance(value, np.ndarray)]
    try:
        shape = np.broadcast_shapes(*[array.shape for array in arrays])
    except ValueError:
        return None
    if not arrays or shape != result.shape:
        return None
    return [aligned(value, index) for value in operands]


def aligned(value: Value, index: tuple[int, ...]) -> Selection | None:
    """The element of an operand that broadcasting brings to `index`; None for a value that is no array."""
    if not isinstance(value, np.ndarray):
        return None
    places = index[len(index) - value.ndim :]
    return tuple([place if length > 1 else 0 for place, length in zip(places, value.shape, strict=True)])


def _moved(
    op: type[Op], attrs: Mapping[str, Any], operands: Sequence[Value], result: Any, place: Place
) -> Parts | None:
    """Evaluate the operator on the numbers of the elements, so that the result tells where each one came from."""
    numbered, count = [], 0
    for value in operands:
        value, count = _numbered(value, count)
        numbered.append(value)
    if not 0 < count <= _MOVED_MOST or op.evaluate is None:
        return None
    missing = [None] * (len(op.operands) - len(operands)) if not op.variadic else []
    try:
        with np.errstate(all="ignore"):
            moved = part_at(op.evaluate(*numbered, *missing, **attrs), place.path)
    except (ValueError, TypeError, IndexError):
        return None
    if not isinstance(moved, np.ndarray) or moved.shape != result.shape:
        return None
    return _owner(flat(operands), float(moved[place.index]), result[place.index])


def flat(operands: Sequence[Value]) -> list[Value]:
    """The operands with the fields of tuples in their place."""
    return [
        item
        for value in operands
        for item in (flat(value) if isinstance(value, tuple) and not isinstance(value, Shape) else (value,))
    ]


def _is_float(value: Value) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind not in "biu"


def _numbered(value: Value, count: int) -> tuple[Value, int]:
    """A float array with the numbers of its elements from `count` on; also inside tuples. Other values stay."""
    if type(value) is tuple:
        fields = []
        for item in value:
            item, count = _numbered(item, count)
            fields.append(item)
        return tuple(fields), count
    if not _is_float(value):
        return value, count
    return np.arange(count, count + value.size, dtype=np.float64).reshape(value.shape), count + value.size


def _owner(operands: Sequence[Value], number: float, element: Any) -> Parts | None:
    """The element with a number. It must equal the element of the result, else the operator did not only move it."""
    found: Parts = []
    start = 0
    for value in operands:
        own: Selection | None = None
        if _is_float(value):
            place = number - start
            if 0 <= place < value.size and place == int(place):
                own = tuple(map(int, np.unravel_index(int(place), value.shape)))
                if np.asarray(value[own]).tobytes() != np.asarray(element).tobytes():
                    return None
            start += value.size
        found.append(own)
    return found if any(part is not None for part in found) else None


def _reduced(
    attrs: Mapping[str, Any], operands: Sequence[Value], result: Any, index: tuple[int, ...]
) -> Parts | None:
    x = operands[0]
    if not isinstance(x, np.ndarray) or "axis" not in attrs:
        return None
    axes = _axes(attrs["axis"], x.ndim)
    places = iter(index)
    if attrs.get("keepdims"):
        return [tuple([_ALL if axis in axes else index[axis] for axis in range(x.ndim)])]
    return [tuple([_ALL if axis in axes else next(places) for axis in range(x.ndim)])]


def _axes(axis: int | Sequence[int] | None, rank: int) -> set[int]:
    """The axes that an attribute names; all if it is None."""
    named = range(rank) if axis is None else (axis,) if isinstance(axis, int) else axis
    return {int(n) % rank for n in named} if rank else set()


def _along(
    attrs: Mapping[str, Any], operands: Sequence[Value], result: Any, index: tuple[int, ...]
) -> Parts | None:
    """The whole row along an axis (softmax)."""
    axes = _axes(attrs.get("axis"), len(index))
    return [tuple([_ALL if axis in axes else place for axis, place in enumerate(index)])]


def _before(
    attrs: Mapping[str, Any], operands: Sequence[Value], result: Any, index: tuple[int, ...]
) -> Parts | None:
    """The elements up to this one along an axis (cumulative sums)."""
    if attrs.get("axis") is None:
        flat = int(np.ravel_multi_index(index, result.shape)) if index else 0
        return [(slice(flat + 1),)] if operands[0].ndim == 1 else None
    axes = _axes(attrs["axis"], len(index))
    return [tuple([slice(place + 1) if axis in axes else place for axis, place in enumerate(index)])]


def _normalized(
    attrs: Mapping[str, Any], operands: Sequence[Value], result: Any, index: tuple[int, ...]
) -> Parts | None:
    """The row that is normalized, and the element of each factor (layer_norm, rms_norm)."""
    axes = _axes(attrs.get("axes"), len(index))
    row = tuple([_ALL if axis in axes else place for axis, place in enumerate(index)])
    own = tuple([index[axis] for axis in sorted(axes)])
    return [row, *[own if np.ndim(value) == len(own) else None for value in operands[1:]]]


def _product(
    attrs: Mapping[str, Any], operands: Sequence[Value], result: Any, index: tuple[int, ...]
) -> Parts | None:
    """A row of the left matrix and a column of the right one."""
    left, right = operands[:2]
    places = list(index)
    column = places.pop() if right.ndim > 1 else None
    row = places.pop() if left.ndim > 1 else None
    own = [_batch(array, tuple(places)) for array in (left, right)]
    return [
        (*own[0], *(() if row is None else (row,)), _ALL),
        (*own[1], _ALL, *(() if column is None else (column,))),
    ]


def _batch(array: Any, places: tuple[int, ...]) -> Selection:
    lengths = array.shape[:-2]
    own = places[len(places) - len(lengths) :]
    return tuple([place if length > 1 else 0 for place, length in zip(own, lengths, strict=True)])


_SPECIAL: dict[str, Callable[[Mapping[str, Any], Sequence[Value], Any, tuple[int, ...]], Parts | None]] = {
    "relax.matmul": _product,
    "relax.nn.softmax": _along,
    "relax.nn.log_softmax": _along,
    "relax.nn.layer_norm": _normalized,
    "relax.nn.rms_norm": _normalized,
    "relax.cumsum": _before,
    "relax.cumprod": _before,
}
