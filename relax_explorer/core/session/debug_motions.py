"""The debugger commands that move: forward, and back by the reverse of each."""

from __future__ import annotations

from collections.abc import Callable

from relax_explorer.core.exec.breakpoints import Breakpoint
from relax_explorer.core.exec.changes import back_to_change, forward_to_change, held
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.expression import Expression, NoValue, expression
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.session import debug_kernels as kernels
from relax_explorer.core.session.call_program import CallSteps
from relax_explorer.core.session.debug_places import refused
from relax_explorer.core.session.debug_session import Answer, DebugSession

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


def _repeated(session: DebugSession, text: str, motion: Callable[[Debugger], object]) -> Answer:
    """Move several times, until a breakpoint stops or the end or start is reached."""
    times = count(text)

    def motions(debugger: Debugger) -> None:
        for _ in range(times):
            before = debugger.place
            motion(debugger)
            if debugger.stops or debugger.place == before:
                return

    return session.move(motions)


def times(motion: Callable[[Debugger], object]) -> Callable[[DebugSession, str], Answer]:
    """The command that moves some times."""
    return lambda session, text: _repeated(session, text, motion)


def once(motion: Callable[[Debugger], object]) -> Callable[[DebugSession, str], Answer]:
    """The command that moves once, and takes no argument."""

    def run(session: DebugSession, text: str) -> Answer:
        nothing_more(text)
        return session.move(motion)

    return run


def step(session: DebugSession, text: str) -> Answer:
    """`step`; `step in` is `into`."""
    word, _, rest = text.partition(" ")
    return into(session, rest.strip()) if word == "in" else _repeated(session, text, kernels.step)


def into(session: DebugSession, text: str) -> Answer:
    """`into`."""
    return _repeated(session, text, kernels.into)


def until(session: DebugSession, text: str) -> Answer:
    """`until`."""
    return to(session, session.places.breakpoint(text)) if text else session.move(kernels.until)


def back_until(session: DebugSession, text: str) -> Answer:
    """`reverse-until`."""
    return to(session, session.places.breakpoint(text), True) if text else session.move(kernels.back_until)


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
        return session.move(lambda debugger: kernels.to_store(debugger, max(stores, 0)))
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
            found.append(kernels.to_change(debugger, walk, read, is_back=change is back_to_change))
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
