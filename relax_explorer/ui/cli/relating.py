"""`relations`: the types of a program in Relay's notation, and the runs of its relations."""

from __future__ import annotations

import sys

import click

from relax_explorer.core.relations.solver import Status
from relax_explorer.core.syntax.load import read_stream, read_text
from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.packed_files import register_files
from relax_explorer.viz.solver_steps import RelationSteps
from relax_explorer.viz.solving import TABLES, Solving


def relations(input: str, packed: tuple[str, ...], trace: bool, at: int | None, format: str) -> int:
    """Print the types of a program; 1 if a relation fails or a type stays unknown."""
    register_files(packed)
    text = read_stream(sys.stdin.buffer, "<stdin>") if input == "-" else read_text(input)
    solving = RelationSteps(text, "<stdin>" if input == "-" else input)
    if format == "json":
        output.tell(solving.schema, solving.data())
    elif at is not None:
        print_position(solving, at)
    else:
        _print_types(solving, trace)
    output.report(solving.problems)
    return output.OK if solving.typed.status is Status.SOLVED else output.FOUND


def _print_types(solving: RelationSteps, trace: bool) -> None:
    typed = solving.typed
    for run in solving.runs if trace else ():
        output.say(f"{run.number:>4}. {run}")
    for name, function in typed.functions.items():
        output.say(f"@{name} : {function}")
    for var in typed.variables:
        output.say(f"%{var.name} : {typed.solver.resolved(var.type)}")
    if typed.main is not None:
        output.say(f"result : {typed.main}")
    output.say(solving.verdict, err=True)


def print_trace(solving: Solving) -> None:
    """Print each step in a line."""
    for position in range(1, solving.last):
        line = solving.line(position)
        output.say(f"{position:>4}. {line.mark} {line.text}")


def print_position(solving: Solving, position: int) -> None:
    """Print a step, and all tables but the text as they were after it."""
    if not 0 <= position <= solving.last:
        raise click.UsageError(
            f"--at takes a step from 0 (the start) to {solving.last} (the end), not {position}"
        )
    line = solving.line(position)
    output.say(f"{position}. {line.mark} {line.text.strip()}")
    for text in solving.about(position):
        output.say(f"    {text}")
    for name in TABLES[:-1]:
        lines = solving.table(name, position).lines
        output.say(f"{solving.titles[name]}{'' if len(lines) else ': nothing'}")
        for item in lines:
            output.say(f"  {item.mark} {item.text}")
