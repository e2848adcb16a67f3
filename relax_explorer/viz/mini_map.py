"""A small map of a drawing in terminal cells, in braille: each cell holds two by four dots."""

from __future__ import annotations

from collections.abc import Collection

from relax_explorer.viz.cells import CellPicture

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_EMPTY = 0x2800


def mini_map(
    picture: CellPicture, width: int, height: int, cursor: int, marked: Collection[int] = ()
) -> list[list[str]]:
    """The map in cells: boxes as dots, `~` where a marked box stands, `*` at the cursor."""
    masks = [[0] * width for _ in range(height)]
    glyphs: dict[tuple[int, int], str] = {}
    for number, box in enumerate(picture.boxes):
        middle = box.top + 1
        x, y = _scaled(box.middle, picture.width, 2 * width), _scaled(middle, picture.height, 4 * height)
        masks[y // 4][x // 2] |= _DOTS[y % 4][x % 2]
        if number in marked:
            glyphs[y // 4, x // 2] = "~"
    if picture.boxes:
        box = picture.boxes[cursor]
        row, column = _scaled(box.top + 1, picture.height, height), _scaled(box.middle, picture.width, width)
        glyphs[row, column] = "*"
    return [
        [glyphs.get((y, x), chr(_EMPTY + mask) if mask else " ") for x, mask in enumerate(row)]
        for y, row in enumerate(masks)
    ]


def window(start: int, shown: int, whole: int, cells: int) -> range:
    """The cells of a map, along one side, that stand for the visible part."""
    first = _scaled(start, whole, cells)
    last = _scaled(min(start + shown, whole) - 1, whole, cells)
    return range(first, last + 1)


def _scaled(place: int, whole: int, cells: int) -> int:
    return max(0, min(cells - 1, place * cells // max(1, whole)))
