"""Files in the notations of type relations and of shape contracts, by their endings."""

from __future__ import annotations

from pathlib import Path

from relax_explorer.core.syntax.load import read_text
from relax_explorer.viz.contract_steps import ContractSteps
from relax_explorer.viz.relation_steps import RelationSteps
from relax_explorer.viz.solving import Solving

SOLVED: dict[str, type[RelationSteps] | type[ContractSteps]] = {
    ".relay": RelationSteps,
    ".shapes": ContractSteps,
}


def read_solving(path: str) -> Solving | None:
    """The steps of a file in one of these notations; None for any other file. Raises Failure or ParseError if it can't be read."""
    made = SOLVED.get(Path(path).suffix)
    return None if made is None else made(read_text(path), path)
