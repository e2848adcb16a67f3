"""`--calls`: the calls of a file as one function to run, and their named results."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click
import numpy as np

from relax_explorer.core.exec.values import Value, to_python
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.call_program import CallProgram, call_program
from relax_explorer.core.session.named_calls import NamedCall, read_calls
from relax_explorer.core.session.naming import FieldNames
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.syntax.notes import UnreadableText, short_stream, short_text
from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.opening import told_names
from relax_explorer.ui.cli.run_problems import of_the_run
from relax_explorer.ui.cli.stored import save
from relax_explorer.ui.files import Target
from relax_explorer.viz.short import short_value


def calls_in(
    session: Session, path: str, private: bool, most: int, stage: Snapshot | None = None
) -> CallProgram:
    """The calls of a file for a stage of a session, by default the last. Problems of the functions they call are reported."""
    calls = read(path)
    module = (stage or session.stages[-1]).module
    functions = module.relax_functions.keys() & session.stages[0].module.functions.keys()
    output.report(of_the_run(session.stages[0], sorted(functions & {call.function for call in calls})))
    return made(module, calls, path, lambda name: told_names(session, name), most, private)


def read(path: str) -> list[NamedCall]:
    """The calls of a file, of which there is at least one."""
    calls = read_calls(_text(path), path)
    if not calls:
        raise click.UsageError(f"--calls {path} makes no call")
    return calls


def made(
    module: IRModule,
    calls: Sequence[NamedCall],
    path: str,
    names_of: Callable[[str], FieldNames],
    most: int,
    private: bool = True,
) -> CallProgram:
    """The program of calls. How entries of files were found is said on standard error."""
    names = {call.function: names_of(call.function) for call in calls if "." not in call.function}
    folder = "" if path == "-" else os.path.dirname(path)
    program = call_program(module, calls, path, folder, most, names, private)
    for remark in program.remarks:
        output.say(remark, err=True)
    return program


def tell_results(
    program: CallProgram, result: Value, style: str, document: dict[str, Any], target: Target | None
) -> list[Value]:
    """Print what the names hold at the end, and the last result if it has no name. Returns the last results, without caches."""
    results = {name: to_python(value) for name, value in program.named(result).items()}
    shown = dict(results)
    is_nothing = type(result[-1]) is tuple and not result[-1]  # of a call for its effect
    if not program.calls[-1].names and not is_nothing:
        shown[program.labels[-1]] = to_python(result[-1])
    _print(shown.items(), style, document)
    if target is not None:
        save(results, target)
    return program.last(result)


def _text(path: str) -> str:
    try:
        return short_stream(sys.stdin.buffer) if path == "-" else short_text(path)
    except UnreadableText as problem:
        raise click.UsageError(f"--calls {path}: {problem}") from None


def _print(results: Iterable[tuple[str, Value]], style: str, more: dict[str, Any]) -> None:
    """Print each result under its name."""
    if style == "json":
        rows = [
            {"name": name, "shape": list(value.shape), "dtype": value.dtype.name, "value": value}
            if isinstance(value, np.ndarray)
            else {"name": name, "value": value}
            for name, value in results
        ]
        output.say(output.document("run", {"results": rows, **more}))
        return
    for name, value in results:
        output.say(f"{name}: {short_value(value, 100)}")
        if isinstance(value, np.ndarray) and value.ndim:
            output.say(np.array2string(value, threshold=100, edgeitems=3, precision=6))
