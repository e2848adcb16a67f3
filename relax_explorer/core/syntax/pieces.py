"""Parses long bodies in pieces. Python's tree takes 16 KB per binding, so runs of plain lines are parsed only when read.

`cut` takes the runs out of a text and puts a placeholder in the place of each. The remaining skeleton has the same number of
lines. A line is plain if it looks like a complete binding. When the run is parsed and a line is something else,
`NotInPieces` is raised, and the text is read as a whole.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from relax_explorer.core.syntax.long_lines import LONGEST
from relax_explorer.core.syntax.python_tree import python_tree

LARGE = 40_000  # characters; the tree of a shorter text is small, and as fast
_SHORTEST, _PIECE = 16, 32  # lines: shorter runs aren't cut out, longer ones are parsed in pieces
_BINDING = re.compile(r"([ \t]+)[A-Za-z_]\w*(?:: \S.*)? = (?!T\.)\S.*[)\w\]]$")
_UNSAFE = re.compile(r"[#\\']|\"\"\"")


class NotInPieces(Exception):
    """Some lines that looked plain are not. The text must be read as a whole."""


class Run(ast.stmt):
    """A placeholder in a body for a run of plain lines."""

    def __init__(self, lines: list[str], first: int, indent: int) -> None:
        super().__init__()
        self.lines, self.first, self.indent = lines, first, indent
        self.lineno, self.end_lineno = first, first + len(lines) - 1
        end = len(lines[-1].encode("utf-8", "surrogatepass"))
        self.col_offset, self.end_col_offset, self.width = indent, end, end - indent

    def targets(self) -> list[str]:
        """The names that the lines bind."""
        return [line[self.indent :].split(":")[0].split(" ")[0] for line in self.lines]

    def pieces(self) -> Iterator[tuple[int, list[ast.stmt]]]:
        """The statements in chunks of lines, each with the number of lines before it. Raises NotInPieces."""
        for start in range(0, len(self.lines), _PIECE):
            part = self.lines[start : start + _PIECE]
            yield self.first - 1 + start, _statements([line[self.indent :] for line in part])


def _statements(lines: list[str]) -> list[ast.stmt]:
    try:
        body = python_tree("\n".join(lines)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise NotInPieces from None
    if [node.lineno for node in body] != list(range(1, len(lines) + 1)):
        raise NotInPieces
    return body


def cut(text: str) -> tuple[str, dict[int, Run]]:
    """The skeleton of `text`, and the removed runs by last line. A short text has no runs.

    A placeholder is a name that ends where its run ends, so the surrounding tree keeps its positions.
    """
    if len(text) < LARGE:
        return text, {}
    quotes = text.find('"""')
    lines = text.split("\n")
    limit = len(lines) if quotes < 0 else text.count("\n", 0, quotes)
    runs: dict[int, Run] = {}
    start, indent = 0, ""
    for number in range(limit + 1):
        match = _plain(lines[number]) if number < limit else None
        if match is not None and match[1] == indent:
            continue
        if number - start >= _SHORTEST and indent:
            runs[number] = Run(lines[start:number], start + 1, len(indent))
        start, indent = number, match[1] if match is not None else ""
    for last, run in runs.items():
        lines[run.first - 1 : last] = [""] * len(run.lines)
        lines[last - 1] = " " * run.indent + "_" * run.width
    return "\n".join(lines), runs


def _plain(line: str) -> re.Match[str] | None:
    match = _BINDING.match(line) if len(line) <= LONGEST else None
    return match if match is not None and _UNSAFE.search(line) is None else None


def put_back(tree: ast.Module, runs: dict[int, Run]) -> None:
    """Replace each placeholder in the skeleton's tree by its run. Raises NotInPieces if one is not a statement."""
    missing = dict(runs)
    stack: list[ast.AST] = [tree]
    while stack and missing:
        node = stack.pop()
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            if not isinstance(body, list):
                continue
            for number, statement in enumerate(body):
                run = missing.get(statement.lineno)
                if run is not None and isinstance(statement, ast.Expr) and statement.col_offset == run.indent:
                    body[number] = missing.pop(statement.lineno)
                elif isinstance(statement, (ast.ClassDef, ast.FunctionDef, ast.With, ast.If)):
                    stack.append(statement)
    if missing:
        raise NotInPieces
