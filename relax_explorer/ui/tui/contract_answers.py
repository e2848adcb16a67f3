"""What the `:` line answers about a program with shape contracts: its other forms, a copy for sizes, and its Relax module."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from relax_explorer.core.shapes.contract_forms import FORMS, copy_of
from relax_explorer.ui.tui.controls import Controls
from relax_explorer.ui.tui.jobs import Job
from relax_explorer.viz.contract_steps import ContractSteps
from relax_explorer.viz.visible import visible

TITLES = {
    "desugared": "Contracts as assertions",
    "matches": "Contracts as match_shape statements",
    "split": "Shape functions apart from the data",
}
"""The forms that are shown as text, by the names of their commands."""


def answer(app: Controls, command: str, text: str) -> None:
    """Answer a command about the open program. If that has no contracts, a notice tells what the command needs."""
    contracts = app.state.solving
    if not isinstance(contracts, ContractSteps):
        back = "; 7 goes back to it" if app.stage_control.is_from_contracts else ""
        app.say(f"{command} needs shape contracts, a .shapes file{back}")
    elif command == "relax":
        app.stage_control.open_as_relax(contracts)
    elif (
        command == "keep-branches"
    ):  # look into the functions that are called, branch by branch, or no longer
        app.show_with(keep_branches=not app.state.options.keep_branches)
        app.stage_control.open(app.state.path)
    elif command in TITLES:
        program, terms, form = contracts.program, contracts.terms, FORMS[command]
        _show(app, TITLES[command], lambda: form(program, terms))
    elif text:
        program, terms = contracts.program, contracts.terms
        _show(app, f"Copy for {visible(text, 60)}", lambda: copy_of(program, terms, text))
    else:
        app.say("copy takes a function and sizes, such as ff: n=8, m=4")


def _show(app: Controls, title: str, form: Callable[[], Iterable[str]]) -> None:
    """Show text that is made off the UI thread."""

    def work(job: Job) -> list[str]:
        return [visible(line, 2_000) for line in form()]

    def done(lines: list[str]) -> None:
        app.show_text(title, lines or ["this program has no function with a contract"])

    app.jobs.start("checks", "looking at contracts", work, done)
