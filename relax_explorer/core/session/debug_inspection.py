"""The debugger commands that show: values, frames, lines, output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from relax_explorer.core.exec.breakpoints import Breakpoint
from relax_explorer.core.exec.events import Event
from relax_explorer.core.exec.expression import NoValue, expression
from relax_explorer.core.exec.shape_panel import shape_panel
from relax_explorer.core.ir import expr as e
from relax_explorer.core.session.debug_motions import count, nothing_more
from relax_explorer.core.session.debug_places import near, refused
from relax_explorer.core.session.debug_session import Answer, DebugSession, Watch

_Item = TypeVar("_Item", Breakpoint, Watch)

# -- debug points ----------------------------------------------------------------------------------------------------
# The debugger commands about breakpoints and watches.


Run = Callable[[DebugSession, str], Answer]


def set_point(is_temporary: bool) -> Run:
    """`break` and `tbreak`."""

    def run(session: DebugSession, text: str) -> Answer:
        place = session.places.breakpoint(text)
        place.is_temporary = is_temporary
        return _told(session, session.debugger.add(place))

    return run


def _told(session: DebugSession, point: Breakpoint) -> Answer:
    return Answer("breakpoint", {"breakpoint": point, "hits": session.debugger.hits_of(point)})


def condition_(session: DebugSession, text: str) -> Answer:
    """`condition`."""
    number, _, rest = text.partition(" ")
    point = _breakpoint(session, number)
    session.places.condition(point, rest.strip().removeprefix("if ").strip())
    session.debugger.look_back()
    return _told(session, point)


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


def switch(is_on: bool) -> Run:
    """`enable` and `disable`."""

    def run(session: DebugSession, text: str) -> Answer:
        for point in _chosen(session, text):
            point.is_enabled = is_on
        return Answer("breakpoints", breakpoints(session))

    return run


def breakpoints(session: DebugSession) -> dict[str, object]:
    """The breakpoints with their hits up to here."""
    debugger = session.debugger
    return {"breakpoints": [(item, debugger.hits_of(item)) for item in debugger.breakpoints]}


def _chosen(session: DebugSession, text: str) -> list[Breakpoint]:
    """The breakpoints with these numbers; all for an empty text."""
    return [_breakpoint(session, word) for word in text.split()] or list(session.debugger.breakpoints)


def _breakpoint(session: DebugSession, text: str) -> Breakpoint:
    return _numbered(session.debugger.breakpoints, text, "breakpoint", "`break` sets one")


def _numbered(items: Sequence[_Item], text: str, noun: str, other: str) -> _Item:
    """The item with a number. Raises Failure; `other` is the hint if there is no item at all."""
    for item in items:
        if str(item.number) == text:
            return item
    has = ", ".join(str(item.number) for item in items)
    raise refused(f"there is no {noun} {text[:40]!r}", f"there are {has}" if has else other)


def watch(session: DebugSession, text: str) -> Answer:
    """`watch`."""
    if text:
        read = expression(text)
        session.places.check_names(read.names)
        session.watch(read)
    return Answer("watches", {"watches": session.watched()})


def unwatch(session: DebugSession, text: str) -> Answer:
    """`unwatch`."""
    gone = [_numbered(session.watches, word, "watch", "`watch x` adds one") for word in text.split()]
    gone = gone or list(session.watches)
    session.watches = [item for item in session.watches if item not in gone]
    return Answer("watches", {"watches": session.watched()})


# -- debug inspection ------------------------------------------------------------------------------------------------


AROUND = 5  # lines listed before and after


def print_(session: DebugSession, text: str) -> Answer:
    """`print`."""
    if not text:
        raise refused("print takes an expression", "write print y, or print max(abs(x - y))")
    read = expression(text)
    session.places.check_names(read.names)
    try:
        return Answer("value", {"text": read.text, "value": session.print(read), "missing": ""})
    except NoValue as reason:
        level = session.level_of(read)
        caller = f"; frame {level} ({session.frames[level].name}) has one" if level else ""
        return Answer("value", {"text": read.text, "value": None, "missing": f"{reason}{caller}"})


def blame_(session: DebugSession, text: str) -> Answer:
    """`blame`."""
    from relax_explorer.core.exec.blame import blame  # loads the compiler of kernels

    budget = session.debugger.budget
    if budget is not None and budget.evicted:
        raise refused(
            "values of earlier steps were evicted to save memory", "start again with a larger --budget"
        )
    if text:
        session.places.check_names([text])
        if session.relax_frame.find(text) is None:
            raise refused(f"{text} has no value in this frame", "step to where it has one")
    inside = session.debugger.inside
    found = blame(session.debugger, text, frame=session.relax_frame)
    session.debugger.inside = inside  # it went to other steps and back
    return Answer("blame", {"blame": found, "name": text})


def info(session: DebugSession, text: str) -> Answer:
    """`info`."""
    found = [name for name in TOPICS if name.startswith(text)] if text else []
    if text == "watch":
        found = ["watches"]
    if len(found) == 1:
        return TOPICS[found[0]](session)
    if text and not found:
        raise refused(
            f"there is no topic {text[:40]!r}", near(text, TOPICS, f"info shows {', '.join(TOPICS)}")
        )
    raise refused("info takes a topic", f"info shows {', '.join(found or TOPICS)}")


def _locals(session: DebugSession) -> Answer:
    return Answer("locals", {"values": dict(session.frame.values)})


def _dims(session: DebugSession) -> Answer:
    return Answer("dims", {"dims": session.frame.shape_vars})


def _checks(session: DebugSession) -> Answer:
    """The match_casts and the arguments of calls, as far as the run came."""
    log = session.debugger.machine.log[: session.debugger.position]
    rows = [(number, change.event) for number, change in enumerate(log, 1) if _is_check(change.event)]
    return Answer("checks", {"checks": rows})


def _is_check(event: Event) -> bool:
    return event.kind == "enter" or (event.kind == "bind" and isinstance(event.binding, e.MatchCast))


def _shapes(session: DebugSession) -> Answer:
    """The shape variables of the selected frame with origins and constraints, and its checks."""
    return Answer("shapes", {"panel": shape_panel(session.debugger, session.relax_frame)})


def _frames(session: DebugSession) -> Answer:
    rows = [(frame, session.place_of(level)) for level, frame in enumerate(session.frames)]
    return Answer("frames", {"frames": rows, "selected": session.level})


TOPICS: dict[str, Callable[[DebugSession], Answer]] = {
    "breakpoints": lambda session: Answer("breakpoints", breakpoints(session)),
    "watches": lambda session: Answer("watches", {"watches": session.watched()}),
    "locals": _locals,
    "dims": _dims,
    "shapes": _shapes,
    "frames": _frames,
    "checks": _checks,
}


def where(session: DebugSession, text: str) -> Answer:
    """`where`."""
    nothing_more(text)
    return _frames(session)


def up(session: DebugSession, text: str) -> Answer:
    """`up`."""
    return _select(session, session.level + count(text))


def down(session: DebugSession, text: str) -> Answer:
    """`down`."""
    return _select(session, session.level - count(text))


def frame(session: DebugSession, text: str) -> Answer:
    """`frame`."""
    return _select(session, count(text, session.level))


def _select(session: DebugSession, level: int) -> Answer:
    last = len(session.frames) - 1
    if not 0 <= level <= last:
        end = "innermost" if level < 0 else "outermost"
        raise refused(f"there is no frame {level}: this is the {end} end", f"the frames are 0 to {last}")
    session.level = level
    place = session.place_of(level)
    return Answer("frame", {"level": level, "frame": session.frame, "next": place})


def list_(session: DebugSession, text: str) -> Answer:
    """`list`."""
    shown = session.listing
    place = session.place_of(session.level)
    now = place.line if place is not None else 0
    if text.isdigit():
        centre = count(text)
        if not 1 <= centre <= len(shown.lines):
            raise refused(f"there is no line {centre}; the last one is {len(shown.lines)}")
    elif text:
        if text not in shown.functions:
            raise refused(f"the program has no function {text[:40]!r}", near(text, shown.functions))
        centre = shown.functions[text][0] + AROUND
    else:
        own = shown.functions.get(session.frame.name, (1, len(shown.lines)))
        centre = now or shown.line_of(session.debugger.event.binding) or own[1]
    first, last = max(centre - AROUND, 1), min(centre + AROUND, len(shown.lines))
    lines = [(number, shown.lines[number - 1]) for number in range(first, last + 1)]
    return Answer("list", {"file": shown.filename, "lines": lines, "next": now})


def output(session: DebugSession, text: str) -> Answer:
    """`output`."""
    nothing_more(text)
    return Answer("output", {"lines": list(session.debugger.machine.output)})
