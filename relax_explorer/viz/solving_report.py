"""The steps of a solver as one page: the result, every step with what happened in it, and the tables at the end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from relax_explorer.core.notations import CONTRACTS, RELATIONS
from relax_explorer.core.syntax.load import read_text
from relax_explorer.viz.report import panes_page
from relax_explorer.viz.solver_steps import ContractSteps, RelationSteps
from relax_explorer.viz.solving import Solving
from relax_explorer.viz.tables import Row, text_lines

# -- solving files ---------------------------------------------------------------------------------------------------
# Files in the notations of type relations and of shape contracts, by their endings.


SOLVED: dict[str, type[RelationSteps] | type[ContractSteps]] = {
    RELATIONS: RelationSteps,
    CONTRACTS: ContractSteps,
}


def read_solving(path: str, keep_branches: bool = False) -> Solving | None:
    """The steps of a file in one of these notations; None for any other file. Raises Failure or ParseError if it can't be read.

    With `keep_branches`, the bodies of functions with contracts are looked into at each call.
    """
    made = SOLVED.get(Path(path).suffix)
    if made is ContractSteps:
        return ContractSteps(read_text(path), path, keep_branches)
    return None if made is None else made(read_text(path), path)


# -- solving report --------------------------------------------------------------------------------------------------


def solving_report(solving: Solving) -> str:
    """A page that needs no network and runs no script."""
    tables = [(title, solving.table(name, solving.last).lines) for name, title in solving.titles.items()]
    panes = [
        ("Result", text_lines(solving.about(solving.last))),
        (f"{solving.count} steps", list(_steps(solving))),
        *[(title, list(map(_sentence, lines))) for title, lines in tables if lines],
    ]
    return panes_page(f"{Path(solving.path).name} · {solving.count} steps", panes)


def _steps(solving: Solving) -> Iterator[Row]:
    """Each step, and below it what happened; the end stands in the result."""
    for position in range(solving.last):
        yield _sentence(solving.line(position))
        yield from text_lines([f"        {text}" for text in solving.about(position)], "muted")


def _sentence(row: Row) -> Row:
    """A row that is no line of a program."""
    return replace(row, pieces=(("text", row.text),))
