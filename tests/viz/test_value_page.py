"""A value on a page of its own: every element that is shown is shown whole, at any width."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relax_explorer.viz.value_table import MOST_COLUMNS, value_page, value_row
from relax_explorer.viz.visible import columns


def elements(lines: list[str]) -> list[str]:
    """The lines behind the summary."""
    return lines[lines.index("") + 1 :]


@pytest.mark.parametrize("width", [1, 20, 40, 72, 134])
@pytest.mark.parametrize(
    "array",
    [
        np.linspace(-1e-7, 1e7, 2 * 3 * 16, dtype=np.float32).reshape(2, 3, 16),
        np.linspace(-1e300, 1e-300, 40).reshape(5, 8),
        np.arange(64, dtype=np.int64).reshape(4, 16) * -(10**17),
        np.array([[True, False] * 20]),
        np.arange(100, dtype=np.float16),
        np.full((2, 7), np.nan, np.float32),
        np.zeros((3, 0), np.float32),
        np.zeros((0, 3), np.float32),
        np.array(1.5, np.float32),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_elements_are_whole_and_in_columns(array: np.ndarray[Any, Any], width: int) -> None:
    shown = elements(value_page("x", array, width))
    rows = [line for line in shown if not line.startswith("[") or array.ndim < 2]
    numbers = [
        float(word) if word not in ("True", "False") else word == "True"
        for row in rows
        for word in row.split()[1:]
    ]
    expected = [float(f"{float(item):.4g}") for item in array.reshape(-1)]
    if array.dtype.kind in "biu":
        expected = [float(item) for item in array.reshape(-1)]
    assert np.array_equal(sorted(map(float, numbers)), sorted(expected), equal_nan=True)
    if width >= 20:
        least = 5 + max([len(line.split()[-1]) for line in rows if line.split()[1:]], default=0) + 2
        assert all(len(line) <= max(width, least) for line in rows), rows


def test_columns_that_do_not_fit_follow_below() -> None:
    array = np.arange(2 * 2 * 5, dtype=np.int32).reshape(2, 2, 5)
    assert elements(value_page("x", array, 27)) == [
        "[0, :, :]  columns 0 to 2",
        "    0      0      1      2",
        "    1      5      6      7",
        "[0, :, :]  columns 3 to 4",
        "    0      3      4",
        "    1      8      9",
        "[1, :, :]  columns 0 to 2",
        "    0     10     11     12",
        "    1     15     16     17",
        "[1, :, :]  columns 3 to 4",
        "    0     13     14",
        "    1     18     19",
    ]
    assert elements(value_page("x", array[0], 40))[0] == "[:, :]"
    assert elements(value_page("x", array[0], 33))[3:] == ["[:, :]  column 4", "    0      4", "    1      9"]


def test_many_columns_are_cut_and_counted() -> None:
    lines = elements(value_page("x", np.zeros((1, MOST_COLUMNS + 3), bool), 80))
    assert lines[-1] == "      … 3 more columns"
    assert lines[0] == "[:, :]  columns 0 to 9"
    assert lines[-3] == f"[:, :]  columns 60 to {MOST_COLUMNS - 1}"


def test_the_fields_of_a_tuple_have_the_same_width() -> None:
    lines = value_page("t", (np.zeros((1, 9), np.float32), (np.zeros((1, 9), np.float32),)), 40)
    assert lines[0] == "t: tuple of 2"
    assert "t[1][0]: (1, 9) f32, 9 elements, 36 bytes" in lines
    assert max(map(len, (line for line in lines if line.startswith("    0")))) <= 40


def test_slices_without_columns_keep_their_rows() -> None:
    assert elements(value_page("x", np.zeros((2, 0), np.float32), 40)) == ["[:, :]", "    0", "    1"]


def test_a_row_of_values_keeps_its_columns() -> None:
    """Names in wide characters take as many cells as others, and no number is cut."""
    wide, narrow = [value_row(name, np.ones(3, "float32"), 80, 10) for name in ("名前", "name")]
    assert columns(wide[: wide.index("(3,)")]) == columns(narrow[: narrow.index("(3,)")])
    assert "−1.23e+20" in value_row("x", np.array([-1.234e20, 0.0]), 80, 10)
