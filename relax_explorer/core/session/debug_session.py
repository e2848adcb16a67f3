"""A debugging session: a debugger with numbered breakpoints, watches, and a selected frame. It needs no terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.exec.breakpoints import Breakpoint
from relax_explorer.core.exec.changes import NO_VALUE, Fingerprint, fingerprint_of
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.expression import Expression, NoValue
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.interrupt import Cancelled
from relax_explorer.core.exec.values import Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.session.debug_places import Places, refused
from relax_explorer.core.session.listing import Listing, listing
from relax_explorer.core.session.session import Session


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a command: `kind` names it, `data` are names, numbers, texts and run-time values."""

    kind: str
    data: dict[str, Any] = field(default_factory=dict)
    problems: tuple[Diagnostic, ...] = ()  # the command was refused, or the program stopped with an error


@dataclass(frozen=True, slots=True)
class Place:
    """A binding with the number and text of its line: 0 and empty if it is in no text."""

    binding: e.Binding
    line: int
    text: str


@dataclass(slots=True, eq=False)
class Watch:
    """An expression that each stop shows. `is_changed` is True if its value was another one at the stop before."""

    number: int
    expression: Expression
    known: Fingerprint = NO_VALUE
    is_changed: bool = False


class DebugSession:
    """Moves a debugger and reports its stops."""

    def __init__(self, debugger: Debugger, listing: Listing) -> None:
        self.debugger, self.listing = debugger, listing
        self.places = Places(debugger, listing)
        self.watches: list[Watch] = []
        self.level = 0  # the selected frame: 0 is the innermost one
        self.is_over = False  # True after `quit`

    @property
    def frames(self) -> list[Frame]:
        """The open frames, innermost first; after the end, the frame of the called function."""
        return self.debugger.frames[::-1] or [self.debugger.frame]

    @property
    def frame(self) -> Frame:
        """The selected frame."""
        return self.frames[min(self.level, len(self.frames) - 1)]

    def binding_of(self, level: int) -> e.Binding | None:
        """The next binding of the innermost frame, or the call that a frame waits for."""
        return self.debugger.next_binding if level == 0 else self.frames[level - 1].made_by

    def place_of(self, binding: e.Binding | None) -> Place | None:
        """A binding with its line."""
        line = self.listing.line_of(binding)
        return (
            None
            if binding is None
            else Place(binding, line, self.listing.lines[line - 1].strip() if line else "")
        )

    def print(self, expression: Expression) -> Value:
        """The value of an expression in the selected frame. Raises NoValue or Failure."""
        result = self.debugger.event.value if self.level == 0 else None
        return expression.value(self.frame, result)

    # -- moves ----------------------------------------------------------------------------------------------------

    def move(self, motion: Callable[[Debugger], object]) -> Answer:
        """Move the debugger and report where it stopped, and why. The session survives errors of the program and cancellation."""
        debugger, reason = self.debugger, ""
        problems: tuple[Diagnostic, ...] = ()
        lines = len(debugger.machine.output)
        start = debugger.position
        try:
            motion(debugger)
        except Cancelled:
            reason = "cancelled"
        except Failure as failure:
            problems, reason = failure.diagnostics, "error"
        self.level = 0
        hits = debugger.stops if debugger.position != start else []
        answer = self.stop(reason or self._reason(start, hits))
        printed = debugger.machine.output
        answer.data["hits"] = [(hit, hit.count(debugger.position)) for hit in hits]
        answer.data["printed"] = printed[lines:]
        answer.data["taken_back"] = max(lines - len(printed), 0)
        if not reason:
            debugger.breakpoints = [
                item for item in debugger.breakpoints if not (item in hits and item.is_temporary)
            ]
        return Answer("stop", answer.data, problems)

    def _reason(self, start: int, hits: Sequence[Breakpoint]) -> str:
        if hits:
            return "breakpoint"
        if self.debugger.done:
            return "end" if self.debugger.position != start else "already at the end"
        if self.debugger.position == 0:
            return "start" if start else "already at the start"
        return "step"

    def stop(self, reason: str = "") -> Answer:
        """The current position: the last step, the next binding, and the watches."""
        debugger = self.debugger
        following = debugger.next_binding
        data: dict[str, Any] = {
            "position": debugger.position,
            "reason": reason,
            "event": debugger.event,
            "frame": debugger.frame,
            "value": debugger.result if debugger.done else debugger.event.value,
            "next": self.place_of(following),
            "watches": self.look(),
        }
        return Answer("stop", data)

    # -- breakpoints ----------------------------------------------------------------------------------------------

    def at(self, binding: e.Binding) -> Breakpoint | None:
        """The first breakpoint at a binding."""
        return next((item for item in self.debugger.breakpoints if binding in item.bindings), None)

    def take_over(self, other: DebugSession) -> list[str]:
        """Take the breakpoints and watches of a session on another run. Returns those that have no place here."""
        lost = []
        is_same_text = other.listing.lines == self.listing.lines
        for old in other.debugger.breakpoints:
            held = old.condition.text if old.condition is not None else "" if old.place else old.text
            text = f"{old.place} if {held}".strip() if held else old.place
            try:
                if ":" in old.place and not is_same_text:
                    raise refused("the lines are others now")
                new = self.debugger.add(self.places.breakpoint(text))
            except Failure:
                lost.append(text)
            else:
                new.is_enabled, new.is_temporary, new.ignored = old.is_enabled, old.is_temporary, old.ignored
        for watch in other.watches:
            self.watch(watch.expression)
        return lost

    # -- watches --------------------------------------------------------------------------------------------------

    def watch(self, expression: Expression) -> Watch:
        """Add a watch with a new number."""
        number = max([item.number for item in self.watches], default=0) + 1
        watch = Watch(number, expression, self._fingerprint(expression))
        self.watches.append(watch)
        return watch

    def look(self) -> list[tuple[Watch, Value, str]]:
        """The watches with their values, or the reason why they have none. Marks those that changed."""
        for item in self.watches:
            now = self._fingerprint(item.expression)
            item.is_changed, item.known = now != item.known, now
        return self.watched()

    def watched(self) -> list[tuple[Watch, Value, str]]:
        """The watches with their values, or the reason why they have none."""
        return [(item, *self._watched(item.expression)) for item in self.watches]

    def _watched(self, expression: Expression) -> tuple[Value, str]:
        try:
            return expression.value(self.frame_for(expression), self.debugger.event.value), ""
        except NoValue as reason:
            return None, str(reason)
        except Failure as failure:
            return None, failure.diagnostics[0].message

    def _fingerprint(self, expression: Expression) -> Fingerprint:
        try:
            return fingerprint_of(expression, self.frame_for(expression), self.debugger.event.value)
        except Failure as failure:
            return ("refused", failure.diagnostics[0].message)

    def frame_for(self, expression: Expression) -> Frame:
        """The first frame from the selected one outwards in which all variables of an expression have values, or the selected one."""
        level = self.level_of(expression)
        return self.frame if level is None else self.frames[level]

    def level_of(self, expression: Expression) -> int | None:
        """The number of that frame; None if there is none."""
        for level, frame in enumerate(self.frames[self.level :], self.level):
            if all(frame.find(name) is not None for name in expression.names):
                return level
        return None


def open_debug_session(session: Session, debugger: Debugger, stage: int) -> DebugSession:
    """A debugging session on a debugger of a stage."""
    return DebugSession(debugger, listing(session.stages[stage], session.filename or "<stdin>"))
