"""The last guard of the terminal: no control character leaves the explorer, whatever a widget forgot."""

from __future__ import annotations

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from relax_explorer.viz.visible import visible


class _Safe(LineFilter):
    """Replaces control characters, cell by cell, in the output of every widget."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same segments without control characters."""
        return [item if item.text.isprintable() else _replaced(item) for item in segments]


def _replaced(segment: Segment) -> Segment:
    text = "".join(c if visible(c) == c else "�" for c in segment.text)
    return Segment(text, segment.style, segment.control)


SAFE = _Safe()
