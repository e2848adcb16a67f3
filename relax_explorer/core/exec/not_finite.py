"""The steps that make NaN and infinities: a breakpoint at them.

A step makes a NaN if an element of its result is NaN, and no element that it was made of. For an operator whose elements can
be told apart (`operand_parts.py`) these are the elements of the operands behind it; for other calls, all elements.
An infinity counts in the same way. Meant are: infinities in inputs, in constants, in attributes, and those that a kernel writes
as a literal, such as the -inf of a mask or the start of a maximum. Memory that is not filled yet holds no numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.breakpoints import Breakpoint
from relax_explorer.core.exec.computed import Made, Result, Store, floats, kernel_call, made
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.events import Event
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.operand_parts import Parts, Place, aligned, flat, parts
from relax_explorer.core.exec.values import Value
from relax_explorer.core.ops.kit.decl import Fusion
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.core.tir.traverse import expressions, statements, subexpressions

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


def wrong(kind: str, array: Any) -> Any:
    """A mask of the wrong elements of an array or a scalar."""
    numbers = np.asarray(array)
    numbers = numbers if numbers.dtype.kind == "f" else numbers.astype(np.float32)
    mask: Any = np.isnan(numbers) if kind == NAN else np.isinf(numbers)
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


def _behind(kind: str, step: Made, mask: Any) -> Any:
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


def first_index(mask: Any) -> tuple[int, ...]:
    """The index of the first True."""
    return tuple(map(int, np.unravel_index(int(np.argmax(mask)), mask.shape)))


def _places(mask: Any) -> Iterator[tuple[int, ...]]:
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
