"""Where a name is bound that is not defined at a place: below it, or in a dataflow block that has ended."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from relax_explorer.core.source import Source, Span
from relax_explorer.core.syntax import pieces


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A binding of a name that a place does not see: the sentence about it, what helps, and its place."""

    text: str
    help: str
    span: Span


def elsewhere(source: Source, fn: ast.FunctionDef | None, name: str, line: int) -> Elsewhere | None:
    """The binding of `name` in `fn` that a use in `line` of the file does not see; None if there is none."""
    found = [] if fn is None else list(_bindings(fn.body, name, None))
    below = [(at, column) for at, column, _ in found if at + source.above > line]
    ended = [(at, column, block) for at, column, block in found if block is not None]
    if below and len(below) == len(found):
        at, column = below[0]
        text = f"{name!r} is bound only in line {at + source.above}, below"
        return Elsewhere(text, "Move the binding above its use.", source.at(at, column))
    for at, column, block in ended:
        last = (block.end_lineno or block.lineno) + source.above
        if at + source.above < line and last < line:
            text = f"{name!r} ends with its dataflow block in line {last}"
            return Elsewhere(text, f"Name it in R.output({name}).", source.at(at, column))
    return None


def _bindings(
    body: list[ast.stmt], name: str, block: ast.With | None
) -> Iterator[tuple[int, int, ast.With | None]]:
    """The lines and columns that bind a name, each with the dataflow block around it. Nested functions have their own names."""
    for statement in body:
        if isinstance(statement, pieces.Run):
            for number, target in enumerate(statement.targets()):
                if target == name:
                    yield statement.first + number, statement.indent, block
        elif isinstance(statement, ast.With):
            yield from _bindings(statement.body, name, statement)
        elif isinstance(statement, ast.If):
            yield from _bindings([*statement.body, *statement.orelse], name, block)
        elif name in _targets(statement):
            yield statement.lineno, statement.col_offset, block


def _targets(statement: ast.stmt) -> list[str]:
    """The names that a statement binds itself."""
    if isinstance(statement, ast.FunctionDef):
        return [statement.name]
    bound = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
    items = [item for target in bound for item in getattr(target, "elts", [target])]
    return [item.id for item in items if isinstance(item, ast.Name)]
