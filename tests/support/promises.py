"""The rows of `differences.md` that hold for every program: functions from TVM's result to the result that we promise instead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import relax_explorer as rxe
from relax_explorer.core.program.module import IRModule

if TYPE_CHECKING:
    from tests.support.judged import Results

Promise = Callable[["Results", IRModule], IRModule]
"""From TVM's result to ours. Both results are there for a row about one node, such as a number that is rounded otherwise."""


@dataclass(frozen=True)
class Row:
    """A row by its first words, the passes that it is about, and what it promises instead of TVM's result."""

    row: str
    passes: frozenset[str]
    promise: Promise


ROWS: list[Row] = []
"""Narrow ones first. One that has nothing to say about a result returns the same object."""


def promised_by(results: Results) -> tuple[str, ...]:
    """The rows that lead from TVM's result to ours: one alone, else all that change it, one after another. Empty if none do."""
    theirs = results.theirs
    assert theirs is not None
    known = [row for row in ROWS if results.of.name in row.passes]
    for row in known:
        changed = row.promise(results, theirs)
        if changed is not theirs and results.is_promised(rxe.normalize(changed)):
            return (row.row,)
    used, promised = [], theirs
    for row in known:
        changed = row.promise(results, promised)
        if changed is not promised:
            promised = rxe.normalize(changed)
            used.append(row.row)
    return tuple(used) if len(used) > 1 and results.is_promised(promised) else ()
