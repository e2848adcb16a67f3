"""Who made a number: where a NaN or an infinity first comes up, and the step, the elements and the store that made it.

From a wrong value the search goes back through the steps that only passed it on, to the step that made it, or to an input.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.breakpoints import Breakpoint
from relax_explorer.core.exec.computed import (
    Made,
    Named,
    Parts,
    Place,
    Result,
    Store,
    aligned,
    filled,
    flat,
    floats,
    kernel_call,
    made,
    parts,
    selected,
)
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.events import Change, Event
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.values import Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ops.kit.decl import Fusion
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.source import Span
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.core.tir.traverse import expressions, statements, subexpressions

# -- where it comes up -----------------------------------------------------------------------------------------------
# The steps that make NaN and infinities: a breakpoint at them.
#
# A step makes a NaN if an element of its result is NaN, and no element that it was made of. For an operator whose
# elements can be told apart (`operand_parts.py`) these are the elements of the operands behind it; for other calls,
# all elements. An infinity counts in the same way. Meant are: infinities in inputs, in constants, in attributes, and
# those that a kernel writes as a literal, such as the -inf of a mask or the start of a maximum. Memory that is not
# filled yet holds no numbers.


NAN, INF = "nan", "inf"
BOTH = (NAN, INF)
_TRACED_MOST = 256  # wrong elements that are traced one by one if some operand is wrong as well


@dataclass(frozen=True, slots=True)
class Wrong:
    """A result that a step made wrong, and its first element of this kind."""

    kind: str
    result: Result
    place: Place


def on_not_finite(debugger: Debugger, kinds: Sequence[str] = BOTH) -> Breakpoint:
    """Stop after a step that makes a NaN, or an infinity from finite numbers."""

    def hit(event: Event, frame: Frame) -> bool:
        log, position = debugger.machine.log, debugger.position
        step = made(log[position - 1]) if position and log[position - 1].event is event else None
        return step is not None and first_wrong(debugger, step, kinds) is not None

    return Breakpoint(kinds[0] if len(kinds) == 1 else "not-finite", hit)


def first_wrong(debugger: Debugger, step: Made, kinds: Sequence[str] = BOTH) -> Wrong | None:
    """What a step made wrong itself; None if its results are fine, or if wrong operands explain them."""
    for kind in kinds:
        for result in step.results:
            if holds(kind, result.array):
                place = _own(debugger, kind, step, result)
                if place is not None and not (kind == INF and _is_meant(debugger, step)):
                    return Wrong(kind, result, place)
    return None


def holds(kind: str, value: Value) -> bool:
    """True if a value has a wrong element, also inside tuples."""
    return any(bool(wrong(kind, array).any()) for _, array in floats(value))


def wrong(kind: str, array: object) -> Array:
    """A mask of the wrong elements of an array or a scalar."""
    numbers = np.asarray(array)
    numbers = numbers if numbers.dtype.kind == "f" else numbers.astype(np.float32)
    mask: Array = np.isnan(numbers) if kind == NAN else np.isinf(numbers)
    return mask


def wrong_operands(debugger: Debugger, kind: str, step: Made) -> list[int]:
    """The numbers of the wrong operands. Old contents that a kernel overwrites without reading do not count."""
    found = [number for number, item in enumerate(step.operands) if holds(kind, item.value)]
    return [number for number in found if not _is_ignored(debugger, step, number)]


def _is_ignored(debugger: Debugger, step: Made, number: int) -> bool:
    """True if a kernel fills an operand without reading it: on copies, with zeros in it, it gives the same."""
    result = next((item for item in step.results if item.operand == number), None)
    kernel = kernel_call(debugger.module, step) if result is not None else None
    if result is None or kernel is None:
        return False
    fn, args = kernel
    value = step.operands[number].value
    places = [place for place, arg in enumerate(args) if arg is value]
    copies = [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]
    for place in places:
        copies[place] = np.zeros_like(value)
    try:
        debugger.machine.kernels.call(fn, copies)
    except Failure:
        return False
    return len(places) == 1 and bool(copies[places[0]].tobytes() == result.array.tobytes())


def _own(debugger: Debugger, kind: str, step: Made, result: Result) -> Place | None:
    """The first wrong element that no wrong element explains."""
    mask = wrong(kind, result.array)
    if not wrong_operands(debugger, kind, step):
        return Place(result.path, first_index(mask))
    op = step.op
    if op is None or op.evaluate is None or result.is_overwritten:
        return None
    if op.fusion in (Fusion.ELEMENTWISE, Fusion.BROADCAST):
        mask = mask & ~_behind(kind, step, mask)
    for _, index in zip(range(_TRACED_MOST), _places(mask), strict=False):
        found = operand_parts(step, Place(result.path, index))
        if found is None:
            return None
        if not _any_wrong(kind, flat(step.args), found):
            return Place(result.path, index)
    return None


def _behind(kind: str, step: Made, mask: Array) -> Array:
    """The elements with a wrong operand behind them, for broadcasting."""
    behind = np.zeros_like(mask)
    for item in step.operands:
        if isinstance(item.value, np.ndarray) and aligned(item.value, (0,) * mask.ndim) is not None:
            own = wrong(kind, item.value) if holds(kind, item.value) else np.zeros((), bool)
            try:
                behind |= np.broadcast_to(own, mask.shape)
            except ValueError:
                return np.ones_like(mask)  # not broadcasting: every element may be explained
    return behind


def _any_wrong(kind: str, operands: Sequence[Value], found: Parts) -> bool:
    return any(
        holds(kind, np.asarray(value[part]))
        for value, part in zip(operands, found, strict=False)
        if part is not None and isinstance(value, np.ndarray)
    )


def operand_parts(step: Made, place: Place) -> Parts | None:
    """The parts of the flattened operands that made one element of the value of a step; None if it can't be told."""
    op, value = step.op, step.change.event.value
    if op is None or op.evaluate is None or op.by_machine:
        return None
    return parts(op, step.call.attrs, step.args, value, place)


def first_index(mask: Array) -> tuple[int, ...]:
    """The index of the first True."""
    return tuple(map(int, np.unravel_index(int(np.argmax(mask)), mask.shape)))


def _places(mask: Array) -> Iterator[tuple[int, ...]]:
    return (tuple(map(int, index)) for index in np.argwhere(mask))


def _is_meant(debugger: Debugger, step: Made) -> bool:
    """True if the call itself names infinity: in an attribute, or in its kernel as a literal that is stored."""
    if any(isinstance(value, float) and np.isinf(value) for value in step.call.attrs.values()):
        return True
    from relax_explorer.core.exec.first_store import first_store  # numba takes 0.3 s to import

    kernel = kernel_call(debugger.module, step)
    return (
        kernel is not None
        and _has_infinity(kernel[0])
        and not isinstance(first_store(*kernel, INF, debugger.interrupt), Store)
    )


def _has_infinity(fn: PrimFunc) -> bool:
    """True if a PrimFunc contains an infinite literal."""
    exprs = subexpressions(*[expr for node in statements(fn.body) for expr in expressions(node)])
    return any(
        isinstance(value, float) and np.isinf(value) for value in (getattr(x, "value", None) for x in exprs)
    )


# -- who made it -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Element:
    """A part of an operand that made the wrong element, with its numbers."""

    text: str  # y[0, 3] or y[0, :]
    values: Any


@dataclass(frozen=True, slots=True)
class Passed:
    """A step that passed a wrong value on."""

    position: int
    function: str
    name: str


@dataclass(frozen=True, slots=True)
class Blame:
    """The maker of a wrong value.

    `source` is step, input or constant. For a step, `binding` made it in `function` as step number `position`, called by the
    bindings in `callers` (innermost first). `store` is the store inside a kernel, or a sentence why it is not known. `began` is
    the store that made an infinity which became the NaN. `passed_on` are the later steps up to the value in question.
    """

    kind: str
    source: str
    name: str  # of the wrong value, such as y or t[1]
    index: tuple[int, ...]
    value: float
    wrong: int  # the number of wrong elements, of `size`
    size: int
    position: int = 0
    function: str = ""
    binding: e.Binding | None = None
    callers: tuple[tuple[str, e.Binding], ...] = ()
    operands: tuple[Named, ...] = ()
    elements: tuple[Element, ...] = ()
    store: Store | str = ""
    began: Store | None = None
    passed_on: tuple[Passed, ...] = ()

    @property
    def span(self) -> Span | None:
        """The place of the binding in the source text."""
        return self.binding.span if self.binding is not None else None


def blame(
    debugger: Debugger, name: str = "", kinds: Sequence[str] = BOTH, frame: Frame | None = None
) -> Blame | None:
    """The maker of the wrong elements of a variable of a frame, by default the innermost one; without `name`, of the last value.

    None if there are none. The debugger goes back to the steps and returns. Only kernels run again, on copies.
    """
    log = _Log(debugger)
    kind, array = _in_question(
        debugger, log, (frame or debugger.frame).values.get(name) if name else None, kinds
    )
    if array is None:
        return None
    here, failed = debugger.position, debugger.machine.failed
    try:
        return _walk(debugger, log, kind, array)
    finally:
        debugger.goto(here)
        debugger.machine.failed = failed


def _walk(debugger: Debugger, log: _Log, kind: str, array: Array) -> Blame | None:
    """Go back from step to step, each time to just after the step, where memory holds what the step saw."""
    passed_on: list[Passed] = []
    before = debugger.position
    read: tuple[Frame, str] | None = None  # the variable that held the array
    while True:
        position = log.maker(array, kind, before)
        if position is None and read is not None:
            position = log.writer(*read, before)
        if position is None:
            return _given(debugger, kind, array, tuple(reversed(passed_on)))
        debugger.goto(position + 1)
        step = made(log.changes[position])
        assert step is not None  # only steps that call something are written down
        if not step.results:
            numbers = [n for n in filled(debugger.module, step) if step.originals[n] is array]
            step = replace(
                step, results=tuple([Result(step.operands[n].name, (), array, n) for n in numbers])
            )
        if any(item is array for _, item in floats(step.originals)) and not _is_overwritten(step, array):
            return _given(debugger, kind, array, tuple(reversed(passed_on)))  # it only returns its operand
        found = first_wrong(debugger, step, (kind,))
        if found is not None:
            return _of_step(debugger, position, step, found, tuple(reversed(passed_on)))
        source = next(iter(wrong_operands(debugger, kind, step)), None)
        if source is None:
            return None  # meant: the step itself names infinity
        passed_on.append(Passed(position + 1, step.change.frame.name, _name(step)))
        arrays = zip(floats(step.originals[source]), floats(step.operands[source].value), strict=True)
        array = next(own for (_, own), (_, old) in arrays if holds(kind, old))
        before, read = position, (step.change.frame, step.operands[source].name)


def _is_overwritten(step: Made, array: object) -> bool:
    return any(step.originals[item.operand] is array for item in step.results if item.is_overwritten)


def given_wrong(debugger: Debugger) -> Blame | None:
    """An input of the run that holds a NaN; None if there is none."""
    for value in _inputs(debugger).values():
        array = next((array for _, array in floats(value) if holds(NAN, array)), None)
        if array is not None:
            return _given(debugger, NAN, array, ())
    return None


class _Log:
    """The recorded steps up to now: who wrote which array first, and who overwrote it."""

    def __init__(self, debugger: Debugger) -> None:
        self.module = debugger.module
        self.changes: list[Change] = debugger.machine.log[: debugger.position]
        self.written: dict[int, int] = {}
        self.overwritten: dict[int, list[tuple[int, Any]]] = {}  # steps with the contents afterwards
        for position, change in enumerate(self.changes):
            for array, _, new in change.memory:
                self.overwritten.setdefault(id(array), []).append((position, new))
            binding = change.event.binding
            if change.event.kind == "bind" and binding is not None and type(binding.value) is e.Call:
                for _, _, _, value in change.writes:
                    for _, array in floats(value):
                        self.written.setdefault(id(array), position)

    def maker(self, array: object, kind: str, before: int) -> int | None:
        """The last step before `before` that wrote wrong elements into an array, or else the step that made it."""
        entries: list[tuple[int, Any]] = self.overwritten.get(id(array), [])
        for position, new in reversed(entries):
            if position < before and holds(kind, new):
                return int(position)
        first = self.written.get(id(array))
        if first is None or first >= before:
            return None
        return self._filler(array, first, before)

    def writer(self, frame: Frame, name: str, before: int) -> int | None:
        """The call that bound a variable, whose value was evicted and computed again: another array with the same contents."""
        slots = frame.slots_of(name)
        for position in range(before - 1, -1, -1):
            change = self.changes[position]
            if any(owner is frame and slot in slots for owner, slot, _, _ in change.writes):
                return position if made(change) is not None else None
        return None

    def _filler(self, array: object, first: int, before: int) -> int:
        """The last step that filled memory with the contents that it had, which is not recorded; else the step `first`."""
        step = made(self.changes[first])
        for position in range(before - 1, first, -1) if step is not None and not step.results else ():
            later = made(self.changes[position])
            if later is not None and any(later.originals[n] is array for n in filled(self.module, later)):
                return position
        return first


def _in_question(debugger: Debugger, log: _Log, value: Value, kinds: Sequence[str]) -> tuple[str, Any]:
    """The array whose maker is asked for, and what is wrong with it."""
    if value is None:
        value = debugger.event.value
        if debugger.position and log.changes[-1].memory:
            value = (value, *[array for array, _, _ in log.changes[-1].memory])
    for kind in kinds:
        for _, array in floats(value):
            if holds(kind, array):
                return kind, array
    return "", None


def _name(step: Made) -> str:
    binding = step.change.event.binding
    return binding.var.name if binding is not None and binding.var is not None else "_"


def _inputs(debugger: Debugger) -> dict[str, Value]:
    first = debugger.machine.log[0].frame if debugger.machine.log else debugger.frame
    return {
        param.name: first.registers[slot]
        for param, slot in zip(first.function.params, first.plan.params, strict=True)
    }


def _given(debugger: Debugger, kind: str, array: object, passed_on: tuple[Passed, ...]) -> Blame:
    """The blame of a value that no step made."""
    source, name = "constant", "a constant"
    for param, value in _inputs(debugger).items():
        for path, item in floats(value):
            if item is array:
                source, name = "input", param + "".join([f"[{number}]" for number in path])
    mask = wrong(kind, array)
    index = first_index(mask)
    function = debugger.machine.log[0].frame.name if debugger.machine.log else debugger.frame.name
    return Blame(
        kind, source, name, index, float(np.asarray(array)[index]), int(mask.sum()), int(mask.size),
        function=function, passed_on=passed_on,
    )  # fmt: skip


def _of_step(
    debugger: Debugger, position: int, step: Made, found: Wrong, passed_on: tuple[Passed, ...]
) -> Blame:
    array, place = found.result.array, found.place
    mask = wrong(found.kind, array)
    name = found.result.name + "".join([f"[{number}]" for number in place.path])
    store, began = _inside(debugger, step, found.kind)
    change = step.change
    return Blame(
        found.kind, "step", name, place.index, float(np.asarray(array)[place.index]), int(mask.sum()), int(mask.size),
        position + 1, change.frame.name, change.event.binding, _callers(change), _tensors(debugger, step),
        () if found.result.is_overwritten else _elements(step, place), store, began, passed_on,
    )  # fmt: skip


def _tensors(debugger: Debugger, step: Made) -> tuple[Named, ...]:
    """The operands that hold numbers, each once. They are copied if a step may overwrite them, also one that did not run yet."""
    seen: dict[tuple[str, int], Named] = {}
    for item, original in zip(step.operands, step.originals, strict=True):
        value = item.value
        if isinstance(value, np.ndarray) and debugger.machine.is_mutable:
            value = value.copy()
        if isinstance(value, (np.ndarray, np.generic, bool, int, float)):
            seen.setdefault((item.name, id(original)), Named(item.name, value))
    return tuple(seen.values())


def _callers(change: Change) -> tuple[tuple[str, e.Binding], ...]:
    found: list[tuple[str, e.Binding]] = []
    frame = change.frame
    while frame.into is not None and frame.made_by is not None and len(found) < 20:
        found.append((frame.into[0].name, frame.made_by))
        frame = frame.into[0]
    return tuple(found)


def _elements(step: Made, place: Place) -> tuple[Element, ...]:
    selections = operand_parts(step, place)
    if selections is None:
        return ()
    values = zip(flat(step.args), step.operands, selections, strict=False)
    found = [
        Element(f"{item.name}{selected(part)}" if part else item.name, np.array(value[part]))
        for value, item, part in values
        if part is not None
    ]
    return tuple(found)


def _inside(debugger: Debugger, step: Made, kind: str) -> tuple[Store | str, Store | None]:
    """The store of a kernel that made it, and the one that made the infinity it came from."""
    from relax_explorer.core.exec.first_store import first_store  # numba takes 0.3 s to import

    kernel = kernel_call(debugger.module, step)
    if kernel is None:
        foreign = type(step.call.op) is e.ExternFunc or (step.op is not None and step.op.by_machine)
        return ("a packed function: its inside is not seen" if foreign else ""), None
    store = first_store(*kernel, kind, debugger.interrupt)
    if kind == INF or isinstance(store, str) or any(holds(INF, item.value) for item in step.operands):
        return store, None
    infinite = any(np.isinf(value) for _, _, value in store.loads)
    began = first_store(*kernel, INF, debugger.interrupt) if infinite else ""
    return store, began if isinstance(began, Store) else None
