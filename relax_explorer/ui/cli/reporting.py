"""`report`: a session as one HTML file."""

from __future__ import annotations

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.ir import expr as e
from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.core.session.inputs import call_values
from relax_explorer.core.session.run_log import RunLog, logged
from relax_explorer.core.session.session import Session
from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.input_options import lengths_given, sources_by_name
from relax_explorer.ui.cli.interruptible import interruptible
from relax_explorer.ui.cli.run import most_bytes, relax_function
from relax_explorer.ui.files import Target
from relax_explorer.viz.report import report as page
from relax_explorer.viz.solving_files import read_solving
from relax_explorer.viz.solving_report import solving_report


def write_steps(path: str, target: Target) -> bool:
    """Write the steps of type relations or shape contracts; False for any other file. Raises Failure or ParseError."""
    solving = read_solving(path)
    if solving is not None:
        output.write(solving_report(solving), target)
    return solving is not None


def write_report(
    session: Session, func: str | None, sources: tuple[str, ...], shape: tuple[str, ...], gigabytes: float, is_run: bool, target: Target,
) -> int:  # fmt: skip
    """Write the report. A function that can't be run leaves its reason in the report's place for the run, and a warning."""
    log: RunLog | None = None
    if is_run:
        try:
            log = interruptible(
                lambda interrupt: _log(session, func, sources, shape, most_bytes(gigabytes), interrupt)
            )
        except Failure as failure:
            if func is not None or sources or shape:
                raise
            output.say(f"warning: no run is recorded: {failure.diagnostics[0].message}", err=True)
    output.write(page(session, log), target)
    return output.OK


def _log(
    session: Session,
    func: str | None,
    sources: tuple[str, ...],
    shape: tuple[str, ...],
    most: int,
    interrupt: Interrupt,
) -> RunLog | None:
    stage = session.stages[0]
    name = func or stage.entry
    if func is None and type(stage.module.functions.get(name)) is not e.Function:
        return None
    fn = relax_function(stage.module, name)
    call = CallInputs(name, sources_by_name(sources), lengths_given(shape))
    values, note = call_values(fn, call, most)
    debugger = Debugger(stage.module, name, values, session.cache, interrupt, private=True)
    return logged(debugger, note)
