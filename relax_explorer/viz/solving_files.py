"""Files in the notations of type relations and of shape contracts, by their endings."""

from __future__ import annotations

from pathlib import Path

from relax_explorer.core.notations import CONTRACTS, RELATIONS
from relax_explorer.core.syntax.load import read_text
from relax_explorer.viz.contract_steps import ContractSteps
from relax_explorer.viz.relation_steps import RelationSteps
from relax_explorer.viz.solving import Solving

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
