"""A debugging session: a debugger with numbered breakpoints, watches, and a selected frame. It needs no terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.exec.breakpoints import Breakpoint
from relax_explorer.core.exec.changes import NO_VALUE, Fingerprint, fingerprint_of
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.expression import Expression, NoValue
from relax_explorer.core.exec.frame import Activation, Frame
from relax_explorer.core.exec.interrupt import Cancelled
from relax_explorer.core.exec.values import Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.session.call_program import CallProgram, CallSteps
from relax_explorer.core.session.command import Command, word
from relax_explorer.core.session.debug_places import Listing, Places, listing, near, refused
from relax_explorer.core.session.session import Session
from relax_explorer.core.tir.prim_expr import BufferLoad
from relax_explorer.core.tir.stmt import BufferStore

if TYPE_CHECKING:
    from relax_explorer.core.exec.kernel_walk import KernelWalk


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a command: `kind` names it, `data` are names, numbers, texts and run-time values."""

    kind: str
    data: dict[str, Any] = field(default_factory=dict)
    problems: tuple[Diagnostic, ...] = ()  # the command was refused, or the program stopped with an error


@dataclass(frozen=True, slots=True)
class Place:
    """A binding with the number and text of its line: 0 and empty if it is in no text. Behind a branch, the text says so."""

    binding: e.Binding
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Inside:
    """A stop inside a PrimFunc: its name, the stores done, and the last of them, with what it wrote and what it read.

    `line` and `text` are of its statement, `loops` the variables of loops and block axes around it.
    """

    function: str
    stores: int
    line: int = 0
    text: str = ""
    loops: dict[str, int] = field(default_factory=dict)
    written: str = ""  # an element, such as B[0, 1]; empty for a call
    value: Value = None
    operands: tuple[tuple[str, Value], ...] = ()


@dataclass(slots=True, eq=False)
class Watch:
    """An expression that each stop shows. `is_changed` is True if its value was another one at the stop before."""

    number: int
    expression: Expression
    fingerprint: Fingerprint = NO_VALUE
    is_changed: bool = False


class DebugSession:
    """Moves a debugger and reports its stops."""

    def __init__(self, debugger: Debugger, listing: Listing, program: CallProgram | None = None) -> None:
        """With `program`, the run makes the calls of a file."""
        self.debugger, self.listing = debugger, listing
        self.calls = CallSteps(program, debugger) if program is not None else None
        self.places = Places(debugger, listing)
        self.watches: list[Watch] = []
        self.level = 0  # the selected frame: 0 is the innermost one
        self.is_over = False  # True after `quit`

    @property
    def outside(self) -> str:
        """The function that makes the calls of a file; empty for a run of one call."""
        return "" if self.calls is None else self.calls.program.name

    def names(self, kind: str) -> Iterable[str]:
        """The variables of the selected frame, or the functions of the program."""
        return {"variable": self.frame.values, "function": self.listing.functions}.get(kind, {})

    @property
    def frames(self) -> list[Activation]:
        """The open frames, innermost first; after the end, the frame of the called function. A PrimFunc is one, too."""
        inside = self.debugger.inside
        outer = self.debugger.frames[::-1] or [self.debugger.frame]
        return [*outer] if inside is None else [inside, *outer]

    @property
    def frame(self) -> Activation:
        """The selected frame."""
        return self.frames[min(self.level, len(self.frames) - 1)]

    @property
    def relax_frame(self) -> Frame:
        """The selected frame; inside a PrimFunc, the one that called it."""
        frame = self.frame
        return frame if isinstance(frame, Frame) else self.debugger.frame

    @property
    def value(self) -> Value:
        """The value that the last step bound; inside a PrimFunc, the element that the last store wrote."""
        inside = self.debugger.inside
        return self.debugger.event.value if inside is None else inside.element

    def binding_of(self, level: int) -> e.Binding | None:
        """The next binding of the innermost frame, or the call that a frame waits for; None for a PrimFunc."""
        if level:
            return self.frames[level - 1].made_by
        return self.debugger.next_binding if self.debugger.inside is None else None

    def place_of(self, level: int) -> Place | Inside | None:
        """Where a frame stands: at a binding with its line, or behind a store."""
        inside = self.debugger.inside
        if inside is not None and level == 0:
            return self._inside(inside)
        binding = self.binding_of(level)
        if binding is None:
            return None
        line = self.listing.line_of(binding)
        text = self.listing.lines[line - 1].strip() if line else ""
        if not line and self.calls is not None:
            text = self.calls.program.text(binding)
        if level == 0 and line and self.debugger.is_behind_branch and binding.var is not None:
            text = f"{binding.var.name} takes the value of the branch, the end of {text.removesuffix(':')}"
        return Place(binding, line, text)

    def _inside(self, walk: KernelWalk) -> Inside:
        stored = walk.stored
        if stored is None:
            return Inside(walk.name, 0)
        line = self.listing.stores.get(stored, 0)
        if isinstance(stored, BufferStore):
            text = f"{BufferLoad(stored.buffer, stored.indices)} = {stored.value}"
            written = element_text(walk.name_of(stored.buffer), walk.place)
        else:
            text, written = "a call of a packed function", ""
        operands = [
            (element_text(walk.name_of(load.buffer), place), _plain(value))
            for load, place, value in walk.operands()
        ]
        text = self.listing.lines[line - 1].strip() if line else text
        return Inside(
            walk.name, walk.number, line, text, walk.loops, written, _plain(walk.element), tuple(operands)
        )

    def print(self, expression: Expression) -> Value:
        """The value of an expression in the selected frame. Raises NoValue or Failure."""
        return expression.value(self.frame, self.value if self.level == 0 else None)

    # -- moves ----------------------------------------------------------------------------------------------------

    def move(self, motion: Callable[[Debugger], object]) -> Answer:
        """Move the debugger and report where it stopped, and why. The session survives errors of the program and cancellation."""
        debugger, reason = self.debugger, ""
        problems: tuple[Diagnostic, ...] = ()
        lines = len(debugger.machine.output)
        start, started = debugger.position, debugger.place
        try:
            motion(debugger)
        except Cancelled:
            reason = "cancelled"
        except Failure as failure:
            problems, reason = failure.diagnostics, "error"
        self.level = 0
        hits = debugger.stops if debugger.place != started else []
        answer = self.stop(reason or self._reason(start, debugger.place != started, hits))
        printed = debugger.machine.output
        answer.data["hits"] = [(hit, debugger.hits_of(hit)) for hit in hits]
        answer.data["printed"] = printed[lines:]
        answer.data["taken_back"] = max(lines - len(printed), 0)
        if not reason:
            debugger.breakpoints = [
                item for item in debugger.breakpoints if not (item in hits and item.is_temporary)
            ]
        return Answer("stop", answer.data, problems)

    def _reason(self, start: int, is_moved: bool, hits: Sequence[Breakpoint]) -> str:
        if hits:
            return "breakpoint"
        if self.debugger.done:
            return "end" if self.debugger.position != start else "already at the end"
        if self.debugger.position == 0 and self.debugger.inside is None:
            return "start" if is_moved else "already at the start"
        return "step"

    def stop(self, reason: str = "") -> Answer:
        """The current position: the last step, the next binding, and the watches."""
        debugger = self.debugger
        place = self.place_of(0)
        data: dict[str, Any] = {
            "position": debugger.position,
            "reason": reason,
            "event": debugger.event,
            "frame": debugger.frame,
            "value": debugger.result if debugger.done else debugger.event.value,
            "next": None if isinstance(place, Inside) else place,
            "inside": place if isinstance(place, Inside) else None,
            "watches": self.look(),
            "call": "",
        }
        if self.calls is not None:
            number, program = self.calls.number, self.calls.program
            data["call"] = f"call {number} of {len(program.calls)}: {program.labels[number - 1]}"
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
            item.is_changed, item.fingerprint = now != item.fingerprint, now
        return self.watched()

    def watched(self) -> list[tuple[Watch, Value, str]]:
        """The watches with their values, or the reason why they have none."""
        return [(item, *self._watched(item.expression)) for item in self.watches]

    def _watched(self, expression: Expression) -> tuple[Value, str]:
        try:
            return expression.value(self.frame_for(expression), self.value), ""
        except NoValue as reason:
            return None, str(reason)
        except Failure as failure:
            return None, failure.diagnostics[0].message

    def _fingerprint(self, expression: Expression) -> Fingerprint:
        try:
            return fingerprint_of(expression, self.frame_for(expression), self.value)
        except Failure as failure:
            return ("refused", failure.diagnostics[0].message)

    def frame_for(self, expression: Expression) -> Activation:
        """The first frame from the selected one outwards in which all variables of an expression have values, or the selected one."""
        level = self.level_of(expression)
        return self.frame if level is None else self.frames[level]

    def level_of(self, expression: Expression) -> int | None:
        """The number of that frame; None if there is none."""
        for level, frame in enumerate(self.frames[self.level :], self.level):
            if all(frame.find(name) is not None for name in expression.names):
                return level
        return None


def element_text(name: str, place: tuple[int, ...] | None) -> str:
    """`B[0, 1]`; a scalar has no place."""
    return name if place is None else f"{name}[{', '.join(map(str, place))}]"


def _plain(value: Value) -> Value:
    """A number of numpy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def open_debug_session(
    session: Session, debugger: Debugger, stage: int, program: CallProgram | None = None
) -> DebugSession:
    """A debugging session on a debugger of a stage, or of the calls of a file on it."""
    return DebugSession(debugger, listing_of(session, stage), program)


def listing_of(session: Session, stage: int) -> Listing:
    """The lines of a stage, found once."""
    return listing(session.stages[stage], session.filename or "<stdin>")


# -- command table ---------------------------------------------------------------------------------------------------
# A table of commands of a prompt: found by name, short form or unique beginning, and run on a session.


def found_command(commands: Sequence[Command[Answer]], word: str) -> Command[Answer]:
    """The command with this name, short form or unique beginning of its name. Raises Failure."""
    by_short = {short: item for item in commands for short in (item.name, *item.short)}
    exact = by_short.get(word)
    if exact is not None:
        return exact
    starts = [item for item in commands if item.name.startswith(word.lower())]
    if len(starts) == 1:
        return starts[0]
    if starts:
        names = ", ".join(item.name for item in starts)
        raise refused(f"{word!r} is ambiguous: {names}", "write more of the name")
    raise refused(f"there is no command {word!r}", near(word.lower(), by_short, "`help` lists the commands"))


def of_every_prompt(table: Callable[[], Sequence[Command[Answer]]]) -> tuple[Command[Answer], ...]:
    """`help` and `quit` of a prompt with a table of commands."""

    def help_(session: object, text: str) -> Answer:
        commands = table()
        return Answer("help", {"commands": [found_command(commands, text)] if text else list(commands)})

    def quit_(session: Any, text: str) -> Answer:
        session.is_over = True
        return Answer("quit")

    named = (word("[COMMAND]", "command"),)
    return (
        Command("help", "List the commands, or explain one.", help_, named, short=("h", "?")),
        Command("quit", "End the session.", quit_, short=("q",)),
    )


def execute_from(commands: Sequence[Command[Answer]], session: object, line: str) -> Answer:
    """Run one command line. A wrong command is answered with its problem, and changes nothing."""
    word, _, rest = line.strip().partition(" ")
    if not word or word.startswith("#"):
        return Answer("nothing")
    try:
        return found_command(commands, word).run(session, rest.strip())
    except Failure as failure:
        return Answer("refused", {}, failure.diagnostics)
