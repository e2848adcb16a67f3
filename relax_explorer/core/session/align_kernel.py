"""Aligns the lines of a PrimFunc in two stages, and classifies each pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from relax_explorer.core.session.pairing import common_run
from relax_explorer.core.syntax.dialects import NEW
from relax_explorer.core.syntax.doc import Line
from relax_explorer.core.syntax.printer_tir import print_prim_func
from relax_explorer.core.tir.stmt import PrimFunc

Row = tuple[str, int | None, int | None, bool]
"""Kind, old line number, new line number, and True for a certain match."""


def kernel_lines(name: str, fn: PrimFunc) -> tuple[Line, ...]:
    """The printed lines of one PrimFunc, each with its statement."""
    return tuple([Line(line.text, line.node, name) for line in print_prim_func(fn, name, NEW, {})])


def align_lines(old: Sequence[Line], new: Sequence[Line]) -> list[Row]:
    """Rows in the order of the new text.

    Lines with equal text are the same. Between them, lines of one statement object are renamed, lines of statements of one
    kind are changed, and all others are removed or added.
    """
    same = common_run([line.text for line in old], [line.text for line in new])
    rows: list[Row] = []
    for (i0, j0), (i1, j1) in pairwise([(-1, -1), *same, (len(old), len(new))]):
        rows += _gap(old, new, range(i0 + 1, i1), range(j0 + 1, j1))
        if i1 < len(old):
            rows.append(("same", i1, j1, True))
    return rows


def _gap(old: Sequence[Line], new: Sequence[Line], left: range, right: range) -> Iterator[Row]:
    kinds = [
        [type(line.node).__name__ for line in lines]
        for lines in (old[left.start : left.stop], new[right.start : right.stop])
    ]
    places = [(left[x], right[y]) for x, y in common_run(kinds[0], kinds[1])]
    for (i0, j0), (i1, j1) in pairwise([(left.start - 1, right.start - 1), *places, (left.stop, right.stop)]):
        yield from [("removed", i, None, True) for i in range(i0 + 1, i1)]
        yield from [("added", None, j, True) for j in range(j0 + 1, j1)]
        if i1 < left.stop:
            is_one = old[i1].node is not None and old[i1].node is new[j1].node
            yield ("renamed" if is_one else "changed", i1, j1, is_one)
