"""The texts in a Jupyter notebook (https://nbformat.readthedocs.io): its cells, and what they printed. Nothing is executed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.diagnostics import Diagnostic, Label, ParseError
from relax_explorer.core.source import Source
from relax_explorer.core.syntax.finder import Found, programs, without_escapes

_MARK = '"nbformat"'
_BETWEEN = "\n%\n"  # no program goes on behind such a line


@dataclass(frozen=True, slots=True)
class Cell:
    """One text of a notebook, and where it stands: `cell 7`, or `cell 7, output`."""

    place: str
    text: str


def is_notebook(text: str) -> bool:
    """True if a text may be a notebook, perhaps one that was cut off."""
    return text.lstrip()[:1] == "{" and (
        _MARK in text[:4096] or _MARK in text[-4096:] or '"cell_type"' in text[:4096]
    )


def cells(text: str, name: str) -> list[Cell]:
    """The texts of a notebook in order. Raises ParseError if it is damaged."""
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise _damaged(name, "the notebook is damaged, or was cut off", line) from None
    found = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(found, list):
        raise _damaged(name, "the notebook has no list of cells (its format is older than 4)", 1)
    return [
        cell
        for number, item in enumerate(found, 1)
        if isinstance(item, dict)
        for cell in _texts(item, number)
    ]


def found_in(texts: list[Cell]) -> list[tuple[Cell, Found]]:
    """The programs in the cells of a notebook. Definitions of earlier cells hold in later ones."""
    joined = _BETWEEN.join([cell.text for cell in texts])
    starts, line = [], 1
    for cell in texts:
        starts.append(line)
        line += cell.text.count("\n") + _BETWEEN.count("\n")
    found = []
    for item in programs(joined):
        place = max(n for n, start in enumerate(starts) if start <= item.first)
        above = starts[place] - 1
        found.append((texts[place], replace(item, first=item.first - above, last=item.last - above)))
    return found


def _texts(cell: dict[str, Any], number: int) -> Iterator[Cell]:
    yield Cell(f"cell {number}", _joined(cell.get("source")))
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        if isinstance(output, dict):
            data = output.get("data")
            text = _joined(output.get("text")) or _joined(
                data.get("text/plain") if isinstance(data, dict) else None
            )
            if text:
                yield Cell(f"cell {number}, output", text)


def _joined(value: object) -> str:
    """A text that a notebook holds as one string, or as a list of lines."""
    if isinstance(value, list):
        value = "".join([item for item in value if isinstance(item, str)])
    return without_escapes(value).replace("\r\n", "\n").replace("\r", "\n") if isinstance(value, str) else ""


def _damaged(name: str, text: str, line: int) -> ParseError:
    source = Source("\n" * (line - 1), name)
    help = "save it again in Jupyter, or copy the module into a text file"
    return ParseError(Diagnostic(codes.UNREADABLE, text, (Label(source.span(line, 0), "", True),), help=help))
