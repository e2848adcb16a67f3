"""The tokens of a program as an editor has it: perhaps half typed. Statements in brackets over several lines are one logical line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from relax_explorer.ui.editor.document import Document, Position, Range

_TOKEN = re.compile(
    r"(?P<string>[rbfu]{0,2}(?:\"\"\".*?(?:\"\"\"|\Z)|'''.*?(?:'''|\Z)|\"(?:[^\"\\\n]|\\.)*\"?|'(?:[^'\\\n]|\\.)*'?))"
    r"|(?P<name>[^\W\d]\w*)|(?P<number>\.?\d(?:[\w.]|(?<=[eE])[+-])*)|(?P<comment>#[^\n]*)"
    r"|(?P<end>\n)|(?P<mark>->|[=!<>]=|//=?|[-+*/%@&|^]=|[^\w\s])",
    re.DOTALL,
)
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_STATEMENT = frozenset({"def", "class", "with", "return", "if", "else", "for"})


class Token(NamedTuple):
    """A token: its kind (string, name, number or mark), its text, its place, and the brackets around it."""

    kind: str
    text: str
    line: int
    column: int
    depth: int

    @property
    def range(self) -> Range:
        """Its place; a token has no line end but a string in three quotes, of which the first line counts."""
        width = len(self.text) if self.kind != "string" else len(self.text.partition("\n")[0])
        return Range(Position(self.line, self.column), Position(self.line, self.column + width))


@dataclass(frozen=True, slots=True)
class LogicalLine:
    """The tokens of a statement, or of the head of a block, and the column where it begins."""

    indent: int
    tokens: tuple[Token, ...]

    @property
    def first(self) -> str:
        """The text of its first token."""
        return self.tokens[0].text


def logical_lines(document: Document, lines: range) -> Iterator[LogicalLine]:
    """The logical lines of a part of a document.

    An open bracket that the user did not close yet ends where a line begins with a keyword of a statement, or a decorator.
    """
    number, start, depth = lines.start, 0, 0
    tokens: list[Token] = []
    text = "\n".join([document.line(line) for line in lines])
    for match in _TOKEN.finditer(text):
        kind, word = match.lastgroup or "", match[0]
        if kind == "end":
            if depth == 0 and tokens:
                yield LogicalLine(tokens[0].column, tuple(tokens))
                tokens = []
            number, start = number + 1, match.end()
            continue
        if kind == "comment":
            continue
        if depth and _begins(text, start, match):
            if tokens:
                yield LogicalLine(tokens[0].column, tuple(tokens))
            tokens, depth = [], 0
        depth -= word in _CLOSING and depth > 0
        tokens.append(Token(kind, word, number, match.start() - start, depth))
        depth += word in _OPENING
        if kind == "string" and "\n" in word:
            number, start = number + word.count("\n"), match.start() + word.rfind("\n") + 1
    if tokens:
        yield LogicalLine(tokens[0].column, tuple(tokens))


def _begins(text: str, start: int, match: re.Match[str]) -> bool:
    """True if a token inside of brackets begins a statement: the first word of its line is one that no expression begins with."""
    if match[0] not in _STATEMENT and match[0] != "@":
        return False
    return not text[start : match.start()].strip() and match[0] not in ("if", "else", "for")
