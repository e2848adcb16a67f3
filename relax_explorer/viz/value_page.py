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


def value_page(name: str, value: Value) -> list[str]:
    """The lines of the page. A tuple shows its fields one after the other."""
    if type(value) is tuple:
        lines = [f"{visible(name)}: tuple of {len(value)}"]
        for number, item in enumerate(value):
            lines += ["", *value_page(f"{name}[{number}]", item)]
        return lines
    if not isinstance(value, np.ndarray):
        return [f"{visible(name)} = {visible(short_value(value, 2_000), 2_000)}"]
    return list(islice(_of_array(name, value), MOST_LINES))


def _of_array(name: str, array: Array) -> Iterator[str]:
    size = f"{array.size} elements, {array.nbytes} bytes"
    yield f"{visible(name)}: {short_dims(array.shape)} {short_dtype(array.dtype.name)}, {size}"
    found = summary(array)
    if found is not None:
        yield f"min {number_text(found.least)}   max {number_text(found.greatest)}   mean {number_text(found.mean)}   std {_deviation(array)}"
        yield f"distribution {sparkline(found.counts) or 'all equal'}   nan {found.nan}   inf {found.inf}"
    yield from _bad_places(array)
    yield ""
    yield from _elements(array)


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


def _elements(array: Array) -> Iterator[str]:
    """The elements: a line for each row of the last axis, under the index of its slice."""
    if array.ndim < 2:
        flat = array.reshape(-1)
        for start in range(0, flat.size, 8):
            yield f"[{start}] {' '.join(_cell(item) for item in flat[start : start + 8])}".rstrip()
        return
    for index in np.ndindex(*array.shape[:-2]):
        yield f"[{', '.join(map(str, (*index, ':', ':')))}]"
        for number, row in enumerate(array[index]):
            more = f" … {row.size - MOST_COLUMNS} more" if row.size > MOST_COLUMNS else ""
            yield f"{number:>5} {' '.join(_cell(item) for item in row[:MOST_COLUMNS])}{more}"


def _cell(item: Array) -> str:
    if item.dtype.kind in "biu":
        return f"{item!s:>6}"
    return f"{float(item):>10.4g}"
