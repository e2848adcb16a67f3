"""Values of a run as rows of a table: shape, range, distribution, mean, and how many elements are not finite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_explorer.core.exec.values import Value
from relax_explorer.viz.short import short_dims, short_dtype, short_value
from relax_explorer.viz.visible import columns, fit, visible

BLOCKS = "▁▂▃▄▅▆▇█"
BINS = 8
MOST = 1 << 20
"""Elements that a summary reads. A larger array is sampled at equal distances, and its row is marked with ≈."""
_LEAST, _GREATEST, _MEAN = 8, 8, 9  # cells of the columns with numbers
_BEHIND = _LEAST + BINS + _GREATEST + _MEAN + 10  # cells behind the shape, with the count of NaN


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
    finite = numbers[np.isfinite(numbers)]
    nan = int(np.isnan(numbers).sum())
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


def value_row(name: str, value: Value, width: int, name_width: int) -> str:
    """One value in one line of at most `width` cells: columns for an array, the value for others."""
    left = f"{fit(visible(name), name_width):<{name_width}} "
    found = summary(value)
    if found is None or (isinstance(value, np.ndarray) and value.ndim == 0):
        return left + fit(visible(short_value(value, 200)), max(8, width - columns(left)))
    assert isinstance(value, np.ndarray)  # only arrays have summaries
    kind = f"{'≈' if found.is_sampled else ''}{short_dims(value.shape)} {short_dtype(value.dtype.name)}"
    cells = _cells(found)
    room = kind_width(width, name_width)
    return f"{left}{fit(kind, room):<{room}} {cells}".rstrip()


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


def kind_width(width: int, name_width: int) -> int:
    """The cells of the column with shapes."""
    return max(12, min(24, width - name_width - _BEHIND))


def _cells(found: Summary) -> str:
    if not found.counts and np.isnan(found.least):
        shown = ["–", "", "–", "–"]
    else:
        shown = [
            number_text(found.least),
            sparkline(found.counts),
            number_text(found.greatest),
            number_text(found.mean),
        ]
    bad = f"‼{found.nan} {found.inf}" if found.nan or found.inf else "0"
    least, bars, greatest, mean = shown
    return f"{least:>{_LEAST}} {bars:<{BINS}} {greatest:<{_GREATEST}} {mean:>{_MEAN}}  {bad}"


def value_head(width: int, name_width: int) -> str:
    """The titles of the columns."""
    room = kind_width(width, name_width)
    return f"{'name':<{name_width}} {'value':<{room}} {'min':>{_LEAST}} {'':<{BINS}} {'max':<{_GREATEST}} {'mean':>{_MEAN}}  nan inf"
