"""`run`: evaluate a function, compare with expected values, stop at a variable, trace the steps."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click
import numpy as np

from relax_explorer.core.check.call_graph import mentioned, reached
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.exec.breakpoints import Breakpoint, on_condition, on_operator, on_variable
from relax_explorer.core.exec.condition import condition
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.events import Event
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.not_finite import on_not_finite
from relax_explorer.core.exec.values import to_python
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import all_dims, bindings
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.inputs import from_npz, made_inputs
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.source import Span
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.ui import directories
from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.expected import compare
from relax_explorer.ui.cli.interruptible import interruptible
from relax_explorer.ui.files import STANDARD_OUTPUT, Target
from relax_explorer.viz.short import short_value
from relax_explorer.viz.visible import visible_json

_LENGTH = re.compile(r"[0-9]{1,18}")


def run(
    input: str, func: str | None, passes: str | None, input_: tuple[str, ...], shape: tuple[str, ...], expect: str | None, rtol: float, atol: float,
    output_: Target | None, break_: str | None, trace: Target | None, format: str, profile: str, max_input: float,
) -> int:  # fmt: skip
    """Run a function of the last stage."""
    if output_ == STANDARD_OUTPUT:
        raise click.UsageError("run cannot print an .npz: --output must name a file")
    session = Session(output.read(input), passes or (), input, directories.kernel_cache(), profile)
    session.run_all()
    stage = session.stages[-1]
    errors = [item for item in session.stages[0].problems if item.is_error] or output.of_passes(session)
    if errors:
        raise Failure(*errors)
    name = func or stage.entry
    fn = relax_function(stage.module, name)
    output.report(_of_the_run(session.stages[0], name))
    args = run_inputs(fn, input_, shape, max_input)
    if break_ is not None or trace is not None:
        debugger = interruptible(lambda interrupt: _debugged(session, name, args, interrupt, break_, trace))
        if not debugger.done:
            _show_frame(debugger)
            return output.OK
        results = _flat(debugger.result)
    else:
        machine = interruptible(lambda interrupt: _ended(stage.module, name, args, session.cache, interrupt))
        for line in machine.output:
            output.say(line, err=True)
        for warning in machine.warnings:
            output.say(f"warning[{warning.code}]: {warning.message}", err=True)
        results = _flat(to_python(machine.result))
    _print(results, format)
    if output_ is not None:
        _save(results, output_)
    return compare(results, expect, rtol, atol) if expect is not None else output.OK


def relax_function(module: IRModule, name: str) -> e.Function:
    """The Relax function to run."""
    fn = module.functions.get(name)
    if type(fn) is e.Function:
        return fn
    if fn is None:
        raise click.UsageError(
            f"the module has no function {name!r}; it has {', '.join(module.relax_functions) or 'no Relax function'}"
        )
    callers = [key for key, own in module.relax_functions.items() if name in mentioned(own)]
    hint = (
        f"run {' or '.join(callers[:3])}, which calls it"
        if callers
        else "call it with R.call_tir in a Relax function"
    )
    kind = "a PrimFunc" if type(fn) is PrimFunc else f"no Relax function but {type(fn).__name__}"
    raise click.UsageError(f"{name!r} is {kind}, which runs when a Relax function calls it: {hint}")


def _of_the_run(stage: Snapshot, name: str) -> list[Diagnostic]:
    """Violations of rules that only the specification has, in the executed functions."""
    spans = [
        fn.span for key in reached(stage.module, name) if (fn := stage.module.functions.get(key)) is not None
    ]
    return [
        item
        for item in stage.problems
        if item.spec_only and (item.span is None or any(_within(item.span, span) for span in spans))
    ]


def _within(inner: Span, outer: Span | None) -> bool:
    return outer is None or (inner.source is outer.source and outer.line <= inner.line <= outer.end_line)


def _save(results: list[Any], target: Target) -> None:
    held = io.BytesIO()
    np.savez(held, **{f"out{number}": _storable(value) for number, value in enumerate(results)})
    output.save(target, held.getvalue())


def _storable(value: Any) -> Any:
    """A result in a form that .npz can store: raw bytes for dtypes unknown to numpy."""
    own = isinstance(value, np.ndarray) and value.dtype.isbuiltin != 1
    return value.view(np.dtype((np.void, value.dtype.itemsize))) if own else value


def _ended(
    module: IRModule, name: str, args: Sequence[Any], cache: Path | None, interrupt: Interrupt
) -> Machine:
    """Run a machine to the end."""
    machine = Machine(module, name, args, cache=cache, interrupt=interrupt)
    machine.run()
    return machine


def _debugged(
    session: Session,
    name: str,
    args: Sequence[Any],
    interrupt: Interrupt,
    stop: str | None,
    trace: Target | None,
) -> Debugger:
    """Run a debugger to the end or to its breakpoint."""
    debugger = Debugger(session.stages[-1].module, name, args, session.cache, interrupt)
    _steps(debugger, stop, trace)
    return debugger


def run_inputs(
    fn: e.Function, sources: tuple[str, ...], shape: tuple[str, ...], gigabytes: float
) -> list[Any]:
    """The inputs of the options `--input` and `--shape`. Made-up ones are noted on standard error."""
    if not 0 <= gigabytes < 1 << 20:  # also refuses NaN
        raise click.UsageError("--max-input takes a number of GiB from 0 on")
    most = int(gigabytes * (1 << 30))
    if len(sources) == 1 and "=" not in sources[0] and sources[0].endswith(".npz"):
        if shape:
            raise click.UsageError("--shape has no effect with an .npz: its arrays have fixed lengths")
        return from_npz(fn, sources[0], most)
    sources_by_name: dict[str, str] = {}
    for number, source in enumerate(sources):
        name, equals, value = source.partition("=")
        key = name if equals else str(number)
        if key in sources_by_name:
            raise click.UsageError(f"--input gives {key!r} twice")
        sources_by_name[key] = value if equals else source
    values, made_up = made_inputs(fn, sources_by_name, _lengths(shape), most=most)
    if made_up:
        output.say(f"made up: {made_up}; --shape and --input choose others", err=True)
    return values


def _lengths(pairs: tuple[str, ...]) -> dict[str, int]:
    lengths = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        if not name or not _LENGTH.fullmatch(value):
            raise click.UsageError(f"--shape takes n=3, a length below 10 to the 18th, not {pair[:60]!r}")
        if name in lengths:
            raise click.UsageError(f"--shape gives {name!r} twice")
        lengths[name] = int(value)
    return lengths


def _flat(value: Any) -> list[Any]:
    if isinstance(value, tuple) and not all(type(item) is int for item in value):
        return [item for part in value for item in _flat(part)]
    return [value]


def _print(results: list[Any], style: str) -> None:
    if style == "json":
        rows = [
            {"shape": list(r.shape), "dtype": r.dtype.name, "value": r}
            if isinstance(r, np.ndarray)
            else {"value": r}
            for r in results
        ]
        output.say(output.document("run", {"results": rows}))
        return
    for number, value in enumerate(results):
        output.say(f"out{number}: {short_value(value, 100)}")
        if isinstance(value, np.ndarray) and value.ndim:
            output.say(np.array2string(value, threshold=100, edgeitems=3, precision=6))


def _breakpoint(text: str, debugger: Debugger, function: str) -> Breakpoint:
    """The breakpoint of `--break`. A breakpoint that no step can reach is refused."""
    if text == "nan":
        return on_not_finite(debugger)
    names = reached(debugger.module, function)
    steps = [b for name in names for b in bindings(debugger.module[name])]
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
    return _on_condition(text, [debugger.module[name] for name in names], variables, function)


def _on_condition(text: str, functions: list[Any], variables: set[str], function: str) -> Breakpoint:
    """The breakpoint of a condition. Its names must be variables of `functions`."""
    known = variables | {param.name for fn in functions for param in fn.params}
    infos = [param.struct_info for fn in functions for param in fn.params]
    infos += [b.struct_info for fn in functions for b in bindings(fn) if isinstance(b, e.MatchCast)]
    known |= {var.name for info in infos if info is not None for var in all_dims(info)}
    try:
        breakpoint = on_condition(text)
    except Failure as failure:
        problem = failure.diagnostics[0]
        raise click.UsageError(f"--break: {problem.message}. {problem.help}") from None
    for name in sorted(condition(text).names):
        _require(name, known, "has no variable", function)
    return breakpoint


def _require(name: str, known: set[str], what: str, function: str) -> None:
    if name not in known:
        near = get_close_matches(name, sorted(known), 2)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise click.UsageError(
            f"--break: {function} {what} {name!r}, nor do the functions that it calls{hint}"
        )


def _steps(debugger: Debugger, stop: str | None, trace: Target | None) -> None:
    breakpoint = _breakpoint(stop, debugger, debugger.frame.name) if stop is not None else None
    rows: list[str] = []
    last = time.perf_counter()
    if breakpoint is not None and breakpoint.hit(debugger.event, debugger.frame):
        _write_trace(rows, trace)
        return
    while not debugger.done:
        event = debugger.step()
        now = time.perf_counter()
        rows.append(visible_json(output.plain(_row(debugger, event, (now - last) * 1000))))
        last = now
        if breakpoint is not None and breakpoint.hit(event, debugger.frame):
            break
    _write_trace(rows, trace)


def _write_trace(rows: list[str], trace: Target | None) -> None:
    if trace is not None:
        output.write("\n".join(rows) + "\n", trace)


def _row(debugger: Debugger, event: Event, milliseconds: float) -> dict[str, Any]:
    binding = event.binding
    row: dict[str, Any] = {"step": debugger.position, "event": event.kind, "func": event.function}
    if binding is not None and binding.var is not None:
        row |= {"var": binding.var.name, "struct_info": str(binding.var.struct_info)}
        value = binding.value
        row |= {"op": getattr(value.op, "name", "")} if type(value) is e.Call else {}
    if isinstance(event.value, np.ndarray):
        row |= {"shape": list(event.value.shape), "stats": stats(event.value)}
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


def _show_frame(debugger: Debugger) -> None:
    output.say(f"stopped after step {debugger.position}: {debugger.event}")
    for name, value in debugger.frame.shape_vars.items():
        output.say(f"  {name} = {value}")
    for name, value in debugger.frame.values.items():
        output.say(f"  {name}: {short_value(value, 90)}")


__all__ = ["relax_function", "run", "run_inputs", "stats"]
