"""How large the house is, by room; `python -m tests.support.house` prints the table.

A line of code is one that holds more than blanks, a comment, a docstring or an import. A line of a text over several lines is one of
code as well. Beside them stand the uses of `Any`: alone as the type of a parameter or a result, where nothing is checked any more, and
all others, such as the elements of a list.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.module_sizes import PACKAGE

_NO_CODE = frozenset(
    (
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENCODING,
        tokenize.ENDMARKER,
    )
)


@dataclass(frozen=True)
class Size:
    """The numbers of files, lines, lines of code, lines of imports and uses of `Any` of some modules.

    `untyped` counts the parameters and results that are `Any`, `inside` its other uses.
    """

    files: int = 0
    lines: int = 0
    code: int = 0
    imports: int = 0
    untyped: int = 0
    inside: int = 0

    def __add__(self, other: Size) -> Size:
        return Size(
            self.files + other.files,
            self.lines + other.lines,
            self.code + other.code,
            self.imports + other.imports,
            self.untyped + other.untyped,
            self.inside + other.inside,
        )

    def row(self, name: str) -> str:
        """A row of the table."""
        share = 100 * self.imports / max(self.lines, 1)
        sizes = f"{name:24}{self.files:6}{self.lines:9}{self.code:9}{self.imports:9}{share:6.1f} %"
        return f"{sizes}{self.untyped:9}{self.inside:8}"


def size_of(text: str) -> Size:
    """The size of one module, given its text."""
    tree = ast.parse(text)
    prose = {line for node in ast.walk(tree) for line in _docstring(node)}
    imports = {line for node in ast.walk(tree) for line in _import(node)}
    code = {line for line in _code_lines(text) if line not in prose and line not in imports}
    untyped = untyped_of(tree)
    uses = sum(1 for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "Any")
    return Size(1, len(text.splitlines()), len(code), len(imports), untyped, uses - untyped)


def untyped_of(tree: ast.Module) -> int:
    """The number of parameters and results of one module that are `Any`."""
    return sum(1 for node in ast.walk(tree) for annotation in _signature(node) if _is_any(annotation))


def _signature(node: ast.AST) -> Iterator[ast.expr | None]:
    """The types of the parameters and of the result of a function."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        own = node.args
        every = (*own.posonlyargs, *own.args, own.vararg, *own.kwonlyargs, own.kwarg)
        yield from [parameter.annotation for parameter in every if parameter is not None]
        yield node.returns


def _is_any(annotation: ast.expr | None) -> bool:
    """True for `Any`, also as one of several types."""
    if isinstance(annotation, ast.BinOp):
        return _is_any(annotation.left) or _is_any(annotation.right)
    return isinstance(annotation, ast.Name) and annotation.id == "Any"


def _docstring(node: ast.AST) -> Iterator[int]:
    """The lines of the texts that stand as statements: docstrings, and those below attributes."""
    if (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ):
        yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _import(node: ast.AST) -> Iterator[int]:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _code_lines(text: str) -> Iterator[int]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            yield from range(token.start[0], token.end[0] + 1)


def rooms(package: Path = PACKAGE) -> dict[str, Size]:
    """The size of each room: a folder of the first or, below `core`, second level, with all that it holds."""
    found: dict[str, Size] = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).parts[:-1]
        room = "/".join(parts[: 2 if parts[:1] in (("core",), ("ui",)) else 1]) or "."
        found[room] = found.get(room, Size()) + size_of(path.read_text(encoding="utf-8"))
    return found


def table(found: dict[str, Size]) -> str:
    """The rooms, and all together."""
    head = f"{'room':24}{'files':>6}{'lines':>9}{'code':>9}{'imports':>9}{'':8}{'untyped':>9}{'Any in':>8}"
    whole = sum(found.values(), Size())
    return "\n".join([head, *[size.row(name) for name, size in found.items()], whole.row("all")])


if __name__ == "__main__":
    print(table(rooms()))  # noqa: T201  # a table for people, in CI and at a terminal
