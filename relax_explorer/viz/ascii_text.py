"""Text with ASCII characters only, cell for cell, for terminals and fonts without others. Columns stay aligned."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from relax_explorer.viz.visible import character_columns

_MARKS = {
    "·": ".", "×": "x", "ƒ": "f", "Δ": "d", "–": "-", "—": "-", "‹": "<", "›": ">", "‼": "!", "←": "<", "→": ">", "↑": "^", "↓": "v",
    "↔": "=", "−": "-", "≈": "~", "≠": "#", "≤": "<", "≥": ">", "⊥": "?", "▶": ">", "▸": ">", "▾": "v", "▴": "^", "◀": "<", "▼": "v",
    "▲": "^", "△": "^", "◆": "&", "○": "o", "●": "*", "✓": "v", "✔": "v", "✗": "x", "▌": "|", "▐": "|", "▊": "|", "▎": "|", "▏": "|", "▕": "|",
    "▔": "-", "⊞": "m", "⊟": "s", "▀": "^", "░": ".", "▒": ":", "▓": "%", "…": "~", "▪": "*",
}  # fmt: skip
_BARS = dict(zip("▁▂▃▄▅▆▇█", "_.:-=+*#", strict=True))  # the distribution of a value
_BOXES = range(0x2500, 0x2580)
_BRAILLE = range(0x2800, 0x2900)


def ascii_cells(text: str) -> str:
    """The text with ASCII characters of the same width. A letter loses its accents; what has no likeness is `?`."""
    return text if text.isascii() else "".join(map(_cell, text))


@lru_cache(maxsize=4096)
def _cell(character: str) -> str:
    if character.isascii():
        return character
    known = _MARKS.get(character) or _BARS.get(character)
    if known is not None:
        return known
    code, width = ord(character), character_columns(character)
    if code in _BOXES:
        return _line(unicodedata.name(character))
    if code in _BRAILLE:
        return " " if code == _BRAILLE.start else "*"
    plain = "".join(c for c in unicodedata.normalize("NFKD", character) if not unicodedata.combining(c))
    return plain if plain.isascii() and len(plain) == width else "?" * width


def _line(name: str) -> str:
    """A piece of a frame by its name in Unicode. Heavy and double lines, which mark the focus, differ from light ones."""
    is_strong = ("HEAVY" in name or "DOUBLE" in name) and "LIGHT" not in name and "SINGLE" not in name
    has_sides = "HORIZONTAL" in name or "LEFT" in name or "RIGHT" in name
    has_ends = "VERTICAL" in name or "UP" in name or "DOWN" in name
    if (has_sides and has_ends) or "ARC" in name or "DIAGONAL" in name:
        return "#" if is_strong else "+"
    if has_ends:
        return "#" if is_strong else "|"
    return "=" if is_strong else "-"
