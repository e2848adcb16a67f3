"""Reads programs for the explorer: texts to sessions. It needs the whole core, and is imported behind the first picture."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from relax_explorer.core.diagnostics import ParseError
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import facts
from relax_explorer.core.notations import HOLDS
from relax_explorer.core.session.build_files import build_of_text, open_build
from relax_explorer.core.session.build_passes import with_files
from relax_explorer.core.session.builds import Build, pipeline_of
from relax_explorer.core.session.folders import address, model_at
from relax_explorer.core.session.recorded import RecordedSession
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.session.stages import Stage
from relax_explorer.core.syntax.parser import parse
from relax_explorer.ui import directories

if TYPE_CHECKING:
    from relax_explorer.viz.solver_steps import ContractSteps
    from relax_explorer.viz.solving import Solving

EARLY = (
    10_000  # bindings up to which remembered inputs are looked up before the program is shown; takes 50 ms
)


def solving_of(path: str, keep_branches: bool) -> Solving | None:
    """The steps of type relations or shape contracts; None for a program. Raises Failure or ParseError."""
    if Path(path).suffix not in HOLDS:
        return None
    from relax_explorer.viz.solver_steps import read_solving  # no program needs the solvers

    return read_solving(path, keep_branches)


def session_of_contracts(contracts: ContractSteps, pipeline: str, profile: str) -> Session:
    """The session of the Relax module of a program with contracts; what it calls is registered for runs.

    Raises Failure for what Relax cannot express.
    """
    from relax_explorer.core.exec.packed import packed_function
    from relax_explorer.core.shapes.lower import lower

    lowered = lower(contracts.program, contracts.terms)
    for name, function in lowered.packed.items():
        packed_function(name)(function)
    module = parse(lowered.text, f"{contracts.path} as Relax")
    return session_of(Build((Stage(0, "input", module),), contracts.path), pipeline, profile)


def build_of(path: str, source: str | None, text: str | None = None) -> tuple[Build, str]:
    """The build at a path, and what was made up. Raises Failure if it can't be read.

    `source` makes constants that the texts omit; with None they stay unknown. `text` stands in the place of that of the file.
    """
    if text is not None:
        build = build_of_text(text, path)
    elif model_at(address(path)[0]):
        from relax_explorer.ui.imported_models import build_of_model  # few programs are models

        build = build_of_model(path)
    else:
        build = open_build(path)
    if source is None:
        script = f"its script applies {build.written}; :passes file runs that" if build.written else ""
        return build, script or "; ".join(build.remarks)
    from relax_explorer.core.session.made_constants import with_constants

    found, notes = [], []
    for stage in build.stages:
        try:
            stage, made_up = with_constants(stage, source)
            notes += [made_up] if made_up else []
        except ParseError:
            pass  # a stage that can't be read tells it itself
        found.append(stage)
    return replace(build, stages=tuple(found)), f"constants made up: {notes[0]}" if notes else ""


def session_of(build: Build, pipeline: str, profile: str) -> Session:
    """The session of a program, or of the stages of a build. Raises Failure or ParseError."""
    cache = directories.kernel_cache()
    if build.is_recorded:  # TVM made them, so its rules hold
        return RecordedSession(build, cache, build.rules(profile))
    rules = build.rules(profile)
    session = Session(
        build.stages[0].module, with_files(pipeline_of(build, pipeline), rules), build.path, cache, rules
    )
    session.outer, session.written = build.outer, build.written
    return session


def is_small(session: Session) -> bool:
    """True if remembered inputs are found at once."""
    functions = session.stages[0].module.relax_functions.values()
    return sum(len(block.bindings) for fn in functions for block in fn.body.blocks) <= EARLY


def prepare(stage: Snapshot) -> None:
    """Derive what the first picture of a stage needs, so that no key waits for it."""
    _ = stage.printed_short, stage.located, stage.phase
    prepare_details(stage)


def prepare_details(stage: Snapshot) -> None:
    """Derive the facts about the entry of a stage. A pass drops them."""
    if type(fn := stage.module.functions.get(stage.entry)) is e.Function:
        facts(fn)
