"""The motions of the debugger: forward and back, over bindings, calls, and the stores of a PrimFunc."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from relax_explorer.core.exec.breakpoints import Breakpoint
from relax_explorer.core.exec.changes import (
    Fingerprint,
    back_to_change,
    fingerprint_of,
    forward_to_change,
    held,
)
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.expression import Expression, NoValue, expression
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.session.call_program import CallSteps
from relax_explorer.core.session.debug_places import refused
from relax_explorer.core.session.debug_session import Answer, DebugSession

if TYPE_CHECKING:
    from relax_explorer.core.exec.kernel_walk import KernelWalk


Motion = Callable[[Debugger], object]


# -- bindings and stores ---------------------------------------------------------------------------------------------
# A motion goes from binding to binding; inside a PrimFunc, from store to store.


def _always() -> bool:
    return True


def _motion(outside: Motion, inside: Motion) -> Motion:
    """A motion outside of PrimFuncs, and the one that takes its place inside."""
    return lambda debugger: (outside if debugger.inside is None else inside)(debugger)


def _undo_store(debugger: Debugger) -> None:
    """Undo one store. Before the first one, leave the PrimFunc."""
    walk = debugger.inside
    if walk is not None and walk.number:
        walk.goto(walk.number - 1)
    else:
        debugger.back()


def _enter(debugger: Debugger) -> None:
    """Go into the PrimFunc that the next binding calls; else one step."""
    if debugger.next_kernel is not None:
        debugger.enter()
    else:
        one_step(debugger)


def _enter_at_end(debugger: Debugger) -> None:
    """Undo one step. If it called a PrimFunc, stop there after its last store."""
    if debugger.position:
        debugger.back()
        if debugger.next_kernel is not None:
            debugger.enter_at_end()


def _leave_loop(debugger: Debugger) -> None:
    """Run out of the innermost loop."""
    walk = debugger.inside
    assert walk is not None  # the debugger is inside a PrimFunc
    debugger.forward_inside(_outside_loop(walk))


def _back_out_of_loop(debugger: Debugger) -> None:
    """Go back to before the innermost loop."""
    walk = debugger.inside
    assert walk is not None  # the debugger is inside a PrimFunc
    is_outside = _outside_loop(walk)
    walk.back_until(walk.number - 1, lambda: is_outside() or bool(debugger.stops))


one_step = _motion(
    lambda debugger: debugger.forward(_always), lambda debugger: debugger.forward_inside(_always)
)
one_back = _motion(lambda debugger: debugger.backward(_always), _undo_store)
one_into = _motion(_enter, one_step)
one_back_into = _motion(_enter_at_end, one_back)
next_ = _motion(Debugger.next, one_step)
back_next = _motion(Debugger.back_next, one_back)
finish = _motion(Debugger.finish, lambda debugger: debugger.forward(_always))
back_finish = _motion(Debugger.back_finish, lambda debugger: debugger.backward(_always))
past_loop = _motion(Debugger.next, _leave_loop)
before_loop = _motion(Debugger.back_next, _back_out_of_loop)


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


def to_store_change(debugger: Debugger, walk: KernelWalk, read: Expression, is_back: bool) -> bool:
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


# -- debug motions ---------------------------------------------------------------------------------------------------
# The debugger commands that move: forward, and back by the reverse of each.


LAST = 10**12  # beyond the last step of any run


def nothing_more(text: str) -> None:
    """Refuse arguments of a command that takes none."""
    if text:
        raise refused(f"{text[:40]!r} is too much: the command takes no argument")


def count(text: str, default: int = 1) -> int:
    """A number of times. Raises Failure."""
    if not text:
        return default
    if not (text.isascii() and text.isdigit()) or len(text) > 9:
        raise refused(f"{text[:40]!r} is not a number", "write a number from 0 on")
    return int(text)


def run(session: DebugSession, text: str) -> Answer:
    """`run`."""
    nothing_more(text)

    def motion(debugger: Debugger) -> None:
        debugger.goto(0)
        if not debugger.stops:
            debugger.continue_()

    return session.move(motion)


def _repeated(session: DebugSession, text: str, motion: Motion) -> Answer:
    """Move several times, until a breakpoint stops or the end or start is reached."""
    times = count(text)

    def motions(debugger: Debugger) -> None:
        for _ in range(times):
            before = debugger.place
            motion(debugger)
            if debugger.stops or debugger.place == before:
                return

    return session.move(motions)


def times(motion: Motion) -> Callable[[DebugSession, str], Answer]:
    """The command that moves some times."""
    return lambda session, text: _repeated(session, text, motion)


def once(motion: Motion) -> Callable[[DebugSession, str], Answer]:
    """The command that moves once, and takes no argument."""

    def run(session: DebugSession, text: str) -> Answer:
        nothing_more(text)
        return session.move(motion)

    return run


def step(session: DebugSession, text: str) -> Answer:
    """`step`; `step in` is `into`."""
    word, _, rest = text.partition(" ")
    return into(session, rest.strip()) if word == "in" else _repeated(session, text, one_step)


def into(session: DebugSession, text: str) -> Answer:
    """`into`."""
    return _repeated(session, text, one_into)


def until(session: DebugSession, text: str) -> Answer:
    """`until`."""
    return to(session, session.places.breakpoint(text)) if text else session.move(past_loop)


def back_until(session: DebugSession, text: str) -> Answer:
    """`reverse-until`."""
    return to(session, session.places.breakpoint(text), True) if text else session.move(before_loop)


def to(session: DebugSession, place: Breakpoint, is_back: bool = False) -> Answer:
    """Move forward or back with one more breakpoint."""

    def there(debugger: Debugger) -> None:
        debugger.add(place)
        try:
            debugger.back_continue() if is_back else debugger.continue_()
        finally:
            debugger.breakpoints.remove(place)

    return session.move(there)


def goto(session: DebugSession, text: str) -> Answer:
    """`goto`."""
    inside = session.debugger.inside
    if inside is not None and text.startswith(("+", "-")):
        stores = inside.number + int(text[0] + "1") * count(text[1:])
        return session.move(lambda debugger: to_store(debugger, max(stores, 0)))
    named = {"start": 0, "end": LAST}
    if text in named:
        position = named[text]
    elif text.startswith(("+", "-")):
        position = session.debugger.position + int(text[0] + "1") * count(text[1:])
    elif text:
        position = count(text)
    else:
        raise refused("goto takes a position", "write goto 12, goto -3, goto start or goto end")
    return session.move(lambda debugger: debugger.goto(max(position, 0)))


def next_call(session: DebugSession, text: str) -> Answer:
    """`next-call`."""
    calls = _calls(session)
    return _repeated(session, text, lambda debugger: calls.forward())


def previous_call(session: DebugSession, text: str) -> Answer:
    """`previous-call`."""
    calls = _calls(session)
    return _repeated(session, text, lambda debugger: calls.back())


def _calls(session: DebugSession) -> CallSteps:
    if session.calls is None:
        raise refused("this run is one call", "give a file of calls: --calls FILE")
    return session.calls


def last_change(session: DebugSession, text: str) -> Answer:
    """`last-change`."""
    return _to_change(session, text, back_to_change)


def next_change(session: DebugSession, text: str) -> Answer:
    """`next-change`."""
    return _to_change(session, text, forward_to_change)


def _to_change(
    session: DebugSession, text: str, change: Callable[[Debugger, Expression, Frame], bool]
) -> Answer:
    read = expression(text)
    session.places.check_names(read.names)
    frame = session.frame_for(read)
    cache = held(read, frame)
    found: list[bool] = []

    def motion(debugger: Debugger) -> None:
        walk = debugger.inside
        if walk is not None and frame is walk:
            found.append(to_store_change(debugger, walk, read, is_back=change is back_to_change))
            return
        assert isinstance(frame, Frame)  # no other frame is a PrimFunc
        start = debugger.position
        found.append(change(debugger, read, frame))
        if not found[0]:
            debugger.goto(start)

    answer = session.move(motion)
    answer.data["expression"], answer.data["changed"] = read.text, found == [True]
    answer.data["now"], answer.data["missing"] = None, ""
    if cache is None and not any(item is frame for item in session.frames):
        answer.data["missing"] = f"{read.text} has no value here: {frame.name} has no open call with it"
        return answer
    try:
        answer.data["now"] = read.value(cache or frame, session.value)
    except NoValue as reason:
        answer.data["missing"] = str(reason)
    return answer
