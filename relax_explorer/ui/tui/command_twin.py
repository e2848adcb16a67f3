"""The command line that shows what a screen shows."""

from __future__ import annotations

from relax_explorer.core.notations import is_contract
from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.ui.commands import command
from relax_explorer.ui.tui.controls import Controls


def piped(path: str) -> tuple[str, str]:
    """What makes the program in a command line, and its path: shape contracts are printed as Relax, and read from the pipe."""
    if not is_contract(path):
        return "", path
    return command("shapes").text({"input": path, "relax": True}) + " | ", "-"


def twin(app: Controls, name: str, **values: object) -> str:
    """The command line of a command on the open program: its file, its passes and its function, with `values` besides."""
    session = app.state.session
    before, path = piped(app.state.path) if session is not None else ("", app.state.path)
    from_passes = session is not None and bool(session.pipeline)
    profile = app.stage_control.profile
    own: dict[str, object] = {
        "input": path or None, "inputs": path or None, "a": path or None, "func": app.state.selection.function or None,
        "passes": app.pipeline_control.text if from_passes else None, "const": app.stage_control.const,
        "profile": profile if profile in ("spec", "tvm") else None,
    }  # fmt: skip
    return before + command(name).text(own | values)


def staged(app: Controls, name: str, **values: object) -> str:
    """The same, on the selected stage."""
    stage = app.state.stage
    return twin(app, name, **{"stage": None if stage is None else str(stage.label)} | values)


def called(app: Controls, name: str, **values: object) -> str:
    """The same, with the function that runs and what the user said of its inputs."""
    function, stage = app.run_control.function(), app.state.stage
    fn = stage.module.relax_functions.get(function) if stage is not None else None
    said = inputs(app.run_control.given(function)) | {"private": (fn is not None and fn.is_private) or None}
    return staged(app, name, **{"func": function or None} | said | values)


def inputs(call: CallInputs) -> dict[str, object]:
    """The values of `--input` and `--shape`."""
    if call.calls:
        return {"calls": call.calls, "func": None}
    return {"input_": call.whole or call.sources or None, "shape": call.shape or None}


def pair(app: Controls, a: int, b: int) -> dict[str, object]:
    """Two stages as `compare` takes them; of passes, the first and the last one need no names.

    Standard input has no stages: `-@1` looks like an option.
    """
    session = app.state.session
    if session is None or is_contract(app.state.path) or (session.pipeline and (a, b) == (0, session.total)):
        return {}
    return {key: f"{app.state.path}@{session.stages[number].label}" for key, number in (("a", a), ("b", b))}


def command_line(app: Controls) -> str:
    """The command line that shows what the screen shows."""
    state, screen = app.state, app.screen_name
    if state.solving is not None and screen == "solver":
        branches = state.options.keep_branches or None
        solved: dict[str, object] = {"input": state.path, "at": state.step, "keep_branches": branches}
        return command(state.solving.command).text(solved)
    if screen == "debug":
        return called(app, "debug")
    if screen == "compare" and state.compared is not None:
        return called(app, "compare", **pair(app, state.compared.a, state.compared.b))
    if screen == "checks":
        function, given = state.options.given
        is_all = state.options.checks in ("proved", "all")
        func = {"func": function} if function else {}
        return staged(app, "shapes", given=given or None, proved=is_all or None, **func)
    if screen == "graph":
        calls: dict[str, object] = {"calls": True, "func": None} if state.options.calls else {}
        return staged(app, "graph", **calls)
    if screen == "passes":
        return staged(app, "show")
    names = {"problems": "check", "compare": "compare", "solver": "relations", "home": "tui"}
    return twin(app, names.get(screen, "show"))
