"""Where the calls of a file stand among the steps of their run."""

from __future__ import annotations

from bisect import bisect_right

from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.session.call_program import CallProgram


class CallSteps:
    """The calls of a run. `starts` are the positions before the first step of each call that the run has reached."""

    def __init__(self, program: CallProgram, debugger: Debugger) -> None:
        self.program, self.debugger = program, debugger
        self.starts = [0]
        self._seen = 0  # steps that were looked at
        self._first = debugger.frame

    def update(self) -> None:
        """Look at new steps. Steps that are undone stay known."""
        log = self.debugger.machine.log
        for number in range(self._seen, len(log)):
            change = log[number]
            if change.frame is self._first and self.program.number(change.event.binding) > len(self.starts):
                self.starts.append(number)
        self._seen = len(log)

    @property
    def number(self) -> int:
        """The call that runs or comes next, from 1; the last one at the end."""
        self.update()
        debugger, total = self.debugger, len(self.program.calls)
        if debugger.done:
            return total
        if len(debugger.frames) == 1:
            return self.program.number(debugger.next_binding) or total
        return bisect_right(self.starts, debugger.position)

    def forward(self) -> None:
        """Go to the start of the next call, or to the end; breakpoints stop on the way."""
        debugger, target = self.debugger, self.number + 1
        if target <= len(self.starts):
            debugger.goto(self.starts[target - 1])
            return
        while not debugger.done and self.number < target:
            debugger.interrupt.check()
            debugger.step()
            if debugger.stops:
                return

    def back(self) -> None:
        """Go to the start of this call, or from there to that of the call before."""
        number, debugger = self.number, self.debugger
        start = self.starts[number - 1] if number <= len(self.starts) else debugger.position
        if debugger.position <= start:
            start = self.starts[max(number - 2, 0)]
        debugger.goto(start)
