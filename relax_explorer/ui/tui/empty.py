"""What a screen says when it has nothing to show: what was looked at, and which key goes on."""

from __future__ import annotations

from collections.abc import Sequence

from relax_explorer.core.session.recorded import RecordedSession
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.ui.tui.state import State
from relax_explorer.viz.visible import counted, visible

HOME = "0 shows samples and recent files; :open PATH opens a file or a folder"


def no_program(state: State, asked: str, is_busy: bool) -> list[str]:
    """Before a program is open: it is being read, it could not be read, or none was named."""
    if is_busy:
        return [f"reading {visible(asked)} …"]
    if not state.failures:
        return ["no program is open", "", HOME]
    count = len(state.failures)
    return [
        f"{visible(asked)} can't be shown: {counted(count, 'problem')}",
        f"  {visible(state.failures[0].message)}",
        "",
        "Checked: that it can be read, its syntax, and that its names are defined.",
        *(["1 shows the source with its problems."] if state.broken is not None else []),
        "4 shows each problem with its place. Correct the file, then type",
        f"  :open {visible(asked)}",
        "",
        HOME,
    ]


def no_solving(state: State, asked: str, is_busy: bool) -> list[str]:
    """No program of type relations or shape contracts is open."""
    if state.session is None:
        return no_program(state, asked, is_busy)
    return [
        "this program has no type relations and no shape contracts to step through",
        "",
        "Files in Relay's notation (.relay) and with contracts (.shapes) open here:",
        "  :open samples/relations/waiting.relay",
        "  :open samples/shapes/fast_flatten.shapes",
    ]


def no_rows(stage: Snapshot) -> list[str]:
    """What a screen says of a stage without functions."""
    return [
        f"stage {stage.label} {visible(stage.made_by)} has no function",
        "",
        "The text was read without an error; it declares a module with nothing in it.",
        "] goes to the next stage that changed the module, 4 lists problems",
        HOME,
    ]


def no_graph(stage: Snapshot) -> list[str]:
    """What a screen says of a stage without a Relax function to draw."""
    return [f"stage {stage.label} has no Relax function to draw", "", *_others(stage)]


def no_run(state: State, is_busy: bool) -> list[str]:
    """What a screen says while no run has started: what goes on, and what to do."""
    stage = state.stage
    if is_busy:
        return ["starting …"]
    if stage is None:
        return ["no program is open", "", HOME]
    if not stage.module.relax_functions:
        return [f"stage {stage.label} has no Relax function to run", "", *_others(stage)]
    return ["no run; r starts one, I chooses the inputs"]


def no_comparison(state: State, is_busy: bool) -> list[str]:
    """What a screen says while no stages were compared."""
    session = state.session
    if session is None:
        return ["no program is open", "", HOME]
    if is_busy:
        return ["comparing …"]
    if not any(stage.changed for stage in session.stages[1:]):
        count = len(session.stages) - 1
        why = f"none of the {count} passes changed the module" if count else "the program has one stage"
        return [
            f"nothing to compare: {why}",
            "",
            "b chooses a stage all the same; rxe compare A B compares two files",
        ]
    return ["no comparison; b chooses a stage, ] goes on to one that changed the module"]


def no_ranks(state: State, is_busy: bool) -> list[str]:
    """What a screen says while no ranks ran."""
    if state.session is None:
        return ["no program is open", "", HOME]
    if is_busy:
        return ["running …"]
    return [
        "no ranks ran yet",
        "",
        ":ranks 2 runs this program on two ranks side by side; {rank} in a source is the number of a rank.",
        ":ranks 2 FILE divides the inputs of the program in FILE, which is not divided, and compares with it.",
    ]


def no_problems(state: State) -> list[str]:
    """What a screen says if nothing is wrong."""
    is_tvm = isinstance(state.session, RecordedSession) and state.session.profile == "tvm"
    return [
        f"no problems in {counted(state.stages, 'stage')}",
        "",
        "Checked: syntax, well-formedness, StructInfo, purity, contracts of passes.",
        "Wrong numbers are no problems of the text: B in Passes (1) finds their pass.",
        *(["TVM's rules hold here; --profile spec adds those of the specification."] if is_tvm else []),
    ]


def no_marks(state: State) -> list[str]:
    """What the source screen says of a stage without problems in a text."""
    if state.session is None:
        return no_program(state, "", False)
    return [
        "no problem of this stage stands in a text",
        "",
        "4 lists the problems of all stages, 1 shows the program",
    ]


def _others(stage: Snapshot) -> Sequence[str]:
    """What the stage has instead of Relax functions."""
    names = list(stage.module.functions)
    if not names:
        return ["The module is empty.", HOME]
    shown = ", ".join(visible(name, 30) for name in names[:5]) + (" …" if len(names) > 5 else "")
    return [f"It has {counted(len(names), 'PrimFunc')}: {shown}. 1 shows the code.", HOME]
