"""The debugger: steps forward and back, and stops at breakpoints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from relax_explorer.core.check.normalize import normal_form_of
from relax_explorer.core.collector import collector_at_rest
from relax_explorer.core.exec.breakpoints import Breakpoint
from relax_explorer.core.exec.budget import Budget
from relax_explorer.core.exec.events import Event
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.kernels import LLVM
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.values import Value, to_python
from relax_explorer.core.expected import expect
from relax_explorer.core.ir import expr as e
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.shown import Shown
from relax_explorer.core.tir.stmt import PrimFunc

if TYPE_CHECKING:
    from relax_explorer.core.exec.kernel_walk import KernelWalk  # loads the compiler of kernels

_STEPS_AT_REST = 50_000  # recorded without a collection of garbage


class Debugger(Shown):
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
        private: bool = False,
        budget: int | None = None,
        engine: str = LLVM,
    ) -> None:
        """`budget` limits the bytes of recorded values; values beyond it are computed again when they are read."""
        self.module = normal_form_of(module)
        self.interrupt = interrupt if interrupt is not None else Interrupt()
        self.machine = Machine(
            self.module,
            function,
            args,
            record=True,
            cache=cache,
            interrupt=self.interrupt,
            private=private,
            engine=engine,
        )
        self.budget = None if budget is None else Budget(self.machine, budget)
        self.breakpoints: list[Breakpoint] = []
        self.inside: KernelWalk | None = None  # through the PrimFunc that the next step calls
        self._start = self.event = Event("start", function, 1)
        self._first = self.machine.frame

    def __repr__(self) -> str:
        return f"<Debugger of {self._first.name}: step {self.position}{', done' * self.done}>"

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
    def place(self) -> tuple[int, int]:
        """The steps done, and inside a PrimFunc the stores done; -1 outside."""
        return self.machine.position, -1 if self.inside is None else self.inside.number

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
        """The binding that the next step will evaluate, or the If that it enters; None at the end of the function."""
        following = self._following()
        if following is None or following[1].kind != "branch":
            return None if following is None else following[1].binding
        code, (at, instruction) = self.machine.frame.plan.code, following
        return next(
            item.binding for item in code[at:] if item.binding and item.binding.value is instruction.node
        )

    @property
    def is_behind_branch(self) -> bool:
        """True if a branch was evaluated and the next step binds its value to the variable of the If."""
        following = self._following()
        return (
            following is not None
            and (binding := following[1].binding) is not None
            and type(binding.value) is e.If
        )

    def _following(self) -> tuple[int, Instruction] | None:
        """The next instruction that is a step or chooses a branch, with its number; None at the end of the function."""
        if not self.machine.frames:
            return None
        frame = self.machine.frame
        code, at = frame.plan.code, frame.pc
        while at < len(code):
            instruction = code[at]
            if instruction.binding is not None or instruction.kind == "branch":
                return at, instruction
            at = instruction.jump if instruction.kind == "jump" else at + 1
        return None

    # -- breakpoints ----------------------------------------------------------------------------------------------

    @property
    def stops(self) -> list[Breakpoint]:
        """The breakpoints that stop a move here."""
        stores = 0 if self.inside is None else self.inside.number
        if self.inside is not None and not stores:
            return []
        return [item for item in self.breakpoints if item.stops(self.machine.position, stores)]

    def hits_of(self, item: Breakpoint) -> int:
        """The number of hits of a breakpoint up to here."""
        return item.count(self.machine.position, 0 if self.inside is None else self.inside.number)

    def add(self, breakpoint: Breakpoint) -> Breakpoint:
        """Add a breakpoint with a new number, and find its hits in the steps so far."""
        breakpoint.number = max([item.number for item in self.breakpoints], default=0) + 1
        self.breakpoints.append(breakpoint)
        self.look_back()
        return breakpoint

    def look_back(self) -> None:
        """Find the hits of new breakpoints in the steps so far. Takes linear time, and evaluates no binding again."""
        position, log = self.machine.position, self.machine.log
        inside = self.inside
        for item in self.breakpoints:
            if item.condition is None and not item.reads_frame:
                for number in range(item.seen, position + 1):
                    item.look(number, log[number - 1].event if number else self._start, self.frame)
        first = min([item.seen for item in self.breakpoints], default=position + 1)
        if first <= position:
            self.goto(first)
            self._look()
            self.goto(position)
            self.inside = inside
        if inside is not None and any(item.stores and not item.is_looked for item in self.breakpoints):
            number = inside.number
            inside.goto(0)
            while inside.number < number and inside.step():
                self._look_inside(inside)
        for item in self.breakpoints:
            item.is_looked = True

    def _look(self) -> None:
        position, event, frame = self.machine.position, self.event, self.frame
        for item in self.breakpoints:
            if item.seen <= position:
                item.look(position, event, frame)

    # -- forward --------------------------------------------------------------------------------------------------

    def step(self) -> Event:
        """One step: evaluate the next binding, or enter the function it calls."""
        self.inside = None
        if self.machine.done:
            return self.event
        self.event = self.machine.step()
        if self.budget is not None:
            self.budget.look()
        if self.breakpoints:
            self._look()
        return self.event

    def next(self) -> Event:
        """Evaluate the next binding of this frame, and run its calls to the end or to a breakpoint."""
        depth = len(self.machine.frames)
        return self.forward(lambda: len(self.machine.frames) <= depth)

    def finish(self) -> Event:
        """Run until the innermost function returns, or to a breakpoint."""
        depth = len(self.machine.frames)
        return self.forward(lambda: len(self.machine.frames) < depth)

    def continue_(self) -> Event:
        """Run until a breakpoint stops or the program ends."""
        return self.forward(lambda: False)

    def forward(self, is_reached: Callable[[], bool]) -> Event:
        """Run until `is_reached()`, a breakpoint stops, or the program ends."""
        self.look_back()
        while True:
            with collector_at_rest(is_prompt=True):  # the log keeps nearly all that steps make
                for _ in range(_STEPS_AT_REST):
                    if self.breakpoints and self._is_watched():  # else the rest of a PrimFunc runs compiled
                        if self.inside is None:
                            self.enter()
                        if self._forward_inside(lambda: False):
                            return self.event
                    event = self.step()
                    if self.done or is_reached() or (self.breakpoints and self.stops):
                        return event

    # -- back -----------------------------------------------------------------------------------------------------

    def back(self) -> Event:
        """Undo one step. At the start nothing happens. Inside a PrimFunc, go back to its call."""
        if self.inside is not None:
            self.inside = None
            return self.event
        undone = self.machine.undo()
        log, position = self.machine.log, self.machine.position
        if undone is not None:
            self.event = log[position - 1].event if position else self._start
        return self.event

    def back_next(self) -> Event:
        """Undo the last step of this frame and its calls, or go back to a breakpoint in these."""
        depth = len(self.machine.frames)
        return self.backward(lambda: len(self.machine.frames) <= depth)

    def back_finish(self) -> Event:
        """Go back to the call of the innermost function, or to a breakpoint."""
        depth = len(self.machine.frames)
        return self.backward(lambda: len(self.machine.frames) < depth)

    def back_continue(self) -> Event:
        """Go back to the last stop of a breakpoint before this one, or to the start."""
        return self.backward(lambda: False)

    def backward(self, is_reached: Callable[[], bool]) -> Event:
        """Go back until `is_reached()`, a breakpoint stops, or the start."""
        self.look_back()
        if self.inside is not None and self._back_inside():
            return self.event
        while True:
            was_inside, before = self.inside is not None, self.position
            event = self.back()
            if not was_inside and self.position < before and self._is_watched():
                self._to_end(self.enter())
                if self._back_inside():
                    return event
                self.inside = None
            if not self.position or is_reached() or (self.breakpoints and self.stops):
                return event
            self.interrupt.check()

    # -- inside PrimFuncs -----------------------------------------------------------------------------------------

    @property
    def next_kernel(self) -> PrimFunc | None:
        """The PrimFunc that the next step calls; None if it calls none."""
        from relax_explorer.core.exec.kernel_walk import next_kernel

        return next_kernel(self.machine)

    def enter(self) -> KernelWalk:
        """Go to before the first store of the PrimFunc that the next step calls. Raises Failure if it can't be called."""
        from relax_explorer.core.exec.kernel_walk import entered

        fn = self.next_kernel
        name = next((name for name, item in self.module.functions.items() if item is fn), "the PrimFunc")
        self.inside = entered(self.machine, name)
        self.inside.made_by = self.next_binding
        return self.inside

    def forward_inside(self, is_reached: Callable[[], bool]) -> None:
        """Run until `is_reached()` or a breakpoint stops. At the end of the PrimFunc, its call is done."""
        if not self._forward_inside(is_reached):
            self.step()

    def _forward_inside(self, is_reached: Callable[[], bool]) -> bool:
        """Run until `is_reached()` or a breakpoint stops; False at the end of the PrimFunc."""
        walk = self.inside
        assert walk is not None  # the caller entered one
        while walk.step():
            self.interrupt.check()
            self._look_inside(walk)
            if is_reached() or self.stops:
                return True
        return False

    def _look_inside(self, walk: KernelWalk) -> None:
        for item in self.breakpoints:
            if item.stores:
                item.look_inside((self.position, walk.number), walk.stored, walk, walk.element)

    def _is_watched(self) -> bool:
        """True if a breakpoint may stop inside the PrimFunc that the next step calls."""
        watched = {item.prim_func for item in self.breakpoints if item.stores and item.is_enabled}
        return bool(watched) and self.next_kernel in watched

    def enter_at_end(self) -> None:
        """Go to the last store of the PrimFunc that the next step calls."""
        walk = self.enter()
        self._to_end(walk)
        walk.goto(walk.number)

    def _to_end(self, walk: KernelWalk) -> None:
        """Go to the end of the PrimFunc, and note the hits of breakpoints on the way."""
        while walk.step():
            self.interrupt.check()
            self._look_inside(walk)

    def _back_inside(self) -> bool:
        """Go back to the last stop of a breakpoint inside the PrimFunc; False if there is none."""
        walk, position = self.inside, self.position
        assert walk is not None  # the caller entered one
        end = walk.number + 1 if walk.is_done else walk.number
        found = max([item.last_stop_inside(position, end) for item in self.breakpoints], default=0)
        if found:
            walk.goto(found)
        return found > 0

    def goto(self, position: int) -> Event:
        """Go to the position after `position` steps, forward or back, outside PrimFuncs."""
        self.inside = None
        while self.position > max(position, 0):
            self.back()
        while self.position < position and not self.done:
            self.step()
        return self.event


def debug(
    module: IRModule,
    function: str = "main",
    args: Sequence[Value] = (),
    cache: Path | None = None,
    private: bool = False,
) -> Debugger:
    """A debugger at the start of a call. Raises Failure if the inputs don't fit, or the function is private and `private` False.

    >>> debugger = rxe.debug(module, "main", rxe.inputs(module)[0])
    >>> event = debugger.step()
    >>> debugger
    <Debugger of main: step 1>
    """
    expect(module, IRModule, "debug takes a module, then the name of a function, then its arguments")
    expect(
        args, (list, tuple), "the arguments of a run stand in a list", "write debug(module, 'main', [x, y])"
    )
    return Debugger(module, function, args, cache, private=private)
