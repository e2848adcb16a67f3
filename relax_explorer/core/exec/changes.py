"""When an expression changed: the fingerprints of values, and moves to the step that changed one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.events import Change
from relax_explorer.core.exec.expression import Expression, Names, NoValue
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.memory import Stateful
from relax_explorer.core.exec.values import Value, arrays_in

Fingerprint = tuple[object, ...]
NO_VALUE: Fingerprint = ("no value",)


def fingerprint(value: Value) -> Fingerprint:
    """Data that differ for different values. Arrays are hashed, so later writes do not change them. NaN equals NaN."""
    if isinstance(value, np.ndarray):
        return ("tensor", value.shape, value.dtype.name, blake2b(value.tobytes(), digest_size=16).digest())
    if isinstance(value, tuple):
        return (type(value), *map(fingerprint, value))
    if isinstance(value, (bool, int, float, str, np.generic)):
        return (type(value), repr(value))
    if isinstance(value, Stateful):
        return ("object", id(value), *[(name, fingerprint(array)) for name, array in value.parts()])
    if isinstance(value, dict):  # the content of a paged cache
        return ("content", *[(name, fingerprint(part)) for name, part in value.items()])
    return ("object", id(value))


def fingerprint_of(expression: Expression, frame: Names, result: Value = None) -> Fingerprint:
    """The fingerprint of an expression's value. Raises Failure if an operation does not apply."""
    try:
        return fingerprint(expression.value(frame, result))
    except NoValue:
        return NO_VALUE


@dataclass(frozen=True, slots=True)
class Held:
    """The objects with a state that an expression reads, as its variables hold them now.

    Several variables hold one cache after another, in this frame and in others: what wrote a row is asked of the cache itself.
    """

    values: dict[str, Value]

    def find(self, name: str) -> Value:
        """The object or the tuple of objects that a variable holds."""
        return self.values.get(name)


def held(expression: Expression, frame: Names) -> Held | None:
    """The objects that an expression reads; None if it reads other values, or none."""
    values = {name: frame.find(name) for name in expression.names}
    return Held(values) if values and all(any(_objects(value)) for value in values.values()) else None


def back_to_change(debugger: Debugger, expression: Expression, frame: Frame) -> bool:
    """Go back to the last step that changed the value of an expression in `frame`; False at the start if none did.

    The expression is evaluated again only at steps that write what it reads, so that other steps cost the same whatever its size.
    """
    look = _Look(debugger, expression, frame)
    known = look.now()
    while debugger.position:
        change = debugger.machine.log[debugger.position - 1]
        if look.may_differ(change):
            debugger.interrupt.check()
            debugger.back()
            before = look.now()
            if before != known:
                debugger.step()
                return True
        else:
            debugger.back()
    return False


def forward_to_change(debugger: Debugger, expression: Expression, frame: Frame) -> bool:
    """Run to the next step that changes the value of an expression in `frame`; False at the end if none does."""
    look = _Look(debugger, expression, frame)
    known = look.now()
    while not debugger.done:
        debugger.step()
        if look.may_differ(debugger.machine.log[debugger.position - 1]) and look.now() != known:
            return True
    return False


class _Look:
    """The value of one expression in one frame, and the steps that may change it."""

    def __init__(self, debugger: Debugger, expression: Expression, frame: Frame) -> None:
        self.debugger, self.expression, self.frame = debugger, expression, frame
        self.slots = frozenset([slot for name in expression.names for slot in frame.slots_of(name)])
        self.ends = [end for slot, end in frame.plan.ends.items() if slot in self.slots]
        self.held = held(expression, frame)
        self.objects = [] if self.held is None else list(_objects(tuple(self.held.values.values())))
        self.births = [_birth(debugger, item) for item in self.objects]

    def now(self) -> Fingerprint:
        """The fingerprint of the value; NO_VALUE before the frame is entered and after it returned, or before a cache is made."""
        if self.held is not None:
            is_made = all(self.debugger.position >= birth for birth in self.births)
            return fingerprint_of(self.expression, self.held, None) if is_made else NO_VALUE
        if self.frame is not self.debugger.frame and self.frame not in self.debugger.machine.frames:
            return NO_VALUE
        return fingerprint_of(self.expression, self.frame, self.debugger.event.value)

    def may_differ(self, change: Change) -> bool:
        """True if a step may change the value."""
        if self.held is not None:
            log = self.debugger.machine.log
            is_birth = any(birth and log[birth - 1] is change for birth in self.births)
            return is_birth or any(item is own for item, _, _ in change.states for own in self.objects)
        if self.expression.reads_result or change.entered is self.frame:
            return True
        if change.frame is self.frame and (change.returned or change.bound or self._ends(change)):
            return True
        written = any(frame is self.frame and slot in self.slots for frame, slot, _, _ in change.writes)
        return written or (bool(change.memory) and self._shares(change))

    def _ends(self, change: Change) -> bool:
        """True if the scope of a variable of the expression ends in this step."""
        return any(change.before <= end < change.after for end in self.ends)

    def _shares(self, change: Change) -> bool:
        """True if the step wrote into memory that the expression reads."""
        read = [array for slot in self.slots for array in arrays_in(self.frame.registers[slot])]
        return any(np.may_share_memory(array, other) for array, _, _ in change.memory for other in read)


def _birth(debugger: Debugger, item: Stateful) -> int:
    """The step that made an object; 0 if it was given."""
    for number, change in enumerate(debugger.machine.log, 1):
        if any(found is item for _, _, _, new in change.writes for found in _objects(new)):
            return number
        if any(
            found is item
            for param in change.frame.function.params
            for found in _objects(change.frame.value_of(param))
        ):
            return 0
    return 0


def _objects(value: Value) -> Iterator[Stateful]:
    if isinstance(value, Stateful):
        yield value
    elif type(value) is tuple:
        for part in value:
            yield from _objects(part)
