"""What a program costs, as a part of a page: before the first pass and after the last one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape

from relax_explorer.core.cost.program_cost import ModuleCosts
from relax_explorer.core.session.session import Session
from relax_explorer.viz.cost_text import (
    USUAL,
    StageCost,
    chart_lines,
    doubt_lines,
    stage_table,
    summary,
    where_lines,
)
from relax_explorer.viz.visible import visible

CHART_WIDTH = 100


def cost_section(session: Session) -> Iterator[str]:
    """The section of a report: a table for the usual lengths, who has most of it, and the memory over the bindings."""
    yield '<section id="cost"><h2>Cost</h2>'
    stages = _stages(session)
    if stages:
        yield from _content(stages)
    else:
        yield '<p class="muted">The program has no Relax function, and only these are counted.</p>'
    yield "</section>"


def _stages(session: Session) -> list[StageCost]:
    """The entry of the first stage, before and after all passes."""
    first = session.stages[0]
    last = next(stage for stage in reversed(session.stages) if stage.changed or stage is first)
    shown = [first] if last.module is first.module else [first, last]
    return [
        StageCost(stage.label, stage.made_by, ModuleCosts(stage.module).of(first.entry))
        for stage in shown
        if first.entry in stage.module.relax_functions
    ]


def _content(stages: list[StageCost]) -> Iterator[str]:
    names = tuple(dict.fromkeys(name for stage in stages for name in stage.cost.variables))
    columns: list[Mapping[str, int]] = [dict.fromkeys(names, length) for length in USUAL] if names else [{}]
    shown = columns[len(columns) // 2]
    yield f"<p>{_text(summary(stages[0], stages[-1]))}</p>"
    yield '<div class="scroll"><table class="plain">'
    for row in stage_table(stages, columns):
        cells = [f'<td class="number">{_text(text)}</td>' for text in row[1:-1]]
        yield f"<tr><td>{_text(row[0])}</td>{''.join(cells)}<td>{_text(row[-1])}</td></tr>"
    yield "</table></div>"
    lines = [*where_lines(stages[-1], shown), *doubt_lines(stages[-1].cost)]
    yield f'<ul class="muted">{"".join(f"<li>{_text(line)}</li>" for line in lines)}</ul>'
    chart = chart_lines(stages[-1], shown, CHART_WIDTH)
    if chart:
        yield f'<div class="scroll"><pre>{escape(chr(10).join(chart))}</pre></div>'


def _text(text: str) -> str:
    return escape(visible(text, 1_000))
