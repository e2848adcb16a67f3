"""The commands of the `:` line: those of the explorer, and behind them all commands of the debugger."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from relax_explorer.ui.tui.controls import Controls
from relax_explorer.ui.tui.keymap import named_keys
from relax_explorer.ui.tui.selection import DIFFS, LEAST_BESIDE
from relax_explorer.viz.tokens import THEMES
from relax_explorer.viz.visible import visible

Handler = Callable[[Controls, str], None]


@dataclass(frozen=True, slots=True)
class Typed:
    """One command: its name, its arguments, one sentence, and its function."""

    name: str
    arguments: str
    doc: str
    handler: Handler


def _open(app: Controls, text: str) -> None:
    if text:
        app.stage_control.open(str(Path(text).expanduser()))
    else:
        app.say("open takes a file or a folder of stages")


def _stage(app: Controls, text: str) -> None:
    session = app.state.session
    if session is None:
        app.say("no program is open")
        return
    try:
        found = session.stage(text)
    except KeyError as error:
        app.say(str(error.args[0]))
        return
    app.stage_control.go_to(found.number, app.state.selection.function, app.state.selection.binding)
    app.show_screen("passes")


def _go(app: Controls, text: str) -> None:
    state = app.state
    stage = state.stage
    if stage is not None and text in stage.module.functions:
        app.stage_control.go_to(stage.number, text)
    elif not app.stage_control.go_to_variable(text):
        app.say(f"this stage has no function or variable {text!r}")
        return
    if app.screen_name not in ("passes", "graph"):
        app.show_screen("passes")


def _who(app: Controls, text: str) -> None:
    if text:
        app.pictures.who(text)
    else:
        app.pictures.history()


def _all(app: Controls, text: str) -> None:
    app.pictures.search_everywhere(text)


def _compare(app: Controls, text: str) -> None:
    session = app.state.session
    number: int | None = None
    if text and session is not None:
        try:
            number = session.stage(text).number
        except KeyError as error:
            app.say(str(error.args[0]))
            return
    app.show_screen("compare", starts=False)
    app.verdicts.compare(number)


def _bisect(app: Controls, text: str) -> None:
    app.verdicts.bisect()


def _inputs(app: Controls, text: str) -> None:
    app.show_screen("debug", starts=False)
    app.ask_inputs()


def _calls(app: Controls, text: str) -> None:
    app.show_screen("debug", starts=False)
    app.run_control.with_calls(text)


def _mark(app: Controls, text: str) -> None:
    app.marks.set(text or "?")


def _checks(app: Controls, text: str) -> None:
    from relax_explorer.ui.tui.check_list import show_checks

    show_checks(app, text)


def _problems(app: Controls, text: str) -> None:
    app.show_screen("problems")


def _why(app: Controls, text: str) -> None:
    from relax_explorer.ui.tui.length_answers import show_why

    show_why(app, text)


def _what_if(app: Controls, text: str) -> None:
    from relax_explorer.ui.tui.length_answers import show_what_if

    show_what_if(app, text)


def _solver(app: Controls, text: str) -> None:
    solving = app.state.solving
    if text and (solving is None or not text.isdecimal() or not 0 <= int(text) <= solving.last):
        last = (
            f" from 0 to {solving.last}" if solving is not None else ", once a .relay or .shapes file is open"
        )
        app.say(f"solver takes a step{last}")
        return
    app.show_screen("solver")
    if text:
        app.change(step=int(text))


def _form(name: str) -> Handler:
    """The command that shows a program with shape contracts in another form."""

    def shown(app: Controls, text: str) -> None:
        from relax_explorer.ui.tui.contract_answers import show_form

        show_form(app, name)

    return shown


def _copy(app: Controls, text: str) -> None:
    from relax_explorer.ui.tui.contract_answers import show_copy

    show_copy(app, text)


def _relax(app: Controls, text: str) -> None:
    from relax_explorer.ui.tui.contract_answers import open_relax

    open_relax(app)


def _keep_branches(app: Controls, text: str) -> None:
    from relax_explorer.ui.tui.contract_answers import turn_branches

    turn_branches(app)


def _marks(app: Controls, text: str) -> None:
    found = app.marks.rows()
    if found:
        app.show_rows("Marks", found, 0, lambda row: app.marks.go(row.node))
    else:
        app.say("no marks yet; m and a letter set one")


def _passes(app: Controls, text: str) -> None:
    if text:
        app.pipeline_control.typed(text)
    else:
        app.edit_pipeline()


def _profile(app: Controls, text: str) -> None:
    app.pipeline_control.profile(text.strip())


def _edit(app: Controls, text: str) -> None:
    app.edit_text()


def _toggle(app: Controls, text: str) -> None:
    app.pipeline_control.toggle_named(text)


def _edits(app: Controls, text: str) -> None:
    app.pipeline_control.show_edits()


def _diff(app: Controls, text: str) -> None:
    if text not in DIFFS:
        app.say("diff takes inline, beside, only or off")
        return
    app.show_screen("passes")
    app.show_with(diff=text)
    is_tight = text == "beside" and app.size.width < LEAST_BESIDE
    app.say(f"side by side needs {LEAST_BESIDE} columns: changes are marked" if is_tight else DIFFS[text])


def _since(app: Controls, text: str) -> None:
    session, number = app.state.session, None
    if text and session is not None:
        try:
            number = session.stage(text).number
        except KeyError as error:
            app.say(str(error.args[0]))
            return
    app.show_screen("passes")
    app.show_with(since=number)
    app.say(
        "changes since the stage before"
        if number is None
        else f"changes since stage {text}; since alone ends it"
    )


def _fold(app: Controls, text: str) -> None:
    if app.screen_name not in ("passes", "debug"):
        app.show_screen("passes")
    actions = {"": "fold", "all": "fold_all", "open": "fold_all('open')", "close": "fold_all('close')"}
    if text in actions:
        app.perform(actions[text])
    else:
        app.say("fold takes nothing, or all, open or close")


def _theme(app: Controls, text: str) -> None:
    name = f"rxe-{text}"
    if name in THEMES:
        app.use_theme(THEMES[name])
    else:
        app.say(f"themes are {', '.join(item.removeprefix('rxe-') for item in THEMES)}")


def _commands(app: Controls, text: str) -> None:
    from relax_explorer.core.session.debug_commands import DEBUG_COMMANDS

    lines = [f"{item.name} {item.arguments}".ljust(28) + item.doc for item in TYPED]
    lines += ["", "In the debugger:", *[f"{item.usage:<28}{item.doc}" for item in DEBUG_COMMANDS]]
    app.show_text("Commands of the : line", lines)


def _export(app: Controls, text: str) -> None:
    app.exports.export(text)


def _report(app: Controls, text: str) -> None:
    app.exports.report(text)


def _explain(app: Controls, text: str) -> None:
    from relax_explorer.ui.tui.explaining import explain

    explain(app, text)


def _picture(app: Controls, text: str) -> None:
    if app.screen_name == "graph":
        app.perform("image")
    else:
        app.pictures.image(None)


def _tutorial(app: Controls, text: str) -> None:
    app.tutorial.start()


def _keys(app: Controls, text: str) -> None:
    lines = [f"{name:<26}{keys:<18}{doc}" for name, keys, doc in named_keys(app.keymap)]
    app.show_text("Actions as [keys] in the settings file names them, and their keys", lines)


def _exit(app: Controls, text: str) -> None:
    app.leave()


TYPED: tuple[Typed, ...] = (
    Typed("open", "PATH", "Open a file, or a folder of stages.", _open),
    Typed("stage", "N|PASS", "Show a stage.", _stage),
    Typed("go", "NAME", "Go to a function or a variable.", _go),
    Typed("who", "[NAME]", "Show which stages changed a value.", _who),
    Typed("all", "TEXT", "Find a text in all stages.", _all),
    Typed("compare", "[N|PASS]", "Compare the values of this stage with those of another one.", _compare),
    Typed("bisect", "", "Find the first stage whose results differ from those of the first one.", _bisect),
    Typed("inputs", "", "Choose the inputs of the run.", _inputs),
    Typed("calls", "[FILE]", "Make the calls of a file, one a line; without one, one call again.", _calls),
    Typed("mark", "LETTER", "Mark this place.", _mark),
    Typed("marks", "", "List the marks; Enter goes to one.", _marks),
    Typed("problems", "", "List the problems of all stages; Enter goes to the place of one.", _problems),
    Typed(
        "checks",
        "[proved|all|costly|given C]",
        "Show the checks of lengths left to the run: why, and what removes them.",
        _checks,
    ),
    Typed(
        "why", "[VALUE]", "Show where the lengths of a value come from, and why two of them may differ.", _why
    ),
    Typed(
        "what-if", "CONDITION", "Show what every length becomes under a condition such as n = 7.", _what_if
    ),
    Typed("solver", "[STEP]", "Step through type relations or shape contracts.", _solver),
    Typed("relax", "", "Open the Relax module of shape contracts: its passes, graph and run.", _relax),
    Typed("desugared", "", "Show shape contracts as wrappers with assertions.", _form("desugared")),
    Typed("matches", "", "Show shape contracts as match_shape statements.", _form("matches")),
    Typed("split", "", "Show the shape functions of shape contracts apart from the data.", _form("split")),
    Typed("copy", "F: n=8", "Show a copy of a function with shape contracts for sizes.", _copy),
    Typed(
        "keep-branches",
        "",
        "Look into the functions that shape contracts call, branch by branch, or no longer.",
        _keep_branches,
    ),
    Typed("passes", "[A,B]", "Edit the pipeline, or run these passes, as with --passes.", _passes),
    Typed("profile", "spec|tvm", "Run passes as the specification asks, or exactly as TVM does.", _profile),
    Typed("edit", "", "Edit the text of this stage; only the passes behind it run again.", _edit),
    Typed("toggle", "N|PASS", "Turn the pass of a stage off, or on again.", _toggle),
    Typed("edits", "", "List the pipelines that were tried; Enter goes back to one.", _edits),
    Typed("diff", "MODE", "Show changes inline, beside the stage before, only them, or off.", _diff),
    Typed(
        "since", "[N|PASS]", "Show the changes since an earlier stage, or again since the one before.", _since
    ),
    Typed("fold", "[all|open|close]", "Fold or open what the cursor is in, or all.", _fold),
    Typed("theme", "NAME", "Draw in another theme.", _theme),
    Typed("keys", "", "List the actions by the names that settings use, with their keys.", _keys),
    Typed("commands", "", "List the commands of this line.", _commands),
    Typed(
        "export",
        "FORMAT [FILE]",
        "Write the screen: svg and mermaid (the graph), html, json or text.",
        _export,
    ),
    Typed(
        "report",
        "[FILE]",
        "Write the session as one HTML page: stages, changes, graphs, problems, a run.",
        _report,
    ),
    Typed(
        "picture", "", "Show the graph as a picture, if the terminal can (kitty's protocol, sixel).", _picture
    ),
    Typed(
        "explain",
        "[NAME]",
        "Explain an operator, a pass, a code or a StructInfo; alone, what is selected.",
        _explain,
    ),
    Typed("tutorial", "", "A tour in eight keys: find the pass that broke a build.", _tutorial),
    Typed("exit", "", "Leave the explorer.", _exit),
)
_BY_NAME = {item.name: item for item in TYPED}


def execute_typed(app: Controls, text: str) -> None:
    """Run a command line. What the explorer does not know goes to the debugger, which needs a run."""
    word, _, rest = text.strip().partition(" ")
    own = _BY_NAME.get(word)
    if not word:
        return
    if own is not None:
        own.handler(app, rest.strip())
    elif app.screen_name == "debug":
        app.run_control.typed(text)
    else:
        near = [item.name for item in TYPED if item.name.startswith(word)]
        hint = f"did you mean {near[0]}?" if near else "`commands` lists them, Debug has more"
        app.say(f"no command {visible(word, 24)!r}; {hint}")
