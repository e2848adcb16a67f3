"""Open the stage that `run` and `debug` execute: of a file after passes, or of a folder of stages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import click

from relax_explorer.core.diagnostics import Failure, ParseError
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.dumps import Stage, stage_called
from relax_explorer.core.session.field_names import FieldNames, told_by
from relax_explorer.core.session.folders import nested
from relax_explorer.core.session.recorded import RecordedSession, recorded
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.ui import directories
from relax_explorer.ui.cli import output
from relax_explorer.ui.pass_files import with_files


def chosen(session: Session, stage: str | None) -> Snapshot:
    """The requested stage, or the last one."""
    try:
        return session.stages[-1] if stage is None else session.stage(stage)
    except KeyError as error:
        raise click.UsageError(str(error.args[0])) from None


def session_to_run(
    path: str, passes: str | None, stage: str | None, profile: str, const: str | None = None
) -> Session:
    """A session that ends with the requested stage. `const` is the source of constants that the text omits.

    Raises Failure if the program or a pass has errors.
    """
    cache = directories.kernel_cache()
    stages = recorded_stages(path, passes)
    if stages:
        session: Session = RecordedSession(
            [_with_constants(_chosen(stages, path, stage), const)], path, cache, profile
        )
    else:
        given = _with_constants(Stage(0, "input", output.read(path)), const)
        session = Session(given.module, with_files(passes or (), profile), path, cache, profile)
        session.run_all()
        if stage is not None:
            session = session.with_pipeline(session.pipeline[: chosen(session, stage).number])
    errors = [item for item in session.stages[0].problems if item.is_error] or output.of_passes(session)
    if errors:
        raise Failure(*errors)
    return session


def told_names(session: Session, function: str) -> FieldNames:
    """The names for the fields of tuple parameters, as the last stage of a session tells them, or an earlier one of its build."""
    return told_by(_modules(session), function)


def _modules(session: Session) -> Iterator[IRModule]:
    for item in reversed(session.stages):
        yield item.module
    path, last = session.filename, session.stages[0].label
    if Path(path).exists():  # only asked if the stages above tell too little
        earlier = [stage for stage in recorded(path) if stage.number < last]
        yield from modules_before(None, earlier)


def modules_before(stage: Stage | None, earlier: Sequence[Stage]) -> Iterator[IRModule]:
    """The module of a stage, then those of earlier stages that can be read, the nearest first."""
    if stage is not None:
        yield stage.module
    for item in reversed(earlier):
        if stage is None or item.number < stage.number:
            with suppress(ParseError):
                yield item.module


def _with_constants(stage: Stage, source: str | None) -> Stage:
    """A stage with values for the constants that its text omits, if a source is given. It is told what was made up."""
    if source is None:
        return stage
    from relax_explorer.core.session.made_constants import with_constants

    stage, made_up = with_constants(stage, source)
    output.say(f"constants made up: {made_up or 'none, the text has all'}", err=True)
    return stage


def recorded_stages(path: str, passes: str | None) -> list[Stage]:
    """The stages of a folder, or of one text with headings; empty for one program. Stages take no passes."""
    stages = [] if path == "-" else recorded(path)
    if stages and passes:
        raise click.UsageError(f"{path} holds stages that were recorded; --passes takes one program")
    inner = [item.path for item in nested(path)] if stages and Path(path).is_dir() else []
    if inner:
        output.say(f"nested stages are opened by their own folder: {', '.join(inner[:5])}", err=True)
    return stages


def _chosen(stages: list[Stage], path: str, name: str | None) -> Stage:
    """The stage with this number or pass, else the last one with a Relax function. It is told on stderr."""
    if name is not None:
        try:
            return stage_called(stages, name)
        except KeyError as error:
            raise click.UsageError(f"{path}: {error.args[0]}") from None
    for stage in reversed(stages):
        obstacle = _obstacle(stage)
        if not obstacle:
            output.say(f"stage {stage} of {path}; --stage chooses another", err=True)
            return stage
        output.say(f"stage {stage} {obstacle}; it is skipped", err=True)
    return stages[-1]


def _obstacle(stage: Stage) -> str:
    """Why no function of a stage can run, or an empty text."""
    try:
        return "" if stage.module.relax_functions else "has no Relax function"
    except ParseError:
        return "can't be read"
