"""Texts that change piece by piece: positions in the units of a client, every kind of line end, and edits as increments."""

from __future__ import annotations

import random
import re

import pytest

from relax_explorer.ui.editor.document import (
    Document,
    Position,
    Range,
    TextEdit,
    column_of,
    units_of,
    with_edits,
)

CHARACTERS = ["a", "b", " ", "\n", "\r\n", "\r", "é", "😀", "𝕏", "\t", "\x0b", "\u2028", "\x85", "\ud800"]


def random_text(chance: random.Random, most: int = 14) -> str:
    return "".join(chance.choice(CHARACTERS) for _ in range(chance.randrange(most)))


@pytest.mark.parametrize("seed", range(300))
def test_lines_end_as_the_protocol_says(seed: int) -> None:
    """LF, CRLF and CR end lines, and no other character does. The reader of programs sees the same lines."""
    document = Document("x", random_text(random.Random(seed)))
    lines = re.split("\r\n|\r|\n", document.text)
    assert [document.line(number) for number in range(len(document.starts))] == lines
    assert document.plain.split("\n") == lines
    for line, text in enumerate(lines):
        for column in range(len(text) + 1):
            position = Position(line, column)
            assert document.position(document.offset(position)) == position
    assert document.whole == Range(Position(0, 0), Position(len(lines) - 1, len(lines[-1])))


@pytest.mark.parametrize("seed", range(300))
def test_edits_as_increments(seed: int) -> None:
    chance = random.Random(seed)
    document = Document("x", random_text(chance))
    for _ in range(5):
        first, last = sorted(chance.randrange(len(document.text) + 1) for _ in range(2))
        place = Range(document.position(first), document.position(last))
        first, last = document.offset(place.start), document.offset(place.end)  # none is inside of CRLF
        new = random_text(chance, 4)
        expected = document.text[:first] + new + document.text[last:]
        document = document.edited(TextEdit(place, new))
        assert document.text == expected


@pytest.mark.parametrize("seed", range(200))
def test_units(seed: int) -> None:
    """Columns in bytes, 16-bit units and code points, as Python encodes them."""
    line = random_text(random.Random(seed)).replace("\r", "").replace("\n", "")
    for column in range(len(line) + 1):
        before = line[:column]
        counts = {
            "utf-8": len(before.encode("utf-8", "surrogatepass")),
            "utf-16": len(before.encode("utf-16-le", "surrogatepass")) // 2,
            "utf-32": column,
        }
        for kind in ("utf-8", "utf-16", "utf-32"):
            assert units_of(line, column, kind) == counts[kind]
            assert column_of(line, counts[kind], kind) == column


def test_a_place_inside_of_a_character_means_its_start() -> None:
    assert [column_of("a😀b", units, "utf-16") for units in range(-1, 7)] == [0, 0, 1, 1, 2, 3, 3, 3]
    assert [column_of("é", units, "utf-8") for units in range(4)] == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("position", "offset"),
    [((-1, 5), 0), ((0, 99), 2), ((0, -3), 0), ((1, 1), 4), ((1, 9), 6), ((2, 0), 7), ((9, 9), 7)],
)
def test_a_position_outside_means_the_nearest_inside(position: tuple[int, int], offset: int) -> None:
    assert Document("x", "ab\nöde\n").offset(Position(*position)) == offset


def test_several_edits_are_in_the_positions_of_the_old_text() -> None:
    places = [(0, 0, 0, 1), (0, 3, 1, 1), (1, 2, 1, 2)]
    edits = [TextEdit(Range(Position(a, b), Position(c, d)), "X") for a, b, c, d in places]
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        assert with_edits(Document("x", "abcd\nefg"), [edits[n] for n in order]).text == "XbcXfXg"
