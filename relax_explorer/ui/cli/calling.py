"""`run --calls` and `debug --calls`: several calls in sequence, and their named results."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
import numpy as np

from relax_explorer.core.exec.engine import FUSED
from relax_explorer.core.exec.values import Value, to_python
from relax_explorer.core.session.named_calls import Calls, NamedCall, read_calls
from relax_explorer.core.session.session import Session
from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.interruptible import interruptible
from relax_explorer.ui.cli.opening import told_names
from relax_explorer.ui.cli.progress import compiling
from relax_explorer.ui.cli.run_problems import of_the_run
from relax_explorer.ui.cli.stored import save
from relax_explorer.ui.files import Target
from relax_explorer.viz.short import short_value


def run_calls(
    session: Session, path: str, private: bool, engine: str, most: int, format: str, target: Target | None
) -> int:
    """Make the calls of a file, and print what their names hold at the end."""
    checked = _checked(session, path)
    known = _calls(session, path, checked, most, private, engine)
    for call in checked:
        _make(known, call)
    results = {name: to_python(value) for name, value in known.results.items()}
    _print(results, format)
    if target is not None:
        save(results, target)
    return output.OK


def last_call(session: Session, path: str, private: bool, most: int) -> tuple[str, list[Value]]:
    """Make all calls of a file but the last one. Returns the function and the arguments of that."""
    calls = _checked(session, path)
    if not calls or "." in calls[-1].function:
        what = f"{calls[-1].place} calls {calls[-1].function}" if calls else f"{path} is empty"
        raise click.UsageError(f"--calls: the last call must be one of a function of the module; {what}")
    known = _calls(session, path, calls, most, private)
    for call in calls[:-1]:
        _make(known, call)
    args = known.arguments(calls[-1])
    _remark(known)
    return calls[-1].function, args


def _calls(
    session: Session, path: str, calls: list[NamedCall], most: int, private: bool, engine: str = FUSED
) -> Calls:
    """What runs the calls of a file, with the names that the build of the session tells."""
    names = {call.function: told_names(session, call.function) for call in calls if "." not in call.function}
    folder = "" if path == "-" else os.path.dirname(path)
    return Calls(session.stages[-1].module, most, session.cache, private, engine, folder, names)


def _remark(known: Calls) -> None:
    """Say how entries of files were found, each remark once."""
    while known.remarks:
        output.say(known.remarks.pop(0), err=True)


def _checked(session: Session, path: str) -> list[NamedCall]:
    """The calls of a file. Problems of the functions they call are reported."""
    calls = read_calls(_text(path), path)
    functions = session.stages[-1].module.relax_functions.keys() & session.stages[0].module.functions.keys()
    output.report(of_the_run(session.stages[0], sorted(functions & {call.function for call in calls})))
    return calls


def _make(known: Calls, call: NamedCall) -> None:
    """Make one call, and report what the program printed."""
    machine = interruptible(lambda interrupt: known.run(call, interrupt, compiling))
    _remark(known)
    for line in machine.output:
        output.say(line, err=True)
    for warning in machine.warnings:
        output.say(f"warning[{warning.code}]: {warning.message}", err=True)


def _text(path: str) -> str:
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        return data.decode("utf-8")
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "it is not UTF-8 text"
        raise click.UsageError(f"--calls {path}: {reason}") from None


def _print(results: dict[str, Value], style: str) -> None:
    """Print each result under its name."""
    if style == "json":
        rows = [
            {"name": name, "shape": list(value.shape), "dtype": value.dtype.name, "value": value}
            if isinstance(value, np.ndarray)
            else {"name": name, "value": value}
            for name, value in results.items()
        ]
        output.say(output.document("run", {"results": rows}))
        return
    for name, value in results.items():
        output.say(f"{name}: {short_value(value, 100)}")
        if isinstance(value, np.ndarray) and value.ndim:
            output.say(np.array2string(value, threshold=100, edgeitems=3, precision=6))
