"""Breakpoints: places and conditions at which a debugger stops. Their hits are positions of the log, so they hold in both directions."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.condition import Condition, condition
from relax_explorer.core.exec.events import Event
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.ir import expr as e

Predicate = Callable[[Event, Frame], bool]


@dataclass(slots=True, eq=False)
class Breakpoint:
    """A place at which a debugger stops. `condition` must hold there too.

    `hits` are the positions at which it hit, among the first `seen` positions of the log. A disabled breakpoint counts hits but
    does not stop. Hits with a number in `ignored` don't stop either. A temporary breakpoint is deleted when it stops.
    """

    text: str
    hit: Predicate
    condition: Condition | None = None
    reads_frame: bool = True  # False if `hit` depends on the event alone
    is_temporary: bool = False
    number: int = 0
    is_enabled: bool = True
    ignored: range = range(0)
    hits: list[int] = field(default_factory=list)
    seen: int = 0
    note: str = ""
    place: str = ""  # the place as a command takes it; empty for a condition alone
    bindings: frozenset[e.Binding] = frozenset()
    problem: Failure | None = None  # the condition could not be evaluated at the last hit

    def look(self, position: int, event: Event, frame: Frame) -> None:
        """Note a hit at `position`, if this is the first visit of it. Earlier positions must have been visited."""
        if position != self.seen:
            return
        self.seen += 1
        try:
            is_hit = self.hit(event, frame) and (
                self.condition is None or self.condition.holds(frame, event.value)
            )
        except Failure as failure:
            self.problem, is_hit = failure, True
        if is_hit:
            self.hits.append(position)

    def forget(self) -> None:
        """Forget all hits, because the condition is another one now."""
        self.hits.clear()
        self.seen, self.problem = 0, None

    def count(self, position: int) -> int:
        """The number of hits up to `position`."""
        return bisect_right(self.hits, position)

    def stops(self, position: int) -> bool:
        """True if a move must stop at `position`."""
        number = bisect_left(self.hits, position)
        is_hit = number < len(self.hits) and self.hits[number] == position
        return is_hit and self.is_enabled and number + 1 not in self.ignored


def on_variable(name: str) -> Breakpoint:
    """Stop after a variable of this name gets its value."""
    return Breakpoint(name, lambda event, frame: bound_variable(event) == name, reads_frame=False)


def bound_variable(event: Event) -> str:
    """The name of the variable that got its value in a step; empty if none did."""
    var = event.binding.var if event.binding is not None and event.kind in ("bind", "return") else None
    return "" if var is None else var.name


def on_operator(name: str) -> Breakpoint:
    """Stop after a call of the operator `name`."""

    def hit(event: Event, frame: Frame) -> bool:
        value = event.binding.value if event.kind == "bind" and event.binding is not None else None
        return (
            type(value) is e.Call
            and type(value.op) is e.OpRef
            and value.op.name.removeprefix("relax.") == name.removeprefix("relax.")
        )

    return Breakpoint(f"op:{name}", hit, reads_frame=False)


def on_bindings(text: str, bindings: Collection[e.Binding], functions: Collection[str] = ()) -> Breakpoint:
    """Stop after one of these bindings gets its value, or when one of these functions is entered."""
    wanted, names = frozenset(bindings), frozenset(functions)
    return Breakpoint(
        text,
        lambda event, frame: (
            event.function in names
            if event.kind == "enter"
            else event.binding in wanted and event.kind in ("bind", "return")
        ),
        reads_frame=False,
        bindings=wanted,
    )


def on_condition(text: str) -> Breakpoint:
    """Stop after a step that binds a name of the condition, if it holds then: see `condition.py`. Raises Failure."""
    return Breakpoint(text, condition(text).hit)
