"""The breakpoint and the expressions of `run`: texts of the command line, checked against the names of the program."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, TypeVar

import click

from relax_explorer.core.check.call_graph import reached
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.breakpoints import (
    Breakpoint,
    Condition,
    condition,
    on_condition,
    on_operator,
    on_variable,
)
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.expression import Expression, expression
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import all_dims, bindings

_Read = TypeVar("_Read", Condition, Expression)


def breakpoint_at(text: str, debugger: Debugger, function: str) -> Breakpoint:
    """The breakpoint of `--break`. A breakpoint that no step can reach is refused."""
    steps = [b for fn in _functions(debugger, function) for b in bindings(fn)]
    if text.startswith("op:"):
        known = {
            b.value.op.name.removeprefix("relax.")
            for b in steps
            if type(b.value) is e.Call and type(b.value.op) is e.OpRef
        }
        _require(text[3:].removeprefix("relax.").removeprefix("R."), known, "calls no operator", function)
        return on_operator(text[3:].removeprefix("R."))
    variables = {b.var.name for b in steps if b.var is not None}
    if text.isidentifier() or not text:
        _require(text, variables, "binds no variable", function)
        return on_variable(text)
    return _on_condition(text, debugger, function)


def watched(text: str, debugger: Debugger, function: str) -> Expression:
    """An expression of `--watch`. Its names must be variables of the functions that run."""
    return _read("--watch", expression, text, debugger, function)


def _on_condition(text: str, debugger: Debugger, function: str) -> Breakpoint:
    """The breakpoint of a condition. Its names must be variables of the functions that run."""
    _read("--break", condition, text, debugger, function)
    return on_condition(text)


def _read(option: str, reader: Callable[[str], _Read], text: str, debugger: Debugger, function: str) -> _Read:
    """The text of an option, read by `reader`. Its names must be variables of the functions that run."""
    try:
        part = reader(text)
    except Failure as failure:
        problem = failure.diagnostics[0]
        raise click.UsageError(f"{option}: {problem.message}. {problem.help}") from None
    known = _names(debugger, function)
    for name in sorted(part.names):
        _require(name, known, "has no variable", function, option)
    return part


def _functions(debugger: Debugger, function: str) -> list[Any]:
    return [debugger.module[name] for name in reached(debugger.module, function)]


def _names(debugger: Debugger, function: str) -> set[str]:
    """The variables and shape variables of the functions that run."""
    functions = _functions(debugger, function)
    steps = [b for fn in functions for b in bindings(fn)]
    infos = [param.struct_info for fn in functions for param in fn.params]
    infos += [b.struct_info for b in steps if isinstance(b, e.MatchCast)]
    known = {param.name for fn in functions for param in fn.params}
    known |= {b.var.name for b in steps if b.var is not None}
    return known | {var.name for info in infos if info is not None for var in all_dims(info)}


def _require(name: str, known: set[str], what: str, function: str, option: str = "--break") -> None:
    if name not in known:
        near = get_close_matches(name, sorted(known), 2)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise click.UsageError(
            f"{option}: {function} {what} {name!r}, nor do the functions that it calls{hint}"
        )
