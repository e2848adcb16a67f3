"""What may follow in the `:` line: commands, then their arguments, each with a few words about it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from relax_explorer.core.ir import expr as e
from relax_explorer.core.notations import HOLDS
from relax_explorer.ui.tui.permit import ALL, Permit
from relax_explorer.ui.tui.selection import DIFFS
from relax_explorer.ui.tui.state import State
from relax_explorer.ui.tui.typed import TYPED
from relax_explorer.ui.tui.widgets.command_input import Choice
from relax_explorer.viz.short import short_info
from relax_explorer.viz.tokens import THEMES
from relax_explorer.viz.visible import visible

if TYPE_CHECKING:
    from relax_explorer.core.session.session import Session

MOST = 12  # choices
OPENED = (".py", ".txt", *HOLDS)  # endings of files to read


def choices(state: State, is_debug: bool, text: str, permit: Permit = ALL) -> list[Choice]:
    """The ways to complete the last word of a line."""
    head = text.rpartition(" ")[0]
    if head:
        word = head.split(" ", 1)[0]
        return [
            Choice(line, name := line.rpartition(" ")[2], _about(state, word, name))
            for line in completions(state, is_debug, text, permit)
        ]
    known = _commands(is_debug)
    return [
        Choice(name, f"{name}{known[name.strip()][0]}", known[name.strip()][1])
        for name in completions(state, is_debug, text)
    ]


def usage(is_debug: bool, text: str) -> str:
    """The command that a line begins with, with its arguments and one sentence; empty if it is none."""
    word, _, _ = text.partition(" ")
    found = _commands(is_debug).get(word)
    return f"{word} {found[0]}".rstrip() + f": {found[1]}" if found is not None else ""


def _commands(is_debug: bool) -> dict[str, tuple[str, str]]:
    """The commands with their arguments and a sentence each: those of the explorer, then those of the debugger."""
    from relax_explorer.core.session.debug_commands import DEBUG_COMMANDS

    own = {item.name: (item.arguments, item.doc) for item in TYPED}
    behind = {item.name: (item.arguments, item.doc) for item in DEBUG_COMMANDS if item.name not in own}
    return own | behind if is_debug else own


def completions(state: State, is_debug: bool, text: str, permit: Permit = ALL) -> list[str]:
    """The texts that complete the last word: commands, then names of stages, functions, variables and files."""
    from relax_explorer.ui.tui.exporting import ENDINGS

    head, _, last = text.rpartition(" ")
    if not head:
        return [f"{name} " for name in _commands(is_debug) if name.startswith(last)][:MOST]
    word = head.split(" ", 1)[0]
    found = _arguments(state, word, last, permit)
    if word == "export" and " " not in head:
        found = [*ENDINGS, *found]
    return [f"{head} {name}" for name in dict.fromkeys(found) if name.startswith(last)][:MOST]


def _arguments(state: State, word: str, last: str, permit: Permit) -> Sequence[str]:
    found = _choices(state, word, last, permit)
    return _names(state, word) if found is None else found


def _choices(state: State, word: str, last: str, permit: Permit) -> Sequence[str] | None:
    """What a command chooses from; None for one that takes names of the stage."""
    from relax_explorer.ui.tui.dialogs.pass_choices import step_completions
    from relax_explorer.ui.tui.exporting import ENDINGS

    if word in ("open", "calls", "export", "report"):
        endings = OPENED if word in ("open", "calls") else tuple(ENDINGS.values())
        return _paths(last, endings) if permit.is_all else []
    if word == "theme":
        return [name.removeprefix("rxe-") for name in THEMES]
    if word == "passes":
        return step_completions(last)
    if word == "toggle":
        return [entry.step.of.name for entry in state.plan.entries] if state.plan is not None else []
    if word == "diff":
        return list(DIFFS)
    if word == "checks":
        from relax_explorer.ui.tui.check_list import FILTERS

        return list(FILTERS)
    if word == "explain":
        from relax_explorer.viz.explanations import subjects

        return subjects(last)
    if word == "copy" and state.solving is not None:
        return [f"{name}:" for name in state.solving.functions]
    return None


def _names(state: State, word: str) -> Sequence[str]:
    """Names of stages, or of functions and variables."""
    stage = state.stage
    if state.session is None or stage is None:
        return []
    if word in ("stage", "compare", "since"):
        return list(dict.fromkeys(item.made_by for item in state.session.stages))
    functions = [name for name in stage.module.functions if word == "go"]
    fn = stage.module.functions.get(state.run.function if state.run is not None else state.selection.function)
    variables = _variables(fn) if type(fn) is e.Function else []
    return [*functions, *variables]


def _variables(fn: e.Function) -> list[str]:
    from relax_explorer.core.ir.walk import bindings

    names = [param.name for param in fn.params] + [
        item.var.name for item in bindings(fn) if item.var is not None
    ]
    return list(dict.fromkeys(names))


def _paths(text: str, endings: Sequence[str]) -> list[str]:
    folder, slash, _ = text.rpartition("/")
    place = Path(folder + slash).expanduser() if slash else Path()
    try:
        found = sorted(place.iterdir())
    except (OSError, ValueError):  # there is no such folder, or no folder has such a name
        return []
    return [
        f"{folder}{slash}{item.name}{'/' if item.is_dir() else ''}"
        for item in found
        if item.suffix in ("", *endings)
    ]


def _about(state: State, word: str, name: str) -> str:
    """A few words about an argument: which stage, what kind of function, the StructInfo of a variable, what a mode does."""
    if word == "diff":
        return DIFFS.get(name, "")
    if word in ("passes", "toggle"):
        from relax_explorer.core import passes as registry

        of = registry.table().get(name.rpartition(",")[2])
        return of.doc.split("\n", 1)[0] if of is not None and of.doc else ""
    stage, session = state.stage, state.session
    if stage is None or session is None:
        return ""
    if word in ("stage", "compare", "since"):
        return _stages(session, name)
    if name in stage.module.functions:
        return "function" if type(stage.module.functions[name]) is e.Function else "kernel"
    function = state.run.function if state.run is not None else state.selection.function
    fn, binding = stage.module.functions.get(function), stage.binding(function, name)
    params = fn.params if type(fn) is e.Function else ()
    var = (
        binding.var if binding is not None else next((param for param in params if param.name == name), None)
    )
    return visible(short_info(var.struct_info)) if var is not None else ""


def _stages(session: Session, name: str) -> str:
    """The numbers of the stages that a pass made."""
    labels = [str(item.label) for item in session.stages if item.made_by == name]
    return f"stage {', '.join(labels[:6])}{', …' if len(labels) > 6 else ''}" if labels else ""
