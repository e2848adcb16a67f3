"""A small map of a drawing in terminal cells, in braille: each cell holds two by four dots."""

from __future__ import annotations

from collections.abc import Collection

from relax_explorer.viz.cells import CellPicture

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_EMPTY = 0x2800


def mini_map(picture: CellPicture, width: int, height: int, marked: Collection[int] = ()) -> list[list[str]]:
    """The map in cells: boxes as dots, `~` where a marked box stands."""
    masks = [[0] * width for _ in range(height)]
    for box in picture.boxes:
        x, y = _scaled(box.middle, picture.width, 2 * width), _scaled(box.top + 1, picture.height, 4 * height)
        masks[y // 4][x // 2] |= _DOTS[y % 4][x % 2]
    cells = [[chr(_EMPTY + mask) if mask else " " for mask in row] for row in masks]
    for number in marked:
        row, column = place_of(picture, number, width, height)
        cells[row][column] = "~"
    return cells


def place_of(picture: CellPicture, number: int, width: int, height: int) -> tuple[int, int]:
    """The row and the column of the map in which a box stands."""
    box = picture.boxes[number]
    return _scaled(box.top + 1, picture.height, height), _scaled(box.middle, picture.width, width)


def window(start: int, shown: int, whole: int, cells: int) -> range:
    """The cells of a map, along one side, that stand for the visible part."""
    first = _scaled(start, whole, cells)
    last = _scaled(min(start + shown, whole) - 1, whole, cells)
    return range(first, last + 1)


def _scaled(place: int, whole: int, cells: int) -> int:
    return max(0, min(cells - 1, place * cells // max(1, whole)))
