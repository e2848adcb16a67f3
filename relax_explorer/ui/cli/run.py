"""`run`: evaluate a function or the calls of a file, tell, compare and save the results."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from relax_explorer.core.check.call_graph import mentioned
from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.kernels import LLVM
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.memory import Stateful
from relax_explorer.core.exec.one_run import BindingTime, BindingTimes
from relax_explorer.core.exec.timeline import Timeline
from relax_explorer.core.exec.values import Value, to_python
from relax_explorer.core.ir import expr as e
from relax_explorer.core.notations import is_contract
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.arrays import archive, read_arrays, read_as
from relax_explorer.core.session.binding_matches import callee_of
from relax_explorer.core.session.builds import concerning
from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.core.session.call_program import CallProgram, NamedCall, call_program, read_calls
from relax_explorer.core.session.inputs import file_remarks, from_file, generated_inputs
from relax_explorer.core.session.model_weights import with_weights
from relax_explorer.core.session.naming import FieldNames
from relax_explorer.core.session.rank_inputs import division
from relax_explorer.core.session.samples import Start
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.shapes.contract_text import read_contract
from relax_explorer.core.syntax.load import read_text
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.input_options import inputs_given, register_files
from relax_explorer.ui.cli.interruptible import compiling, interruptible
from relax_explorer.ui.cli.opening import names_of_fields, session_to_run, short_input, typed
from relax_explorer.ui.cli.other_notations import function_of_inputs, run_contracts, value_data
from relax_explorer.ui.cli.output import Remark, Result
from relax_explorer.ui.cli.ranked_run import count_of, on_ranks
from relax_explorer.ui.cli.run_steps import Asked, stopped, walk
from relax_explorer.ui.files import STANDARD_OUTPUT, Target
from relax_explorer.viz.short import short_value
from relax_explorer.viz.tables import Column, Columns
from relax_explorer.viz.visible import visible, visible_json


def save(results: dict[str, Value], target: Target) -> None:
    """Save results by name in an .npz. Caches are left out, with a warning."""
    parts = [part for name, value in results.items() for part in _parts(name, value)]
    stored = {name: value for name, value in parts if not isinstance(value, Stateful)}
    if len(stored) < len(parts):
        output.say("warning: a cache cannot be stored in an .npz; it is left out", err=True)
    output.save(target, archive(stored))


def _parts(name: str, value: Value) -> Iterator[tuple[str, Value]]:
    """A result; the fields of a tuple that holds other values than lengths by themselves, under numbered names."""
    if type(value) is not tuple or all(type(item) is int for item in value):
        yield name, value
        return
    for number, item in enumerate(value):
        yield from _parts(f"{name}_{number}", item)


# -- calling ---------------------------------------------------------------------------------------------------------
# `--calls`: the calls of a file as one function to run, and their named results.


def calls_in(
    session: Session, path: str, private: bool, most: int, stage: Snapshot | None = None
) -> CallProgram:
    """The calls of a file for a stage of a session, by default the last. Problems of the functions they call are reported."""
    calls = read(path)
    module = (stage or session.stages[-1]).module
    functions = module.relax_functions.keys() & session.stages[0].module.functions.keys()
    output.report(of_the_run(session.stages[0], sorted(functions & {call.function for call in calls})))
    functions_called = dict.fromkeys(call.function for call in calls if "." not in call.function)
    names = {name: names_of_fields(session, name) for name in functions_called}
    folder = "" if path == "-" else os.path.dirname(path)
    program = call_program(module, calls, path, folder, most, names, private)
    for remark in program.remarks:  # how entries of files were found
        output.say(remark, err=True)
    return program


def read(path: str) -> list[NamedCall]:
    """The calls of a file, of which there is at least one."""
    calls = read_calls(short_input("--calls", path), path)
    if not calls:
        raise click.UsageError(f"--calls {path} makes no call")
    return calls


def _value_lines(results: Mapping[str, Value]) -> Iterator[str]:
    """Each result under its name."""
    for name, value in results.items():
        yield f"{name}: {short_value(value, 100)}"
        if isinstance(value, np.ndarray) and value.ndim:
            yield np.array2string(value, threshold=100, edgeitems=3, precision=6)


# -- expected --------------------------------------------------------------------------------------------------------
# `run --expect`: compare the results of a run with expected results from a file.


_NAME = re.compile(r"out([0-9]{1,9})")
_NUMBERS = "biuf"


def compare(results: Sequence[Any], path: str, rtol: float, atol: float) -> int:
    """Compare result N with the entry `outN` of the file, and print the outcome. Returns the exit status."""
    found = read_arrays(path, wanted=_NAME.fullmatch)
    numbered = {int(hit[1]): array for key, array in found.items() if (hit := _NAME.fullmatch(key))}
    if sorted(numbered) != list(range(len(results))):
        has = ", ".join(f"out{number}" for number in sorted(numbered)) or "none"
        output.say(f"{path} has the results {has}; the function has {len(results)}, from out0 on", err=True)
        return output.FOUND
    alike = [
        _compared(number, value, _read_as(numbered[number], value, f"out{number} of {path}"), rtol, atol)
        for number, value in enumerate(results)
    ]
    return output.OK if all(alike) else output.FOUND


def _read_as(stored: Array, value: Value, what: str) -> Array:
    """An array from the file. Files store dtypes unknown to numpy as raw bytes; these take the dtype of the result."""
    if stored.dtype.names is not None or stored.dtype.subdtype is not None:
        raise click.UsageError(f"{what} is an array of records: no result can be compared with it")
    return read_as(stored, getattr(value, "dtype", None))


def _compared(number: int, value: Value, expected: Array, rtol: float, atol: float) -> bool:
    got = np.asarray(value)
    if got.shape != expected.shape:
        output.say(f"out{number}: DIFFERS, its shape is {got.shape}, expected is {expected.shape}", err=True)
        return False
    left, right = _numbers(got), _numbers(expected)
    if left is None or right is None:
        same = left is right is None and bool(np.array_equal(got, expected))
        output.say(f"out{number}: {'equal' if same else 'DIFFERS'}", err=True)
        return same
    same = bool(np.allclose(left, right, rtol=rtol, atol=atol, equal_nan=True))
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.where((left == right) | (np.isnan(left) & np.isnan(right)), 0.0, np.abs(left - right))
    worst = float(apart.max()) if apart.size else 0.0
    output.say(
        f"out{number}: {'equal' if same else 'DIFFERS'} within rtol {rtol:g}, largest difference {worst:.3g}",
        err=True,
    )
    return same


def _numbers(array: Array) -> Array | None:
    """The elements as float64, or None when they are not numbers."""
    if array.dtype.kind in _NUMBERS or (
        array.dtype.kind == "V" and array.dtype.names is None and array.dtype.name[:4] != "void"
    ):
        return array.astype(np.float64)
    return None


# -- run times -------------------------------------------------------------------------------------------------------
# The times of the bindings of a run as text and data.


_WIDTHS = {"ms": 10, "share": 6, "runs": 6, "bytes": 12, "compile ms": 10}
_TIMES = Columns(
    [
        *[Column(title, width, ">", is_whole=True) for title, width in _WIDTHS.items()],
        Column(" engine", 10),
        Column("binding"),
    ]
)


def _slowest(times: BindingTimes) -> list[BindingTime]:
    return sorted(times.rows.values(), key=lambda row: -row.seconds)


def _times_data(times: BindingTimes) -> dict[str, Any]:
    return {"bindings": [_data(row, times.total) for row in _slowest(times)], "seconds": times.total}


def _time_lines(times: BindingTimes) -> Iterator[str]:
    """The times of the bindings as a table, the slowest first."""
    total = times.total
    yield Remark(_TIMES.heading)
    for row in _slowest(times):
        share = f"{100 * row.seconds / total:.1f}%" if total else ""
        compiling = f"{row.compiling * 1000:.1f}" if row.compiling else ""
        numbers = f"{row.seconds * 1000:.3f}", share, str(row.runs), f"{row.size:,}", compiling
        yield Remark(_TIMES.line(*numbers, f" {row.engine}", _text(row)))
    compiled = sum([row.compiling for row in _slowest(times)])
    tail = f", and {compiled * 1000:.1f} ms of compiling" if compiled else ""
    yield Remark(f"{total * 1000:10.3f} ms in {len(times.rows)} bindings{tail}")


def _text(row: BindingTime) -> str:
    name = row.binding.var.name if row.binding.var is not None else "_"
    value = row.binding.value
    callee = (
        value.args[0].name
        if type(value) is e.Call and value.args and isinstance(value.args[0], e.GlobalVar)
        else ""
    )
    return f"{row.function}: {name} = {callee_of(row.binding)}{f'({callee})' if callee else ''}"


def _data(row: BindingTime, total: float) -> dict[str, Any]:
    return {
        "func": row.function,
        "var": row.binding.var.name if row.binding.var is not None else None,
        "op": callee_of(row.binding),
        "engine": row.engine,
        "runs": row.runs,
        "ms": round(row.seconds * 1000, 4),
        "compile_ms": round(row.compiling * 1000, 4),
        "share": round(row.seconds / total, 4) if total else 0.0,
        "bytes": row.size,
    }


# -- run problems ----------------------------------------------------------------------------------------------------
# The problems that `run` reports: those of the functions that it executes.


def of_the_run(stage: Snapshot, names: Iterable[str]) -> list[Diagnostic]:
    """What TVM does not look for, in the executed functions: violations of rules of the specification, and destroyed values."""
    own = [item for item in stage.problems if item.is_ours]
    return list(dict.fromkeys([item for name in names for item in concerning(own, stage.module, name)]))


# -- run -------------------------------------------------------------------------------------------------------------
# `run`: evaluate a function, compare with expected values, stop at a variable, trace the steps.


def run(
    input: str, func: str | None, passes: str | None, input_: tuple[str, ...], shape: tuple[str, ...], expect: str | None, rtol: float, atol: float,
    output_: Target | None, break_: str | None, trace: Target | None, profile: str, max_input: float,
    stop_on: str | None, watch: tuple[str, ...], time_bindings: bool, shapes: bool,
    packed: tuple[str, ...], private: bool, calls: str | None, engine: str, no_fused: bool, stage: str | None, const: str | None,
    ranks: int | None, unsharded: str | None,
) -> Result | int:  # fmt: skip
    """Run a function of a stage."""
    _need_file(output_)
    timeline = _timeline(trace, time_bindings)
    lines = trace if timeline is None else None
    asked = Asked(break_, stop_on, watch, lines, shapes, time_bindings or timeline is not None)
    register_files(packed)  # a notation is read with the relations and primitives of these files
    if is_contract(input):
        unused = func, typed(passes), expect, output_, asked.steps, time_bindings, calls, stage, const
        return run_contracts(input, unused, lambda fn: run_inputs(fn, inputs_given(input_, shape), max_input))
    check_alone(calls, (func, input_, shape))
    session = session_to_run(input, passes, stage, profile, const, (func,) if func is not None else ())
    choice = func, input_, shape, max_input
    others = asked.steps, trace, time_bindings, expect, output_, engine != LLVM, no_fused
    if ranks is not None or unsharded is not None:
        return _on_ranks(session, ranks, unsharded, choice, calls, private, others)
    start = started(session, calls, choice, private)
    times = BindingTimes() if time_bindings else None
    if asked.steps:
        walked = interruptible(
            lambda interrupt: walk(_debugger(session, start, interrupt, private, engine), asked)
        )
        if walked.is_stopped:
            return stopped(walked, start.program, output.FOUND if stop_on is not None else output.OK)
        machine, more = walked.debugger.machine, walked.data
    else:
        machine = _run_through(session, start, timeline or times, trace, private, engine, not no_fused)
        more = {} if times is None else _times_data(times)
    _report_times_and_remarks(machine, times)
    results = _results_of(machine, start.program)
    rows = _result_rows(results, start.program is not None)
    output.show(Result("run", {"results": rows, **more}, _value_lines(results.shown)))
    if output_ is not None:
        save(results.named, output_)
    return compare(results.last, expect, rtol, atol) if expect is not None else output.OK


def _need_file(target: Target | None) -> None:
    if target == STANDARD_OUTPUT:
        raise click.UsageError("run cannot print an .npz: --output must name a file")


def _on_ranks(
    session: Session, ranks: int | None, unsharded: str | None, choice: Choice, calls: str | None, private: bool, others: Sequence[object]
) -> Result:  # fmt: skip
    """Run the last stage on several ranks, with inputs of their own, or with parts of those of the program that is not divided.

    No option of `others` may be given.
    """
    if any(others):
        text = "--ranks runs to the end: it goes with --func, --input, --shape, --calls, --passes, --stage and --unsharded only"
        raise click.UsageError(text)
    count = count_of(ranks)
    func, sources, shape, gigabytes = choice
    module, name = session.stages[-1].module, func or session.stages[-1].entry
    relax_function(module, name)
    other = None
    if unsharded is not None:
        other = session_to_run(unsharded, None, None, "spec").stages[-1].module
    given = CallInputs(calls=calls) if calls is not None else inputs_given(sources, shape)
    asked = division(module, name, given, count, other, most_bytes(gigabytes))
    if asked.note:
        output.say(
            f"made up: {asked.note}; --shape and --input choose others" if calls is None else asked.note,
            err=True,
        )
    return on_ranks(asked, session.cache, private)


def _run_through(
    session: Session, start: Start, times: BindingTimes | Timeline | None, trace: Target | None, private: bool, engine: str, fused: bool
) -> Machine:  # fmt: skip
    """Run to the end. A trace of times is also written if the program traps."""
    try:
        machine: Machine = interruptible(
            lambda interrupt: _ended(session, start, interrupt, times, private, engine, fused)
        )
    finally:
        if isinstance(times, Timeline) and trace is not None:
            from relax_explorer.viz.trace_events import trace_events  # few runs are traced

            events = trace_events(visible(session.filename, 200), session.stages, times.stretches)
            output.write(f"{visible_json(events)}\n", trace)
    return machine


def _timeline(trace: Target | None, is_timed: bool) -> Timeline | None:
    """What notes when each binding ran, if a file that ends with `.json` asks for it: the lines of steps are a `.jsonl`."""
    if trace is None or trace.name is None or not trace.name.endswith(".json"):
        return None
    if is_timed:
        raise click.UsageError("--trace FILE.json holds the times of --time-bindings: leave one of them out")
    return Timeline()


def _report_times_and_remarks(machine: Machine, times: BindingTimes | None) -> None:
    """Print the times of the bindings, and the output and the warnings of the program."""
    output.say_lines(() if times is None else _time_lines(times))
    for line in machine.output:
        output.say(line, err=True)
    for warning in machine.warnings:
        output.say(f"warning[{warning.code}]: {warning.message}", err=True)


@dataclass(frozen=True, slots=True)
class _Results:
    """The results of a run by name: those that are shown, those that have a name, and the last ones, without caches."""

    shown: dict[str, Value]
    named: dict[str, Value]
    last: list[Value]


def _results_of(machine: Machine, program: CallProgram | None) -> _Results:
    """The results of a function, `out0`, `out1`, …; of calls, what the names hold at the end, and the last result if it has no name."""
    result = machine.result
    if program is None:
        values = _flat(to_python(result))
        found = {f"out{number}": value for number, value in enumerate(values)}
        return _Results(found, found, values)
    named = {name: to_python(value) for name, value in program.named(result).items()}
    shown = dict(named)
    is_nothing = type(result[-1]) is tuple and not result[-1]  # of a call for its effect
    if not program.calls[-1].names and not is_nothing:
        shown[program.labels[-1]] = to_python(result[-1])
    return _Results(shown, named, program.last(result))


def _result_rows(results: _Results, is_named: bool) -> list[dict[str, object]]:
    return [({"name": name} if is_named else {}) | value_data(value) for name, value in results.shown.items()]


Choice = tuple[str | None, tuple[str, ...], tuple[str, ...], float]
"""The options of a call: the function, sources, lengths, GiB."""


def started(
    session: Session,
    calls: str | None,
    choice: Choice,
    private: bool = True,
    stage: Snapshot | None = None,
) -> Start:
    """The run that the options choose, of the last stage: a function and its inputs, or a file of calls."""
    func, sources, shape, gigabytes = choice
    at = stage or session.stages[-1]
    if calls is not None:
        program = calls_in(session, calls, private, most_bytes(gigabytes), stage)
        return Start(program.into(at.module), program.name, program.values, program)
    name = func or at.entry
    fn = relax_function(at.module, name)
    path = at.module.source.filename if at.module.source is not None else ""
    if is_contract(path) and name == at.entry:
        # Its Relax form takes any tensors, and checks them line by line.
        contracts, _ = read_contract(read_text(path), path)
        given = inputs_given(sources, shape)
        return Start(at.module, name, run_inputs(function_of_inputs(contracts), given, gigabytes))
    output.report(of_the_run(session.stages[0], {name}))
    given = with_weights(inputs_given(sources, shape), [at.module], name)
    return Start(at.module, name, run_inputs(fn, given, gigabytes, names_of_fields(session, name)))


def check_alone(calls: str | None, others: tuple[object, ...]) -> None:
    """Refuse options that --calls has no use for."""
    if calls is not None and any(others):
        raise click.UsageError(
            "--calls takes functions and inputs from its file: no other option may give them"
        )


def _debugger(session: Session, start: Start, interrupt: Interrupt, private: bool, engine: str) -> Debugger:
    return Debugger(start.module, start.name, start.args, session.cache, interrupt, private, engine=engine)


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


def _ended(
    session: Session,
    start: Start,
    interrupt: Interrupt,
    times: BindingTimes | Timeline | None,
    private: bool,
    engine: str,
    fused: bool,
) -> Machine:
    """Run a machine to the end."""
    machine = Machine(
        start.module,
        start.name,
        start.args,
        cache=session.cache,
        interrupt=interrupt,
        private=private,
        engine=engine,
        fused=fused,
    )
    with compiling(machine.kernels):
        if times is None:
            machine.run()
        else:
            times.run(machine)
    return machine


def run_inputs(
    fn: e.Function, call: CallInputs, gigabytes: float, names: FieldNames | None = None, is_told: bool = True
) -> list[Any]:
    """The inputs of the options `--input` and `--shape`. Made-up ones and translated names are noted on standard error, if that `is_told`.

    `names` are those that a build tells for the fields of tuple parameters.
    """
    most = most_bytes(gigabytes)
    for remark in file_remarks(fn, call, names) if is_told else ():
        output.say(remark, err=True)
    if call.whole:
        return from_file(fn, call.whole, most, names)
    values, made_up = generated_inputs(fn, call.sources, call.shape, most=most, names=names)
    if made_up and is_told:
        output.say(f"made up: {made_up}; --shape and --input choose others", err=True)
    return values


def most_bytes(gigabytes: float) -> int:
    """The limit of `--max-input` in bytes."""
    if not 0 <= gigabytes < 1 << 20:  # also refuses NaN
        raise click.UsageError("--max-input takes a number of GiB from 0 on")
    return int(gigabytes * (1 << 30))


def _flat(value: object) -> list[Any]:
    if isinstance(value, tuple) and not all(type(item) is int for item in value):
        return [item for part in value for item in _flat(part)]
    return [value]


__all__ = ["Choice", "check_alone", "relax_function", "run", "run_inputs", "started"]
