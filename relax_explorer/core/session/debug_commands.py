"""The debugger's command language: one table for scripts, the prompt, and the `:` line of the explorer.

Commands, their short forms and unique beginnings of their names are known. Lower case goes forward; a short form in UPPER CASE
runs the reverse: `s` is step, `S` is reverse-step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from relax_explorer.core.exec.breakpoints import Breakpoint
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.events import Event
from relax_explorer.core.exec.expression import NoValue, expression
from relax_explorer.core.exec.shape_panel import shape_panel
from relax_explorer.core.ir import expr as e
from relax_explorer.core.session import debug_motions as motions
from relax_explorer.core.session.command import Command, either, word
from relax_explorer.core.session.debug_motions import count, nothing_more
from relax_explorer.core.session.debug_places import near, refused
from relax_explorer.core.session.debug_session import (
    Answer,
    DebugSession,
    Watch,
    execute_from,
    of_every_prompt,
)

# -- debug inspection ------------------------------------------------------------------------------------------------
# The debugger commands that show: values, frames, lines, output.


_Item = TypeVar("_Item", Breakpoint, Watch)

# -- debug points ----------------------------------------------------------------------------------------------------
# The debugger commands about breakpoints and watches.


Run = Callable[[DebugSession, str], Answer]


def set_point(is_temporary: bool) -> Run:
    """`break` and `tbreak`."""

    def run(session: DebugSession, text: str) -> Answer:
        place = session.places.breakpoint(text)
        place.is_temporary = is_temporary
        return _breakpoint_answer(session, session.debugger.add(place))

    return run


def _breakpoint_answer(session: DebugSession, point: Breakpoint) -> Answer:
    return Answer("breakpoint", {"breakpoint": point, "hits": session.debugger.hits_of(point)})


def condition_(session: DebugSession, text: str) -> Answer:
    """`condition`."""
    number, _, rest = text.partition(" ")
    point = _breakpoint(session, number)
    session.places.condition(point, rest.strip().removeprefix("if ").strip())
    session.debugger.look_back()
    return _breakpoint_answer(session, point)


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


# -- debug commands --------------------------------------------------------------------------------------------------
# The debugger's command language: one table for scripts, the prompt, and the `:` line of the explorer.
#
# Commands, their short forms and unique beginnings of their names are known. Lower case goes forward; a short form in
# UPPER CASE runs the reverse: `s` is step, `S` is reverse-step.


_BREAK = (
    "Stop at a place: y, main.y, op:matmul, fn:f, kernel:k, line:12, model.py:12, nan, inf; without one, at the next binding, or "
    "wherever a step makes the condition true."
)
_STEP = "Evaluate the next binding, or enter the function it calls; inside a PrimFunc, do one store."
_BACK_INTO = "Undo one step; if it called a PrimFunc, stop there after its last store."
_INTO = "Go into the PrimFunc that the next binding calls; inside it, do one store. Elsewhere it is step."
_UNTIL = "Run to a place; without one, to the next binding of this function, or out of the innermost loop of a PrimFunc."
_WATCH = "Show a value at every stop, marked with * if it changed; without one, list them."
_BLAME = "Tell which step made the NaN or infinity in a variable; without one, in the last value."
TIMES, NUMBERS = (word("[N]", "int"),), (word("[N…]", "int"),)
VALUE, MAYBE_VALUE = (word("EXPR", "variable"),), (word("[EXPR]", "variable"),)
MAYBE_NAME, LINE = (word("[NAME]", "variable"),), (word("[LINE|FUNCTION]", "function"),)
POSITION = (word("N|+N|-N|start|end", choices=("start", "end")),)
PLACE = (word("[PLACE]", "variable"), word("[if CONDITION]", "variable"))
POINT = word("N", "int")
CONDITION = (POINT, word("[CONDITION]", "variable"))
TOPIC = (word("[TOPIC]", choices=tuple(TOPICS)),)
DEBUG_COMMANDS: tuple[Command[Answer], ...] = (
    Command("run", "Go to the start, and run to the first breakpoint or the end.", motions.run, short=("r",)),
    Command("step", _STEP, motions.step, TIMES, short=("s",)),
    Command("reverse-step", "Undo one step.", motions.times(motions.one_back), TIMES, short=("rs", "S")),
    Command("into", _INTO, motions.into, TIMES, short=("si", "stepi", "in")),
    Command("reverse-into", _BACK_INTO, motions.times(motions.one_back_into), TIMES, short=("rsi", "SI")),
    Command("next", "Evaluate the next binding, and run its calls to the end.", motions.times(motions.next_), TIMES, short=("n",)),
    Command("reverse-next", "Undo the last binding of this function with its calls.", motions.times(motions.back_next), TIMES, short=("rn", "N")),
    Command("finish", "Run until the function returns.", motions.once(motions.finish), short=("fin", "o")),
    Command("reverse-finish", "Go back to before the function was entered.", motions.once(motions.back_finish), short=("FIN", "O")),
    Command("until", _UNTIL, motions.until, PLACE, short=("u",)),
    Command("reverse-until", "Go back to a place.", motions.back_until, PLACE, short=("ru", "U")),
    Command("continue", "Run to a breakpoint or the end.", motions.once(Debugger.continue_), short=("c",)),
    Command("reverse-continue", "Go back to a breakpoint or the start.", motions.once(Debugger.back_continue), short=("rc", "C")),
    Command("goto", "Go to the position after N steps, forward or back.", motions.goto, POSITION, short=("g",)),
    Command("next-call", "Go to the next call of a file of calls.", motions.next_call, TIMES, short=(")",)),
    Command("previous-call", "Go back to the start of this call, or to the call before.", motions.previous_call, TIMES, short=("(",)),
    Command("last-change", "Go back to the step that changed a value.", motions.last_change, VALUE, short=("lc",)),
    Command("next-change", "Run to the next step that changes a value.", motions.next_change, VALUE, short=("nc",)),
    Command("break", _BREAK, set_point(False), PLACE, short=("b",)),
    Command("tbreak", "Stop at a place once.", set_point(True), PLACE, short=("tb",)),
    Command("condition", "Change the condition of breakpoint N, or remove it.", condition_, CONDITION, short=("cond",)),
    Command("ignore", "Pass over the next COUNT hits of breakpoint N.", ignore, (POINT, word("COUNT", "int"))),
    Command("delete", "Delete breakpoints; without numbers, all.", delete, NUMBERS, short=("d",)),
    Command("enable", "Enable breakpoints; without numbers, all.", switch(True), NUMBERS),
    Command("disable", "Disable breakpoints; without numbers, all. Their hits are still counted.", switch(False), NUMBERS),
    Command("watch", _WATCH, watch, MAYBE_VALUE, short=("w",)),
    Command("unwatch", "Remove watches; without numbers, all.", unwatch, NUMBERS),
    Command("print", "Show a value: y, y[0, 1], y.shape, max(abs(x - y)), n * 2.", print_, VALUE, short=("p",)),
    Command("blame", _BLAME, blame_, MAYBE_NAME),
    Command("info", f"Show {either(tuple(TOPICS))}.", info, TOPIC, short=("i",)),
    Command("where", "Show the open calls, innermost first.", where, short=("bt", "backtrace")),
    Command("up", "Select the caller's frame.", up, TIMES),
    Command("down", "Select the called frame.", down, TIMES),
    Command("frame", "Select frame N; 0 is the innermost one.", frame, TIMES, short=("f",)),
    Command("list", "Show the program around a line; without one, around the next binding.", list_, LINE, short=("l",)),
    Command("output", "Show the output of R.print up to here.", output),
    *of_every_prompt(lambda: DEBUG_COMMANDS),
)  # fmt: skip


def execute(session: DebugSession, line: str) -> Answer:
    """Run one command line. A wrong command is answered with its problem, and changes nothing."""
    return execute_from(DEBUG_COMMANDS, session, line)
