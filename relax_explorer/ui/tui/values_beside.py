"""Values beside the rows of a program: those of the run in Debug, else those of a run in the background, if that costs next to nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from relax_explorer.core.cost import amounts
from relax_explorer.core.cost.program_cost import ModuleCosts
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.values import Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.core.session.run_log import logged
from relax_explorer.core.session.samples import start_of
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.ui.tui.controls import Controls
from relax_explorer.ui.tui.jobs import Job

MOST_FLOPS, MOST_MOVED = 20_000_000, 32 << 20  # of a run that nobody asked for
LEAST_LENGTH = 2  # of a length that is not made up yet
MOST_BINDINGS, MOST_KERNELS = 400, 8  # to compile one takes 0.05 s of the CPU
Values = Mapping[int, Value]


class ValuesBeside:
    """The values of one stage at a time, in a terminal of `width` cells at least. `changed` is called when those of a run in the background come."""

    def __init__(self, app: Controls, width: int, changed: Callable[[], None]) -> None:
        self.app, self.width, self._changed = app, width, changed
        self._for: tuple[IRModule, str] | None = None  # what runs or ran in the background
        self._found: Values | None = None
        self._interrupt = Interrupt()
        self.is_dear = False  # the stage is shown without values, and a key starts a run

    def of_stage(self) -> Values | None:
        """The values for the rows of the selected stage, by bindings; None without room, or before there are any."""
        state = self.app.state
        if self.app.size.width < self.width or state.session is None or state.stage is None:
            self._leave()
            return None
        if state.run is not None:
            self._leave()
            return state.values_of_run
        goal = state.stage.module, self.app.run_control.function()
        if self._for is None or self._for[0] is not goal[0] or self._for[1] != goal[1]:
            self._leave()
            self._for = goal
            self._start(state.session, state.stage, goal[1])
        return self._found

    def _leave(self) -> None:
        self._interrupt.cancel()
        self._for, self._found, self.is_dear = None, None, False

    def _start(self, session: Session, stage: Snapshot, name: str) -> None:
        run = self.app.run_control
        fn = stage.module.functions.get(name)
        if type(fn) is not e.Function:
            return
        given = run.given(name)
        if run.file or given.sources:  # reading weights may take long
            self.is_dear = True
            return
        goal, self._interrupt = self._for, Interrupt()
        interrupt = self._interrupt

        def work(job: Job) -> Values | None:
            is_small = is_cheap(stage.module, name, dict(given.shape))
            return _values(session, stage, name, given, interrupt) if is_small else None

        def done(found: Values | None) -> None:
            if self._for is goal:
                self._found, self.is_dear = found, found is None
                self._changed()

        self.app.jobs.start("values", "running it for its values", work, done, is_quiet=True)


def is_cheap(module: IRModule, name: str, lengths: Mapping[str, int]) -> bool:
    """True if a run of a function with such lengths takes no time that its user would notice, as its costs tell."""
    fn = module.relax_functions[name]
    kernels = len(module.functions) - len(module.relax_functions)
    if sum(len(block.bindings) for block in fn.body.blocks) > MOST_BINDINGS or kernels > MOST_KERNELS:
        return False
    try:
        total = ModuleCosts(module).of(name).work.total
    except Failure:  # a problem of the program has its own place
        return False
    counts = [
        amounts.value(poly, {var: lengths.get(var.name, LEAST_LENGTH) for var in amounts.variables(poly)})
        for poly in (total.flops, total.moved)
    ]
    return all(
        count is not None and count <= most
        for count, most in zip(counts, (MOST_FLOPS, MOST_MOVED), strict=True)
    )


def _values(
    session: Session, stage: Snapshot, name: str, given: CallInputs, interrupt: Interrupt
) -> Values | None:
    """The values of a run with inputs that are made up; None if it costs too much with them, or does not come to its end."""
    earlier = [item.module for item in reversed(session.stages[: stage.number])]
    try:
        start = start_of(stage.module, name, given, earlier)
        debugger = Debugger(start.module, start.name, start.args, session.cache, interrupt, private=True)
        if not is_cheap(stage.module, name, dict(debugger.frame.shape_vars.items())):
            return None
        log = logged(debugger)
    except Failure:  # Debug tells why
        return None
    if log.problems:
        return None
    return {
        id(step.binding): step.value
        for step in log.steps
        if step.binding is not None and step.function == name
    }
