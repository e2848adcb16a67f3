"""`run --ranks N`: one program on several ranks side by side, beside the program that is not divided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from relax_explorer.core.check.normalize import normal_form_of
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.session.difference import Delta
from relax_explorer.core.session.ranked import (
    APART,
    EQUAL,
    MOST_RANKS,
    PARTS,
    RankRow,
    RankRun,
    divided,
    relation,
    rows,
    run_ranks,
)
from relax_explorer.core.session.session import Session
from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.interruptible import interruptible
from relax_explorer.ui.cli.opening import session_to_run
from relax_explorer.ui.cli.output import Remark, Result
from relax_explorer.viz.short import short_value
from relax_explorer.viz.tables import Column, Columns

_PLACE = "{rank}"  # in a source: the number of the rank
_VALUE = 44  # cells of a value


def ranked(
    session: Session, count: int | None, unsharded: str | None, choice: tuple[str | None, tuple[str, ...], tuple[str, ...], float],
    private: bool,
) -> Result:  # fmt: skip
    """Run the last stage of a session on `count` ranks. The status is FOUND if a value differs from that of the program that is not divided."""
    from relax_explorer.ui.cli.run import relax_function, run_inputs

    if count is None or not 1 <= count <= MOST_RANKS:
        raise click.UsageError(f"--ranks takes a number from 1 to {MOST_RANKS}")
    func, sources, shape, gigabytes = choice
    module = session.stages[-1].module
    name = func or session.stages[-1].entry
    fn, whole = relax_function(module, name), None
    if unsharded is None:
        arguments = [
            run_inputs(fn, _of_rank(sources, rank), shape, gigabytes, is_told=not rank)
            for rank in range(count)
        ]
    else:
        if any(_PLACE in text for text in sources):
            raise click.UsageError(
                f"with --unsharded, inputs are those of the whole program: {_PLACE} has no meaning"
            )
        other = session_to_run(unsharded, None, None, "spec")
        its_module = other.stages[-1].module
        its_name = name if name in its_module.functions else other.stages[-1].entry
        its_fn = relax_function(its_module, its_name)
        given = run_inputs(its_fn, sources, shape, gigabytes)
        arguments = divided(fn, dict(zip([param.name for param in its_fn.params], given, strict=True)), count)
        whole = (its_module, its_name, given)
    cache = session.cache

    def work(interrupt: Interrupt) -> tuple[list[RankRun], RankRun | None]:
        ranks = run_ranks(normal_form_of(module), name, arguments, cache, interrupt, private)
        return ranks, None if whole is None else _alone(*whole, cache, interrupt)

    return _result(*interruptible(work))


def _of_rank(sources: Sequence[str], rank: int) -> tuple[str, ...]:
    return tuple([source.replace(_PLACE, str(rank)) for source in sources])


def _alone(module: Any, name: str, args: Sequence[Any], cache: Path | None, interrupt: Interrupt) -> RankRun:
    return run_ranks(normal_form_of(module), name, [args], cache, interrupt, True)[0]


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
    columns = Columns(
        [Column("binding", 20), *told, *[Column(f"rank {n}", _VALUE) for n in range(len(ranks))]]
    )
    yield Remark(columns.heading)
    for row in found:
        values = [short_value(value, _VALUE) for value in row.parts]
        if is_compared:
            relation = row.relation.text if row.relation is not None else ""
        else:
            relation = "equal" if _are_equal(row) else "differ"
        yield columns.line(row.name, relation, *values)
    yield from _verdict(ranks, found, is_compared)
    for number, run in enumerate(ranks):
        for line in run.output:
            yield Remark(f"rank {number}: {line}")


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
        yield f"{met}; {first.name} is the first value that parts from the program that is not divided"
        yield f"rank {first.relation.rank}: {_reason(first.relation.delta)}"
    elif is_compared:
        compared = sum([row.relation is not None for row in found])
        yield f"{met}; all {compared} values of the same name make those of the program that is not divided"
    else:
        yield f"{met}; --unsharded FILE compares them with the program that is not divided"
