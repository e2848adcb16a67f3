"""Breakpoints: places and conditions at which a debugger stops. Their hits are positions of the log, so they hold in both directions."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.events import Event
from relax_explorer.core.exec.expression import Expression, Names, NoValue, expression
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.values import Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.tir.stmt import PrimFunc, Stmt

# -- conditions ------------------------------------------------------------------------------------------------------
# Conditions of breakpoints, such as `n > 2048` or `max(y) > 1e4`: expressions (`expression.py`) that are one number.


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition."""

    expression: Expression

    @property
    def text(self) -> str:
        """The condition as written."""
        return self.expression.text

    @property
    def names(self) -> frozenset[str]:
        """The variables that it reads."""
        return self.expression.names

    def holds(self, frame: Names, value: Value = None) -> bool:
        """True if the condition holds in `frame`, after a step that bound `value`. Raises Failure for a tensor as a number."""
        try:
            return bool(self.expression.number(frame, value))
        except NoValue:
            return False

    def hit(self, event: Event, frame: Frame) -> bool:
        """True if a step binds a name of the condition, and the condition holds then."""
        bound = {var.name for var, _ in event.dims}
        has_value = event.kind in ("bind", "return")
        if event.kind in ("start", "enter"):
            bound.update(frame.shape_vars, [param.name for param in frame.function.params])
        elif has_value and event.binding is not None and event.binding.var is not None:
            bound.add(event.binding.var.name)
        is_due = not bound.isdisjoint(self.names) or (self.expression.reads_result and has_value)
        return is_due and self.holds(frame, event.value)


def condition(text: str) -> Condition:
    """Parse a condition. Raises Failure with the code BAD_EXPRESSION."""
    return Condition(expression(text))


# -- breakpoints -----------------------------------------------------------------------------------------------------


Predicate = Callable[[Event, Frame], bool]
_Place = TypeVar("_Place", int, tuple[int, int])
StorePlace = tuple[int, int]
"""A place inside a PrimFunc: the steps before its call, and the stores done."""


@dataclass(slots=True, eq=False)
class Breakpoint:
    """A place at which a debugger stops. `condition` must hold there too.

    `hits` are the positions at which it hit, among the first `seen` positions of the log. A disabled breakpoint counts hits but
    does not stop. Hits with a number in `ignored` don't stop either. A temporary breakpoint is deleted when it stops.
    One with `stores` stops inside `prim_func`, after these statements.
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
    prim_func: PrimFunc | None = None
    stores: frozenset[Stmt] = frozenset()
    hits_inside: list[StorePlace] = field(default_factory=list)
    is_looked: bool = False  # True if the stores done in an open PrimFunc were looked at

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

    def look_inside(self, place: StorePlace, stored: Stmt | None, names: Names, value: Value) -> None:
        """Note a hit after the statement `stored` of a PrimFunc, which wrote `value`."""
        if stored not in self.stores:
            return
        try:
            is_hit = self.condition is None or self.condition.holds(names, value)
        except Failure as failure:
            self.problem, is_hit = failure, True
        if is_hit and not self._is_among(self.hits_inside, place):
            insort(self.hits_inside, place)

    def forget(self) -> None:
        """Forget all hits, because the condition is another one now."""
        self.hits.clear()
        self.hits_inside.clear()
        self.is_looked = False
        self.seen, self.problem = 0, None

    def count(self, position: int, stores: int = 0) -> int:
        """The number of hits up to `position`, and inside the PrimFunc called there, up to a number of stores."""
        return bisect_right(self.hits, position) + bisect_right(self.hits_inside, (position, stores))

    def stops(self, position: int, stores: int = 0) -> bool:
        """True if a move must stop at `position`, or after a number of stores of the PrimFunc called there."""
        is_hit = (
            self._is_among(self.hits_inside, (position, stores))
            if stores
            else self._is_among(self.hits, position)
        )
        return is_hit and self.is_enabled and self.count(position, stores) not in self.ignored

    def last_stop_inside(self, position: int, end: int) -> int:
        """The last number of stores before `end` at which a move must stop; 0 if there is none."""
        for number in range(bisect_left(self.hits_inside, (position, end)) - 1, -1, -1):
            steps, stores = self.hits_inside[number]
            if steps != position:
                return 0
            if self.stops(position, stores):
                return stores
        return 0

    @staticmethod
    def _is_among(places: Sequence[_Place], place: _Place) -> bool:
        number = bisect_left(places, place)
        return number < len(places) and places[number] == place


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


def on_stores(text: str, prim_func: PrimFunc, stores: Collection[Stmt]) -> Breakpoint:
    """Stop inside a PrimFunc, after one of these statements."""
    return Breakpoint(
        text,
        lambda event, frame: False,
        reads_frame=False,
        prim_func=prim_func,
        stores=frozenset(stores),
    )


def on_condition(text: str) -> Breakpoint:
    """Stop after a step that binds a name of the condition, if it holds then. Raises Failure."""
    return Breakpoint(text, condition(text).hit)
