"""`report`: a session as one HTML file."""

from __future__ import annotations

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.ir import expr as e
from relax_explorer.core.session.inputs import call_values
from relax_explorer.core.session.run_log import RunLog, logged
from relax_explorer.core.session.session import Session
from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.handlers import open_session
from relax_explorer.ui.cli.input_options import inputs_given
from relax_explorer.ui.cli.interruptible import interruptible
from relax_explorer.ui.cli.run import Choice, check_alone, most_bytes, relax_function, started
from relax_explorer.ui.files import STANDARD_OUTPUT, Target
from relax_explorer.viz.report import report as page
from relax_explorer.viz.solving_report import read_solving, solving_report


def report(
    input: str, passes: str | None, func: str | None, input_: tuple[str, ...], shape: tuple[str, ...], max_input: float, no_run: bool,
    output_: Target | None, calls: str | None,
) -> int:  # fmt: skip
    """Write a session, with a run of a function or of a file of calls; or the steps of type relations or shape contracts.

    A function that can't be run leaves its reason in the report's place for the run, and a warning.
    """
    target, solving = output_ or STANDARD_OUTPUT, read_solving(input)
    if solving is not None:
        output.write(solving_report(solving), target)
        return output.OK
    session, choice = open_session(input, passes, "default"), (func, input_, shape, max_input)
    log: RunLog | None = None
    if not no_run:
        try:
            log = interruptible(lambda interrupt: _log(session, choice, calls, interrupt))
        except Failure as failure:
            if calls is not None or any(choice[:3]):
                raise
            output.say(f"warning: no run is recorded: {failure.diagnostics[0].message}", err=True)
    output.write(page(session, log), target)
    return output.OK


def _log(session: Session, choice: Choice, calls: str | None, interrupt: Interrupt) -> RunLog | None:
    func, sources, shape, gigabytes = choice
    stage = session.stages[0]
    if calls is not None:
        check_alone(calls, choice[:3])
        start = started(session, calls, choice, True, stage)
        debugger = Debugger(start.module, start.name, start.args, session.cache, interrupt, private=True)
        return logged(debugger, start.program.summary if start.program is not None else "")
    name = func or stage.entry
    if func is None and type(stage.module.functions.get(name)) is not e.Function:
        return None
    fn = relax_function(stage.module, name)
    values, note = call_values(fn, inputs_given(sources, shape, name), most_bytes(gigabytes))
    debugger = Debugger(stage.module, name, values, session.cache, interrupt, private=True)
    return logged(debugger, note)
