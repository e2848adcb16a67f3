"""The debugger commands about breakpoints and watches."""

from __future__ import annotations

from relax_explorer.core.exec.breakpoints import Breakpoint
from relax_explorer.core.exec.expression import expression
from relax_explorer.core.session.debug_motions import count
from relax_explorer.core.session.debug_places import refused
from relax_explorer.core.session.debug_session import Answer, DebugSession, Watch


def break_(session: DebugSession, text: str) -> Answer:
    """`break`."""
    added = session.debugger.add(session.places.breakpoint(text))
    return Answer("breakpoint", {"breakpoint": added, "hits": session.debugger.hits_of(added)})


def tbreak(session: DebugSession, text: str) -> Answer:
    """`tbreak`."""
    place = session.places.breakpoint(text)
    place.is_temporary = True
    added = session.debugger.add(place)
    return Answer("breakpoint", {"breakpoint": added, "hits": session.debugger.hits_of(added)})


def condition_(session: DebugSession, text: str) -> Answer:
    """`condition`."""
    number, _, rest = text.partition(" ")
    point = _breakpoint(session, number)
    session.places.condition(point, rest.strip().removeprefix("if ").strip())
    session.debugger.look_back()
    return Answer("breakpoint", {"breakpoint": point, "hits": session.debugger.hits_of(point)})


def ignore(session: DebugSession, text: str) -> Answer:
    """`ignore`."""
    number, _, rest = text.partition(" ")
    point = _breakpoint(session, number)
    if not rest.strip():
        raise refused("ignore takes a breakpoint and a number of hits", "write ignore 1 3")
    first = session.debugger.hits_of(point) + 1
    point.ignored = range(first, first + count(rest.strip()))
    return Answer("breakpoint", {"breakpoint": point, "hits": first - 1})


def delete(session: DebugSession, text: str) -> Answer:
    """`delete`."""
    gone = _chosen(session, text)
    session.debugger.breakpoints = [item for item in session.debugger.breakpoints if item not in gone]
    return Answer("deleted", {"breakpoints": gone})


def enable(session: DebugSession, text: str) -> Answer:
    """`enable`."""
    for point in _chosen(session, text):
        point.is_enabled = True
    return Answer("breakpoints", breakpoints(session))


def disable(session: DebugSession, text: str) -> Answer:
    """`disable`."""
    for point in _chosen(session, text):
        point.is_enabled = False
    return Answer("breakpoints", breakpoints(session))


def breakpoints(session: DebugSession) -> dict[str, object]:
    """The breakpoints with their hits up to here."""
    debugger = session.debugger
    return {"breakpoints": [(item, debugger.hits_of(item)) for item in debugger.breakpoints]}


def _chosen(session: DebugSession, text: str) -> list[Breakpoint]:
    """The breakpoints with these numbers; all for an empty text."""
    return [_breakpoint(session, word) for word in text.split()] or list(session.debugger.breakpoints)


def _breakpoint(session: DebugSession, text: str) -> Breakpoint:
    known = session.debugger.breakpoints
    for point in known:
        if str(point.number) == text:
            return point
    has = ", ".join(str(item.number) for item in known)
    raise refused(f"there is no breakpoint {text[:40]!r}", f"there are {has}" if has else "`break` sets one")


def watch(session: DebugSession, text: str) -> Answer:
    """`watch`."""
    if text:
        read = expression(text)
        session.places.check_names(read.names)
        session.watch(read)
    return Answer("watches", {"watches": session.watched()})


def unwatch(session: DebugSession, text: str) -> Answer:
    """`unwatch`."""
    gone = [_watch(session, word) for word in text.split()] or list(session.watches)
    session.watches = [item for item in session.watches if item not in gone]
    return Answer("watches", {"watches": session.watched()})


def _watch(session: DebugSession, text: str) -> Watch:
    for item in session.watches:
        if str(item.number) == text:
            return item
    has = ", ".join(str(item.number) for item in session.watches)
    raise refused(f"there is no watch {text[:40]!r}", f"there are {has}" if has else "`watch x` adds one")
