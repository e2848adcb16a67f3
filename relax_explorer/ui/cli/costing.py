"""`cost`: operations, bytes and memory of a function, stage by stage."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import click

from relax_explorer.core.cost.program_cost import Cost, ModuleCosts
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.ui.cli import output, streams
from relax_explorer.ui.cli.opening import chosen
from relax_explorer.ui.cli.output import Result
from relax_explorer.ui.cli.programs import open_session
from relax_explorer.viz.cost_text import (
    USUAL,
    Part,
    StageCost,
    chart_lines,
    cost_data,
    doubt_lines,
    known,
    part_data,
    part_table,
    parts_of,
    stage_table,
    summary,
    where_lines,
)

MOST_COLUMNS = 6
WIDEST_CHART = 100  # columns of a terminal
_LENGTH = re.compile(r"[0-9]{1,18}")
Columns = list[dict[str, int]]


def cost(
    input: str, func: str | None, passes: str | None, stage: str | None, shape: tuple[str, ...], by: str | None, no_chart: bool
) -> Result:  # fmt: skip
    """What a function costs at each stage."""
    given = lengths_by_name(shape)
    session = open_session(input, passes)
    last = chosen(session, stage)
    name = func or _entry(last)
    stages = _stages(session, last, name)
    columns = _columns(given, stages)
    shown = columns[len(columns) // 2]
    whole = stages[-1].cost.at(known(stages[-1].cost, shown))
    costs = ModuleCosts(last.module)
    names = last.module.relax_functions if by == "function" else ()
    others = [(one := costs.of(item)).at(known(one, shown)) for item in names]
    parts = [] if by is None else parts_of(whole, by, others)
    return Result(
        "cost",
        lambda: _data(stages, columns, whole, by, parts),
        _lines(stages, columns, whole, by, parts, no_chart),
    )


def lengths_by_name(pairs: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """The lengths of `--shape` by shape variable: `n=3`, `n=16,128`, or the option once for each length."""
    found: dict[str, tuple[int, ...]] = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        values = text.split(",")
        if not name or not all(map(_LENGTH.fullmatch, values)):
            raise click.UsageError(
                f"--shape takes n=3 or n=16,128, lengths of at least 0 and below 10 to the 18th, not {pair[:60]!r}"
            )
        found[name] = tuple(dict.fromkeys((*found.get(name, ()), *map(int, values))))
    return found


def _entry(stage: Snapshot) -> str:
    if stage.entry not in stage.module.relax_functions:
        raise click.UsageError("the program has no Relax function, and only these are counted")
    return stage.entry


def _stages(session: Session, last: Snapshot, name: str) -> list[StageCost]:
    """The costs of a function at the first stage and at each later one that changed the module, up to the chosen one."""
    if name not in last.module.relax_functions:
        names = ", ".join(last.module.relax_functions) or "none"
        raise click.UsageError(f"there is no Relax function {name!r}; there are {names}")
    found: list[StageCost] = []
    module = None
    for stage in session.stages:
        if stage.module is not module and name in stage.module.relax_functions:
            found.append(StageCost(stage.label, stage.made_by, ModuleCosts(stage.module).of(name)))
            module = stage.module
        if stage is last:
            break
    return found


def _columns(given: Mapping[str, Sequence[int]], stages: Sequence[StageCost]) -> Columns:
    """The choices of lengths, one a column. Variables without a length have the usual ones, all the same."""
    names = tuple(dict.fromkeys(name for stage in stages for name in stage.cost.variables))
    unknown = [name for name in given if name not in names]
    if unknown:
        there = ", ".join(names) or "none"
        raise click.UsageError(f"--shape: the cost does not depend on {unknown[0]!r}; it depends on {there}")
    choices = [dict(zip(given, lengths, strict=True)) for lengths in product(*given.values())]
    free = [name for name in names if name not in given]
    if free:
        choices = [{**choice, **dict.fromkeys(free, length)} for choice in choices for length in USUAL]
    if len(choices) > MOST_COLUMNS:
        raise click.UsageError(
            f"--shape makes {len(choices)} columns, at most {MOST_COLUMNS} can be read: give fewer lengths"
        )
    return choices


def _lines(
    stages: Sequence[StageCost], columns: Columns, whole: Cost, by: str | None, parts: Sequence[Part], no_chart: bool
) -> Iterator[str]:  # fmt: skip
    last, shown = stages[-1], columns[len(columns) // 2]
    yield _written(summary(stages[0], last))
    yield from output.aligned(list(stage_table(stages, columns)))
    for line in (*where_lines(last, shown), *doubt_lines(last.cost)):
        yield f"  {_written(line)}"
    if by is not None:
        yield ""
        rows = [list(map(_written, row)) for row in part_table(whole, parts, by != "function")]
        yield from output.aligned(rows)
    if not no_chart:
        chart = chart_lines(last, shown, min(WIDEST_CHART, shutil.get_terminal_size().columns))
        yield from ["", *chart] if chart else []


_AS_ASCII = str.maketrans({"·": "*", **{sign: f"^{number}" for number, sign in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}})


def _written(text: str) -> str:
    """An expression for a terminal that has only ASCII: powers must not look like other numbers."""
    return text.translate(_AS_ASCII) if streams.is_ascii() else text


def _data(
    stages: Sequence[StageCost], columns: Columns, whole: Cost, by: str | None, parts: Sequence[Part]
) -> dict[str, object]:
    held = [whole.held(binding) for binding in whole.memory.bindings]
    return {
        "function": whole.function,
        "lengths": columns,
        "stages": [
            {"stage": stage.label, "pass": stage.made_by, **cost_data(stage.cost, columns)}
            for stage in stages
        ],
        "chart_lengths": {var.name: length for var, length in whole.lengths.items()},
        "memory": [None if amount is None else amount.value for amount in held],
        "by": by,
        "parts": [part_data(part) for part in parts],
    }
