"""Statements that are too long to be read: Python's tree takes a hundred times the memory of the text, so they are refused before."""

from __future__ import annotations

import re

LONGEST = 1_000_000  # characters of a statement, beside strings and comments
_MARK = re.compile(r"[\"'#()\[\]{}\n]")
_SKIPPED = re.compile(
    r'"""|\'\'\'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|\'[^\'\\\n]*(?:\\.[^\'\\\n]*)*\'|#[^\n]*', re.DOTALL
)


def first_too_long(text: str) -> int | None:
    """Where the first statement starts that is too long; None when there is none.

    A statement is a line here, with those that its brackets join to it.
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
    """Where the string or comment ends that starts at `place`; a string that nothing closes, at the end of its line."""
    opening = _SKIPPED.match(text, place)
    if opening is None:
        close = text.find("\n", place)
        return len(text) if close < 0 else close
    if opening[0] not in ('"""', "'''"):
        return opening.end()
    close = text.find(opening[0], opening.end())
    return len(text) if close < 0 else close + 3
