"""Make text of a user's program safe to show: characters that steer a terminal or a parser become visible escapes."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from relax_explorer.version import __version__

_COMBINING_LIMIT = 4
_UNSAFE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_LINES = re.compile(r"[\n\t]|[^\n\t]+")
_PLAIN_JSON = re.compile(r"[\n -~]*")
_ODD = re.compile(r"[^\n -~]")


def escape_character(character: str) -> str:
    """The visible form of one character: `\\n`, `\\x1b`, `\\u202e` or `\\U000e0041`."""
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(character)
    if named is not None:
        return named
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def visible(text: str, limit: int = 400) -> str:
    """One line of text without control, format, bidi, unassigned or lone surrogate characters, cut at `limit`.

    Unsafe characters become escapes. More than four combining marks in a row become escapes too, so that they cannot
    cover neighbouring text. A cut is marked with `…`, and the result is never longer than `limit`.
    """
    head = text[: limit + 1]
    if not (head.isascii() and head.isprintable()):
        head = "".join(_pieces(head))
    return head if len(head) <= limit else head[: limit - 1] + "…"


def counted(number: int, noun: str) -> str:
    """`1 binding`, `2 bindings`."""
    return f"{number} {noun}{'s' * (number != 1)}"


def visible_lines(text: str) -> str:
    """Make text of several lines safe without cutting it; its line breaks and tabs stay."""
    return "".join(
        piece
        if piece in ("\n", "\t") or (piece.isascii() and piece.isprintable())
        else "".join(_pieces(piece))
        for piece in _LINES.findall(text)
    )


def visible_json(value: object, indent: int | None = None) -> str:
    """Data as JSON in which unsafe characters of strings are `\\u` escapes: the same data when read back.

    NaN and infinities become strings, arrays lists, mappings with other keys those with texts, and all other objects their texts.
    """
    text = json.dumps(_json_value(value), indent=indent, ensure_ascii=False)
    return text if _PLAIN_JSON.fullmatch(text) else _ODD.sub(_json_escape, text)


def json_document(schema: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """Data with the tool, its version and the schema before it."""
    return {"tool": "relax-explorer", "version": __version__, "schema": f"rxe.{schema}/1", **content}


def _json_value(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json_value(item) for item in value]
    if hasattr(value, "tolist"):
        return _json_value(value.tolist())
    return value if isinstance(value, (str, int, bool, type(None))) else str(value)


def fields_of(value: object, names: str) -> dict[str, Any]:
    """Fields of a value as data for JSON, in this order: `name`, or `key=field` for another key.

    `line=span.line` is None where there is no span: objects that are no nodes have none.
    """
    row: dict[str, Any] = {}
    for name in names.split():
        key, _, path = name.partition("=")
        part: Any = value
        for step in (path or key).split("."):
            if part is not None:
                part = getattr(part, step, None) if step == "span" else getattr(part, step)
        row[key] = part
    return row


def _json_escape(match: re.Match[str]) -> str:
    character = match.group()
    if unicodedata.category(character) not in _UNSAFE:
        return character
    return json.dumps(character)[1:-1] if ord(character) > 0x7F else f"\\u{ord(character):04x}"


def _pieces(text: str) -> Iterator[str]:
    marks = 0
    for character in text:
        category = unicodedata.category(character)
        marks = marks + 1 if category in {"Mn", "Me"} else 0
        yield escape_character(character) if category in _UNSAFE or marks > _COMBINING_LIMIT else character


def columns(text: str) -> int:
    """The number of terminal cells of a visible text: two for wide characters, none for combining marks."""
    return len(text) if text.isascii() else sum(map(character_columns, text))


@lru_cache(maxsize=4096)
def character_columns(character: str) -> int:
    """The number of terminal cells of one visible character: 0, 1 or 2."""
    if unicodedata.category(character) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def fit(text: str, width: int, ellipsis: str = "…") -> str:
    """A visible text cut to at most `width` cells, with an ellipsis at the cut."""
    if columns(text) <= width:
        return text
    if width <= columns(ellipsis):
        return ellipsis[: max(width, 0)]
    taken, kept = 0, []
    for character in text:
        taken += character_columns(character)
        if taken > width - columns(ellipsis):
            break
        kept.append(character)
    return "".join(kept) + ellipsis


# -- ascii text ------------------------------------------------------------------------------------------------------
# Text with ASCII characters only, cell for cell, for terminals and fonts without others. Columns stay aligned.


_MARKS = {
    "·": ".", "×": "x", "↻": "*", "ƒ": "f", "Δ": "d", "–": "-", "—": "-", "‹": "<", "›": ">", "‼": "!", "←": "=", "→": ">", "↑": "^", "↓": "v",
    "↔": "=", "−": "-", "≈": ":", "≠": "#", "≤": "<", "≥": ">", "⊥": "?", "▶": ">", "▸": ">", "▾": "v", "▴": "^", "◀": "<", "▼": "v",
    "▲": "^", "△": "^", "◆": "&", "○": "o", "●": "*", "✓": "V", "✔": "V", "✗": "x", "▌": "|", "▐": "|", "▊": "|", "▎": "|", "▏": "|", "▕": "|",
    "▔": "-", "⊞": "m", "⊟": "s", "▀": "^", "░": ".", "▒": ":", "▓": "%", "…": "~", "▪": "*", "»": "%",
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
