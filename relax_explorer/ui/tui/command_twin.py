"""The command line that shows what a screen shows."""

from __future__ import annotations

from relax_explorer.core.notations import is_contract
from relax_explorer.core.session.commands import command
from relax_explorer.ui.tui.controls import Controls


def piped(path: str) -> tuple[str, str]:
    """What makes the program in a command line, and its path: shape contracts are printed as Relax, and read from the pipe."""
    if not is_contract(path):
        return "", path
    return command("shapes").text({"input": path, "relax": True}) + " | ", "-"


def command_line(app: Controls) -> str:
    """The command line that shows what the screen shows."""
    state, screen = app.state, app.screen_name
    if state.solving is not None and screen == "solver":
        branches = state.options.keep_branches or None
        solved: dict[str, object] = {"input": state.path, "at": state.step, "keep_branches": branches}
        return command(state.solving.command).text(solved)
    names = {
        "debug": "debug", "graph": "graph", "problems": "check", "compare": "compare", "checks": "shapes", "solver": "relations",
        "home": "tui",
    }  # fmt: skip
    own = command(names.get(screen, "show"))
    session, stage = state.session, state.stage
    from_passes = session is not None and bool(session.pipeline)
    before, path = piped(state.path) if session is not None else ("", state.path)
    values: dict[str, object] = {
        "input": path or None, "inputs": path or None, "a": path or None, "func": state.selection.function or None,
        "passes": app.pipeline_control.text if from_passes else None,
    }  # fmt: skip
    if stage is not None and screen in ("passes", "graph", "checks"):
        values["stage"] = str(stage.label)
    if screen == "checks":
        function, given = state.options.given
        is_all = state.options.checks in ("proved", "all")
        values |= {"func": function or None, "given": given or None, "proved": is_all or None}
    if screen == "graph" and state.options.calls:
        values |= {"calls": True, "func": None}
    if screen == "compare" and state.compared is not None and not from_passes:
        labels = (
            [session.stages[number].label for number in (state.compared.a, state.compared.b)]
            if session
            else []
        )
        values["a"], values["b"] = [f"{path}@{label}" for label in labels]
    return before + own.text(values)
