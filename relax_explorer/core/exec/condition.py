"""Conditions of breakpoints, such as `n > 2048` or `max(y) > 1e4`: expressions (`expression.py`) that are one number."""

from __future__ import annotations

from dataclasses import dataclass

from relax_explorer.core.exec.events import Event
from relax_explorer.core.exec.expression import Expression, Names, NoValue, expression
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.values import Value


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
