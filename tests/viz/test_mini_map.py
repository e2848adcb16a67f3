"""The map of a drawing: a dot for each box, signs for changes, and the cells that stand for the visible part."""

from __future__ import annotations

from relax_explorer.viz.cells import cell_picture, mini_map, place_of, window
from tests.viz.graphs import decoder


def test_each_box_has_a_dot_and_marked_ones_a_sign() -> None:
    picture = cell_picture(decoder(3))
    cells = mini_map(picture, 30, 20, marked=[5])
    assert [len(row) for row in cells] == [30] * 20
    row, column = place_of(picture, 5, 30, 20)
    assert cells[row][column] == "~"
    assert sum(cell == "~" for line in cells for cell in line) == 1
    dots = sum(bin(ord(cell) - 0x2800).count("1") for line in cells for cell in line if cell not in " ~")
    assert 0.6 * len(picture.boxes) <= dots <= len(picture.boxes)
    top, bottom = place_of(picture, 0, 30, 20), place_of(picture, len(picture.boxes) - 1, 30, 20)
    assert top[0] < bottom[0] == 19


def test_the_window_covers_what_is_visible() -> None:
    assert window(0, 50, 100, 10) == range(5)
    assert window(50, 50, 100, 10) == range(5, 10)
    assert window(0, 500, 100, 10) == range(10)
    assert window(99, 1, 100, 10) == range(9, 10)
