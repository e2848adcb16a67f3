"""The compiled run of a recording in the shell: `compare` puts it beside ours, `who` tells what it made of a binding."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import click

from relax_explorer.core.ir import expr as e
from relax_explorer.core.session.compare import Comparison
from relax_explorer.core.session.compiled_beside import (
    BesideOurs,
    CompiledRuns,
    runs_in,
    seconds_of,
    with_values,
)
from relax_explorer.core.session.containers import Container
from relax_explorer.core.session.difference import Tolerance
from relax_explorer.core.session.folders import address
from relax_explorer.core.session.session import Session
from relax_explorer.ui import directories
from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.interruptible import interruptible
from relax_explorer.ui.cli.opening import build_at, stage_of
from relax_explorer.viz.debug_text import value_text
from relax_explorer.viz.marked_graph import amount_text
from relax_explorer.viz.pair_table import distance_text
from relax_explorer.viz.visible import visible


def compare_compiled(container: Container, text: str, func: str | None, tolerance: Tolerance) -> Comparison:
    """Run what the compiled program ran, on the same values, and compare. Of another stage than the last, the results count alone."""
    path, name = address(text)
    build = build_at(path)
    last = build.stages[-1].module
    stage = build.stages[-1] if name is None else stage_of(build, name)
    known = runs_in(container, last, directories.kernel_cache())
    if func is not None and func not in known.names:
        raise click.UsageError(
            f"no run of {func} is recorded in {path}; there are {', '.join(known.names) or 'none'}"
        )
    verdicts = []
    for number in range(1, len(known.runs) + 1):
        found: BesideOurs = interruptible(partial(known.beside, number, stage.module, tolerance))
        if func in (None, found.run.name) and found.has_pairs and found.verdict is not None:
            verdicts.append(found.verdict)
        elif found.verdict is None:
            reason = f"no call tells {', '.join(found.run.unknown)}"
            output.say(f"run {number}, {found.run.name}, is left out: {reason}", err=True)
        elif func in (None, found.run.name):
            output.say(f"run {number}, {found.run.name}, has no value to compare", err=True)
    if not verdicts:
        raise click.UsageError(f"the calls in {path} are no run of a function whose arguments are known")
    names = ", ".join(known.names) if func is None else func
    return Comparison(f"the compiled run in {path}", build.title(stage), names, tuple(verdicts))


def compiled_in(session: Session, text: str) -> CompiledRuns | None:
    """The compiled runs in the recording that a session shows; None if it has none."""
    container = with_values(text)
    if container is None:
        return None
    return runs_in(container, session.stages[-1].module, session.cache)


def made_there(known: CompiledRuns, bindings: Sequence[e.Binding]) -> list[dict[str, object]]:
    """What the compiled program made of bindings, each with its distance from ours and the seconds of its calls."""
    rows = []
    for function in known.names:
        blocks = known.last.relax_functions[function].body.blocks
        own = [
            item.var.name for item in bindings if item.var and any(item in block.bindings for block in blocks)
        ]
        if own:
            found: BesideOurs | None = interruptible(
                partial(known.chosen, None, Tolerance(), function=function)
            )
            rows += [] if found is None else [_made(known, found, name) for name in own]
    return [row for row in rows if row["seconds"] or "value" in row]


def _made(known: CompiledRuns, found: BesideOurs, name: str) -> dict[str, object]:
    seconds = seconds_of(known.runs, found.run.name, name)
    row: dict[str, object] = {
        "function": found.run.name,
        "var": name,
        "run": found.number,
        "seconds": seconds,
    }
    pairs = () if found.verdict is None else found.verdict.pairs
    for pair in pairs:
        if pair.b is not None and pair.b.name == name and pair.delta is not None:
            made = {"value": value_text(found.run.values[name]), "equal": pair.equal}
            row |= {**made, "distance": distance_text(pair.delta)}
    return row


def made_text(row: dict[str, object]) -> str:
    """`alloc1 = Tensor(…)  max|Δ| 1e-7  1.5 ms` of what the compiled program made."""
    seconds = row["seconds"]
    times = [amount_text(item, "time") for item in seconds] if isinstance(seconds, list) else []
    parts = [
        f"{row['var']} = {row['value']}" if "value" in row else str(row["var"]),
        str(row.get("distance", "")),
        ", ".join(times[:5]),
    ]
    return visible("  ".join([part for part in parts if part]), 300)
