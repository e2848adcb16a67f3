"""Who made a NaN or an infinity: the step, the element, the elements it was made of, and the store inside a kernel.

From a wrong value the search goes back through the steps that only passed it on, to the step that made it, or to an input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relax_explorer.core.exec.computed import Made, Named, Result, Store, filled, floats, kernel_call, made
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.events import Change
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.not_finite import (
    BOTH,
    INF,
    NAN,
    Wrong,
    first_index,
    first_wrong,
    holds,
    operand_parts,
    wrong,
    wrong_operands,
)
from relax_explorer.core.exec.operand_parts import Place, flat
from relax_explorer.core.exec.operand_parts import written as written_index
from relax_explorer.core.exec.values import Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.source import Span


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


def _walk(debugger: Debugger, log: _Log, kind: str, array: Any) -> Blame | None:
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


def _is_overwritten(step: Made, array: Any) -> bool:
    return any(step.originals[item.operand] is array for item in step.results if item.is_overwritten)


def given_wrong(debugger: Debugger, kinds: Sequence[str] = (NAN,)) -> Blame | None:
    """An input of the run that holds a wrong element; None if there is none."""
    for kind in kinds:
        for value in _inputs(debugger).values():
            array = next((array for _, array in floats(value) if holds(kind, array)), None)
            if array is not None:
                return _given(debugger, kind, array, ())
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

    def maker(self, array: Any, kind: str, before: int) -> int | None:
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

    def _filler(self, array: Any, first: int, before: int) -> int:
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


def _given(debugger: Debugger, kind: str, array: Any, passed_on: tuple[Passed, ...]) -> Blame:
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
        Element(f"{item.name}{written_index(part)}" if part else item.name, np.array(value[part]))
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
