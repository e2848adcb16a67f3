"""`run --expect`: compare the results of a run with expected results from a file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import click
import numpy as np

from relax_explorer.core.session.arrays import read_arrays, read_as
from relax_explorer.ui.cli import output

_NAME = re.compile(r"out([0-9]{1,9})")
_NUMBERS = "biuf"


def compare(results: Sequence[Any], path: str, rtol: float, atol: float) -> int:
    """Compare result N with the entry `outN` of the file, and print the outcome. Returns the exit status."""
    found = read_arrays(path, wanted=_NAME.fullmatch)
    numbered = {int(hit[1]): array for key, array in found.items() if (hit := _NAME.fullmatch(key))}
    if sorted(numbered) != list(range(len(results))):
        has = ", ".join(f"out{number}" for number in sorted(numbered)) or "none"
        output.say(f"{path} has the results {has}; the function has {len(results)}, from out0 on", err=True)
        return output.FOUND
    alike = [
        _compared(number, value, _read_as(numbered[number], value, f"out{number} of {path}"), rtol, atol)
        for number, value in enumerate(results)
    ]
    return output.OK if all(alike) else output.FOUND


def _read_as(stored: Any, value: Any, what: str) -> Any:
    """An array from the file. Files store dtypes unknown to numpy as raw bytes; these take the dtype of the result."""
    if stored.dtype.names is not None or stored.dtype.subdtype is not None:
        raise click.UsageError(f"{what} is an array of records: no result can be compared with it")
    return read_as(stored, getattr(value, "dtype", None))


def _compared(number: int, value: Any, expected: Any, rtol: float, atol: float) -> bool:
    got = np.asarray(value)
    if got.shape != expected.shape:
        output.say(f"out{number}: DIFFERS, its shape is {got.shape}, expected is {expected.shape}", err=True)
        return False
    left, right = _numbers(got), _numbers(expected)
    if left is None or right is None:
        same = left is right is None and bool(np.array_equal(got, expected))
        output.say(f"out{number}: {'equal' if same else 'DIFFERS'}", err=True)
        return same
    same = bool(np.allclose(left, right, rtol=rtol, atol=atol, equal_nan=True))
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.where((left == right) | (np.isnan(left) & np.isnan(right)), 0.0, np.abs(left - right))
    worst = float(apart.max()) if apart.size else 0.0
    output.say(
        f"out{number}: {'equal' if same else 'DIFFERS'} within rtol {rtol:g}, largest difference {worst:.3g}",
        err=True,
    )
    return same


def _numbers(array: Any) -> Any:
    """The elements as float64, or None when they are not numbers."""
    if array.dtype.kind in _NUMBERS or (
        array.dtype.kind == "V" and array.dtype.names is None and array.dtype.name[:4] != "void"
    ):
        return array.astype(np.float64)
    return None
