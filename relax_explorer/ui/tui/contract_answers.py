"""What the `:` line answers about a program with shape contracts: its other forms, a copy for sizes, and its Relax module."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from relax_explorer.core.shapes.contract_forms import FORMS, copy_of
from relax_explorer.ui.tui.controls import Controls
from relax_explorer.ui.tui.jobs import Job
from relax_explorer.viz.solver_steps import ContractSteps
from relax_explorer.viz.visible import visible

TITLES = {
    "desugared": "Contracts as assertions",
    "matches": "Contracts as match_shape statements",
    "split": "Shape functions apart from the data",
}
"""The forms that are shown as text, by the names of their commands."""


def show_form(app: Controls, name: str) -> None:
    """Show the program in another form: `desugared`, `matches` or `split`."""
    contracts = _contracts(app, name)
    if contracts is not None:
        form = FORMS[name]
        _show(app, TITLES[name], lambda: form(contracts.program, contracts.terms))


def show_copy(app: Controls, sizes: str) -> None:
    """Show the copy of a function for sizes such as `ff: n=8, m=4`, and the calls that use it."""
    contracts = _contracts(app, "copy")
    if contracts is None:
        return
    if not sizes:
        app.say("copy takes a function and sizes, such as ff: n=8, m=4")
        return
    _show(app, f"Copy for {visible(sizes, 60)}", lambda: copy_of(contracts.program, contracts.terms, sizes))


def open_relax(app: Controls) -> None:
    """Open the Relax module of the program: its passes, its graph, its run."""
    contracts = _contracts(app, "relax")
    if contracts is not None:
        app.stage_control.open_as_relax(contracts)


def turn_branches(app: Controls) -> None:
    """Look into the functions that are called, branch by branch, or no longer."""
    if _contracts(app, "keep-branches") is not None:
        app.show_with(keep_branches=not app.state.options.keep_branches)
        app.stage_control.open(app.state.path)


def _contracts(app: Controls, command: str) -> ContractSteps | None:
    """The open program, if it has contracts; else a notice tells what the command needs."""
    solving = app.state.solving
    if isinstance(solving, ContractSteps):
        return solving
    back = "; 7 goes back to it" if app.stage_control.is_from_contracts else ""
    app.say(f"{command} needs shape contracts, a .shapes file{back}")
    return None


def _show(app: Controls, title: str, form: Callable[[], Iterable[str]]) -> None:
    """Show text that is made off the UI thread."""

    def work(job: Job) -> list[str]:
        return [visible(line, 2_000) for line in form()]

    def done(lines: list[str]) -> None:
        app.show_text(title, lines or ["this program has no function with a contract"])

    app.jobs.start("checks", "looking at contracts", work, done)
