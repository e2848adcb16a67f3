"""Sampled inputs of a function: lengths of shape variables, and values by seed. Equal samples give equal values."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from relax_explorer.core.check.normalize import normal_form_of
from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.exec.values import Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.arrays import INPUT_LIMIT, damaged
from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.core.session.call_program import CallProgram, NamedCall, call_program, read_calls
from relax_explorer.core.session.former_parameters import Entry, completed
from relax_explorer.core.session.inputs import call_values, free_lengths, from_file, generated_inputs
from relax_explorer.core.session.model_weights import with_weights
from relax_explorer.core.session.naming import FieldNames, names_from
from relax_explorer.core.session.recording import Arguments, Recording, content, finished, recorded
from relax_explorer.core.session.stages import Stage
from relax_explorer.core.syntax.notes import UnreadableText, short_text

_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29)
_LENGTHS = (1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17)
USUAL = 3  # samples of a function with free shape variables: primes, ones, zeros


@dataclass(frozen=True, slots=True)
class CallFile:
    """The calls of a file. `names` are those that a build tells for the fields of tuple parameters, by function."""

    path: str
    folder: str
    calls: tuple[NamedCall, ...]
    names: Mapping[str, FieldNames] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Sample:
    """Inputs by rule: lengths, a seed for the rest, given sources, or one file with all values. It holds no arrays.

    With `calls` it is a file of calls instead, which are made one after the other (`sample_runs`).

    `names` are those of the fields of tuple parameters, for files; by default those that the function tells. `entries` are the functions
    that have other parameters in other stages. A parameter that nobody gives, and that is a constant there, gets its value.
    """

    lengths: tuple[tuple[str, int], ...] = ()
    seed: int = 0
    sources: tuple[tuple[str, str], ...] = ()
    file: str = ""
    most: int = INPUT_LIMIT
    names: FieldNames | None = field(default=None, compare=False)
    calls: CallFile | None = None
    entries: Mapping[str, Entry] = field(default_factory=dict, compare=False)

    def values(self, fn: e.Function, entry: Entry | None = None) -> list[Any]:
        """The values for the parameters of a function. Raises Failure if they cannot be made."""
        if self.file:
            return from_file(fn, self.file, self.most, self.names)
        default, sources = f"randn:{self.seed}", dict(self.sources)
        values = {} if entry is None else entry.values
        arrays = {name: item for name, item in values.items() if item is not None and name not in sources}
        return generated_inputs(fn, sources, dict(self.lengths), default, self.most, self.names, arrays)[0]

    def __str__(self) -> str:
        if self.calls is not None:
            return self.calls.path
        if self.file:
            return self.file
        return ", ".join([*[f"{name} = {length}" for name, length in self.lengths], f"seed {self.seed}"])


def sampled(
    fn: e.Function,
    count: int | None = None,
    sources: Mapping[str, str] | None = None,
    lengths: Mapping[str, int] | None = None,
    most: int = INPUT_LIMIT,
    names: FieldNames | None = None,
) -> tuple[Sample, ...]:
    """`count` samples. Shape variables without a given length are first different primes, then 1, then 0, then others.

    Without `count`, these three for a function with free shape variables, else one.
    """
    given, fixed = dict(sources or {}), dict(lengths or {})
    free = free_lengths(fn, given, fixed, names)
    if count is None:
        count = USUAL if free else 1
    return tuple(
        [
            Sample((*fixed.items(), *_lengths(free, number)), number, tuple(given.items()), "", most, names)
            for number in range(count)
        ]
    )


def samples_of(
    module: IRModule,
    function: str,
    count: int | None = None,
    sources: Mapping[str, str] | None = None,
    lengths: Mapping[str, int] | None = None,
    most: int = INPUT_LIMIT,
    names: FieldNames | None = None,
) -> tuple[Sample, ...]:
    """`sampled` for a function of a module. A single source that is an .npz without a name holds all values, so it is the only sample.

    Weights of an imported model come from the file that it names. Raises Failure if there is no such function.
    """
    call = with_weights(CallInputs("", sources or {}), [module], function)
    if call.whole and not lengths:
        function_of(module, function)
        return (Sample(file=call.whole, most=most, names=names),)
    return sampled(function_of(module, function), count, call.sources, lengths, most, names)


def function_of(module: IRModule, name: str) -> e.Function:
    """The Relax function called `name`, in normal form. Raises Failure if there is none."""
    fn = module.functions.get(name)
    if type(fn) is not e.Function:
        has = ", ".join(module.relax_functions) or "none"
        text = f"the module has no Relax function {name!r}"
        raise Failure(Diagnostic(codes.UNKNOWN_FUNCTION, text, help=f"it has {has}"))
    normal = normal_form_of(module).functions[name]
    assert type(normal) is e.Function  # the normal form has the same functions
    return normal


def _lengths(free: list[str], number: int) -> list[tuple[str, int]]:
    if number == 0:
        return [(name, _PRIMES[place % len(_PRIMES)]) for place, name in enumerate(free)]
    if number < USUAL:
        return [(name, USUAL - 1 - number) for name in free]
    choose = random.Random(number)
    return [(name, choose.choice(_LENGTHS)) for name in free]


# -- sample runs -----------------------------------------------------------------------------------------------------
# Runs of a sample: one call with its inputs, or all calls of a file, on any stage of a build.


_PROGRAMS: PerNode[dict[Sample, CallProgram]] = PerNode()  # of the module whose functions told the inputs


@dataclass(frozen=True, slots=True)
class SampleRun:
    """A sample ready to run: a function and its arguments. With `program` the function makes the calls of a file.

    Each stage makes its own caches: nothing that a call returns is shared between stages. A stage whose `entries` have other
    parameters runs with functions that have those of the first one.
    """

    function: str
    arguments: Arguments
    program: CallProgram | None = None
    entries: Mapping[str, Entry] = field(default_factory=dict)

    @property
    def values(self) -> tuple[Value, ...]:
        """The values of the arguments."""
        return self.arguments.given

    @property
    def called(self) -> tuple[str, ...]:
        """The functions of a stage that it calls."""
        if self.program is None:
            return (self.function,)
        return tuple(
            dict.fromkeys([call.function for call in self.program.calls if "." not in call.function])
        )

    def module(self, stage: IRModule) -> IRModule:
        """A stage with the function."""
        stage = completed(stage, self.entries)
        return stage if self.program is None else self.program.into(stage)

    def finished(
        self, stage: IRModule, cache: Path | None = None, interrupt: Interrupt | None = None
    ) -> Recording:
        """The results on a stage, without the values on the way."""
        made = self._runnable(stage)
        if isinstance(made, Recording):
            return made
        return finished(made, self.function, self.arguments, cache, interrupt, self.program)

    def recorded(
        self, stage: IRModule, cache: Path | None = None, interrupt: Interrupt | None = None
    ) -> Recording:
        """The results on a stage, and all values on the way."""
        made = self._runnable(stage)
        if isinstance(made, Recording):
            return made
        return recorded(made, self.function, self.arguments, cache, interrupt, program=self.program)

    def _runnable(self, stage: IRModule) -> IRModule | Recording:
        """The stage with the function, or the failure of a stage that has no normal form: it runs nothing."""
        try:
            return self.module(stage)
        except Cancelled:
            raise
        except Failure as failure:
            return Recording(failure=failure.diagnostics[0], inputs=content(self.values))


def sample_run(first: Stage, function: str, sample: Sample) -> SampleRun:
    """A sample ready to run on the stages of a build. The first stage tells its parameters. Raises Failure."""
    if sample.calls is None:
        fn = function_of(completed(first.module, sample.entries), function)
        values = sample.values(fn, sample.entries.get(function))
        return SampleRun(function, Arguments(tuple(values)), None, sample.entries)
    program = program_of(first.module, sample)
    return SampleRun(program.name, Arguments(tuple(program.values)), program, sample.entries)


def program_of(module: IRModule, sample: Sample) -> CallProgram:
    """The program of a sample of calls. It is made once for each module."""
    module = completed(module, sample.entries)
    file, known = sample.calls, _PROGRAMS.of(module, lambda _: {})
    assert file is not None  # a sample of calls
    if sample not in known:
        known[sample] = call_program(module, file.calls, file.path, file.folder, sample.most, file.names)
    return known[sample]


# -- starting --------------------------------------------------------------------------------------------------------
# What a run begins with: a function of a stage and its arguments, or the calls of a file.


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
    names = names_from([module, *earlier], function)
    values, note = call_values(fn, with_weights(given, [module, *earlier], function), most, names)
    return Start(module, function, values, None, note)


def sample_of_calls(
    path: str, modules: Sequence[IRModule], most: int = INPUT_LIMIT, places: Mapping[str, str] | None = None
) -> Sample:
    """The calls of a file as a sample. `modules` tell the names of weights, the nearest stage first. Raises Failure.

    `places` are texts of the file that are replaced.
    """
    text = _text(path)
    for place, own in (places or {}).items():
        text = text.replace(place, own)
    calls = read_calls(text, path)
    if not calls:
        raise damaged(f"{path} makes no call")
    names = {call.function: names_from(modules, call.function) for call in calls if "." not in call.function}
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
