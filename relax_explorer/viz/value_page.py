"""A value on a page of its own: its numbers, where it is not finite, and its elements slice by slice."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from relax_explorer.core.exec.values import Value
from relax_explorer.viz.short import short_dims, short_dtype, short_value
from relax_explorer.viz.value_table import number_text, sparkline, summary
from relax_explorer.viz.visible import visible

Array = np.ndarray[Any, Any]
MOST_PLACES = 8  # of NaN and infinities
MOST_LINES = 2_000  # of elements
MOST_COLUMNS = 64
ROW_NUMBER = 5  # cells


def value_page(name: str, value: Value, width: int) -> list[str]:
    """The lines of the page; elements fit into `width` cells. A tuple shows its fields one after the other."""
    if type(value) is tuple:
        lines = [f"{visible(name)}: tuple of {len(value)}"]
        for number, item in enumerate(value):
            lines += ["", *value_page(f"{name}[{number}]", item, width)]
        return lines
    if not isinstance(value, np.ndarray):
        return [f"{visible(name)} = {visible(short_value(value, 2_000), 2_000)}"]
    return list(islice(_of_array(name, value, width), MOST_LINES))


def _of_array(name: str, array: Array, width: int) -> Iterator[str]:
    size = f"{array.size} elements, {array.nbytes} bytes"
    yield f"{visible(name)}: {short_dims(array.shape)} {short_dtype(array.dtype.name)}, {size}"
    found = summary(array)
    if found is not None:
        yield f"min {number_text(found.least)}   max {number_text(found.greatest)}   mean {number_text(found.mean)}   std {_deviation(array)}"
        yield f"distribution {sparkline(found.counts) or 'all equal'}   nan {found.nan}   inf {found.inf}"
    yield from _bad_places(array)
    yield ""
    yield from _elements(array, width)


def _deviation(array: Array) -> str:
    with np.errstate(all="ignore"):
        numbers = array.astype(np.float64)
        finite = numbers[np.isfinite(numbers)]
        return number_text(float(finite.std())) if finite.size else "–"


def _bad_places(array: Array) -> Iterator[str]:
    """The first elements that are not finite."""
    if array.dtype.kind in "biu" or not array.size:
        return
    with np.errstate(all="ignore"):
        bad = np.argwhere(~np.isfinite(array.astype(np.float64)))
    for place in bad[:MOST_PLACES]:
        index = ", ".join(map(str, place.tolist()))
        yield f"‼ [{index}] = {array[tuple(place)]}"
    if len(bad) > MOST_PLACES:
        yield f"‼ and {len(bad) - MOST_PLACES} more"


def _elements(array: Array, width: int) -> Iterator[str]:
    """The elements: a line for each row of the last axis, under the index of its slice. Columns that don't fit follow below."""
    wide = _width(array)
    if array.ndim < 2:
        flat = array.reshape(-1)
        count = max(1, min(8, (width - len(f"[{flat.size}]")) // (wide + 1)))
        for start in range(0, flat.size, count):
            yield f"[{start}] {' '.join(_cell(item, wide) for item in flat[start : start + count])}".rstrip()
        return
    shown = min(array.shape[-1], MOST_COLUMNS)
    count = max(1, (width - ROW_NUMBER) // (wide + 1))
    for index in np.ndindex(*array.shape[:-2]):
        for first in range(0, shown, count) or (0,):
            last = min(first + count, shown)
            yield _slice_title(array, index, first, last)
            for number, row in enumerate(array[index]):
                yield f"{number:>{ROW_NUMBER}} {' '.join(_cell(item, wide) for item in row[first:last])}".rstrip()
        if array.shape[-1] > shown:
            yield f"{'':>{ROW_NUMBER}} … {array.shape[-1] - shown} more columns"


def _slice_title(array: Array, index: tuple[int, ...], first: int, last: int) -> str:
    """The index of a slice, and which of its columns follow, unless all do."""
    columns = (
        ""
        if last - first >= array.shape[-1]
        else f"  columns {first} to {last - 1}"
        if last - first > 1
        else f"  column {first}"
    )
    return f"[{', '.join(map(str, (*index, ':', ':')))}]{columns}"


def _width(array: Array) -> int:
    """The cells of the widest element: four digits with sign and exponent, or a whole number."""
    if array.dtype.kind in "iu" and array.size:
        return max(6, len(str(array.min())), len(str(array.max())))
    return 6 if array.dtype.kind in "biu" else 11 if array.dtype.itemsize > 4 else 10


def _cell(item: Array, wide: int) -> str:
    text = str(item) if item.dtype.kind in "biu" else f"{float(item):.4g}"
    return f"{text:>{wide}}"
