"""When an expression changed: the fingerprints of values, and moves to the step that changed one."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

import numpy as np

from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.events import Change
from relax_explorer.core.exec.expression import Expression, Names, NoValue
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.values import Value

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
    return ("object", id(value))


def fingerprint_of(expression: Expression, frame: Names, result: Value = None) -> Fingerprint:
    """The fingerprint of an expression's value. Raises Failure if an operation does not apply."""
    try:
        return fingerprint(expression.value(frame, result))
    except NoValue:
        return NO_VALUE


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

    def now(self) -> Fingerprint:
        """The fingerprint of the value; NO_VALUE before the frame is entered and after it returned."""
        if self.frame is not self.debugger.frame and self.frame not in self.debugger.machine.frames:
            return NO_VALUE
        return fingerprint_of(self.expression, self.frame, self.debugger.event.value)

    def may_differ(self, change: Change) -> bool:
        """True if a step may change the value."""
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
        read = [array for slot in self.slots for array in _arrays(self.frame.registers[slot])]
        return any(np.may_share_memory(array, other) for array, _, _ in change.memory for other in read)


def _arrays(value: Value) -> Iterator[np.ndarray[tuple[int, ...], np.dtype[np.generic]]]:
    if isinstance(value, np.ndarray):
        yield value
    elif type(value) is tuple:
        for part in value:
            yield from _arrays(part)
