"""The options that `compare`, `bisect` and `validate` share: programs and stages, samples, tolerance, executors."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor

import click

from relax_explorer.core.codes import passes as pass_codes
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.session.addresses import address
from relax_explorer.core.session.build_files import part
from relax_explorer.core.session.builds import Build, Skipped, built, pipeline_of, readable
from relax_explorer.core.session.difference import Tolerance
from relax_explorer.core.session.inputs import file_remarks
from relax_explorer.core.session.naming import told_by
from relax_explorer.core.session.samples import CallFile, Sample, function_of, program_of, samples_of
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.stages import Stage
from relax_explorer.ui import directories, process
from relax_explorer.ui.cli import calling, output
from relax_explorer.ui.cli.input_options import inputs_given
from relax_explorer.ui.cli.opening import build_at, modules_before, passes_from, stage_of
from relax_explorer.ui.cli.packed_files import register_files
from relax_explorer.ui.cli.run import most_bytes
from relax_explorer.ui.pass_files import with_files
from relax_explorer.viz.child import safe_environment
from relax_explorer.viz.workers import Workers

Choice = tuple[tuple[str, ...], tuple[str, ...], int | None, float]
"""What the options say of inputs: sources, lengths, the number of samples, GiB."""
_MOST_SAMPLES = 1000
_MOST_WORKERS = 512


def _begin(packed: tuple[str, ...]) -> None:
    """What each worker does first."""
    process.own()
    register_files(packed)


class WorkerDied(click.ClickException):
    """A process of `--workers` ended before its work did."""

    exit_code = output.CANNOT


def chosen(build: Build, name: str | None, default: int) -> Stage:
    """The stage with this number or pass, else the one at the place `default`."""
    return build.stages[default] if name is None else stage_of(build, name)


def build_and_stage(text: str, passes: str | None, profile: str = "spec") -> tuple[Build, str | None]:
    """The build of `PATH` or `PATH@STAGE`, and the name of the stage in it. Passes go on from a stage that was recorded."""
    path, name = address(text)
    build = build_at(path)
    if passes is None:
        return build, name
    if build.is_recorded and name is not None:
        return after_passes(part(build, name), passes, profile), None
    return after_passes(build, passes, profile), name


def build_of(
    text: str, passes: str | None, func: str | None, profile: str = "spec"
) -> tuple[Build, tuple[Skipped, ...]]:
    """The build at a path, of which `@STAGE` chooses a stage, after passes in a profile.

    Stages of which the function can't be read are left out, which is told.
    """
    build, name = build_and_stage(text, passes, profile)
    build, skipped = readable(build if name is None else part(build, name), func or "")
    for item in skipped:
        output.say(f"skipped: {item}", err=True)
    return build, skipped


def after_passes(build: Build, passes: str, profile: str = "spec") -> Build:
    """The build of passes on one program; several stages stay as they are if only the settings name passes.

    Raises Failure for errors of the program, and for options of passes.
    """
    if passes_from(build, passes) is None:
        return build
    stage = build.stages[0]
    session = Session(
        stage.module,
        with_files(pipeline_of(build, passes), profile),
        build.path,
        directories.kernel_cache(),
        "tvm",
    )
    session.run_all()
    errors = [item for item in session.stages[0].problems if item.is_error]
    said = output.of_passes(session)
    if errors or any(item.code is pass_codes.BAD_OPTION for item in said):
        raise Failure(*errors, *said)
    output.report(said)
    return built(session)


def function_name(stage: Stage, func: str | None) -> str:
    """The function to run: the given one, else the entry."""
    name = func or stage.entry
    function_of(stage.module, name)
    return name


def samples(
    stage: Stage,
    function: str,
    sources: tuple[str, ...],
    shape: tuple[str, ...],
    count: int | None,
    gigabytes: float,
    earlier: Sequence[Stage] = (),
) -> tuple[Sample, ...]:
    """The samples that the options choose. Stages before this one may tell names that it has lost."""
    most = most_bytes(gigabytes)
    if count is not None and not 1 <= count <= _MOST_SAMPLES:
        raise click.UsageError(f"--samples takes a number from 1 to {_MOST_SAMPLES}")
    call = inputs_given(sources, shape)
    if call.whole and count is not None:
        raise click.UsageError("--samples has no effect with a file of all inputs: its arrays are fixed")
    names = told_by(modules_before(stage, earlier), function)
    for remark in file_remarks(function_of(stage.module, function), call, names):
        output.say(remark, err=True)
    return samples_of(stage.module, function, count, call.sources, call.shape, most, names)


def function_and_samples(
    stage: Stage, func: str | None, calls: str | None, choice: Choice, earlier: Sequence[Stage] = ()
) -> tuple[str, tuple[Sample, ...]]:
    """The function to run with its samples, or the calls of a file, which are one sample of the function that makes them."""
    sources, shape, count, gigabytes = choice
    if calls is None:
        function = function_name(stage, func)
        return function, samples(stage, function, sources, shape, count, gigabytes, earlier)
    if func or sources or shape or count not in (None, 1):
        text = "--calls takes functions and inputs from its file: no other option may give them"
        raise click.UsageError(text)
    found = calling.read(calls)
    names = {
        call.function: told_by(modules_before(stage, earlier), call.function)
        for call in found
        if "." not in call.function
    }
    folder = "" if calls == "-" else os.path.dirname(calls)
    sample = Sample(most=most_bytes(gigabytes), calls=CallFile(calls, folder, tuple(found), names))
    program = program_of(stage.module, sample)
    for remark in (program.summary, *program.remarks):
        output.say(remark, err=True)
    return program.name, (sample,)


def tolerance(rtol: float | None, atol: float | None) -> Tolerance:
    """The tolerance of `--rtol` and `--atol`."""
    for name, value in (("--rtol", rtol), ("--atol", atol)):
        if value is not None and not value >= 0:  # also refuses NaN
            raise click.UsageError(f"{name} takes a number from 0 on")
    return Tolerance(rtol, atol)


@contextlib.contextmanager
def executor(
    workers: int | None, scheduler: str | None, packed: tuple[str, ...]
) -> Iterator[Executor | None]:
    """The executor of `--workers` or `--scheduler`; None without either. All processes register the functions of `packed`."""
    register_files(packed)
    if workers is not None and scheduler is not None:
        raise click.UsageError("--workers and --scheduler exclude each other")
    if workers is not None:
        if not 1 <= workers <= _MOST_WORKERS:
            raise click.UsageError(f"--workers takes a number from 1 to {_MOST_WORKERS}")
        try:
            with Workers(workers, _begin, packed) as pool:
                yield pool
        except BrokenExecutor as problem:
            raise WorkerDied(str(problem)) from None
        return
    if scheduler is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError:
        text = "--scheduler needs dask.distributed: pip install 'relax-explorer[distributed]'"
        raise click.UsageError(text) from None
    try:
        with safe_environment():
            client = Client(None if scheduler == "local" else scheduler, timeout=10)
    except (OSError, ValueError) as error:
        raise click.UsageError(f"--scheduler {scheduler}: {error}") from None
    with safe_environment(), client:
        client.run(register_files, packed)
        yield client.get_executor(pure=False)
