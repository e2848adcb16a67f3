"""Twins: the command line of the shell that does what the explorer shows or does."""

from __future__ import annotations

from relax_explorer.core.notations import is_contract
from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.ui.commands import command
from relax_explorer.ui.tui.controls import Controls
from relax_explorer.ui.tui.line_words import COUNTED, STORAGES, TESTS, TO, asked, usual_test
from relax_explorer.ui.tui.state import Options


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
    """The command line of a command on the selected stage of the open program, with `values` besides."""
    stage = app.state.stage
    return twin(app, name, **{"stage": None if stage is None else str(stage.label)} | values)


def called(app: Controls, name: str, **values: object) -> str:
    """The command line of a command on the selected stage, with the function that runs and the inputs that the user gave."""
    function, stage = app.run_control.function(), app.state.stage
    fn = stage.module.relax_functions.get(function) if stage is not None else None
    chosen = inputs(app.run_control.given(function)) | {"private": (fn is not None and fn.is_private) or None}
    return staged(app, name, **{"func": function or None} | chosen | values)


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
    if screen == "compare" and state.compared is not None and state.compared.compiled:
        return compiled_twin(app, "")
    if screen == "compare" and state.compared is not None:
        return called(app, "compare", **pair(app, state.compared.a, state.compared.b))
    if screen == "ranks" and app.rank_control.count:
        return ranks_twin(app, f"{app.rank_control.count} {app.rank_control.unsharded}")
    if screen == "checks":
        function, given = state.options.given
        is_all = state.options.checks in ("proved", "all")
        func = {"func": function} if function else {}
        return staged(app, "shapes", given=given or None, proved=is_all or None, **func)
    if screen == "graph":
        return staged(app, "graph", **_of_graph(state.options))
    if screen == "passes":
        return staged(app, "show")
    names = {"problems": "check", "compare": "compare", "solver": "relations", "home": "tui", "ranks": "run"}
    return twin(app, names.get(screen, "show"))


def _of_graph(options: Options) -> dict[str, object]:
    """The options of `graph` for what the canvas shows."""
    if options.calls:
        return {"calls": True, "func": None}
    memory: dict[str, object] = {"memory": True} if options.shows_memory else {}
    if options.heat == STORAGES:
        return {**memory, "storages": True}
    if options.heat in COUNTED:
        return {**memory, "heat": options.heat, "shape": dict(options.lengths) or None}
    return memory


def compiled_twin(app: Controls, text: str) -> str:
    """The command line for the values of the compiled program."""
    return command("compare").text({"a": app.state.path, "all": True}) if app.state.path else ""


def ranks_twin(app: Controls, text: str) -> str:
    """The command line that runs the selected stage on several ranks."""
    number, _, file = text.strip().partition(" ")
    return called(app, "run", ranks=int(number), unsharded=file.strip() or None) if number.isdecimal() else ""


def reduce_twin(app: Controls, text: str) -> str:
    """The command line that makes the program smaller while it shows the fault of the selected stage."""
    stage, words = app.state.stage, asked(text, TESTS)
    if stage is None:
        return ""
    passes = ",".join(map(str, app.reproducing.passes(stage)))
    values = {
        "passes": passes or None,
        "test": words.choice or usual_test(stage, bool(passes)),
        "output_": words.file or None,
        "anonymous": words.is_anonymous,
    }
    return called(app, "reduce", **values | ({} if passes else _at_stage(app)))


def _at_stage(app: Controls) -> dict[str, object]:
    """The selected stage of a recorded build, as the input of a command."""
    stage, session = app.state.stage, app.state.session
    is_recorded = (
        session is not None and stage is not None and len(session.stages) > 1 and not session.pipeline
    )
    return {"input": f"{app.state.path}@{stage.label}"} if is_recorded and stage is not None else {}


def handed_over(app: Controls, text: str) -> str:
    """A program for TVM or for an issue."""
    stage, words = app.state.stage, asked(text, TO)
    if stage is None:
        return ""
    passes = ",".join(map(str, app.reproducing.passes(stage))) if stage.number else ""
    values = {
        "passes": passes or None,
        "to": words.choice,
        "output_": words.file or None,
        "anonymous": words.is_anonymous,
    }
    return called(app, "export", **values | _at_stage(app))
