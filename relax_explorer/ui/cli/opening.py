"""Open what the command line names: a file, standard input, a folder of stages, or one of their stages, `PATH@STAGE`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from relax_explorer.core.diagnostics import Failure, ParseError
from relax_explorer.core.phases.module_check import check, lenient
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.build_files import build_of_text, open_build, open_notation
from relax_explorer.core.session.builds import Build, concerning, executed, pipeline_of, runnable
from relax_explorer.core.session.folders import address, model_at
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.session.stages import Stage
from relax_explorer.core.syntax.load import read_stream
from relax_explorer.core.syntax.notes import UnreadableText, short_stream, short_text
from relax_explorer.ui import directories
from relax_explorer.ui.cli import output
from relax_explorer.viz.stage_line import aside_title, modules_line
from relax_explorer.viz.visible import counted, visible

if TYPE_CHECKING:
    from relax_explorer.core.session.naming import FieldNames
    from relax_explorer.core.session.session import Session

# -- packed files ----------------------------------------------------------------------------------------------------
# `--packed`: Python files that the user trusts. They are executed, and register packed functions.


def build_at(path: str) -> Build:
    """The build at a path, or in standard input for `-`. A remark names the stages beside its main lineage. Raises Failure."""
    if path == "-":
        build = build_of_text(read_stream(sys.stdin.buffer, "<stdin>"), "<stdin>")
    elif model_at(address(path)[0]):
        from relax_explorer.ui.imported_models import build_of_model  # few programs are models

        build = build_of_model(path)
    else:
        build = open_notation(path) or open_build(path)
    tell(build)
    return build


def short_input(option: str, path: str) -> str:
    """The text of the file that an option names, or of standard input for `-`."""
    try:
        return short_stream(sys.stdin.buffer) if path == "-" else short_text(path)
    except UnreadableText as problem:
        raise click.UsageError(f"{option} {path}: {problem}") from None


def tell(build: Build) -> None:
    """Print remarks on a build: the stages beside its main lineage, and how it was read."""
    if build.asides:
        count = len(build.stages)
        aside = ", ".join(map(aside_title, build.asides))
        output.say(f"{counted(count, 'stage')} of the module; aside: {aside}", err=True)
    elif len(build.stages) > 1 and not build.is_folder:
        output.say(f"{visible(build.path, 200)}: {modules_line(build)}", err=True)
    if build.written:
        output.say(f"passes read: {visible(build.written, 300)} (-p file)", err=True)
    for remark in build.remarks:
        output.say(f"{visible(build.path, 200)}: {visible(remark, 200)}", err=True)


def program_at(path: str) -> IRModule:
    """The program at a path; of several the first, with a remark. Raises ParseError and Failure."""
    return first_program(build_at(path))


def first_program(build: Build) -> IRModule:
    """The program of a build; of several the first, with a remark. Raises ParseError."""
    if len(build.stages) > 1:
        output.say(f"stage {build.stages[0]} of {build.path}; {build.path}@STAGE chooses another", err=True)
    return build.stages[0].module


def typed(passes: str | None) -> str | None:
    """The passes, unless the settings name them for all files."""
    context = click.get_current_context(silent=True)
    source = context and context.get_parameter_source("passes")
    return None if source is click.core.ParameterSource.DEFAULT_MAP else passes


def passes_from(build: Build, passes: str | None) -> str | None:
    """The passes that start from a build: it is one program, or one stage of several. Those of the settings leave several as they are."""
    if passes is not None and len(build.stages) > 1:
        if typed(passes) is None:
            return None
        text = f"{build.path} holds {len(build.stages)} stages; --passes goes on from one of them"
        raise click.UsageError(
            f"{text}: {build.path}@{build.stages[0].number} or {build.path}@{build.stages[-1].made_by}"
        )
    return passes


def chosen(session: Session, stage: str | None) -> Snapshot:
    """The requested stage, or the last one."""
    try:
        return session.stages[-1] if stage is None else session.stage(stage)
    except KeyError as error:
        raise click.UsageError(str(error.args[0])) from None


def session_to_run(
    path: str,
    passes: str | None,
    stage: str | None,
    profile: str,
    const: str | None = None,
    functions: Sequence[str] = (),
) -> Session:
    """A session that ends with the requested stage, to run functions of it (by default the entry).

    `const` is the source of constants that the text omits. Raises Failure for errors of the program that concern the functions, and
    for passes that fail: with passes, the program after them is judged.
    """
    from relax_explorer.core.session.build_passes import with_files
    from relax_explorer.core.session.recorded import alone
    from relax_explorer.core.session.session import Session

    cache = directories.kernel_cache()
    build = build_at(path)
    passes = passes_from(build, passes)
    is_recorded = build.is_recorded or (bool(build.outer) and passes is None)
    rules = build.rules(profile)
    asked = functions[0] if functions else ""
    given = _with_constants(
        _readable(_chosen(build, stage, asked) if is_recorded else build.stages[0], asked), const
    )
    if is_recorded:
        session: Session = alone(build, given, cache, rules)
    else:
        session = Session(
            given.module, with_files(pipeline_of(build, passes or ""), rules), path, cache, rules
        )
        session.run_all()
        if stage is not None:
            session = session.with_pipeline(session.pipeline[: chosen(session, stage).number])
    failed = output.of_passes(session)
    if failed:
        raise Failure(*failed)
    _judge(session, functions, rules)
    return session


def _judge(session: Session, functions: Sequence[str], profile: str) -> None:
    """Leave out what functions of the last stage do not call if it has errors. Raises Failure for errors in what they call."""
    last = session.stages[-1]
    found = last.problems if len(session.stages) == 1 else list(map(lenient, check(last.module, profile)))
    names = [name for name in functions or (last.entry,) if name in last.module.functions]
    errors = [item for name in names for item in concerning(found, last.module, name) if item.is_error]
    if errors:
        raise Failure(*dict.fromkeys(errors))
    if names and any(item.is_error for item in found):
        kept = {key: last.module.functions[key] for name in names for key in executed(last.module, name)}
        session.stages[-1] = replace(last, module=last.module.having(kept))


def _readable(stage: Stage, function: str) -> Stage:
    """A stage of which a function can run. A remark names problems in other functions."""
    module, problems = runnable(stage, function)
    if not problems:
        return stage
    places = ", ".join(dict.fromkeys(f"line {item.span.line}" for item in problems if item.span is not None))
    output.say(
        f"problems in functions that do not run here are left aside ({places}); `check` tells them", err=True
    )
    return Stage(stage.number, stage.made_by, module, stage.file)


def names_of_fields(session: Session, function: str) -> FieldNames:
    """The names for the fields of tuple parameters, as the last stage of a session tells them, or an earlier one of its build."""
    from relax_explorer.core.session.naming import names_from

    return names_from(_modules(session), function)


def _modules(session: Session) -> Iterator[IRModule]:
    for item in reversed(session.stages):
        yield item.module
    yield from modules_before(None, session.earlier)  # only asked if the stages above tell too little


def modules_before(stage: Stage | None, earlier: Sequence[Stage]) -> Iterator[IRModule]:
    """The module of a stage, then those of earlier stages that can be read, the nearest first."""
    if stage is not None:
        yield stage.module
    for item in reversed(earlier):
        if stage is None or item.number < stage.number:
            with suppress(ParseError):
                yield item.module


def _with_constants(stage: Stage, source: str | None) -> Stage:
    """A stage with values for the constants that its text omits, if a source is given. A remark names the generated ones."""
    if source is None:
        return stage
    from relax_explorer.core.session.made_constants import with_constants

    stage, made_up = with_constants(stage, source)
    output.say(f"constants made up: {made_up or 'none, the text has all'}", err=True)
    return stage


def _chosen(build: Build, name: str | None, function: str) -> Stage:
    """The stage with this number or pass, else the last one with a Relax function that can be read, with a remark."""
    if name is not None:
        return stage_of(build, name)
    if len(build.stages) == 1:
        return build.stages[0]
    for stage in reversed(build.stages):
        obstacle = _obstacle(stage, function)
        if not obstacle:
            output.say(f"stage {stage} of {build.path}; --stage chooses another", err=True)
            return stage
        output.say(f"stage {stage} {obstacle}; it is skipped", err=True)
    return build.stages[-1]


def stage_of(build: Build, name: str) -> Stage:
    """The stage with this number or pass."""
    try:
        return build.stage(name)
    except KeyError as error:
        raise click.UsageError(f"{build.path}: {error.args[0]}") from None


def _obstacle(stage: Stage, function: str) -> str:
    """Why no function of a stage can run, or an empty text."""
    try:
        return "" if runnable(stage, function)[0].relax_functions else "has no Relax function"
    except ParseError:
        return "can't be read"
