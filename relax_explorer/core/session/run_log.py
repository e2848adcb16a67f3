"""A run recorded step by step, for reports: what each step bound, and a summary of the value."""

from __future__ import annotations

from dataclasses import dataclass

from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.values import Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.shown import Shown

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
    """The steps of a run in order. `problems` tells why it stopped; `is_cut` is True if it had more steps than are recorded."""

    function: str
    inputs: tuple[tuple[str, Value], ...]
    note: str
    steps: tuple[LoggedStep, ...]
    shape: tuple[tuple[str, int], ...]
    problems: tuple[Diagnostic, ...] = ()
    is_cut: bool = False

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
    return RunLog(function, inputs, note, tuple(steps), shape, problems, not debugger.done and not problems)
