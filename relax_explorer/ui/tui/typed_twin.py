"""The command line that does what a line typed behind `:` does; it stands in the footer while that is typed."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.session.debug_commands import DEBUG_COMMANDS
from relax_explorer.core.session.debug_session import found_command
from relax_explorer.core.shapes.origins import owner_name
from relax_explorer.ui.commands import command
from relax_explorer.ui.tui.command_twin import called, pair, staged, twin
from relax_explorer.ui.tui.controls import Controls

Twin = Callable[[Controls, str], str]


def twin_of_line(app: Controls, line: str) -> str:
    """The command line for a line typed in the explorer. Empty if there is none, or if the line lacks what it needs."""
    word, _, rest = line.strip().partition(" ")
    text = rest.strip()
    made = TWINS.get(word)
    if made is not None:
        return made(app, text)
    if word in ALONE or app.screen_name != "debug" or app.state.session is None:
        return ""
    try:
        return _debugged(app, found_command(DEBUG_COMMANDS, word).name, text)
    except Failure:
        return ""


def _debugged(app: Controls, name: str, text: str) -> str:
    """A place and a value have options of `run`; what else the debugger can do, it does for its own command line, too."""
    if name in ("help", "quit"):
        return ""
    if name == "break" and text and " if " not in text:
        return called(app, "run", **{"break": text.removeprefix("if ")})
    if name == "watch" and text:
        return called(app, "run", watch=text)
    return f"echo {shlex.quote(f'{name} {text}'.strip())} | {called(app, 'debug')}"


def _open(app: Controls, text: str) -> str:
    return command("tui").text({"input": text}) if text else ""


def _label(app: Controls, text: str) -> str | None:
    """The label of the stage that a number or a pass names; None if there is none."""
    session = app.state.session
    try:
        return None if session is None else str(session.stage(text).label)
    except KeyError:
        return None


def _stage(app: Controls, text: str) -> str:
    label = _label(app, text)
    return "" if label is None else twin(app, "show", stage=label)


def _go(app: Controls, text: str) -> str:
    stage = app.state.stage
    return staged(app, "show", func=text) if stage is not None and text in stage.module.functions else ""


def _who(app: Controls, text: str) -> str:
    value = text or app.state.selection.variable
    return twin(app, "who", var=value) if value and app.state.session is not None else ""


def _compare(app: Controls, text: str) -> str:
    """The two stages in their order, as the explorer compares them."""
    session, here = app.state.session, app.state.selection.stage
    if session is None:
        return ""
    try:
        other = session.stage(text).number if text else app.verdicts.other(session)
    except KeyError:
        return ""
    first, last = min(other, here), max(other, here)
    named = pair(app, first, last)
    if first == last or not (named or (first, last) == (0, session.total)):
        return ""
    return called(app, "compare", **named)


def _bisect(app: Controls, text: str) -> str:
    return called(app, "bisect") if app.state.session is not None else ""


def _checks(app: Controls, text: str) -> str:
    word, _, condition = text.partition(" ")
    if word == "costly":
        return called(app, "shapes", run=True)
    shown = {"proved": word in ("proved", "all") or None, "given": condition.strip() or None}
    if condition.strip():  # bare names are those of this function
        shown["func"] = app.run_control.function() or None
    return staged(app, "shapes", **shown) if app.state.session is not None else ""


def _lengths(option: str) -> Twin:
    """What asks for lengths: the value or the condition is that of the text."""

    def made(app: Controls, text: str) -> str:
        asked = text or (_selected_value(app) if option == "why" else "")
        if app.state.session is None:
            return ""
        function = app.run_control.function() or None
        return staged(app, "shapes", func=function, **{option: asked}) if asked else ""

    return made


def _selected_value(app: Controls) -> str:
    """The selected variable, with the nested functions that it is in: `inner.c`."""
    selection, stage = app.state.selection, app.state.stage
    if stage is None or not selection.variable or selection.function not in stage.module.relax_functions:
        return selection.variable
    owner = owner_name(stage.module, selection.function, selection.binding)
    return f"{owner}.{selection.variable}".removeprefix(f"{selection.function}.")


def _solver(app: Controls, text: str) -> str:
    solving, step = app.state.solving, int(text) if text.isdecimal() else app.state.step
    return "" if solving is None else command(solving.command).text({"input": app.state.path, "at": step})


def _form(option: str) -> Twin:
    """What prints shape contracts in another form."""

    def made(app: Controls, text: str) -> str:
        is_whole = option != "copy" or text
        values = {"input": app.state.path, option: text or True}
        return command("shapes").text(values) if app.state.solving is not None and is_whole else ""

    return made


def _passes(app: Controls, text: str) -> str:
    return twin(app, "opt", **({"passes": text} if text else {})) if app.state.plan is not None else ""


def _profile(app: Controls, text: str) -> str:
    return twin(app, "opt", profile=text) if app.state.plan is not None and text in ("spec", "tvm") else ""


def _between(app: Controls, first: str | None) -> str:
    """The changes from one stage to the selected one."""
    state = app.state
    if state.session is None or state.stage is None or first is None:
        return ""
    return twin(app, "diff", between=f"{first}..{state.stage.label}")


def _diff(app: Controls, text: str) -> str:
    session, here = app.state.session, app.state.selection.stage
    is_off = text == "off" or session is None or here == 0
    return "" if is_off or session is None else _between(app, str(session.stages[here - 1].label))


def _since(app: Controls, text: str) -> str:
    return _between(app, _label(app, text)) if text else _diff(app, "inline")


def _theme(app: Controls, text: str) -> str:
    return twin(app, "tui", theme=text) if text else ""


def _export(app: Controls, text: str) -> str:
    """A graph as SVG or Mermaid, a program as JSON or text; pages in HTML are those of the report."""
    style, _, file = text.partition(" ")
    if style in ("svg", "mermaid") and app.state.session is not None:
        return staged(app, "graph", format=style, output=file or None)
    if style not in ("json", "text"):
        return ""
    goal = f" > {shlex.quote(file)}" if file else ""
    if app.state.session is None or app.screen_name not in ("passes", "graph"):
        return ""
    if app.screen_name == "graph":
        return staged(app, "graph", format="unicode" if style == "text" else style) + goal
    return staged(app, "show", format=style) + goal


def _report(app: Controls, text: str) -> str:
    stem = app.state.path.rstrip("/").rpartition("/")[2].removesuffix(".py")
    return (
        called(app, "report", output=text or f"{stem}-report.html") if app.state.session is not None else ""
    )


def _picture(app: Controls, text: str) -> str:
    return staged(app, "graph", format="svg") if app.state.session is not None else ""


def _explain(app: Controls, text: str) -> str:
    return command("explain").text({"subject": text}) if text else ""


def _calls(app: Controls, text: str) -> str:
    if app.state.session is None:
        return ""
    return called(app, "debug", **({"calls": text, "func": None} if text else {"calls": None}))


def _keep_branches(app: Controls, text: str) -> str:
    is_kept = app.state.options.keep_branches
    solved = {"input": app.state.path, "keep_branches": None if is_kept else True}
    return command("shapes").text(solved) if app.state.solving is not None else ""


TWINS: Mapping[str, Twin] = {
    "open": _open, "stage": _stage, "go": _go, "who": _who, "compare": _compare, "bisect": _bisect, "checks": _checks,
    "problems": lambda app, text: twin(app, "check") if app.state.path else "",
    "why": _lengths("why"), "what-if": _lengths("what_if"), "solver": _solver, "relax": _form("relax"),
    "desugared": _form("desugared"), "matches": _form("matches"), "split": _form("split"), "copy": _form("copy"),
    "keep-branches": _keep_branches, "passes": _passes, "profile": _profile, "diff": _diff, "since": _since, "theme": _theme,
    "calls": _calls, "export": _export, "report": _report, "picture": _picture, "explain": _explain,
}  # fmt: skip
ALONE: Mapping[str, str] = {
    "all": "a search for text: any tool that searches files does it on the output of show",
    "inputs": "a dialog; what it asks for stands in --input and --shape of the other command lines",
    "mark": "a place of this session",
    "marks": "places of this session",
    "edit": "an edited text is another file",
    "toggle": "the pipeline without the pass stands in --passes of the other command lines",
    "edits": "pipelines of this session",
    "fold": "what is printed is never folded",
    "keys": "keys of the explorer",
    "commands": "commands of the explorer",
    "tutorial": "a tour of the explorer",
    "exit": "a command line ends by itself",
}
"""Commands that only the explorer has, with the reasons."""
