"""What may follow in the `:` line: commands, then their arguments by kind, each with a few words about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from relax_explorer.core.ir import expr as e
from relax_explorer.core.notations import HOLDS
from relax_explorer.core.session.command import Command
from relax_explorer.ui.run_commands import PROFILE
from relax_explorer.ui.tui.key_recording import ALL, Permit
from relax_explorer.ui.tui.line_words import ANONYMOUS, TESTS, TO
from relax_explorer.ui.tui.state import DIFFS, State
from relax_explorer.ui.tui.typed import TYPED
from relax_explorer.ui.tui.widgets.framed import Choice
from relax_explorer.viz.short import short_info
from relax_explorer.viz.visible import visible

MOST = 12  # choices
OPENED = (".py", ".txt", ".rxs", *HOLDS)  # endings of files to read


def choices(state: State, is_debug: bool, text: str, permit: Permit = ALL) -> list[Choice]:
    """The ways to complete the last word of a line."""
    head, _, last = text.rpartition(" ")
    known = _commands(is_debug)
    if not head:
        found = [item for name, item in known.items() if name.startswith(last)][:MOST]
        return [Choice(f"{item.name} ", item.usage, item.doc) for item in found]
    words = head.split(" ")
    argument = known[words[0]].argument(len(words)) if words[0] in known else None
    if argument is None:
        return []
    kind = KINDS.get(argument.kind, _Kind(lambda state, last: ()))
    is_allowed = permit.is_all or argument.kind not in ("source", "target")
    named = [*argument.choices, *(kind.names(state, last) if is_allowed else ())]
    fitting = [name for name in dict.fromkeys(named) if name.startswith(last)][:MOST]
    return [Choice(f"{head} {name}", name, kind.about(state, name)) for name in fitting]


def completions(state: State, is_debug: bool, text: str) -> list[str]:
    """The texts of a line with its last word completed."""
    return [choice.text for choice in choices(state, is_debug, text)]


def usage(is_debug: bool, text: str) -> str:
    """The command that a line begins with, with its arguments and one sentence; empty if it is none."""
    found = _commands(is_debug).get(text.partition(" ")[0])
    return f"{found.usage}: {found.doc}" if found is not None else ""


def _commands(is_debug: bool) -> Mapping[str, Command[object]]:
    """The commands: those of the explorer, then those of the debugger."""
    from relax_explorer.core.session.debug_commands import DEBUG_COMMANDS

    behind: Sequence[Command[object]] = DEBUG_COMMANDS if is_debug else ()
    own: dict[str, Command[object]] = {item.name: item for item in TYPED}
    return own | {item.name: item for item in behind if item.name not in own}


# -- kinds of arguments ----------------------------------------------------------------------------------------------


class _Kind(NamedTuple):
    """What completes an argument: names (the word so far may choose among them), and a few words about each."""

    names: Callable[[State, str], Iterable[str]]
    about: Callable[[State, str], str] = lambda state, name: ""


def _passes(state: State, last: str) -> Sequence[str]:
    from relax_explorer.ui.tui.pass_trials import step_completions

    return step_completions(last)


def _steps(state: State, last: str) -> Sequence[str]:
    return [entry.step.of.name for entry in state.plan.entries] if state.plan is not None else []


def _about_pass(state: State, name: str) -> str:
    from relax_explorer.core import passes

    of = passes.table().get(name.rpartition(",")[2])
    return of.doc.split("\n", 1)[0] if of is not None else ""


def _checks(state: State, last: str) -> Iterable[str]:
    from relax_explorer.viz.check_list import FILTERS

    return FILTERS


def _subjects(state: State, last: str) -> Sequence[str]:
    from relax_explorer.viz.explanations import subjects

    return subjects(last)


def _copies(state: State, last: str) -> Sequence[str]:
    return [f"{name}:" for name in state.solving.functions] if state.solving is not None else []


def _formats(state: State, last: str) -> Sequence[str]:
    from relax_explorer.ui.tui.pictures import ENDINGS

    return [*ENDINGS, *TO, *_written(state, last)]


def _written(state: State, last: str) -> Sequence[str]:
    from relax_explorer.ui.tui.pictures import ENDINGS

    return _paths(last, tuple(ENDINGS.values()))


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


def _stages(state: State, last: str) -> Sequence[str]:
    return [item.made_by for item in state.session.stages] if state.session is not None else []


def _about_stage(state: State, name: str) -> str:
    """The numbers of the stages that a pass made."""
    stages = () if state.session is None else state.session.stages
    labels = [str(item.label) for item in stages if item.made_by == name]
    return f"stage {', '.join(labels[:6])}{', …' if len(labels) > 6 else ''}" if labels else ""


def _functions(state: State, last: str) -> Iterable[str]:
    return state.stage.module.functions if state.stage is not None else ()


def _variables(state: State, last: str) -> Sequence[str]:
    from relax_explorer.core.ir.walk import bindings

    fn = _function(state)
    if fn is None:
        return []
    bound = [item.var.name for item in bindings(fn) if item.var is not None]
    return [*[param.name for param in fn.params], *bound]


def _function(state: State) -> e.Function | None:
    """The function that runs, or is selected."""
    name = state.run.function if state.run is not None else state.selection.function
    fn = state.stage.module.functions.get(name) if state.stage is not None else None
    return fn if type(fn) is e.Function else None


def _about_name(state: State, name: str) -> str:
    """What kind of function a name has, or the StructInfo of a variable."""
    stage, fn = state.stage, _function(state)
    if stage is None:
        return ""
    if name in stage.module.functions:
        return "function" if type(stage.module.functions[name]) is e.Function else "kernel"
    function = state.run.function if state.run is not None else state.selection.function
    binding = stage.binding(function, name)
    params = [param for param in fn.params if param.name == name] if fn is not None else []
    var = binding.var if binding is not None else next(iter(params), None)
    return visible(short_info(var.struct_info)) if var is not None else ""


def _costs(state: State, last: str) -> Iterable[str]:
    from relax_explorer.ui.tui.cost_columns import TITLES

    return TITLES


def _measures(state: State, last: str) -> Iterable[str]:
    from relax_explorer.ui.tui.line_words import COUNTED, MEASURES, STORAGES

    return (*COUNTED, *MEASURES, STORAGES)


def _names(state: State, last: str) -> Sequence[str]:
    return [*_functions(state, last), *_variables(state, last)]


KINDS: dict[str, _Kind] = {
    "source": _Kind(lambda state, last: _paths(last, OPENED)),
    "target": _Kind(_written),
    "export": _Kind(_formats),
    "reduce": _Kind(lambda state, last: (*TESTS, ANONYMOUS)),
    "stage": _Kind(_stages, _about_stage),
    "place": _Kind(_names, _about_name),
    "function": _Kind(_functions, _about_name),
    "variable": _Kind(_variables, _about_name),
    "passes": _Kind(_passes, _about_pass),
    "step": _Kind(_steps, _about_pass),
    "subject": _Kind(_subjects),
    "checks": _Kind(_checks),
    "diff": _Kind(lambda state, last: (), lambda state, name: DIFFS[name]),
    "costs": _Kind(_costs),
    "measure": _Kind(_measures),
    "copy": _Kind(_copies),
    "profile": _Kind(lambda state, last: PROFILE.choices),
    "command": _Kind(lambda state, last: _commands(True)),
}
"""By the kind of an argument, what completes it."""
