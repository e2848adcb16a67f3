"""Make text of a user's program safe to show: characters that steer a terminal or a parser become visible escapes."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

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


def visible_lines(text: str) -> str:
    """Make text of several lines safe without cutting it; its line breaks and tabs stay."""
    return "".join(
        piece
        if piece in ("\n", "\t") or (piece.isascii() and piece.isprintable())
        else "".join(_pieces(piece))
        for piece in _LINES.findall(text)
    )


def visible_json(value: object, indent: int | None = None) -> str:
    """Data as JSON in which unsafe characters of strings are `\\u` escapes: the same data when read back."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return text if _PLAIN_JSON.fullmatch(text) else _ODD.sub(_json_escape, text)


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
