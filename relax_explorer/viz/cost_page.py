"""What a program costs, for a page: before the first pass and after the last one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from relax_explorer.core.cost.program_cost import ModuleCosts
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.viz.cost_text import (
    USUAL,
    StageCost,
    chart_lines,
    doubt_lines,
    part_table,
    parts_of,
    stage_table,
    summary,
    where_lines,
)
from relax_explorer.viz.visible import visible

CHART_WIDTH = 100
MOST_PARTS = 3_000  # bindings


def cost_data(session: Session, told: Sequence[Snapshot] = ()) -> dict[str, object] | None:
    """A table for the usual lengths, who has most of it, the memory over the bindings, and each binding of the stages that are `told`.

    None without a Relax function.
    """
    stages = _stages(session)
    if not stages:
        return None
    first, last = stages[0][1], stages[-1][1]
    names = tuple(dict.fromkeys(name for _, stage in stages for name in stage.cost.variables))
    columns: list[Mapping[str, int]] = [dict.fromkeys(names, length) for length in USUAL] if names else [{}]
    shown = columns[len(columns) // 2]
    return {
        "function": visible(first.cost.function, 200),
        "summary": visible(summary(first, last), 1_000),
        "table": [
            [visible(text, 1_000) for text in row]
            for row in stage_table([stage for _, stage in stages], columns)
        ],
        "lines": [visible(line, 1_000) for line in (*where_lines(last, shown), *doubt_lines(last.cost))],
        "chart": list(chart_lines(last, shown, CHART_WIDTH)),
        "lengths": ", ".join(f"{name} = {length:,}" for name, length in shown.items()),
        "parts": [
            {"stage": at.number, "rows": _parts(stage, shown)} for at, stage in _each(session, told, stages)
        ],
    }


def _stages(session: Session) -> list[tuple[Snapshot, StageCost]]:
    """The entry of the first stage, before and after all passes."""
    first = session.stages[0]
    last = next(stage for stage in reversed(session.stages) if stage.changed or stage is first)
    shown = [first] if last.module is first.module else [first, last]
    return [
        (stage, StageCost(stage.label, stage.made_by, ModuleCosts(stage.module).of(first.entry)))
        for stage in shown
        if first.entry in stage.module.relax_functions
    ]


def _each(
    session: Session, told: Sequence[Snapshot], known: Sequence[tuple[Snapshot, StageCost]]
) -> Iterator[tuple[Snapshot, StageCost]]:
    """The stages that are told, or those that are known already."""
    found = dict(known)
    entry = session.stages[0].entry
    for stage in told or found:
        if stage in found:
            yield stage, found[stage]
        elif entry in stage.module.relax_functions:
            yield stage, StageCost(stage.label, stage.made_by, ModuleCosts(stage.module).of(entry))


def _parts(stage: StageCost, lengths: Mapping[str, int]) -> list[list[str]]:
    """A row for each binding: the columns of `part_table`, below their titles."""
    known = {name: length for name, length in lengths.items() if name in stage.cost.variables}
    cost = stage.cost.at(known)
    return [
        row
        for _, row in zip(range(MOST_PARTS), part_table(cost, parts_of(cost, "binding", ())), strict=False)
    ]
