"""Two stages side by side: pairs of rows, long runs of unchanged rows folded into one."""

from __future__ import annotations

from dataclasses import dataclass

from relax_explorer.viz.ir_table import TableRow
from relax_explorer.viz.table_diff import UNMARKED, TableDiff


@dataclass(frozen=True, slots=True)
class Beside:
    """A row of the old stage beside its row of the new one; None where a side has none. `skipped` rows are left out here."""

    kind: str
    old: TableRow | None = None
    new: TableRow | None = None
    glyph: str = " "
    skipped: int = 0
    note: str = ""  # what its value was merged or split from


def beside(diff: TableDiff, context: int) -> list[Beside]:
    """The changed rows with `context` rows around them."""
    found = [_pair(diff, number) for number in range(len(diff))]
    near = bytearray(len(found))
    for number, pair in enumerate(found):
        if pair.kind not in UNMARKED:
            start = max(0, number - context)
            near[start : number + context + 1] = b"\1" * (min(len(found), number + context + 1) - start)
    pairs: list[Beside] = []
    skipped = 0
    for pair, is_near in zip(found, near, strict=True):
        if is_near:
            pairs += [Beside("same", skipped=skipped)] if skipped else []
            skipped = 0
            pairs.append(pair)
        else:
            skipped += 1
    return [*pairs, Beside("same", skipped=skipped)] if skipped else pairs


def _pair(diff: TableDiff, number: int) -> Beside:
    old, new, kind = diff.sides(number)
    return Beside(kind, old, new, diff.glyph(number), note=diff.note(number))
