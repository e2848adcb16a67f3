"""Remove the annotations of bindings from TVMScript, so that their types have to be inferred again."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def strip_binding_annotations(text: str) -> str:
    """Return `text` without the annotations on assignments in Relax functions.

    Parameters, results and PrimFuncs keep theirs, and so does a declaration without a value. Raises SyntaxError if the
    text is not Python.
    """
    lines = [line.encode() for line in text.splitlines(keepends=True)]
    cuts = sorted(_annotation_cuts(ast.parse(text)), reverse=True)
    for (first, start), (last, end) in cuts:
        tail = lines[last][end:]
        # A binding that spans several lines continues on the first one.
        lines[first] = lines[first][:start] + tail
        for number in range(first + 1, last + 1):
            lines[number] = b""
    return b"".join(lines).decode()


def _annotation_cuts(tree: ast.Module) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    for function in ast.walk(tree):
        if not (isinstance(function, ast.FunctionDef) and _is_relax_function(function)):
            continue
        # `ast.walk` reaches an inner function by itself, with its own decorator.
        for node in _own_statements(function.body):
            if isinstance(node, ast.AnnAssign) and node.value is not None:
                target, annotation = node.target, node.annotation
                start = (_line(target.end_lineno), _column(target.end_col_offset))
                yield start, (_line(annotation.end_lineno), _column(annotation.end_col_offset))


def _own_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, ast.With | ast.If):
            yield from _own_statements(statement.body)
        if isinstance(statement, ast.If):
            yield from _own_statements(statement.orelse)


def _is_relax_function(node: ast.FunctionDef) -> bool:
    return any(ast.unparse(decorator).startswith("R.function") for decorator in node.decorator_list)


def _line(number: int | None) -> int:
    assert number is not None  # nodes of ast.parse always have an end
    return number - 1


def _column(offset: int | None) -> int:
    assert offset is not None  # as above
    return offset
