"""The steps of a solver as one page: the result, every step with what happened in it, and the tables at the end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from relax_explorer.core.notations import CONTRACTS, RELATIONS
from relax_explorer.core.syntax.load import read_text
from relax_explorer.viz.report import Pane, PaneLine, panes_page
from relax_explorer.viz.solver_steps import ContractSteps, RelationSteps
from relax_explorer.viz.solving import Line, Solving

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
    last = solving.last
    tables = [
        Pane(title, [_line(line) for line in solving.table(name, last).lines])
        for name, title in solving.titles.items()
    ]
    panes = [
        Pane("Result", [PaneLine("", (("text", text),)) for text in solving.about(last)]),
        Pane(f"{solving.count} steps", _steps(solving)),
        *[pane for pane in tables if pane.lines],
    ]
    return panes_page(f"{Path(solving.path).name} · {solving.count} steps", panes)


def _steps(solving: Solving) -> Sequence[PaneLine]:
    """Each step, and below it what happened; the end stands in the result."""
    found = []
    for position in range(solving.last):
        found.append(_line(solving.line(position)))
        found += [PaneLine("", (("muted", f"        {text}"),)) for text in solving.about(position)]
    return found


def _line(line: Line) -> PaneLine:
    return PaneLine(line.gutter.strip(), (("text", line.text),))
