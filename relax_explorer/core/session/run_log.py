"""What a run did: a recorded run step by step, and what its checks of shapes cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.shape_panel import ShapePanel, shape_panel
from relax_explorer.core.exec.values import Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.shapes.residual import (
    ARGUMENTS,
    ASSERT,
    KERNEL,
    MACHINE,
    OPERATOR,
    PARAMETERS,
    ShapeCheck,
)
from relax_explorer.core.shown import Shown

if TYPE_CHECKING:
    from relax_explorer.core.exec.events import Change, Check
    from relax_explorer.core.exec.machine import Machine

MOST_STEPS = 2_000


@dataclass(frozen=True, slots=True)
class LoggedStep:
    """One step: its number, the function, the binding that got its value, and the depth of the call."""

    position: int
    kind: str
    function: str
    binding: e.Binding | None
    value: Value
    depth: int


@dataclass(frozen=True, slots=True)
class RunLog(Shown):
    """The steps of a run in order. `problems` tells why it stopped; `is_cut` is True if it had more steps than are recorded.

    `panel` has the shape variables of the function, as they were at the end.
    """

    function: str
    inputs: tuple[tuple[str, Value], ...]
    note: str
    steps: tuple[LoggedStep, ...]
    shape: tuple[tuple[str, int], ...]
    problems: tuple[Diagnostic, ...] = ()
    is_cut: bool = False
    panel: ShapePanel | None = None

    def __repr__(self) -> str:
        return f"<RunLog of {self.function}: {len(self.steps)} steps>"


def logged(debugger: Debugger, note: str = "", most: int = MOST_STEPS) -> RunLog:
    """Run to the end, or to a number of steps, and record. `note` tells which inputs were made up."""
    function, first = debugger.frame.name, debugger.frame
    inputs = tuple([(param.name, first.value_of(param)) for param in first.function.params])
    steps: list[LoggedStep] = []
    problems: tuple[Diagnostic, ...] = ()
    while not debugger.done and len(steps) < most:
        try:
            event = debugger.step()
        except Failure as failure:
            problems = failure.diagnostics
            break
        if event.kind in ("bind", "return", "done"):
            value = debugger.result if event.kind == "done" else event.value
            steps.append(
                LoggedStep(debugger.position, event.kind, event.function, event.binding, value, event.depth)
            )
    shape = tuple(first.shape_vars.items())
    is_cut, panel = not debugger.done and not problems, shape_panel(debugger, first)
    return RunLog(function, inputs, note, tuple(steps), shape, problems, is_cut, panel)


# -- check costs -----------------------------------------------------------------------------------------------------
# What the checks of a run cost, by check and by place: how often they were made, their seconds, and the bytes behind
# them.


@dataclass(slots=True)
class Spent:
    """Checks, or the steps of a binding: how often, their seconds, and the bytes of the values.

    The bytes of a check are those of the values that it compared; an operator, a kernel or a call counts its result.
    """

    times: int = 0
    seconds: float = 0.0
    size: int = 0

    def add(self, seconds: float, size: int) -> None:
        """Once more."""
        self.times += 1
        self.seconds += seconds
        self.size += size


@dataclass(frozen=True)
class Site:
    """A place whose checks are left to the run: what they cost there, and what the whole call did.

    `call` is None for calls from outside, and for the result of a function.
    """

    checks: tuple[ShapeCheck, ...]
    spent: Spent
    call: Spent | None


@dataclass
class Costs:
    """The costs of one run. `checking` are the seconds of all checks, `seconds` those of all steps."""

    by_check: dict[tuple[str, int], Spent] = field(default_factory=dict)  # by kind and identity of the place
    by_binding: dict[int, Spent] = field(default_factory=dict)  # with what happens inside of functions
    seconds: float = 0.0
    checking: float = 0.0

    def of(self, check: ShapeCheck) -> Spent | None:
        """What all checks of the place of a check cost; None if the run made none."""
        return self.by_check.get((check.kind, id(check.place)))

    def sites(self, checks: Sequence[ShapeCheck]) -> list[Site]:
        """The places that the run checked because the program does not prove them, those that took longest first."""
        groups: dict[tuple[str, int], list[ShapeCheck]] = {}
        for check in checks:
            if check.answer is not Answer.YES:
                place = check.function if check.kind == PARAMETERS else check.place
                groups.setdefault((check.kind, id(place)), []).append(check)
        found = [(group, self.of(group[0])) for group in groups.values()]
        sites = [
            Site(tuple(group), spent, self.by_binding.get(id(group[0].place)))
            for group, spent in found
            if spent is not None
        ]
        return sorted(sites, key=lambda site: -site.spent.seconds)

    def _add(self, kind: str, place: object, seconds: float, size: int) -> None:
        self.by_check.setdefault((kind, id(place)), Spent()).add(seconds, size)


def check_costs(machine: Machine, outside: str = "") -> Costs:
    """What the checks cost in a run up to its present step. The function `outside` makes the calls of a file: calls from outside."""
    found = Costs()
    clock = _Clock(found)
    if machine.entry is not None:
        _add_check(found, machine.entry, is_outside=True)
        found.seconds += machine.entry.seconds
    names = {id(fn) for fn in machine.module.functions.values()}
    for change in machine.log[: machine.position]:
        clock.step(change)
        for check in change.checks:
            is_outside = check.site is None or id(check.place) not in names or change.frame.name == outside
            _add_check(found, check, is_outside)
        binding, size = change.event.binding, change.size
        if change.event.kind != "bind" or binding is None:
            continue
        if change.checking:
            found.checking += change.checking
            for kind in (OPERATOR, KERNEL):
                found._add(kind, binding, change.checking, size)
        for kind in (MACHINE, ASSERT):  # the step is the check
            found._add(kind, binding, change.seconds, size)
    clock.stop()
    return found


def _add_check(found: Costs, check: Check, is_outside: bool) -> None:
    """A check of parameters belongs to the call that made it; one from outside to the parameters."""
    found.checking += check.seconds
    place = check.place
    if check.kind != PARAMETERS or not isinstance(place, e.Function):
        found._add(check.kind, place, check.seconds, check.size)
    elif is_outside:
        for param in place.params:
            found._add(PARAMETERS, param, check.seconds, check.size)
    else:
        found._add(ARGUMENTS, check.site, check.seconds, check.size)


class _Clock:
    """Adds up the steps of each binding, with the steps of the functions that it calls."""

    def __init__(self, found: Costs) -> None:
        self.found = found
        self.open: list[
            tuple[e.Binding | None, float]
        ] = []  # the calls that run, and the seconds before them
        self.depths: Counter[int] = Counter()  # how often a call of itself runs inside of a call

    def step(self, change: Change) -> None:
        """One step."""
        event, begin = change.event, self.found.seconds
        self.found.seconds += change.seconds
        if event.kind == "enter":
            self.open.append((event.binding, begin))
            self.depths[id(event.binding)] += 1
        elif event.kind == "return":
            self._close(change.size)
        elif event.binding is not None:
            self._spent(event.binding).add(change.seconds, change.size)

    def stop(self) -> None:
        """Close the calls that the run is still in."""
        while self.open:
            self._close(0)

    def _close(self, size: int) -> None:
        binding, begin = self.open.pop()
        self.depths[id(binding)] -= 1
        is_outermost = not self.depths[id(binding)]  # else its seconds are part of that one
        self._spent(binding).add(self.found.seconds - begin if is_outermost else 0.0, size)

    def _spent(self, binding: object) -> Spent:
        return self.found.by_binding.setdefault(id(binding), Spent())
