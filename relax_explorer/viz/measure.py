"""Estimated sizes of text in pictures, without a font, so that every machine draws boxes of the same size."""

from __future__ import annotations

from relax_explorer.viz.visible import character_columns

FONT = "Helvetica, Arial, 'Liberation Sans', 'Nimbus Sans', 'DejaVu Sans', sans-serif"
TITLE_SIZE = 13.0
LINE_SIZE = 11.0
LABEL_SIZE = 10.5
LINE_HEIGHT = 1.25

_SLACK = 1.08
_BOLD = 1.07
_NARROW = {character: 0.3 for character in "iljtfIr.,:;'|!()[]{}/\\ -`\""}
_MIDDLE = {character: 0.56 for character in "abcdeghknopqsuvxyz0123456789_+=<>~$#*?^JLTFZ"}
_WIDTHS = _NARROW | _MIDDLE | {"m": 0.85, "w": 0.74, "M": 0.85, "W": 0.96, "%": 0.9, "@": 1.02, "…": 1.0}


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Upper estimate, in points, of the width of a line in a Helvetica-like face of the given size."""
    ems = sum(
        _WIDTHS.get(character, 0.74) if character < "\u0250" else character_columns(character) * 0.7 or 0.0
        for character in text
    )
    return ems * size * _SLACK * (_BOLD if bold else 1.0)
