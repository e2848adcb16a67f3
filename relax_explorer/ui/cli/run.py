"""`run`: evaluate a function, compare with expected values, stop at a variable, trace the steps."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from relax_explorer.core.check.call_graph import mentioned
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.one_run import BindingTimes
from relax_explorer.core.exec.values import to_python
from relax_explorer.core.ir import expr as e
from relax_explorer.core.notations import is_contract
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.call_program import CallProgram
from relax_explorer.core.session.inputs import file_remarks, from_file, made_inputs
from relax_explorer.core.session.naming import FieldNames
from relax_explorer.core.session.samples import Start
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.shapes.contract_text import read_contract
from relax_explorer.core.syntax.load import read_text
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.calling import calls_in, tell_results
from relax_explorer.ui.cli.contract_runs import function_of_inputs, run_contracts
from relax_explorer.ui.cli.expected import compare
from relax_explorer.ui.cli.input_options import inputs_given
from relax_explorer.ui.cli.interruptible import interruptible
from relax_explorer.ui.cli.opening import session_to_run, told_names, typed
from relax_explorer.ui.cli.packed_files import register_files
from relax_explorer.ui.cli.progress import compiling
from relax_explorer.ui.cli.run_problems import of_the_run
from relax_explorer.ui.cli.run_steps import Asked, report_stop, walk
from relax_explorer.ui.cli.run_times import report
from relax_explorer.ui.cli.stored import save
from relax_explorer.ui.files import STANDARD_OUTPUT, Target
from relax_explorer.viz.short import short_value


def run(
    input: str, func: str | None, passes: str | None, input_: tuple[str, ...], shape: tuple[str, ...], expect: str | None, rtol: float, atol: float,
    output_: Target | None, break_: str | None, trace: Target | None, format: str, profile: str, max_input: float,
    stop_on: str | None, watch: tuple[str, ...], time_bindings: bool, shapes: bool,
    packed: tuple[str, ...], private: bool, calls: str | None, engine: str, no_fused: bool, stage: str | None, const: str | None,
) -> int:  # fmt: skip
    """Run a function of a stage."""
    if output_ == STANDARD_OUTPUT:
        raise click.UsageError("run cannot print an .npz: --output must name a file")
    asked = Asked(break_, stop_on, watch, trace, shapes, time_bindings, format == "json")
    register_files(packed)  # a notation is read with the relations and primitives of these files
    if is_contract(input):
        unused = func, typed(passes), expect, output_, asked.steps, time_bindings, calls, stage, const
        return run_contracts(input, unused, lambda fn: run_inputs(fn, input_, shape, max_input), format)
    check_alone(calls, (func, input_, shape))
    session = session_to_run(input, passes, stage, profile, const, (func,) if func is not None else ())
    start = started(session, calls, (func, input_, shape, max_input), private)
    if asked.steps:
        walked = interruptible(
            lambda interrupt: walk(_debugger(session, start, interrupt, private, engine), asked)
        )
        if walked.is_stopped:
            report_stop(walked, start.program)
            return output.FOUND if stop_on is not None else output.OK
        machine, document = walked.debugger.machine, walked.data
    else:
        times = BindingTimes()
        machine = interruptible(
            lambda interrupt: _ended(
                session, start, interrupt, times if time_bindings else None, private, engine, not no_fused
            )
        )
        document = report(times, format) if time_bindings else {}
    results = _told(machine, format, document, output_, start.program)
    return compare(results, expect, rtol, atol) if expect is not None else output.OK


Choice = tuple[str | None, tuple[str, ...], tuple[str, ...], float]
"""What the options say of a call: the function, sources, lengths, GiB."""


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
        return Start(at.module, name, run_inputs(function_of_inputs(contracts), sources, shape, gigabytes))
    output.report(of_the_run(session.stages[0], {name}))
    return Start(at.module, name, run_inputs(fn, sources, shape, gigabytes, told_names(session, name)))


def _told(
    machine: Machine,
    format: str,
    document: dict[str, Any],
    target: Target | None,
    program: CallProgram | None,
) -> list[Any]:
    """The results of a run, after they and the remarks were printed, and saved if there is a target."""
    if program is not None:
        _report_remarks(machine)
        return tell_results(program, machine.result, format, document, target)
    results = _flat(to_python(machine.result))
    _report_remarks(machine)
    _print(results, format, document)
    if target is not None:
        save({f"out{number}": value for number, value in enumerate(results)}, target)
    return results


def check_alone(calls: str | None, others: tuple[object, ...]) -> None:
    """Refuse options that --calls has no use for."""
    if calls is not None and any(others):
        raise click.UsageError(
            "--calls takes functions and inputs from its file: no other option may give them"
        )


def _report_remarks(machine: Machine) -> None:
    """Print the output and the warnings of the program."""
    for line in machine.output:
        output.say(line, err=True)
    for warning in machine.warnings:
        output.say(f"warning[{warning.code}]: {warning.message}", err=True)


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
    times: BindingTimes | None,
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
    fn: e.Function,
    sources: tuple[str, ...],
    shape: tuple[str, ...],
    gigabytes: float,
    names: FieldNames | None = None,
) -> list[Any]:
    """The inputs of the options `--input` and `--shape`. Made-up ones and translated names are noted on standard error.

    `names` are those that a build tells for the fields of tuple parameters.
    """
    most = most_bytes(gigabytes)
    call = inputs_given(sources, shape)
    for remark in file_remarks(fn, call, names):
        output.say(remark, err=True)
    if call.whole:
        return from_file(fn, call.whole, most, names)
    values, made_up = made_inputs(fn, call.sources, call.shape, most=most, names=names)
    if made_up:
        output.say(f"made up: {made_up}; --shape and --input choose others", err=True)
    return values


def most_bytes(gigabytes: float) -> int:
    """The limit of `--max-input` in bytes."""
    if not 0 <= gigabytes < 1 << 20:  # also refuses NaN
        raise click.UsageError("--max-input takes a number of GiB from 0 on")
    return int(gigabytes * (1 << 30))


def _flat(value: Any) -> list[Any]:
    if isinstance(value, tuple) and not all(type(item) is int for item in value):
        return [item for part in value for item in _flat(part)]
    return [value]


def _print(results: list[Any], style: str, more: dict[str, Any]) -> None:
    if style == "json":
        rows = [
            {"shape": list(r.shape), "dtype": r.dtype.name, "value": r}
            if isinstance(r, np.ndarray)
            else {"value": r}
            for r in results
        ]
        output.say(output.document("run", {"results": rows, **more}))
        return
    for number, value in enumerate(results):
        output.say(f"out{number}: {short_value(value, 100)}")
        if isinstance(value, np.ndarray) and value.ndim:
            output.say(np.array2string(value, threshold=100, edgeitems=3, precision=6))


__all__ = ["Choice", "check_alone", "relax_function", "run", "run_inputs", "started"]
