"""A recorded run: each value as it was when a binding made or wrote it.

A binding that fills its operands, such as the call of a kernel in a lowered program, produces the filled values. Values are
copied at that moment if the program can overwrite memory, so a later write into the same memory changes nothing here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from relax_explorer.core.check.effects import effects
from relax_explorer.core.check.normalize import normal_form_of
from relax_explorer.core.codes.runtime import NOT_HERE
from relax_explorer.core.codes.syntax import MISSING_METADATA
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.exec.events import Event
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.memory import Stateful
from relax_explorer.core.exec.values import UNKNOWN, Shape, Value, bytes_of, to_python
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.walk import bindings, operands, sequences
from relax_explorer.core.ops import find
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.arrays import INPUT_LIMIT, cut
from relax_explorer.core.session.call_program import CallProgram
from relax_explorer.core.session.difference import leaves_of, same_bits
from relax_explorer.core.session.written_places import (
    Place,
    StatefulOperand,
    places_before,
    stateful_operands,
    variables_of,
)

_MOST_NAMES = 20


@dataclass(frozen=True, slots=True)
class MachineFactory:
    """Makes machines for the copied arguments of a call; `program` are the calls of a file that the function makes."""

    make: Callable[[tuple[Value, ...]], Machine]
    program: CallProgram | None = None

    def __call__(self, arguments: tuple[Value, ...]) -> Machine:
        """A machine at the start of the call."""
        return self.make(arguments)

    def results(self, machine: Machine) -> list[tuple[str, Value]]:
        """The results of a machine that ended, each with its name. Caches stand in them by their content."""
        if self.program is None:
            result = content(to_python(machine.result))
            return [(f"out{n}", value) for n, value in enumerate(leaves_of(result))]
        ends = [(name, content(value)) for name, value in self.program.ends(machine.result)]
        return [(name, part) for name, value in ends for part in leaves_of(value)]


_ANSWERS = ("call_tir", "call_tir_inplace", "call_dps_packed", "call_tir_with_grad", "vm.call_tir_dyn")


@dataclass(frozen=True, slots=True, eq=False)
class Production:
    """A value at the moment when `binding` of `function` made it, or wrote it into the operand `name`.

    `reads` are the numbers of the productions of its operands; inputs of the run have negative numbers. `depth` is the number
    of calls around it.
    """

    number: int
    binding: e.Binding
    function: str
    name: str
    operation: str
    value: Value
    reads: tuple[int, ...] = ()
    written: bool = False
    stale: tuple[str, ...] = ()  # operands that were overwritten after they were made, with the writer
    depth: int = 0
    call: int = 0  # of a file of calls, from 1
    place: int = 0  # of the binding in its function, from 1
    parts: tuple[str, ...] = ()  # of a cache: what each array of the value is


@dataclass(slots=True, eq=False)
class Recording:
    """The productions of a call in order, its results, its output, and the failure that stopped it.

    Caches stand in it by their content. `labels` name the results. `call` is the call of a file that was running last,
    and `ends` are the results of the last one, without caches.

    `inputs` are the arguments after the run. `last` is the binding that was running when the program stopped. `unkept` values
    were beyond the memory limit.
    """

    productions: list[Production] = field(default_factory=list)
    result: Value = None
    inputs: tuple[Value, ...] = ()
    names: tuple[str, ...] = ()  # of the inputs
    output: tuple[str, ...] = ()
    failure: Diagnostic | None = None
    last: e.Binding | None = None
    last_reads: tuple[int, ...] = ()
    ends_in: tuple[int, ...] = ()  # the productions that are the result
    unkept: int = 0
    labels: tuple[str, ...] = ()
    call: int = 0
    ends: tuple[Value, ...] = ()
    ends_at: tuple[int, ...] = ()  # the places of `ends` in the result
    returned: Value = None  # the result with its caches, of one call

    @property
    def not_here(self) -> str:
        """Why the program can't be run here to its end, which tells nothing about it; empty if that is not what stopped it.

        Texts that TVM dumps name constants without their data.
        """
        stopped = self.failure
        if stopped is None or stopped.code not in (*NOT_HERE, MISSING_METADATA):
            return ""
        return stopped.message if stopped.code in NOT_HERE else f"{stopped.message}; rxe record keeps it"

    def last_results(self, program: CallProgram | None) -> list[Value]:
        """The results of the last call, without caches: those that a file of right results holds as out0, out1, …"""
        return list(leaves_of(self.result)) if program is None else list(self.ends)

    def keep(self, machine: Machine, make: MachineFactory) -> None:
        """Keep the result and the output of a machine that ended."""
        self.output, self.inputs = tuple(machine.output), content(self.inputs)
        if make.program is None:
            self.returned = to_python(machine.result)
            self.result = content(self.returned)
            self.labels = tuple([f"out{n}" for n, _ in enumerate(leaves_of(self.result))])
            return
        found = make.results(machine)
        self.result, self.labels = tuple([value for _, value in found]), tuple([name for name, _ in found])
        self.call, self.ends = len(make.program.calls), tuple(make.program.last(machine.result))
        places = {id(value): n for n, (_, value) in enumerate(found)}
        self.ends_at = tuple([places.get(id(value), 0) for value in self.ends])


def finished(
    module: IRModule,
    function: str,
    args: Sequence[Value] | Arguments,
    cache: Path | None = None,
    interrupt: Interrupt | None = None,
    program: CallProgram | None = None,
) -> Recording:
    """Run a call without recording its values. A failure of the program is part of the result.

    `program` are the calls of a file that the function makes.
    """
    return finished_on(machine_factory(module, function, cache, interrupt, program), args)


def finished_on(make: MachineFactory, args: Sequence[Value] | Arguments) -> Recording:
    """Run a machine to its end, without recording its values."""
    given = args if isinstance(args, Arguments) else Arguments(tuple(args))
    recording, arguments = Recording(), given.copies()
    machine: Machine | None = None
    try:
        machine = make(arguments)
        machine.met = set()
        recording.names = tuple([param.name for param in machine.frame.function.params])
        machine.run()
    except Cancelled:
        raise
    except Failure as failure:
        recording.failure = failure.diagnostics[0]
        recording.inputs = content(arguments)
        recording.call = _running(machine, make.program)
        return recording
    recording.inputs = left = given.after(arguments)
    recording.keep(machine, make)
    if not machine.kept and all(x is y for x, y in zip(left, given.given, strict=True)):
        given.take_back(arguments, recording.result)
    return recording


_SPARE = 1 << 30
"""The bytes of copies that stay in memory for the next run."""


@dataclass(slots=True, eq=False)
class Arguments:
    """The arguments of several runs: each run gets copies, which are those of the run before if it left them as they were."""

    given: tuple[Value, ...]
    _spare: tuple[Value, ...] | None = None

    def copies(self) -> tuple[Value, ...]:
        """Copies that belong to one run."""
        spare, self._spare = self._spare, None
        return copied(self.given) if spare is None else spare

    def after(self, copies: tuple[Value, ...]) -> tuple[Value, ...]:
        """The arguments after a run. Those that it did not overwrite are the given ones, so that their copies are freed."""
        pairs = zip(self.given, copies, strict=True)
        return tuple([value if is_same(value, copy) else copy for value, copy in pairs])

    def take_back(self, copies: tuple[Value, ...], result: Value) -> None:
        """Keep copies that a run did not overwrite for the next run, unless its result may share their memory."""
        if bytes_of(copies) > _SPARE:
            return
        places = sorted([_addresses(array) for array in leaves_of(copies) if isinstance(array, np.ndarray)])
        for part in leaves_of(result):
            if isinstance(part, np.ndarray):
                start, end = _addresses(part)
                number = bisect_left(places, (end, 0))  # copies lie apart from each other
                if number and places[number - 1][1] > start:
                    return
            elif not isinstance(part, (np.generic, Shape, bool, int, float, str)):
                return  # an object may hold them
        self._spare = copies


def is_same(a: Value, b: Value) -> bool:
    """True for values with the same bits, and for what has no content to compare. Caches are compared by their content."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.shape == b.shape and a.dtype == b.dtype and same_bits(a, b)
    if type(a) is tuple and type(b) is tuple:
        return len(a) == len(b) and all(map(is_same, a, b))
    if isinstance(a, Stateful) and isinstance(b, Stateful):
        return is_same(*[tuple([array for _, array in item.parts()]) for item in (a, b)])
    if isinstance(a, (np.ndarray, np.generic, bool, int, float, str, tuple)):
        return type(a) is type(b) and bool(a == b)
    return True


def differing(names: Sequence[str]) -> str:
    """The sentence about results that differ: `out0 differs`. Of several calls, about those of the first call."""
    calls = [name.partition(" of ")[2] for name in names]
    first = [name.partition(" of ")[0] for name, call in zip(names, calls, strict=True) if call == calls[0]]
    where = f"in {calls[0]}: " if calls[0] else ""
    return f"{where}{cut(first, _MOST_NAMES)} differ{'s' * (len(first) == 1)}"


def content(value: Value) -> Value:
    """A value with the contents of caches in their place: one array, or a tuple of arrays."""
    if isinstance(value, Stateful):
        arrays = tuple([array for _, array in value.parts()])
        return arrays[0] if len(arrays) == 1 else arrays or value
    return tuple(map(content, value)) if type(value) is tuple else value


def _running(machine: Machine | None, program: CallProgram | None) -> int:
    """The call of a file that a machine is in."""
    if machine is None or program is None or not machine.frames:
        return 0
    frame = machine.frames[0]
    done = [item.binding for item in frame.plan.code[: frame.pc] if item.binding is not None]
    return program.number(done[-1]) if done else 1


def recorded(
    module: IRModule,
    function: str,
    args: Sequence[Value] | Arguments,
    cache: Path | None = None,
    interrupt: Interrupt | None = None,
    most: int = INPUT_LIMIT,
    program: CallProgram | None = None,
) -> Recording:
    """Run a call and record its values, up to `most` bytes. A failure of the program is part of the result.

    `program` are the calls of a file that the function makes.
    """
    return recorded_on(machine_factory(module, function, cache, interrupt, program), args, most)


def machine_factory(
    module: IRModule, function: str, cache: Path | None = None, interrupt: Interrupt | None = None,
    program: CallProgram | None = None,
) -> MachineFactory:  # fmt: skip
    """Makes machines for calls of one function."""

    def make(arguments: tuple[Value, ...]) -> Machine:
        module_to_run = normal_form_of(module)
        return Machine(module_to_run, function, arguments, cache=cache, interrupt=interrupt, private=True)

    return MachineFactory(make, program)


def recorded_on(
    make: MachineFactory, args: Sequence[Value] | Arguments, most: int = INPUT_LIMIT
) -> Recording:
    """Run a machine to its end and record its values, up to `most` bytes."""
    recorder = _Recorder(most, make.program)
    given = args if isinstance(args, Arguments) else Arguments(tuple(args))
    recording, arguments = recorder.recording, given.copies()
    recording.inputs = arguments
    try:
        machine = make(arguments)
        machine.met = set()
        recorder.begin(machine)
        while not machine.done:
            recorder.step()
    except Cancelled:
        raise
    except Failure as failure:
        recording.failure = failure.diagnostics[0]
        recording.inputs, recording.call = content(recording.inputs), recorder.call
        return recording
    recording.inputs = given.after(arguments)
    recording.keep(machine, make)
    return recording


class _Recorder:
    """Watches the steps of a machine."""

    def __init__(self, most: int, program: CallProgram | None = None) -> None:
        self.recording = Recording()
        self.most, self.program, self.call = most, program, 0
        self.written: dict[Stateful, int] = {}  # the production that changed an object last
        self.sources: list[dict[e.Var, tuple[int, ...]]] = []  # productions of each variable, for each frame
        self.contents: dict[e.Var, tuple[Any, Any]] = {}  # arrays of variables, with their contents when made
        self.writers: list[
            tuple[int, int, str]
        ] = []  # first and last address of each write, and the variable
        self.stale: tuple[str, ...] = ()

    def begin(self, machine: Machine) -> None:
        self.machine = machine
        self.effects = effects(machine.module)
        params = machine.frame.function.params
        self.sources.append({param: (-1 - n,) for n, param in enumerate(params)})
        self.recording.names = tuple([param.name for param in params])

    def step(self) -> None:
        """One step of the machine. What it wrote is read from its operands, which may be released after it."""
        machine, recording = self.machine, self.recording
        frame, binding = machine.frames[-1], next_binding(machine.frames[-1])
        if self.program is not None and len(machine.frames) == 1 and binding is not None:
            self.call = self.program.number(binding)
        stateful = stateful_operands(frame, binding)
        reads = self._reads(binding.value) if binding is not None else ()
        reads = tuple(
            dict.fromkeys(
                [*reads, *[self.written[item.value] for item in stateful if item.value in self.written]]
            )
        )
        recording.last, recording.last_reads = binding, reads
        places = (
            places_before(frame, binding, self.machine.module, self.effects)
            if self.machine.is_mutable
            else []
        )
        self.stale = self._stale(binding, places) if machine.is_mutable and binding is not None else ()
        event = machine.step()
        if event.kind == "enter" and event.binding is not None:
            self._enter(event.binding)
        elif event.kind in ("return", "done"):
            self._leave(frame, event)
        elif event.kind == "bind" and event.binding is not None:
            taken = reads if event.binding is binding else self._reads(event.binding.value)
            changed = [item for item in stateful if item.is_changed()]
            taken = self._changed(event, taken, [item for item in changed if item.value is not event.value])
            self._bound(event, taken, places)
            for item in changed:  # what a binding returns is recorded as its result
                if item.value is event.value:
                    self._wrote(item, len(self.recording.productions) - 1)

    def _enter(self, binding: e.Binding) -> None:
        frame, sources = self.machine.frames[-1], self.sources[-1]
        args = binding.value.args if type(binding.value) is e.Call else ()
        if args and type(args[-1]) is e.Tuple and len(args) != len(frame.function.params):
            args = args[-1].fields  # a callee of invoke_closure
        inner: dict[e.Var, tuple[int, ...]] = dict.fromkeys(frame.function.params, ())
        for param, arg in zip(frame.function.params, args, strict=False):
            inner[param] = self._of(arg, sources)
        self.sources.append(inner)

    def _leave(self, frame: Frame, event: Event) -> None:
        reads = self._of(frame.function.body.body, self.sources.pop())
        if event.binding is None:
            self.recording.ends_in = reads
        else:
            self._bound(event, reads, [])

    def _bound(self, event: Event, reads: tuple[int, ...], places: list[Place]) -> None:
        binding = event.binding
        assert binding is not None  # of events that bind
        written = [place for place in places if place.is_new()]
        if binding.var is not None and is_comparable(event.value) and not _allocates(binding.value):
            number = self._add(binding, binding.var.name, event.value, reads, False)
            self.sources[-1][binding.var] = (number,)
            self._remember(
                [(binding.var, binding.var.name, event.value)], self.recording.productions[-1].value
            )
        elif binding.var is not None:
            self.sources[-1][binding.var] = () if _allocates(binding.value) else reads
        if written:
            value = written[0].array if len(written) == 1 else tuple([place.array for place in written])
            name = ", ".join([place.name for place in written])
            number = self._add(binding, name, value, reads, True)
            self.sources[-1].update({place.var: (number,) for place in written if place.var is not None})
            known = self.recording.productions[-1].value
            self._remember([(place.var, place.name, place.array) for place in written], known)
            self.writers += [
                (*_addresses(place.array), place.name) for place in written if place.array is not None
            ]

    def _changed(
        self, event: Event, reads: tuple[int, ...], objects: list[StatefulOperand]
    ) -> tuple[int, ...]:
        """Record the objects that a binding changed. Its result follows from them, too: returns what it reads."""
        assert event.binding is not None  # of events that bind
        for item in objects:
            number = self._add(event.binding, item.name, item.value, reads, True)
            self._wrote(item, number)
            reads = (*reads, number)
        return reads

    def _wrote(self, item: StatefulOperand, number: int) -> None:
        """Note the production that changed an object last."""
        self.written[item.value] = number
        self.sources[-1][item.var] = (number,)

    def _remember(self, items: list[tuple[e.Var | None, str, Value]], content: Value) -> None:
        """Keep the contents of arrays, to notice when something else overwrites them."""
        contents = content if len(items) > 1 and type(content) is tuple else (content,)
        if self.machine.is_mutable and len(contents) == len(items):
            for (var, _, array), known in zip(items, contents, strict=True):
                if var is not None and isinstance(array, np.ndarray) and isinstance(known, np.ndarray):
                    self.contents[var] = array, known

    def _stale(self, binding: e.Binding, places: list[Place]) -> tuple[str, ...]:
        """The operands that something overwrote after they were made, each with the last writer."""
        filled = {place.var for place in places}
        found = []
        for var in variables_of(binding.value):
            array, known = self.contents.get(var, (None, None))
            if var in filled or array is None or _same_bytes(array, known):
                continue
            start, end = _addresses(array)
            writers = [name for low, high, name in reversed(self.writers) if low < end and start < high]
            found.append(f"{var.name} (by {writers[0]})" if writers else var.name)
        return tuple(found)

    def _add(self, binding: e.Binding, name: str, value: Value, reads: tuple[int, ...], written: bool) -> int:
        recording = self.recording
        number = len(recording.productions)
        parts = tuple([label for label, _ in value.parts()]) if isinstance(value, Stateful) else ()
        size = bytes_of(value)
        if size > self.most:
            recording.unkept += 1
            value = UNKNOWN
        else:
            self.most -= size
            value = content(copied(value) if self.machine.is_mutable else value)
        operation = operation_of(binding.value)
        recording.productions.append(
            Production(
                number,
                binding,
                self.machine.frames[-1].name,
                name,
                operation,
                value,
                reads,
                written,
                self.stale,
                len(self.sources) - 1,
                self.call,
                _PLACES.of(self.machine.frames[-1].function, _places).get(id(binding), 0),
                parts,
            )
        )
        return number

    def _reads(self, value: e.Expr) -> tuple[int, ...]:
        parts = [value] if isinstance(value, e.Var) else [*operands(value)]
        if type(value) is e.If:
            parts += [branch.body for branch in sequences(value)]  # one of them has run
        return tuple(dict.fromkeys(number for part in parts for number in self._of(part, self.sources[-1])))

    def _of(self, expr: e.Expr, sources: dict[e.Var, tuple[int, ...]]) -> tuple[int, ...]:
        """The numbers of the productions of an operand."""
        found: dict[int, None] = {}
        stack = [expr]
        while stack:
            part = stack.pop()
            if isinstance(part, e.Var):
                found.update(dict.fromkeys(sources.get(part, ())))
            else:
                stack.extend(reversed(operands(part)))
        return tuple(found)


def _same_bytes(a: Array, b: Array) -> bool:
    return bool(a.shape == b.shape and a.tobytes() == b.tobytes())


def _addresses(array: Array) -> tuple[int, int]:
    """The first address of an array, and the one after its last."""
    low, high = np.lib.array_utils.byte_bounds(array)
    return int(low), int(high)


def next_binding(frame: Frame) -> e.Binding | None:
    """The binding that the next step evaluates or calls; None at a branch or at the end."""
    for instruction in islice(frame.plan.code, frame.pc, None):
        if instruction.binding is not None:
            return instruction.binding
        if instruction.kind in ("branch", "jump", "return"):
            break
    return None


def _allocates(value: e.Expr) -> bool:
    """True for a call whose result is memory without content."""
    declared = find(value.op.name) if type(value) is e.Call and type(value.op) is e.OpRef else None
    return declared is not None and declared.allocates


_PLACES: PerNode[dict[int, int]] = PerNode()


def _places(fn: e.Function) -> dict[int, int]:
    """The numbers of the bindings of a function, from 1, by identity: a fact must not hold its node."""
    return {id(binding): number for number, binding in enumerate(bindings(fn), 1)}


def is_comparable(value: Value) -> bool:
    """True for a value that can be compared: tensors, shapes, scalars, caches, and tuples with one of these."""
    if isinstance(value, Stateful):
        return bool(value.parts())
    if type(value) is tuple:
        return any(map(is_comparable, value))
    return isinstance(value, (np.ndarray, np.generic, Shape, bool, int, float))


def copied(value: Value) -> Value:
    """A value with its arrays copied."""
    if isinstance(value, np.ndarray):
        return value.copy()
    return tuple(map(copied, value)) if type(value) is tuple else value


def operation_of(value: e.Expr) -> str:
    """The operator, kernel or function that a value calls, else its kind."""
    if type(value) is not e.Call:
        return "copy" if isinstance(value, e.Var) else type(value).__name__
    name = str(getattr(value.op, "name", ""))
    callee = value.args[0] if value.args else None
    if type(value.op) is e.OpRef and name.removeprefix("relax.") in _ANSWERS and callee is not None:
        name = str(getattr(callee, "name", name))
    return name.removeprefix("relax.")
