"""The table of pairs of values: its columns at each width, distances as numbers and bars, and the line along a run."""

from __future__ import annotations

import math

import pytest

from relax_explorer.core.session.compare import Pairing, Side
from relax_explorer.core.session.difference import Delta
from relax_explorer.viz.pair_table import (
    PairTable,
    distance_bar,
    distance_number,
    distances_line,
    largest,
    place_in_line,
)
from relax_explorer.viz.visible import columns

WIDTHS = pytest.mark.parametrize("width", [54, 74, 110, 190])


def pair(
    name: str, max_abs: float = 0.0, reason: str = "", other: str = "", shape: tuple[int, ...] | None = (2, 3)
) -> Pairing:
    side = Side("main", name, "vm.builtin.op", "", 0, (), shape)
    b = Side("main", other or name, "vm.builtin.op", "", 0, (), shape)
    return Pairing(side, b, Delta(reason, max_abs, 3, 0.5, 2, 6, (0, 1), "1", "2"), "name")


ROWS = (
    pair("same"),
    pair("near", 1.79e-7),
    pair("far", 2.5, "values", "other"),
    pair("shaped", math.inf, "a tensor (2,) of float32 against a tensor (3,) of float32"),
    Pairing(Side("main", "gone"), None),
    Pairing(None, Side("main", "数" * 30)),
    Pairing(Side("main", "big"), Side("main", "big"), None, "not kept"),
)


@WIDTHS
def test_every_column_begins_below_its_name(width: int) -> None:
    table = PairTable.of(width)
    head = table.columns.heading
    rows = [table.row(item) for item in ROWS]
    for row in (head, *rows):
        cells = [columns(row[:n]) for n, character in enumerate(row) if character == "│"]
        assert cells == [table.name + 1], row
    assert rows[0].index("(2, 3)") == head.index("shape")
    assert ("cos" in head) is (width >= 105)
    assert ("operation" in head) is (width >= 150)
    assert ("0.500000" in rows[2]) is (width >= 105)
    assert rows[0].split()[-1] == "0"  # the mark of the row tells that it is equal
    assert [row.rsplit("  ", 1)[-1].strip() for row in rows[4:]] == ["only in A", "only in B", "not kept"]
    assert "1.79e−7 ▪" in rows[1]
    assert not rows[1].endswith("6")
    assert rows[2].endswith(" 2 of 6")
    assert "DIFFERENT, a tensor (2,) of float32 against" in rows[3]


def test_a_tuple_has_no_shape() -> None:
    table = PairTable.of(74)
    assert "(" not in table.row(pair("t", shape=None))
    assert "()" in table.row(pair("s", shape=()))


@pytest.mark.parametrize(
    ("distance", "text"),
    [
        (0.0, "0"), (1.79e-7, "1.79e−7"), (6.0e-10, "6.00e−10"), (0.25, "0.25"), (999.0, "999"), (1000.0, "1.00e+03"),
        (6.57e12, "6.57e+12"), (1e300, "1.00e+300"), (math.inf, "inf"), (math.nan, "nan"),
    ],
)  # fmt: skip
def test_a_distance_is_short(distance: float, text: str) -> None:
    assert distance_number(distance) == text
    assert len(text) <= 9


def test_bars_grow_with_the_logarithm_of_the_distance() -> None:
    bars = [
        distance_bar(Delta("", size), 8)
        for size in (0.0, 1e-12, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1.0, math.inf, math.nan)
    ]
    assert bars[0] == ""
    assert [len(bar) for bar in bars[1:]] == [1, 1, 2, 4, 6, 8, 8, 8, 8]
    assert {bar.strip("▪") for bar in bars[1:]} == {""}
    assert [len(distance_bar(Delta("", size), 4)) for size in (1e-8, 1e-7, 1e-6, 1e-4)] == [1, 1, 2, 4]


def test_the_line_along_the_run_has_a_block_for_each_pair() -> None:
    line = distances_line(ROWS, 100)
    assert line == "▁▃██   "
    crowded = distances_line([pair(str(n), 1e-6 if n == 57 else 0.0) for n in range(100)], 10)
    assert len(crowded) == 10
    assert [n for n, block in enumerate(crowded) if block != "▁"] == [5]
    assert place_in_line(57, 100, 10) == 5
    assert [place_in_line(n, 3, 10) for n in range(3)] == [0, 1, 2]
    assert distances_line([], 10) == ""


def test_what_differs_is_further_apart_than_what_does_not() -> None:
    assert largest(ROWS) is ROWS[3]
    assert largest([pair("a", 5.0), pair("b", 0.1, "values")]) == pair("b", 0.1, "values")
    assert largest([pair("a"), Pairing(Side("main", "gone"), None)]) is None
    assert largest([pair("a"), pair("b", 1e-9)]) == pair("b", 1e-9)
