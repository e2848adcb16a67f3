"""The moves of a debugger that may be inside a PrimFunc: from store to store there, from binding to binding outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from relax_explorer.core.exec.changes import Fingerprint, fingerprint_of
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.expression import Expression

if TYPE_CHECKING:
    from relax_explorer.core.exec.kernel_walk import KernelWalk  # loads the compiler of kernels


def step(debugger: Debugger) -> None:
    """Evaluate the next binding; inside a PrimFunc, do the next store. After the last one, its call is done."""
    if debugger.inside is None:
        debugger.forward(lambda: True)
    else:
        debugger.forward_inside(lambda: True)


def back(debugger: Debugger) -> None:
    """Undo one step or one store. Before the first store, leave the PrimFunc."""
    walk = debugger.inside
    if walk is None:
        debugger.backward(lambda: True)
    elif walk.number:
        walk.goto(walk.number - 1)
    else:
        debugger.back()


def into(debugger: Debugger) -> None:
    """Go into the PrimFunc that the next binding calls; else one step."""
    if debugger.inside is None and debugger.next_kernel is not None:
        debugger.enter()
    else:
        step(debugger)


def back_into(debugger: Debugger) -> None:
    """Undo one step. If it called a PrimFunc, stop there after its last store."""
    if debugger.inside is not None:
        back(debugger)
    elif debugger.position:
        debugger.back()
        if debugger.next_kernel is not None:
            debugger.enter_at_end()


def next_(debugger: Debugger) -> None:
    """Evaluate the next binding with its calls; inside a PrimFunc, do the next store."""
    if debugger.inside is None:
        debugger.next()
    else:
        step(debugger)


def back_next(debugger: Debugger) -> None:
    """Undo the last binding with its calls; inside a PrimFunc, the last store."""
    if debugger.inside is None:
        debugger.back_next()
    else:
        back(debugger)


def finish(debugger: Debugger) -> None:
    """Run until the function or the PrimFunc returns."""
    if debugger.inside is None:
        debugger.finish()
    else:
        debugger.forward(lambda: True)


def back_finish(debugger: Debugger) -> None:
    """Go back to before the function or the PrimFunc was entered."""
    if debugger.inside is None:
        debugger.back_finish()
    else:
        debugger.backward(lambda: True)


def until(debugger: Debugger) -> None:
    """Run to the next binding of this function; inside a PrimFunc, out of the innermost loop."""
    walk = debugger.inside
    if walk is None:
        debugger.next()
    else:
        debugger.forward_inside(_outside_loop(walk))


def back_until(debugger: Debugger) -> None:
    """Go back by one binding of this function; inside a PrimFunc, to before the innermost loop."""
    walk = debugger.inside
    if walk is None:
        debugger.back_next()
        return
    is_outside = _outside_loop(walk)
    walk.back_until(walk.number - 1, lambda: is_outside() or bool(debugger.stops))


def to_store(debugger: Debugger, number: int) -> None:
    """Go to after a number of stores of the PrimFunc; beyond its end, its call is done."""
    walk = debugger.inside
    assert walk is not None  # the caller is inside one
    walk.goto(number)
    if walk.is_done:
        debugger.step()


def _outside_loop(walk: KernelWalk) -> Callable[[], bool]:
    """A test that holds outside the innermost loop, as it runs now."""
    loops = dict(walk.machine.loops)
    innermost = next(reversed(loops), None)
    around = {var: value for var, value in loops.items() if var is not innermost}

    def is_outside() -> bool:
        now = walk.machine.loops
        return innermost not in now or any(now.get(var) != value for var, value in around.items())

    return is_outside


def to_change(debugger: Debugger, walk: KernelWalk, read: Expression, is_back: bool) -> bool:
    """Go to the store that changes the value of an expression. If there is none, stay and return False."""
    known: list[Fingerprint] = []

    def now() -> Fingerprint:
        return fingerprint_of(read, walk, walk.element)

    def prime() -> None:
        known[:] = [now()]

    def is_changed() -> bool:
        before = known[0]
        prime()
        return known[0] != before

    start = walk.number
    if is_back:
        found = walk.back_until(start, is_changed, prime)
    else:
        prime()
        found = False
        while not found and walk.step():
            debugger.interrupt.check()
            found = is_changed()
    if not found:
        walk.goto(start)
    return found
