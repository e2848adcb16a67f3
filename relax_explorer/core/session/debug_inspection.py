"""The debugger commands that show: values, frames, lines, output."""

from __future__ import annotations

from collections.abc import Callable

from relax_explorer.core.exec.events import Event
from relax_explorer.core.exec.expression import NoValue, expression
from relax_explorer.core.exec.shape_panel import shape_panel
from relax_explorer.core.ir import expr as e
from relax_explorer.core.session.debug_motions import count, nothing_more
from relax_explorer.core.session.debug_places import near, refused
from relax_explorer.core.session.debug_points import breakpoints
from relax_explorer.core.session.debug_session import Answer, DebugSession

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
    found = [name for name in _TOPICS if name.startswith(text)] if text else []
    if text == "watch":
        found = ["watches"]
    if len(found) == 1:
        return _TOPICS[found[0]](session)
    if text and not found:
        raise refused(
            f"there is no topic {text[:40]!r}", near(text, _TOPICS, f"info shows {', '.join(_TOPICS)}")
        )
    raise refused("info takes a topic", f"info shows {', '.join(found or _TOPICS)}")


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


_TOPICS: dict[str, Callable[[DebugSession], Answer]] = {
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
