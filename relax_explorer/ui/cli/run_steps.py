"""A run in steps: breakpoints, stops at NaN, watches and the trace."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, TypeVar

import click
import numpy as np

from relax_explorer.core.check.call_graph import reached
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.blame import BOTH, INF, NAN, Blame, blame, given_wrong, on_not_finite
from relax_explorer.core.exec.breakpoints import (
    Breakpoint,
    Condition,
    condition,
    on_condition,
    on_operator,
    on_variable,
)
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.engine import engine
from relax_explorer.core.exec.events import Event
from relax_explorer.core.exec.expression import Expression, NoValue, expression
from relax_explorer.core.exec.shape_panel import shape_panel
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import all_dims, bindings
from relax_explorer.core.session.call_program import CallProgram, outermost
from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.interruptible import compiling
from relax_explorer.ui.cli.output import Result
from relax_explorer.ui.files import Target
from relax_explorer.viz.length_text import blame_data, blame_lines, shape_data, shape_lines
from relax_explorer.viz.short import short_value
from relax_explorer.viz.visible import visible_json

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


# -- run steps -------------------------------------------------------------------------------------------------------
# A run in steps: breakpoints, stops at NaN, watches and the trace.


KINDS = {"nan": (NAN,), "inf": (INF,), "not-finite": BOTH}


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks of the steps."""

    break_: str | None
    stop_on: str | None
    watch: tuple[str, ...]
    trace: Target | None
    shapes: bool
    is_timed: bool

    def __post_init__(self) -> None:
        if self.is_timed and self.steps:
            raise click.UsageError(
                "--time-bindings and --trace FILE.json measure a run without steps: leave --break, --stop-on, --watch, --shapes and other traces out"
            )

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of numbers at whose maker the run stops."""
        return BOTH if self.break_ == "nan" else KINDS[self.stop_on] if self.stop_on is not None else ()

    @property
    def steps(self) -> bool:
        """True if the run must go step by step."""
        return (
            (self.break_, self.stop_on, self.trace) != (None, None, None) or bool(self.watch) or self.shapes
        )


@dataclass(slots=True)
class Walk:
    """A run in steps, and what was seen on the way. `blame` is the maker of a NaN or an infinity at which it stopped."""

    debugger: Debugger
    asked: Asked
    is_stopped: bool = False
    blame: Blame | None = None
    watches: list[_Watch] = field(default_factory=list)
    changes: list[dict[str, Any]] = field(default_factory=list)

    @property
    def data(self) -> dict[str, Any]:
        """What was seen on the way, for JSON."""
        shapes = {"shapes": shape_data(shape_panel(self.debugger))} if self.asked.shapes else {}
        return {**({"watch": self.changes} if self.watches else {}), **shapes}

    @property
    def shapes(self) -> list[str]:
        """The lines of the shape panel, if it is asked for."""
        return shape_lines(shape_panel(self.debugger)) if self.asked.shapes else []

    def look(self, event: Event) -> None:
        """Print the watched expressions whose value changed."""
        for watch in self.watches:
            if watch.changed(self.debugger, event):
                self.changes.append(_change(self.debugger, event, watch))
                output.say_lines([_change_line(self.changes[-1], watch)])


@dataclass(slots=True)
class _Watch:
    """A watched expression and its last value in each function. `contents` are those that it had last."""

    expression: Expression
    value: Any = None
    contents: dict[int, bytes] = field(default_factory=dict)  # by depth of the frame

    def changed(self, debugger: Debugger, event: Event) -> bool:
        """True if the expression has a new value after a step."""
        depth = max(len(debugger.machine.frames), 1)
        for left in [key for key in self.contents if key > depth]:
            del self.contents[left]
        try:
            self.value = self.expression.value(debugger.frame, event.value)
        except NoValue:
            return False
        content = _content(self.value)
        if self.contents.get(depth) == content:
            return False
        self.contents[depth] = content
        return True


def _content(value: object) -> bytes:
    """The contents of a value, for comparing."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}".encode() + value.tobytes()
    return b"(" + b",".join(map(_content, value)) + b")" if type(value) is tuple else repr(value).encode()


def walk(debugger: Debugger, asked: Asked) -> Walk:
    """Run a debugger to its end or stop. The trace is also written if the program traps."""
    function = debugger.frame.name
    walked = Walk(debugger, asked)
    walked.watches = [_Watch(watched(text, debugger, function)) for text in asked.watch]
    place = None if asked.break_ in (None, "nan") else asked.break_
    breakpoint = breakpoint_at(place, debugger, function) if place is not None else None
    rows: list[str] = []
    try:
        with compiling(debugger.machine.kernels):
            _walk(walked, breakpoint, on_not_finite(debugger, asked.kinds) if asked.kinds else None, rows)
    except Failure:
        output.say_lines(walked.shapes)
        raise
    finally:
        if asked.trace is not None:
            output.write("\n".join(rows) + "\n", asked.trace)
    if debugger.done:
        output.say_lines(walked.shapes)
    return walked


def _walk(walked: Walk, breakpoint: Breakpoint | None, detective: Breakpoint | None, rows: list[str]) -> None:
    debugger = walked.debugger
    if NAN in walked.asked.kinds:
        walked.blame = given_wrong(debugger)
    event = debugger.event
    walked.look(event)
    is_first = True
    while not is_first or walked.blame is None:
        if breakpoint is not None and breakpoint.hit(event, debugger.frame):
            break
        if not is_first and detective is not None and detective.hit(event, debugger.frame):
            walked.blame = blame(debugger, kinds=walked.asked.kinds)
            break
        if debugger.done:
            return
        last, is_first = time.perf_counter(), False
        event = debugger.step()
        elapsed = (time.perf_counter() - last) * 1000
        if walked.asked.trace is not None:
            rows.append(visible_json(row(debugger, event, elapsed)))
        walked.look(event)
    walked.is_stopped = True


def _change(debugger: Debugger, event: Event, watch: _Watch) -> dict[str, Any]:
    binding = event.binding
    name = binding.var.name if binding is not None and binding.var is not None else None
    return {
        "step": debugger.position,
        "func": debugger.frame.name,
        "var": name,
        "watch": watch.expression.text,
        "value": watch.value,
    }


def _change_line(change: Mapping[str, Any], watch: _Watch) -> str:
    at = change["var"] or ("entry" if change["step"] == 0 else "call")
    return (
        f"step {change['step']}, {at} of {change['func']}: {change['watch']} = {short_value(watch.value, 90)}"
    )


def stopped(walked: Walk, program: CallProgram | None, status: int) -> Result:
    """Where a run stopped: the maker of a NaN, or the frame at a breakpoint. `program` are the calls that ran."""
    debugger, frame = walked.debugger, walked.debugger.frame
    call = "" if program is None else program.label(program.number(outermost(debugger)))
    stop = {
        "step": debugger.position,
        "event": debugger.event.kind,
        "func": frame.name,
        "shape_vars": frame.shape_vars,
        **({"call": call} if call else {}),
    }
    where = f"stopped after step {debugger.position}{f', in {call}' if call else ''}: {debugger.event}"
    if walked.blame is not None:
        stop["maker"] = blame_data(walked.blame)
        lines = blame_lines(walked.blame)
    else:
        values = {name: short_value(value, 90) for name, value in frame.values.items()}
        stop["values"] = values
        lines = [f"  {name} = {length}" for name, length in frame.shape_vars.items()]
        lines += [f"  {name}: {text}" for name, text in values.items()]
    data = {"results": [], "stopped": stop, **walked.data}
    return Result("run", data, [where, *walked.shapes, *lines], status)


def row(debugger: Debugger, event: Event, milliseconds: float) -> dict[str, Any]:
    """A line of the trace."""
    binding = event.binding
    row: dict[str, Any] = {"step": debugger.position, "event": event.kind, "func": event.function}
    if binding is not None and binding.var is not None:
        row |= {"var": binding.var.name, "struct_info": str(binding.var.struct_info)}
        value = binding.value
        row |= {"op": getattr(value.op, "name", "")} if type(value) is e.Call else {}
    if isinstance(event.value, np.ndarray):
        row |= {"shape": list(event.value.shape), "stats": stats(event.value)}
    if event.checks:
        row["checks"] = [
            {
                "kind": check.kind,
                "func": check.function,
                "outcome": check.outcome,
                "ms": round(check.seconds * 1000, 4),
            }
            for check in event.checks
        ]
    row |= {"branches": ["then" if taken else "else" for taken in event.branches]} if event.branches else {}
    if binding is not None:
        row["engine"] = engine(debugger.module, binding, debugger.machine.kernels)
    return row | {"shape_vars": dict(debugger.frame.shape_vars), "ms": round(milliseconds, 3)}


def stats(value: np.ndarray[Any, Any]) -> Mapping[str, Any]:
    """Minimum, maximum and mean of the finite elements, and the numbers of NaN and infinite elements."""
    if value.size == 0 or value.dtype.kind not in "biuf":
        return {}
    numbers = value.astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    low, high, mean = (
        (float(finite.min()), float(finite.max()), float(finite.mean()))
        if finite.size
        else (None, None, None)
    )
    return {
        "min": low,
        "max": high,
        "mean": mean,
        "nan": int(np.isnan(numbers).sum()),
        "inf": int(np.isinf(numbers).sum()),
    }
