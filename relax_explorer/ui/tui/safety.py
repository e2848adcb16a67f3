"""The last guards of the terminal, on the output of every widget: no control character, and on request nothing but ASCII."""

from __future__ import annotations

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from relax_explorer.viz.visible import ascii_cells, visible


class _Safe(LineFilter):
    """Replaces control characters, cell by cell."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same segments without control characters."""
        return [item if item.text.isprintable() else _replaced(item) for item in segments]


class _Ascii(LineFilter):
    """Replaces all other characters by ASCII, cell by cell, so that every screen keeps its layout."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same segments in ASCII."""
        return [
            item if item.text.isascii() else Segment(ascii_cells(item.text), item.style, item.control)
            for item in segments
        ]


def _replaced(segment: Segment) -> Segment:
    text = "".join(c if visible(c) == c else "�" for c in segment.text)
    return Segment(text, segment.style, segment.control)


SAFE = _Safe()
ASCII = _Ascii()
