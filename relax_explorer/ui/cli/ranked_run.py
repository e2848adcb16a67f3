"""`run --ranks N`: one program on several ranks side by side, beside the program that is not divided."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from relax_explorer.core.check.normalize import normal_form_of
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.values import Value
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.difference import Delta
from relax_explorer.core.session.ranked import (
    APART,
    EQUAL,
    MOST_RANKS,
    PARTS,
    RankRow,
    RankRun,
    relation,
    rows,
    run_ranks,
)
from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.interruptible import interruptible
from relax_explorer.ui.cli.output import Remark, Result
from relax_explorer.viz.short import short_value
from relax_explorer.viz.tables import Column, Columns

PLACE = "{rank}"  # in a source: the number of the rank
_VALUE, _LEAST = 44, 12  # cells of a value, where lines may be long, and at least


@dataclass(frozen=True, slots=True)
class Whole:
    """The program that is not divided: its function and inputs."""

    module: IRModule
    name: str
    args: Sequence[Value]


def ranked(
    module: IRModule, name: str, arguments: Sequence[Sequence[Value]], whole: Whole | None, cache: Path | None, private: bool
) -> Result:  # fmt: skip
    """Run a function once for each rank. The status is FOUND if a value parts from that of the program that is not divided."""

    def work(interrupt: Interrupt) -> tuple[list[RankRun], RankRun | None]:
        ranks = run_ranks(normal_form_of(module), name, arguments, cache, interrupt, private)
        if whole is None:
            return ranks, None
        form = normal_form_of(whole.module)
        return ranks, run_ranks(form, whole.name, [whole.args], cache, interrupt, private)[0]

    return _result(*interruptible(work))


def of_rank(sources: Sequence[str], rank: int) -> tuple[str, ...]:
    """The sources of a rank: its number in the place of `{rank}`."""
    return tuple([source.replace(PLACE, str(rank)) for source in sources])


def count_of(ranks: int | None) -> int:
    """The number of ranks. Raises click.UsageError."""
    if ranks is None or not 1 <= ranks <= MOST_RANKS:
        raise click.UsageError(f"--ranks takes a number from 1 to {MOST_RANKS}")
    return ranks


def _result(ranks: Sequence[RankRun], whole: RankRun | None) -> Result:
    found = list(rows(ranks, whole))
    failed = [(number, run.failure) for number, run in enumerate(ranks) if run.failure is not None]
    apart = [row for row in found if row.relation is not None and row.relation.kind == APART]
    is_wrong = bool(failed) or (whole is not None and whole.failure is not None)
    status = output.FOUND if is_wrong or apart else output.OK
    problems = [item for _, failure in failed for item in failure.diagnostics][:1]
    if whole is not None and whole.failure is not None:
        problems += whole.failure.diagnostics
    data = {
        "ranks": len(ranks),
        "meetings": ranks[0].meetings,
        "bindings": [_row_data(row) for row in found],
        "apart": apart[0].name if apart else None,
        "failed": [number for number, _ in failed],
    }
    return Result("ranks", data, _lines(ranks, found, whole is not None), status, problems)


def _row_data(row: RankRow) -> dict[str, Any]:
    told: dict[str, Any] = {"name": row.name, "ranks": [short_value(value, _VALUE) for value in row.parts]}
    if row.relation is not None:
        told["relation"] = row.relation.kind
        if row.relation.kind == APART:
            told |= {"rank": row.relation.rank, "reason": _reason(row.relation.delta)}
        elif row.relation.kind == PARTS:
            told["axis"] = row.relation.axis
    return told


def _lines(ranks: Sequence[RankRun], found: Sequence[RankRow], is_compared: bool) -> Iterator[str]:
    """A row for each binding, with the values of the ranks beside each other."""
    told = [Column("together", 14)] if is_compared else [Column("ranks", 8)]
    width = _value_width(len(ranks), 16 + sum([column.width or 0 for column in told]))
    values = [Column(f"rank {number}", width) for number in range(len(ranks))]
    columns = Columns([Column("binding", 14), *told, *values])
    yield Remark(columns.heading)
    for row in found:
        shown = [short_value(value, width) for value in row.parts]
        if is_compared:
            relation = row.relation.text if row.relation is not None else ""
        else:
            relation = "equal" if _are_equal(row) else "differ"
        yield columns.line(row.name, relation, *shown)
    yield from _verdict(ranks, found, is_compared)
    for number, run in enumerate(ranks):
        for line in run.output:
            yield Remark(f"rank {number}: {line}")


def _value_width(count: int, before: int) -> int:
    """The cells of each value in the width of the terminal."""
    if not sys.stdout.isatty():
        return _VALUE
    left = (shutil.get_terminal_size().columns - before) // count - 1
    return min(max(left, _LEAST), _VALUE)


def _are_equal(row: RankRow) -> bool:
    found = relation(row.parts[0], row.parts)
    return found is not None and found.kind == EQUAL


def _reason(apart: Delta) -> str:
    """Where and how far a value of a rank is wrong."""
    if not apart.left:
        return apart.reason
    place = f"[{', '.join(map(str, apart.index))}]" if apart.index else "it"
    return f"{place} is {apart.right}, not {apart.left}; {apart.count} of {apart.size} elements differ, by at most {apart.max_abs:.3g}"


def _verdict(ranks: Sequence[RankRun], found: Sequence[RankRow], is_compared: bool) -> Iterator[str]:
    count = ranks[0].meetings
    met = f"{len(ranks)} ranks met {'once' if count == 1 else f'{count} times'}"
    first = next((row for row in found if row.relation is not None and row.relation.kind == APART), None)
    failed = [number for number, run in enumerate(ranks) if run.failure is not None]
    if failed:
        yield f"{met}; rank {failed[0]} stopped"
    elif first is not None and first.relation is not None:
        yield f"{met}; {first.name} is the first value that parts from the undivided program"
        yield f"rank {first.relation.rank}: {_reason(first.relation.delta)}"
    elif is_compared:
        compared = sum([row.relation is not None for row in found])
        yield f"{met}; all {compared} values of the same name make those of the undivided program"
    else:
        yield f"{met}; --unsharded FILE compares them with the undivided program"
