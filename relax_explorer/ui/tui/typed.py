"""The commands of the `:` line: those of the explorer, each with the command line of the shell that does the same; behind them all
commands of the debugger.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir.layer_names import layer_names
from relax_explorer.core.session.command import Command, word
from relax_explorer.ui.commands import command
from relax_explorer.ui.run_commands import PROFILE
from relax_explorer.ui.tui.controls import Controls
from relax_explorer.ui.tui.keys import described, named_keys
from relax_explorer.ui.tui.line_words import TO
from relax_explorer.ui.tui.state import DIFFS, LEAST_BESIDE
from relax_explorer.ui.tui.twins import (
    called,
    compiled_twin,
    handed_over,
    pair,
    ranks_twin,
    reduce_twin,
    staged,
    twin,
)
from relax_explorer.viz.tokens import THEMES
from relax_explorer.viz.visible import visible

if TYPE_CHECKING:
    from relax_explorer.core.session.snapshot import Snapshot


# -- typed -----------------------------------------------------------------------------------------------------------
# The commands of the `:` line: those of the explorer, each with the command line of the shell that does the same;
# behind them all commands of the debugger.


class Refused(Exception):
    """A line can't be executed. The text is said in the footer."""


def execute_typed(app: Controls, text: str) -> None:
    """Run a command line. What the explorer does not know goes to the debugger, which needs a run."""
    name, _, rest = text.strip().partition(" ")
    own = BY_NAME.get(name)
    if own is not None:
        try:
            if refusal := own.refusal(rest.strip()):
                raise Refused(refusal)
            own.run(app, rest.strip())
        except Refused as reason:
            app.say(str(reason))
    elif name and app.screen_name == "debug":
        app.run_control.typed(text)
    elif name:
        near = [item.name for item in TYPED if item.name.startswith(name)]
        hint = f"did you mean {near[0]}?" if near else "`commands` lists them, Debug has more"
        app.say(f"no command {visible(name, 24)!r}; {hint}")


def twin_of_line(app: Controls, line: str) -> str:
    """The command line for a line typed in the explorer. Empty if there is none, or if the line lacks what it needs."""
    name, _, text = line.strip().partition(" ")
    own, open_ = BY_NAME.get(name), app.state
    try:
        if own is None:
            return _debugged(app, name, text.strip())
        has = {"": True, "program": open_.session, "plan": open_.plan, "solver": open_.solving}[own.needs]
        if isinstance(own.twin, str) or has is None or own.refusal(text.strip()):
            return ""
        return own.twin(app, text.strip())
    except (Refused, Failure):
        return ""


def _debugged(app: Controls, word: str, text: str) -> str:
    """A place and a value have options of `run`; what else the debugger can do, it does for its own command line, too."""
    from relax_explorer.core.session.debug_commands import DEBUG_COMMANDS
    from relax_explorer.core.session.debug_session import found_command

    if app.screen_name != "debug" or app.state.session is None:
        return ""
    name = found_command(DEBUG_COMMANDS, word).name
    if name in ("help", "quit"):
        return ""
    if name == "break" and text and " if " not in text:
        return called(app, "run", **{"break": text.removeprefix("if ")})
    if name == "watch" and text:
        return called(app, "run", watch=text)
    return f"echo {shlex.quote(f'{name} {text}'.strip())} | {called(app, 'debug')}"


# -- stages and values -----------------------------------------------------------------------------------------------


def _open(app: Controls, text: str) -> None:
    if not text:
        raise Refused("open takes a file or a folder of stages")
    app.stage_control.open(str(Path(text).expanduser()))


def _open_twin(app: Controls, text: str) -> str:
    return command("tui").text({"input": text}) if text else ""


def _stage_of(app: Controls, text: str) -> Snapshot:
    """The stage that a number or a pass names. Raises Refused."""
    if app.state.session is None:
        raise Refused("no program is open")
    try:
        return app.state.session.stage(text)
    except KeyError as error:
        raise Refused(str(error.args[0])) from None


def _number(app: Controls, text: str) -> int | None:
    """The number of a stage; None if none is named, or no program is open. Raises Refused."""
    return _stage_of(app, text).number if text and app.state.session is not None else None


def _stage(app: Controls, text: str) -> None:
    def again() -> None:
        try:
            _stage(app, text)
        except Refused as refused:  # it was the last stage
            app.say(str(refused))

    try:
        number, selection = _stage_of(app, text).number, app.state.selection
    except Refused:
        if app.state.session is not None and app.stage_control.await_next(again):
            return
        raise
    app.stage_control.go_to(number, selection.function, selection.binding)
    app.show_screen("passes")


def _stage_twin(app: Controls, text: str) -> str:
    return twin(app, "show", stage=str(_stage_of(app, text).label))


def _names_function(app: Controls, text: str) -> bool:
    return app.state.stage is not None and text in app.state.stage.module.functions


def _go(app: Controls, text: str) -> None:
    if _names_function(app, text):
        app.stage_control.go_to(app.state.selection.stage, text)
    elif not app.stage_control.go_to_variable(text):
        raise Refused(f"this stage has no function or variable {text!r}")
    if app.screen_name not in ("passes", "graph"):
        app.show_screen("passes")


def _go_twin(app: Controls, text: str) -> str:
    return staged(app, "show", func=text) if _names_function(app, text) else ""


def _who(app: Controls, text: str) -> None:
    app.pictures.who(text) if text else app.pictures.history()


def _who_twin(app: Controls, text: str) -> str:
    value = text or app.state.selection.variable
    return twin(app, "who", var=value) if value else ""


def _compare(app: Controls, text: str) -> None:
    number = _number(app, text)
    app.show_screen("compare", starts=False)
    app.verdicts.compare(number)


def _compare_twin(app: Controls, text: str) -> str:
    """The two stages in their order, as the explorer compares them."""
    session, here = app.state.session, app.state.selection.stage
    if session is None:
        return ""
    other = _stage_of(app, text).number if text else app.verdicts.other(session)
    first, last = min(other, here), max(other, here)
    named = pair(app, first, last)
    is_told = first != last and (named or (first, last) == (0, session.total))
    return called(app, "compare", **named) if is_told else ""


def _compiled(app: Controls, text: str) -> None:
    if text and not text.isdecimal():
        raise Refused(f"compiled takes the number of a run, not {text[:60]!r}")
    app.show_screen("compare", starts=False)
    app.verdicts.compiled(int(text) if text else None)


# -- runs ------------------------------------------------------------------------------------------------------------


def _inputs(app: Controls, text: str) -> None:
    app.show_screen("debug", starts=False)
    app.ask_inputs()


def _calls(app: Controls, text: str) -> None:
    app.show_screen("debug", starts=False)
    app.run_control.with_calls(text)


def _calls_twin(app: Controls, text: str) -> str:
    return called(app, "debug", **({"calls": text, "func": None} if text else {"calls": None}))


def _ranks(app: Controls, text: str) -> None:
    if refusal := app.rank_control.ask(text):
        raise Refused(refusal)
    app.show_screen("ranks", starts=False)
    app.rank_control.start()


# -- lengths ---------------------------------------------------------------------------------------------------------


def _checks(app: Controls, text: str) -> None:
    from relax_explorer.ui.tui.answers import show_checks

    show_checks(app, text)


def _checks_twin(app: Controls, text: str) -> str:
    shown, _, condition = text.partition(" ")
    if shown == "costly":
        return called(app, "shapes", run=True)
    asked = {"proved": shown in ("proved", "all") or None, "given": condition.strip() or None}
    if condition.strip():  # bare names are those of this function
        asked["func"] = app.run_control.function() or None
    return staged(app, "shapes", **asked)


def _why(app: Controls, text: str) -> None:
    from relax_explorer.ui.tui.answers import show_why

    show_why(app, text)


def _why_twin(app: Controls, text: str) -> str:
    asked = text or _selected_value(app)
    return staged(app, "shapes", func=app.run_control.function() or None, why=asked) if asked else ""


def _selected_value(app: Controls) -> str:
    """The selected variable, with the nested functions that it is in: `inner.c`."""
    from relax_explorer.core.shapes.origins import owner_name

    selection, stage = app.state.selection, app.state.stage
    if stage is None or not selection.variable or selection.function not in stage.module.relax_functions:
        return selection.variable
    owner = owner_name(stage.module, selection.function, selection.binding)
    return f"{owner}.{selection.variable}".removeprefix(f"{selection.function}.")


def _what_if(app: Controls, text: str) -> None:
    from relax_explorer.ui.tui.answers import show_what_if

    show_what_if(app, text)


def _what_if_twin(app: Controls, text: str) -> str:
    return staged(app, "shapes", func=app.run_control.function() or None, what_if=text) if text else ""


def _cost(app: Controls, text: str) -> None:
    from relax_explorer.ui.tui.cost_rows import show_cost

    show_cost(app, text)


def _cost_twin(app: Controls, text: str) -> str:
    from relax_explorer.ui.tui.cost_rows import lengths_in

    lengths = lengths_in(text)
    if lengths is None:
        return ""
    return staged(app, "cost", func=app.run_control.function() or None, shape=lengths or None, by="binding")


# -- type relations and shape contracts ------------------------------------------------------------------------------


def _solver(app: Controls, text: str) -> None:
    solving = app.state.solving
    if text and (solving is None or not text.isdecimal() or not 0 <= int(text) <= solving.last):
        range_ = f" from 0 to {solving.last}" if solving else ", once a .relay or .shapes file is open"
        raise Refused(f"solver takes a step{range_}")
    app.show_screen("solver")
    if text:
        app.change(step=int(text))


def _solver_twin(app: Controls, text: str) -> str:
    solving, step = app.state.solving, int(text) if text.isdecimal() else app.state.step
    return "" if solving is None else command(solving.command).text({"input": app.state.path, "at": step})


def _contracts(name: str, doc: str, argument: str = "") -> Command[None]:
    """A command that shows a program with shape contracts in another form; `shapes` has an option of its name."""

    def run(app: Controls, text: str) -> None:
        from relax_explorer.ui.tui.answers import answer

        answer(app, name, text)

    def shell(app: Controls, text: str) -> str:
        is_given = not app.state.options.keep_branches if name == "keep-branches" else True
        values = {"input": app.state.path, name.replace("-", "_"): text or is_given or None}
        return command("shapes").text(values) if text or not argument else ""

    words = (word(argument, name),) if argument else ()
    return Command(name, doc, run, words, twin=shell, needs="solver")


# -- passes ----------------------------------------------------------------------------------------------------------


def _passes(app: Controls, text: str) -> None:
    app.pipeline_control.typed(text) if text else app.edit_pipeline()


def _passes_twin(app: Controls, text: str) -> str:
    return twin(app, "opt", **({"passes": text} if text else {}))


def _profile_twin(app: Controls, text: str) -> str:
    return twin(app, "opt", profile=text) if text in PROFILE.choices else ""


# -- showing ---------------------------------------------------------------------------------------------------------


def _diff(app: Controls, text: str) -> None:
    app.show_screen("passes")
    app.show_with(diff=text)
    is_tight = text == "beside" and app.size.width < LEAST_BESIDE
    app.say(f"side by side needs {LEAST_BESIDE} columns: changes are marked" if is_tight else DIFFS[text])


def _diff_twin(app: Controls, text: str) -> str:
    session, here = app.state.session, app.state.selection.stage
    is_off = text == "off" or session is None or here == 0
    return "" if is_off or session is None else _between(app, session.stages[here - 1])


def _between(app: Controls, first: Snapshot) -> str:
    """The changes from one stage to the selected one."""
    last = app.state.stage
    return "" if last is None else twin(app, "diff", between=f"{first.label}..{last.label}")


def _since(app: Controls, text: str) -> None:
    number = _number(app, text)
    app.show_screen("passes")
    app.show_with(since=number)
    since = f"changes since stage {text}; since alone ends it"
    app.say("changes since the stage before" if number is None else since)


def _since_twin(app: Controls, text: str) -> str:
    return _between(app, _stage_of(app, text)) if text else _diff_twin(app, "inline")


def _fold(app: Controls, text: str) -> None:
    if app.screen_name not in ("passes", "debug"):
        app.show_screen("passes")
    actions = {"": "fold", "all": "fold_all"}
    app.perform(actions.get(text, f"fold_all('{text}')"))


def _layers(app: Controls, text: str) -> None:
    """Show the layer of each binding, or no longer."""
    app.show_with(shows_layers=not app.state.options.shows_layers)
    app.show_screen("passes")
    told = app.state.stage is not None and any(
        map(any, map(layer_names, app.state.stage.module.relax_functions.values()))
    )
    shown = "the layers of bindings are shown" if told else "no name of a weight tells a layer"
    app.say(shown if app.state.options.shows_layers else "layers are not shown")


def _columns(app: Controls, text: str) -> None:
    from relax_explorer.ui.tui.cost_columns import show_columns

    if refusal := show_columns(app, text):
        raise Refused(refusal)


def _heat(app: Controls, text: str) -> None:
    from relax_explorer.ui.tui.cost_columns import show_heat

    if refusal := show_heat(app, text):
        raise Refused(refusal)


def _heat_twin(app: Controls, text: str) -> str:
    from relax_explorer.ui.tui.cost_rows import lengths_in

    measure, _, rest = text.partition(" ")
    lengths = lengths_in(rest)
    if lengths is None or not measure:
        return ""
    asked = {"storages": True} if measure == "storages" else {"heat": measure, "shape": lengths or None}
    return staged(app, "graph", **asked)


def _layers_twin(app: Controls) -> str:
    name = app.state.selection.variable
    return f"{_who_twin(app, name)} --layer" if name else ""


def _marks(app: Controls, text: str) -> None:
    found = app.marks.rows()
    if not found:
        raise Refused("no marks yet; m and a letter set one")
    app.show_rows("Marks", found, 0, lambda row: app.marks.go(row.node))


def _theme(app: Controls, text: str) -> None:
    app.use_theme(THEMES[f"rxe-{text}"])


def _theme_twin(app: Controls, text: str) -> str:
    return twin(app, "tui", theme=text)


_THEMES = tuple(name.removeprefix("rxe-") for name in THEMES)


def _save(app: Controls, text: str) -> None:
    app.saving.keep_in(text or _saved_name(app))


def _saved_name(app: Controls) -> str:
    return f"{Path(app.state.path or 'session').name.partition('@')[0].partition('.')[0]}.rxs"


def _save_twin(app: Controls, text: str) -> str:
    return twin(app, "save", output_=text or _saved_name(app))


# -- what is known ---------------------------------------------------------------------------------------------------


def _keys(app: Controls, text: str) -> None:
    lines = [f"{name:<26}{keys:<18}{doc}" for name, keys, doc in named_keys(app.keymap)]
    app.show_text("Actions as [keys] in the settings file names them, and their keys", lines)


def _commands(app: Controls, text: str) -> None:
    from relax_explorer.core.session.debug_commands import DEBUG_COMMANDS

    own, behind = ([f"{item.usage:<28}{item.doc}" for item in table] for table in (TYPED, DEBUG_COMMANDS))
    app.show_text("Commands of the : line", [*own, "", "In the debugger:", *behind])


def _explain(app: Controls, text: str) -> None:
    from relax_explorer.ui.tui.answers import explain

    explain(app, text)


def _explain_twin(app: Controls, text: str) -> str:
    return command("explain").text({"subject": text}) if text else ""


# -- files -----------------------------------------------------------------------------------------------------------


def _export(app: Controls, text: str) -> None:
    app.reproducing.export(text) if text.partition(" ")[0] in TO else app.exports.export(text)


def _export_twin(app: Controls, text: str) -> str:
    """A graph as SVG or Mermaid, a program as JSON or text; pages in HTML are those of the report."""
    style, _, file = text.partition(" ")
    if style in TO:
        return handed_over(app, text)
    if style in ("svg", "mermaid"):
        return staged(app, "graph", format=style, output=file or None)
    if style not in ("json", "text") or app.screen_name not in ("passes", "graph"):
        return ""
    goal = f" > {shlex.quote(file)}" if file else ""
    if app.screen_name == "graph":
        return staged(app, "graph", format="unicode" if style == "text" else style) + goal
    return staged(app, "show", format=style) + goal


def _report_twin(app: Controls, text: str) -> str:
    stem = app.state.path.rstrip("/").rpartition("/")[2].removesuffix(".py")
    return called(app, "report", output=text or f"{stem}-report.html")


def _picture(app: Controls, text: str) -> None:
    app.perform("image") if app.screen_name == "graph" else app.pictures.image(None)


# -- table -----------------------------------------------------------------------------------------------------------


TYPED: tuple[Command[None], ...] = (
    Command("open", "Open a file, or a folder of stages.", _open, (word("PATH", "source"),), twin=_open_twin),
    Command("stage", "Show a stage.", _stage, (word("N|PASS", "stage"),), twin=_stage_twin),
    Command("go", "Go to a function or a variable.", _go, (word("NAME", "place"),), twin=_go_twin),
    Command("who", described("who"), _who, (word("[NAME]", "variable"),), twin=_who_twin, needs="program"),
    Command("all", "Find a text in all stages.", lambda app, text: app.pictures.search_everywhere(text), (word("TEXT", "variable"),),
            twin="a search for text: any tool that searches files does it on the output of show"),
    Command("compare", "Compare the values of this stage with those of another one.", _compare, (word("[N|PASS]", "stage"),), twin=_compare_twin),
    Command("compiled", "Show the values of the compiled program, as a recording has them, beside ours; RUN is the number of a run.",
            _compiled, (word("[RUN]", "int"),), twin=compiled_twin, needs="program"),
    Command("bisect", described("bisect"), lambda app, text: app.verdicts.bisect(),
            twin=lambda app, text: called(app, "bisect"), needs="program"),
    Command("inputs", "Choose the inputs of the run.", _inputs,
            twin="a dialog; what it asks for stands in --input and --shape of the other command lines"),
    Command("calls", "Make the calls of a file, one a line; without one, one call again.", _calls, (word("[FILE]", "source"),),
            twin=_calls_twin, needs="program"),
    Command("ranks", "Run this program on several ranks, beside the program in FILE that is not divided.", _ranks,
            (word("N", "int"), word("[FILE]", "source")), twin=ranks_twin, needs="program"),
    Command("mark", "Mark this place.", lambda app, text: app.marks.set(text or "?"), (word("LETTER"),), twin="a place of this session"),
    Command("marks", "List the marks; Enter goes to one.", _marks, twin="places of this session"),
    Command("problems", described("show('problems')"), lambda app, text: app.show_screen("problems"),
            twin=lambda app, text: twin(app, "check") if app.state.path else ""),
    Command("checks", "Show the checks of lengths left to the run: why, and what removes them.", _checks,
            (word("[proved|all|costly|given C]", "checks"),), twin=_checks_twin, needs="program"),
    Command("why", "Show where the lengths of a value come from, and why two of them may differ.", _why, (word("[VALUE]", "variable"),),
            twin=_why_twin, needs="program"),
    Command("what-if", "Show what every length becomes under a condition such as n = 7.", _what_if, (word("CONDITION", "variable"),),
            twin=_what_if_twin, needs="program"),
    Command("cost", described("ask('cost ')"), _cost, (word("[n=16 m=4]", "variable"),), twin=_cost_twin, needs="program"),
    Command("columns", "Show FLOPs, bytes moved, bytes held or times of warm runs beside the bindings; without a word, none.", _columns,
            (word("[flops moved peak time n=16]", "costs"),), twin=lambda app, text: _cost_twin(app, ""), needs="program"),
    Command("heat", "Colour the graph by a measure or by storages; without a word, by classes.", _heat,
            (word("[flops|moved|peak|time|bytes|machine|storages n=16]", "measure"),), twin=_heat_twin, needs="program"),
    Command("solver", "Step through type relations or shape contracts.", _solver, (word("[STEP]", "int"),), twin=_solver_twin, needs="solver"),
    _contracts("relax", "Open the Relax module of shape contracts: its passes, graph and run."),
    _contracts("desugared", "Show shape contracts as wrappers with assertions."),
    _contracts("matches", "Show shape contracts as match_shape statements."),
    _contracts("split", "Show the shape functions of shape contracts apart from the data."),
    _contracts("copy", "Show a copy of a function with shape contracts for sizes.", "F: n=8"),
    _contracts("keep-branches", "Look into the functions that shape contracts call, branch by branch, or no longer."),
    Command("passes", "Edit the pipeline, or run these passes, as with --passes.", _passes, (word("[A,B]", "passes"),),
            twin=_passes_twin, needs="plan"),
    Command("profile", "Run passes as the specification asks, or exactly as TVM does.",
            lambda app, text: app.pipeline_control.profile(text), (word("spec|tvm", "profile"),), twin=_profile_twin, needs="plan"),
    Command("edit", "Edit the text of this stage; only the passes behind it run again.", lambda app, text: app.edit_text(),
            twin="an edited text is another file"),
    Command("toggle", "Turn the pass of a stage off, or on again.", lambda app, text: app.pipeline_control.toggle_named(text),
            (word("N|PASS", "step"),), twin="the pipeline without the pass stands in --passes of the other command lines"),
    Command("edits", described("edits"), lambda app, text: app.pipeline_control.show_edits(),
            twin="pipelines of this session"),
    Command("diff", "Show changes inline, beside the stage before, only them, or off.", _diff, (word("MODE", "diff", tuple(DIFFS)),),
            twin=_diff_twin),
    Command("since", "Show the changes since an earlier stage, or again since the one before.", _since, (word("[N|PASS]", "stage"),),
            twin=_since_twin),
    Command("layers", "Show the layer of the model of each binding, as names of weights tell it, or no longer.", _layers,
            twin=lambda app, text: _layers_twin(app), needs="program"),
    Command("fold", "Fold or open what the cursor is in, or all.", _fold,
            (word("[all|open|close|layers]", choices=("all", "open", "close", "layers")),),
            twin="what is printed is never folded"),
    Command("theme", "Draw in another theme.", _theme, (word("NAME", choices=_THEMES),), twin=_theme_twin),
    Command("keys", "List the actions by the names that settings use, with their keys.", _keys, twin="keys of the explorer"),
    Command("commands", "List the commands of this line.", _commands, twin="commands of the explorer"),
    Command("reduce", "Make the smallest program that shows the fault of this stage, and write it; --anonymous replaces its names.",
            lambda app, text: app.reproducing.reduce(text), (word("[TEST]", "reduce"), word("[FILE]", "target")), twin=reduce_twin,
            needs="program"),
    Command("export", "Write the screen: svg and mermaid (the graph), html, json or text; or the program: tvm (Python that TVM runs), issue.",
            _export, (word("FORMAT", "export"), word("[FILE]", "target")), twin=_export_twin, needs="program"),
    Command("save", "Save the session with edits, marks, breakpoints and inputs; rxe opens the file.", _save, (word("[FILE]", "target"),),
            twin=_save_twin, needs="program"),
    Command("recover", "Go on with the session that a killed explorer left on this program.", lambda app, text: app.saving.recover(),
            twin="a session of the explorer", needs="program"),
    Command("report", "Write the session as one HTML page: stages, changes, graphs, problems, a run.",
            lambda app, text: app.exports.report(text), (word("[FILE]", "target"),), twin=_report_twin, needs="program"),
    Command("picture", described("image"), _picture,
            twin=lambda app, text: staged(app, "graph", format="svg"), needs="program"),
    Command("explain", "Explain an operator, a pass, a code or a StructInfo; alone, what is selected.", _explain,
            (word("[NAME]", "subject"),), twin=_explain_twin),
    Command("tutorial", "A tour in eight keys: find the pass that broke a build.", lambda app, text: app.tutorial.start(),
            twin="a tour of the explorer"),
    Command("exit", "Leave the explorer.", lambda app, text: app.leave(), twin="a command line ends by itself"),
)  # fmt: skip
BY_NAME = {item.name: item for item in TYPED}
