"""Split lines of TVMScript into pieces with roles, for highlighting."""

from __future__ import annotations

import keyword
import re
from functools import lru_cache

Piece = tuple[str, str]  # role, text
# Our own: Pygments needs 30 ms to load and 15 times as long for a line.
_TOKEN = re.compile(
    r"""(?P<text>\s+)
    |(?P<comment>\#.*)
    |(?P<decorator>@[\w.]+)
    |(?P<string>"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?)
    |(?P<number>\.?\d(?:[\w.]|(?<=e)[+-])*)
    |(?P<name>\w+)
    |(?P<punctuation>\.|[^\w\s"'\#@.]+|@)""",
    re.VERBOSE | re.DOTALL,
)
_HEADS = frozenset({"R", "T", "I", "cls"})
LIMIT = 4000  # a longer line is shown without colours: they would slow down every key press


@lru_cache(maxsize=4_000)
def highlight(line: str) -> tuple[Piece, ...]:
    """The pieces of one line, in order; joined, their texts are the line.

    Roles are comment, keyword, string, number, decorator, module (`R`), operator (`matmul` in `R.matmul`), type (`Tensor`),
    function (`add` in `cls.add`), punctuation, name and text.
    """
    if len(line) > LIMIT:
        return (("text", line),)
    pieces: list[Piece] = []
    path: list[str] = []  # the dotted name so far: R . nn . relu
    for token in _TOKEN.finditer(line):
        role, text = str(token.lastgroup), token[0]
        if role == "name" and keyword.iskeyword(text):
            role = "keyword"
        if role == "name":
            role = _name_role(text, path)
            path = [*path, text] if path or text in _HEADS else []
        elif text != ".":
            path = []
        pieces.append((role, text))
    return tuple(pieces)


def _name_role(text: str, path: list[str]) -> str:
    if not path:
        return "module" if text in _HEADS else "name"
    if path[0] == "cls":
        return "function"
    return "type" if text[:1].isupper() or path[0] == "T" else "operator"
