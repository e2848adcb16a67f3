"""How often a run made the checks of each place of a program, and how long they took."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from relax_explorer.core.ir import expr as e
from relax_explorer.core.shapes.residual import PARAMETERS, ShapeCheck

if TYPE_CHECKING:
    from relax_explorer.core.exec.machine import Machine


@dataclass(frozen=True, slots=True)
class Spent:
    """The checks of one place: how often they were made, and their seconds."""

    times: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.times} time{'s' * (self.times != 1)}, {self.seconds * 1e6:.1f} µs"


Costs = Mapping[tuple[str, int], Spent]  # by kind of check and identity of its place


def check_costs(machine: Machine) -> Costs:
    """What the checks cost in a run up to its present step."""
    found: dict[tuple[str, int], Spent] = defaultdict(Spent)
    entry = [] if machine.entry is None else [machine.entry]
    for check in (*entry, *[check for change in machine.log[: machine.position] for check in change.checks]):
        place = check.place
        for node in place.params if isinstance(place, e.Function) and check.kind == PARAMETERS else (place,):
            held = found[check.kind, id(node)]
            found[check.kind, id(node)] = Spent(held.times + 1, held.seconds + check.seconds)
    return dict(found)


def spent_on(check: ShapeCheck, costs: Costs) -> Spent | None:
    """What all checks of the place of a check cost; None if the run made none."""
    return costs.get((check.kind, id(check.place)))
