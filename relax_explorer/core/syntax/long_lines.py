"""Detects statements that are too long. Python's tree takes a hundred times the memory of the text, so it is not built."""

from __future__ import annotations

import re

LONGEST = 1_000_000  # characters of a statement, without strings and comments
_MARK = re.compile(r"[\"'#()\[\]{}\n]")
_SKIPPED = re.compile(
    r'"""|\'\'\'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|\'[^\'\\\n]*(?:\\.[^\'\\\n]*)*\'|#[^\n]*', re.DOTALL
)


def first_too_long(text: str) -> int | None:
    """The start of the first statement that is too long, or None.

    Here a statement is a line, with all lines that its brackets join to it.
    """
    if len(text) <= LONGEST:
        return None
    start = depth = skipped = 0
    mark = _MARK.search(text)
    while mark is not None:
        place, end = mark.span()
        if place - start - skipped > LONGEST:
            return start
        character = mark[0]
        if character in "\"'#":
            end = _after(text, place)
            skipped += end - place
        elif character == "\n":
            if depth == 0 and text[place - 1] != "\\":
                start, skipped = end, 0
        else:
            depth = max(depth + (1 if character in "([{" else -1), 0)
        mark = _MARK.search(text, end)
    return start if len(text) - start - skipped > LONGEST else None


def _after(text: str, place: int) -> int:
    """The end of the string or comment that starts at `place`. An unclosed string ends with its line."""
    opening = _SKIPPED.match(text, place)
    if opening is None:
        close = text.find("\n", place)
        return len(text) if close < 0 else close
    if opening[0] not in ('"""', "'''"):
        return opening.end()
    close = text.find(opening[0], opening.end())
    return len(text) if close < 0 else close + 3
