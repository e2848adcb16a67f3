"""Split lines of TVMScript into pieces with roles, for highlighting: the only module that uses Pygments."""

from __future__ import annotations

from functools import lru_cache

from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, _TokenType

Piece = tuple[str, str]  # role, text
_ROLES: tuple[tuple[_TokenType, str], ...] = (
    (Comment, "comment"),
    (Keyword, "keyword"),
    (String, "string"),
    (Number, "number"),
    (Name.Decorator, "decorator"),
    (Name.Namespace, "module"),
    (Operator, "punctuation"),
    (Punctuation, "punctuation"),
    (Name, "name"),
)
_HEADS = frozenset({"R", "T", "I", "cls"})
_LEXER = PythonLexer(stripnl=False, ensurenl=False)
LIMIT = 4000  # a longer line is shown without colours: they would slow down every key press


@lru_cache(maxsize=4_000)
def highlight(line: str) -> tuple[Piece, ...]:
    """The pieces of one line, in order; joined, their texts are the line.

    Roles are comment, keyword, string, number, decorator, module (`R`), operator (`matmul` in `R.matmul`), type (`Tensor`),
    punctuation, name and text.
    """
    if len(line) > LIMIT:
        return (("text", line),)
    pieces: list[Piece] = []
    path: list[str] = []  # the dotted name so far: R . nn . relu
    for kind, text in _LEXER.get_tokens(line):
        if not text:
            continue
        role = next((name for token, name in _ROLES if kind in token), "text")
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
