"""The debugger: steps forward and back, and stops at breakpoints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from relax_explorer.core.check.normalize import normal_form_of
from relax_explorer.core.exec.condition import condition
from relax_explorer.core.exec.events import Event
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.values import Value, to_python
from relax_explorer.core.ir import expr as e
from relax_explorer.core.program.module import IRModule

Predicate = Callable[[Event, Frame], bool]


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """A place or condition at which `continue_` stops."""

    text: str
    hit: Predicate


def on_variable(name: str) -> Breakpoint:
    """Stop after a variable of this name gets its value."""
    return Breakpoint(
        name,
        lambda event, frame: (
            event.kind == "bind"
            and event.binding is not None
            and getattr(event.binding.var, "name", None) == name
        ),
    )


def on_operator(name: str) -> Breakpoint:
    """Stop after a call of the operator `name`."""

    def hit(event: Event, frame: Frame) -> bool:
        value = event.binding.value if event.kind == "bind" and event.binding is not None else None
        return (
            type(value) is e.Call
            and type(value.op) is e.OpRef
            and value.op.name.removeprefix("relax.") == name.removeprefix("relax.")
        )

    return Breakpoint(f"op:{name}", hit)


def on_condition(text: str) -> Breakpoint:
    """Stop after a step that binds a name of the condition, if it holds then: see `condition.py`. Raises Failure."""
    return Breakpoint(text, condition(text).hit)


class Debugger:
    """Steps through one call of a function, forward and back at the same cost.

    `interrupt.cancel()` stops a move from another thread. The move raises Cancelled (a Failure), and the debugger stays before
    the interrupted step. Call `interrupt.clear()` before the next move.
    """

    def __init__(
        self,
        module: IRModule,
        function: str = "main",
        args: Sequence[Value] = (),
        cache: Path | None = None,
        interrupt: Interrupt | None = None,
    ) -> None:
        self.module = normal_form_of(module)
        self.interrupt = interrupt if interrupt is not None else Interrupt()
        self.machine = Machine(
            self.module, function, list(args), record=True, cache=cache, interrupt=self.interrupt
        )
        self.breakpoints: list[Breakpoint] = []
        self.event = Event("start", function, 1)
        self._first = self.machine.frame

    # -- where we are ---------------------------------------------------------------------------------------------

    @property
    def frame(self) -> Frame:
        """The innermost frame. After the end, the frame of the called function."""
        return self.machine.frame if self.machine.frames else self._first

    @property
    def frames(self) -> list[Frame]:
        """The open frames, outermost first."""
        return list(self.machine.frames)

    @property
    def position(self) -> int:
        """Steps done."""
        return self.machine.position

    @property
    def done(self) -> bool:
        """True if the function has returned."""
        return self.machine.done

    @property
    def result(self) -> Value:
        """The result of the function; None before it returns."""
        return to_python(self.machine.result) if self.machine.done else None

    @property
    def next_binding(self) -> e.Binding | None:
        """The binding that the next step will evaluate; None at the end of the function."""
        if not self.machine.frames:
            return None
        frame = self.machine.frame
        for instruction in frame.plan.code[frame.pc :]:
            if instruction.binding is not None:
                return instruction.binding
            if instruction.kind in ("branch", "jump", "return"):
                break
        return None

    # -- forward --------------------------------------------------------------------------------------------------

    def step(self) -> Event:
        """One step: evaluate the next binding, or enter the function it calls."""
        self.event = self.machine.step()
        return self.event

    def next(self) -> Event:
        """Evaluate the next binding of this frame, and run its calls to the end."""
        depth = len(self.machine.frames)
        event = self.step()
        while not self.done and len(self.machine.frames) > depth:
            event = self.step()
        return event

    def finish(self) -> Event:
        """Run until the innermost function returns."""
        depth = len(self.machine.frames)
        event = self.step()
        while not self.done and len(self.machine.frames) >= depth:
            event = self.step()
        return event

    def continue_(self) -> Event:
        """Run until a breakpoint hits or the program ends."""
        event = self.step()
        while not self.done and not any(b.hit(event, self.frame) for b in self.breakpoints):
            event = self.step()
        return event

    # -- back -----------------------------------------------------------------------------------------------------

    def back(self) -> Event:
        """Undo one step. At the start nothing happens."""
        undone = self.machine.undo()
        log, position = self.machine.log, self.machine.position
        if undone is not None:
            self.event = log[position - 1].event if position else Event("start", self._first.name, 1)
        return self.event

    def back_next(self) -> Event:
        """Undo the last step of this frame and its calls."""
        depth = len(self.machine.frames)
        event = self.back()
        while self.position and len(self.machine.frames) > depth:
            event = self.back()
        return event

    def back_finish(self) -> Event:
        """Go back to the call of the innermost function."""
        depth = len(self.machine.frames)
        event = self.back()
        while self.position and len(self.machine.frames) >= depth:
            event = self.back()
        return event

    def back_continue(self) -> Event:
        """Go back to the last breakpoint before this one, or to the start."""
        event = self.back()
        while self.position and not any(b.hit(event, self.frame) for b in self.breakpoints):
            event = self.back()
        return event

    def goto(self, position: int) -> Event:
        """Go to the position after `position` steps, forward or back."""
        while self.position > max(position, 0):
            self.back()
        while self.position < position and not self.done:
            self.step()
        return self.event


def debug(
    module: IRModule, function: str = "main", args: Sequence[Value] = (), cache: Path | None = None
) -> Debugger:
    """A debugger at the start of a call. Raises Failure if the inputs don't fit."""
    return Debugger(module, function, args, cache)
