"""`relations`: the types of a program in Relay's notation, and the runs of its relations."""

from __future__ import annotations

import sys
from typing import Any

from relax_explorer.core.relations.inference import Typed, infer_relay
from relax_explorer.core.relations.solver import Run, Status
from relax_explorer.core.syntax.load import read_stream, read_text
from relax_explorer.ui.cli import output


def relations(input: str, trace: bool, format: str) -> int:
    """Print the types of a program; 1 if a relation fails or a type stays unknown."""
    text = read_stream(sys.stdin.buffer, "<stdin>") if input == "-" else read_text(input)
    typed = infer_relay(text, "<stdin>" if input == "-" else input)
    if format == "json":
        output.say(output.document("relations", _data(typed)))
    else:
        _print(typed, trace)
    output.report(typed.report.sorted())
    return output.OK if typed.status is Status.SOLVED else output.FOUND


def _print(typed: Typed, trace: bool) -> None:
    for run in typed.solver.trace if trace else ():
        output.say(f"{run.number:>4}. {run}")
    for name, function in typed.functions.items():
        output.say(f"@{name} : {function}")
    for var in typed.variables:
        output.say(f"%{var.name} : {typed.solver.resolved(var.type)}")
    if typed.main is not None:
        output.say(f"result : {typed.main}")
    relations, runs = len(typed.solver.items), len(typed.solver.trace)
    output.say(
        f"{typed.status.value}: {relations} relation{'s' * (relations != 1)}, {runs} run{'s' * (runs != 1)}",
        err=True,
    )


def _data(typed: Typed) -> dict[str, Any]:
    """The types and the runs as plain data."""
    return {
        "status": typed.status.value,
        "functions": {name: str(function) for name, function in typed.functions.items()},
        "variables": [{"name": v.name, "type": str(typed.solver.resolved(v.type))} for v in typed.variables],
        "result": None if typed.main is None else str(typed.main),
        "runs": [_run(run) for run in typed.solver.trace],
        "problems": [problem.to_json() for problem in typed.report.sorted()],
    }


def _run(run: Run) -> dict[str, Any]:
    return {
        "number": run.number,
        "before": run.before,
        "after": run.after,
        "outcome": run.outcome.value,
        "unified": list(map(str, run.unified)),
        "assigned": list(map(str, run.assigned)),
        "waiting": run.waiting,
    }
