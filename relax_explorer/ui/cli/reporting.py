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
from relax_explorer.ui.cli.input_options import inputs_given
from relax_explorer.ui.cli.interruptible import interruptible
from relax_explorer.ui.cli.run import Choice, check_alone, most_bytes, relax_function, started
from relax_explorer.ui.files import Target
from relax_explorer.viz.report import report as page
from relax_explorer.viz.solving_report import read_solving, solving_report


def write_steps(path: str, target: Target) -> bool:
    """Write the steps of type relations or shape contracts; False for any other file. Raises Failure or ParseError."""
    solving = read_solving(path)
    if solving is not None:
        output.write(solving_report(solving), target)
    return solving is not None


def write_report(
    session: Session, choice: Choice, is_run: bool, calls: str | None, target: Target,
) -> int:  # fmt: skip
    """Write the report, with a run of a function or of a file of calls.

    A function that can't be run leaves its reason in the report's place for the run, and a warning.
    """
    log: RunLog | None = None
    if is_run:
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
