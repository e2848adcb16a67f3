"""Values of a run as rows of a table: shape, range, distribution, mean, and how many elements are not finite."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np

from relax_explorer.core.exec.values import Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import facts, has_facts
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.prim_text import tuple_text
from relax_explorer.viz.short import short_dtype, short_value
from relax_explorer.viz.tables import Column, Columns, cell
from relax_explorer.viz.visible import columns, fit, visible

BLOCKS = "▁▂▃▄▅▆▇█"
BINS = 8
MOST = 1 << 20
"""Elements that a summary reads. A larger array is sampled at equal distances, and its row is marked with ≈."""
_BEHIND = BINS + 35  # cells behind the shape, with the count of NaN


@dataclass(frozen=True, slots=True)
class Summary:
    """What a table shows of an array: least, greatest and mean finite number, counts by bin, NaN and infinities."""

    least: float
    greatest: float
    mean: float
    counts: tuple[int, ...]
    nan: int
    inf: int
    is_sampled: bool = False


def summary(value: Value, most: int = MOST) -> Summary | None:
    """The summary of an array of numbers with elements, read from at most `most` of them; None for other values."""
    if not isinstance(value, np.ndarray) or not value.size or value.dtype.kind in "SUO":
        return None
    flat = value.reshape(-1)
    is_sampled = flat.size > most
    if is_sampled:
        flat = flat[:: -(-flat.size // most)]
    with np.errstate(all="ignore"):
        numbers = flat.astype(np.float64)
    is_finite = np.isfinite(numbers)
    finite = numbers if is_finite.all() else numbers[is_finite]  # most arrays, which are not copied then
    nan = 0 if finite is numbers else int(np.isnan(numbers).sum())
    inf = int(numbers.size - finite.size - nan)
    if not finite.size:
        return Summary(np.nan, np.nan, np.nan, (), nan, inf, is_sampled)
    least, greatest = float(finite.min()), float(finite.max())
    with np.errstate(all="ignore"):
        mean = float(finite.mean())
    return Summary(least, greatest, mean, _counts(finite, least, greatest), nan, inf, is_sampled)


def _counts(finite: np.ndarray[Any, Any], least: float, greatest: float) -> tuple[int, ...]:
    width = greatest - least
    if not np.isfinite(width) or width == 0:
        return ()
    bins = np.minimum(((finite - least) * (BINS / width)).astype(np.int64), BINS - 1)
    return tuple(np.bincount(bins, minlength=BINS).tolist())


def sparkline(counts: tuple[int, ...]) -> str:
    """Counts as blocks, the fullest bin highest; an empty bin is a space."""
    most = max(counts, default=0)
    return "".join(BLOCKS[max(0, -(-count * len(BLOCKS) // most) - 1)] if count else " " for count in counts)


def number_text(number: float) -> str:
    """A number with three digits."""
    return f"{number:.3g}".replace("-", "−")


@lru_cache(maxsize=32)
def value_columns(width: int, name_width: int) -> Columns:
    """The columns of a table of values in so many cells, of which the names take some."""
    kind = max(12, min(24, width - name_width - _BEHIND))
    least, most = Column("min", 8, ">", is_whole=True), Column("max", 8, is_whole=True)
    bars, mean = Column(" " * (BINS + 1)), Column("mean", 9, ">", is_whole=True)
    return Columns(
        [Column("name", name_width), Column("value", kind), least, bars, most, mean, Column(" nan inf")]
    )


def value_row(name: str, value: Value, width: int, name_width: int) -> str:
    """One value in one line of at most `width` cells: columns for an array, the value for others."""
    found = summary(value)
    if found is None or (isinstance(value, np.ndarray) and value.ndim == 0):
        left = cell(visible(name), name_width)
        return f"{left} {fit(visible(short_value(value, 200)), max(8, width - columns(left) - 1))}"
    assert isinstance(value, np.ndarray)  # only arrays have summaries
    kind = f"{'≈' if found.is_sampled else ''}{tuple_text(value.shape)} {short_dtype(value.dtype.name)}"
    return value_columns(width, name_width).line(visible(name), kind, *_numbers(found))


INLINE = 28  # cells of a value beside its binding
_FEW = 1 << 14  # elements that are read for it: it is drawn for each visible line, at each step


def inline_value(value: Value) -> str:
    """A value beside the binding that made it, in `INLINE` cells: distribution and range, or what is not finite."""
    found = summary(value, _FEW)
    if found is None or (isinstance(value, np.ndarray) and value.ndim == 0):
        text = "" if isinstance(value, tuple) else f" {visible(short_value(value, INLINE))}"
    else:
        bad = found.nan + found.inf
        numbers = (
            f"‼ {bad} not finite" if bad else f"{number_text(found.least)} … {number_text(found.greatest)}"
        )
        text = f"{'≈' if found.is_sampled else ' '}{sparkline(found.counts):<{BINS}} {numbers}"
    text = fit(text, INLINE)
    return text + " " * (INLINE - columns(text))


def _numbers(found: Summary) -> list[str]:
    """Least, distribution, greatest, mean, and how many elements are NaN and infinite."""
    bad = f" ‼{found.nan} {found.inf}" if found.nan or found.inf else " 0"
    if not found.counts and np.isnan(found.least):
        return ["–", " " * (BINS + 1), "–", "–", bad]
    least, greatest, mean = map(number_text, (found.least, found.greatest, found.mean))
    return [least, f"{sparkline(found.counts):<{BINS}} ", greatest, mean, bad]


# -- value readers ---------------------------------------------------------------------------------------------------
# Where the values of a function come from, and which binding reads each last: two columns of a table of values.


CELLS = 30  # of both columns
_SINCE = 7
_FOUND: PerNode[Readers] = PerNode()


class Readers:
    """The bindings of a function by the names of their variables."""

    def __init__(self, fn: e.Function) -> None:
        derived = facts(fn)
        self._bindings, self._uses = derived.bindings, derived.uses
        self._named = {var.name: (var, number) for var, number in derived.defs.items()}
        self._params = {param.name: param for param in fn.params}

    def cells(self, name: str) -> str:
        """The columns of a value: its binding, as `#3` or `param`, and its last reader; blank for a name from elsewhere."""
        var, number = self._named.get(name, (self._params.get(name), -1))
        if var is None:
            return " " * CELLS
        since = f"#{number + 1}" if number >= 0 else "param"
        return fit(f"{since:<{_SINCE}}{self._reader(var)}", CELLS).ljust(CELLS)

    def _reader(self, var: e.Var) -> str:
        last = max(self._uses.get(var, []), default=None)
        if last is None:
            return "none"
        if last == len(self._bindings):
            return "return"
        read_by = self._bindings[last].var
        return f"#{last + 1}" if read_by is None else f"{visible(read_by.name, 40)} #{last + 1}"


def readers(fn: e.Function) -> Readers:
    """The readers of a function, found once."""
    return _FOUND.of(fn, Readers)


def known_readers(fn: e.Function) -> Readers | None:
    """The readers of a function, if they are known or found at once."""
    return readers(fn) if has_facts(fn) else _FOUND.get(id(fn))


HEAD = f"{'since':<{_SINCE}}last reader".ljust(CELLS)


# -- value page ------------------------------------------------------------------------------------------------------
# A value on a page of its own: its numbers, where it is not finite, and its elements slice by slice.


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
    yield f"{visible(name)}: {tuple_text(array.shape)} {short_dtype(array.dtype.name)}, {size}"
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
    columns = f"  columns {first} to {last - 1}" if last - first > 1 else f"  column {first}"
    shown = "" if last - first >= array.shape[-1] else columns
    return f"[{', '.join(map(str, (*index, ':', ':')))}]{shown}"


def _width(array: Array) -> int:
    """The cells of the widest element: four digits with sign and exponent, or a whole number."""
    if array.dtype.kind in "iu" and array.size:
        return max(6, len(str(array.min())), len(str(array.max())))
    return 6 if array.dtype.kind in "biu" else 11 if array.dtype.itemsize > 4 else 10


def _cell(item: Array, wide: int) -> str:
    text = str(item) if item.dtype.kind in "biu" else f"{float(item):.4g}"
    return f"{text:>{wide}}"
