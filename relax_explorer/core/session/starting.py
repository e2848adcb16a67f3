"""What a run begins with: a function of a stage and its arguments, or the calls of a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from relax_explorer.core.exec.values import Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.arrays import INPUT_LIMIT, damaged
from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.core.session.call_program import CallProgram
from relax_explorer.core.session.inputs import call_values
from relax_explorer.core.session.named_calls import read_calls
from relax_explorer.core.session.naming import told_by
from relax_explorer.core.session.samples import CallFile, Sample, program_of
from relax_explorer.core.syntax.notes import UnreadableText, short_text

_MOST_TEXT = 1 << 20  # bytes of a file of calls


@dataclass(frozen=True, slots=True)
class Start:
    """A module, a function of it, and its arguments. `program` are the calls of a file, `note` tells what was made up."""

    module: IRModule
    name: str
    args: Sequence[Value]
    program: CallProgram | None = None
    note: str = ""


def start_of(
    module: IRModule,
    function: str,
    given: CallInputs,
    earlier: Sequence[IRModule] = (),
    most: int = INPUT_LIMIT,
) -> Start:
    """The run that a user described. `earlier` are stages that may tell names of weights. Raises Failure."""
    if given.calls:
        program = program_of(module, sample_of_calls(given.calls, [module, *earlier], most))
        notes = "; ".join([program.summary, *program.remarks])
        return Start(program.into(module), program.name, program.values, program, notes)
    fn = module.functions[function]
    assert type(fn) is e.Function  # the callers checked this
    names = told_by([module, *earlier], function)
    values, note = call_values(fn, given, most, names)
    return Start(module, function, values, None, note)


def sample_of_calls(path: str, modules: Sequence[IRModule], most: int = INPUT_LIMIT) -> Sample:
    """The calls of a file as a sample. `modules` tell the names of weights, the nearest stage first. Raises Failure."""
    calls = read_calls(_text(path), path)
    if not calls:
        raise damaged(f"{path} makes no call")
    names = {call.function: told_by(modules, call.function) for call in calls if "." not in call.function}
    return Sample(most=most, calls=CallFile(path, os.path.dirname(path), tuple(calls), names))


def call_line(fn: e.Function, name: str, given: CallInputs) -> str:
    """A call with these inputs as a line of a file of calls: a source for each parameter."""
    sources = [
        given.sources.get(param.name, given.sources.get(str(n), "")) for n, param in enumerate(fn.params)
    ]
    return f"result = {name}({', '.join([repr(source or given.whole or 'randn:0') for source in sources])})\n"


def _text(path: str) -> str:
    try:
        return short_text(path)
    except UnreadableText as problem:
        raise damaged(f"{path}: {problem}") from None
