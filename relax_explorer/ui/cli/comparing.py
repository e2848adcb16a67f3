"""`compare`, `bisect` and `validate`, and the options that they share."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor
from dataclasses import dataclass, replace
from typing import Any

import click

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.passes.pipeline import Step
from relax_explorer.core.session.arrays import read_arrays
from relax_explorer.core.session.bisect import Bisection, NoNan, Predicate, SameOutput, WellFormed
from relax_explorer.core.session.bisect import bisect as find
from relax_explorer.core.session.build_files import part
from relax_explorer.core.session.build_passes import with_files
from relax_explorer.core.session.builds import Build, Skipped, pipeline_of, readable
from relax_explorer.core.session.compare import Comparison, Links, Trial, against, links_between
from relax_explorer.core.session.compare import compare as compare_stages
from relax_explorer.core.session.compiled_beside import with_values
from relax_explorer.core.session.difference import Tolerance
from relax_explorer.core.session.equal_terms import on_equal_terms
from relax_explorer.core.session.folders import address, model_at
from relax_explorer.core.session.inputs import file_remarks
from relax_explorer.core.session.naming import names_from
from relax_explorer.core.session.recorded import built
from relax_explorer.core.session.samples import CallFile, Sample, function_of, program_of, samples_of
from relax_explorer.core.session.scripting import diff
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.stages import Stage
from relax_explorer.core.session.tested_functions import having, not_run
from relax_explorer.core.session.validate import Row
from relax_explorer.core.session.validate import validate as validate_stages
from relax_explorer.ui import directories, live_settings, process
from relax_explorer.ui.cli import output, run
from relax_explorer.ui.cli.comparison_output import bisected, compared, validated
from relax_explorer.ui.cli.compiled_run import compare_compiled
from relax_explorer.ui.cli.debug import commands_of
from relax_explorer.ui.cli.input_options import inputs_given, register_files
from relax_explorer.ui.cli.interruptible import interruptible, progress
from relax_explorer.ui.cli.opening import build_at, modules_before, passes_from, stage_of
from relax_explorer.ui.cli.output import Result
from relax_explorer.ui.cli.run import most_bytes
from relax_explorer.viz.child import ChildOutputTooLong, run_child, safe_environment
from relax_explorer.viz.workers import Workers

_MOST_SAMPLES = 1000
_MOST_WORKERS = 512


def _begin(packed: tuple[str, ...], chosen: live_settings.Live | None) -> None:
    """What each worker does first."""
    process.own()
    register_files(packed)
    if chosen is not None:
        live_settings.allow(chosen)


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


def stage_and_steps(text: str, passes: str | None, profile: str) -> tuple[Stage, tuple[Step, ...]]:
    """The first stage at `PATH`, or the one that `PATH@STAGE` names, and the passes that are to be applied to it."""
    build, name = build_and_stage(text, None)
    stage = chosen(build, name, 0)
    if passes is None or passes_from(build, passes) is None:
        return stage, ()
    return stage, tuple(with_files(pipeline_of(build, passes), profile))


def build_of(
    text: str, passes: str | None, func: str | None, profile: str = "spec"
) -> tuple[Build, tuple[Skipped, ...]]:
    """The build at a path, of which `@STAGE` chooses a stage, after passes in a profile.

    Stages of which the function can't be read, and those before the first that has it, are left out, with a remark.
    """
    build, name = build_and_stage(text, passes, profile)
    build, skipped = readable(build if name is None else part(build, name), func or "")
    for item in skipped:
        output.say(f"skipped: {item}", err=True)
    if func is not None:
        build, remark = having(build, func)
        if remark:
            output.say(remark, err=True)
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
    found = output.of_passes(session)
    if errors or output.is_misnamed(found):
        raise Failure(*errors, *found)
    output.report(found)
    return built(session)


@dataclass(frozen=True, slots=True)
class Sampling:
    """The options of runs that are compared: the function or calls, their inputs, the tolerance, and where they run."""

    func: str | None
    calls: str | None
    input_: tuple[str, ...]
    shape: tuple[str, ...]
    samples: int | None
    rtol: float | None
    atol: float | None
    max_input: float
    packed: tuple[str, ...]
    workers: int | None
    scheduler: str | None

    def tolerance(self) -> Tolerance:
        """The tolerance of `--rtol` and `--atol`."""
        for name, value in (("--rtol", self.rtol), ("--atol", self.atol)):
            if value is not None and not value >= 0:  # also refuses NaN
                raise click.UsageError(f"{name} takes a number from 0 on")
        return Tolerance(self.rtol, self.atol)

    def of(self, stage: Stage, earlier: Sequence[Stage] = ()) -> tuple[str, tuple[Sample, ...]]:
        """The function to run with its samples, or the calls of a file, which are one sample of the function that makes them.

        Stages before this one may tell names that it has lost.
        """
        if self.calls is None:
            name = self.func or stage.entry
            return name, self._samples(stage, name, earlier)
        if self.func or self.input_ or self.shape or self.samples not in (None, 1):
            text = "--calls takes functions and inputs from its file: no other option may give them"
            raise click.UsageError(text)
        found = run.read(self.calls)
        names = {
            call.function: names_from(modules_before(stage, earlier), call.function)
            for call in found
            if "." not in call.function
        }
        folder = "" if self.calls == "-" else os.path.dirname(self.calls)
        file = CallFile(self.calls, folder, tuple(found), names)
        sample = Sample(most=most_bytes(self.max_input), calls=file)
        program = program_of(stage.module, sample)
        for remark in (program.summary, *program.remarks):
            output.say(remark, err=True)
        return program.name, (sample,)

    def _samples(self, stage: Stage, name: str, earlier: Sequence[Stage]) -> tuple[Sample, ...]:
        function, most, count = function_of(stage.module, name), most_bytes(self.max_input), self.samples
        if count is not None and not 1 <= count <= _MOST_SAMPLES:
            raise click.UsageError(f"--samples takes a number from 1 to {_MOST_SAMPLES}")
        call = inputs_given(self.input_, self.shape)
        if call.whole and count is not None:
            raise click.UsageError("--samples has no effect with a file of all inputs: its arrays are fixed")
        names = names_from(modules_before(stage, earlier), name)
        for remark in file_remarks(function, call, names):
            output.say(remark, err=True)
        return samples_of(stage.module, name, count, call.sources, call.shape, most, names)

    @contextlib.contextmanager
    def executor(self) -> Iterator[Executor | None]:
        """The executor of `--workers` or `--scheduler`; None without either. All processes register the functions of `packed`."""
        register_files(self.packed)
        if self.workers is not None and self.scheduler is not None:
            raise click.UsageError("--workers and --scheduler exclude each other")
        if self.workers is not None:
            if not 1 <= self.workers <= _MOST_WORKERS:
                raise click.UsageError(f"--workers takes a number from 1 to {_MOST_WORKERS}")
            try:
                with Workers(self.workers, _begin, self.packed, live_settings.settings()) as pool:
                    yield pool
            except BrokenExecutor as problem:
                raise WorkerDied(str(problem)) from None
        elif self.scheduler is None:
            yield None
        else:
            with _scheduled(self.scheduler, self.packed) as pool:
                yield pool


_SCHEDULER = "distributed>=2024.8"  # of the extra; this command also works where a checkout is installed


@contextlib.contextmanager
def _scheduled(address: str, packed: tuple[str, ...]) -> Iterator[Executor]:
    """An executor of a dask.distributed scheduler."""
    try:
        from distributed import Client
    except ImportError:
        raise click.UsageError(f"--scheduler needs dask.distributed: pip install '{_SCHEDULER}'") from None
    try:
        with safe_environment():
            client = Client(None if address == "local" else address, timeout=10)
    except (OSError, ValueError) as error:
        raise click.UsageError(f"--scheduler {address}: {error}") from None
    with safe_environment(), client:
        client.run(register_files, packed)
        yield client.get_executor(pure=False)


# -- comparing -------------------------------------------------------------------------------------------------------
# `compare`, `bisect` and `validate`.


_ONE_SAMPLE = "--step walks through one sample: no --ref, --all, --samples, --workers or --scheduler"
_RESULT = re.compile(r"out[0-9]{1,9}")


def compare(
    a: str, b: str | None, passes: str | None, with_: str | None, ref: str | None, all: bool, step: bool, script: str | None,
    **options: Any,
) -> Result | int:  # fmt: skip
    """Compare two programs, one with recorded values, or what two pipelines make of one."""
    if with_ is not None and (b is not None or ref is not None):
        raise click.UsageError("--with compares two pipelines on A alone: without B and --ref")
    sampling = Sampling(**options)
    allowed, is_spread = sampling.tolerance(), (sampling.workers, sampling.scheduler) != (None, None)
    if script is not None and not step:
        raise click.UsageError("--script goes with --step")
    if step:
        if all or ref is not None or sampling.samples is not None or is_spread:
            raise click.UsageError(_ONE_SAMPLE)
        register_files(sampling.packed)
        return _stepped(_pair(a, b, passes, with_), (a, b), replace(sampling, samples=1), allowed, script)
    if (with_, ref) == (None, None) and is_beside_framework(a, b, passes):
        if is_spread:
            raise click.UsageError(
                "a model is compared with its framework in this process: no --workers or --scheduler"
            )
        register_files(sampling.packed)
        return compared(_framework(a, b, passes, sampling, allowed), all)
    recording = with_values(a) if (b, passes, with_, ref) == (None,) * 4 else None
    if recording is not None:
        return compared(compare_compiled(recording, a, sampling.func, allowed), all)
    if ref is None:
        pair = _pair(a, b, passes, with_)
        programs = None if with_ is None else diff(pair.a.module, pair.b.module)
        return compared(_compared(pair, sampling, allowed, all), all, programs)
    if b is not None or is_spread:
        raise click.UsageError("--ref compares A alone, in this process")
    register_files(sampling.packed)
    return compared(_recorded(a, passes, ref, sampling, allowed), all)


def is_beside_framework(a: str, b: str | None, passes: str | None) -> bool:
    """True if A is a model whose framework computes what B, or the imported program, is compared with."""
    return bool(model_at(a)) and (b is not None or passes is None)


def _framework(
    a: str, b: str | None, passes: str | None, sampling: Sampling, allowed: Tolerance
) -> Comparison:
    """Compare a program with the framework of the model that it was imported from."""
    from relax_explorer.ui.cli.importing import beside_framework  # few programs are models

    if sampling.calls is not None:
        raise click.UsageError("--calls goes with programs; the framework of a model computes one call")
    build, name = build_and_stage(b or a, passes)
    stage = chosen(build, name, -1)
    function, found = sampling.of(build.stages[0])
    return beside_framework(a, live_settings.python(), stage, build.title(stage), function, found, allowed)


def _recorded(a: str, passes: str | None, ref: str, sampling: Sampling, allowed: Tolerance) -> Comparison:
    """Compare one program with recorded values."""
    build, name = build_and_stage(a, passes)
    stage = chosen(build, name, -1)
    function, found = sampling.of(stage, build.stages)
    values = read_arrays(ref)
    result: Comparison = interruptible(
        lambda interrupt: against(
            stage, function, found[0], values, allowed, directories.kernel_cache(), interrupt
        )
    )
    if not any(verdict.results or verdict.pairs for verdict in result.verdicts) and result.equal:
        text = f"no entry of {ref} is called like a result (out0) or a variable of {function}"
        raise click.UsageError(text)
    return replace(result, a=ref, b=build.title(stage))


@dataclass(frozen=True)
class _Pair:
    """Two stages to compare, their names in messages, and which binding came from which; `earlier` are those of A's build."""

    a: Stage
    b: Stage
    names: tuple[str, str]
    links: Links
    earlier: tuple[Stage, ...] = ()

    @property
    def way(self) -> list[Stage]:
        """The stages from one to the other, in order."""
        if self.b not in self.earlier:
            return [self.a, self.b]
        low, high = sorted((self.earlier.index(self.a), self.earlier.index(self.b)))
        return list(self.earlier[low : high + 1])


def _pair(a: str, b: str | None, passes: str | None, with_: str | None = None) -> _Pair:
    """Two stages of one build, or of two, or the last ones of two pipelines on a program."""
    if with_ is not None:
        left, right = (build_and_stage(a, text)[0] for text in (passes or "", with_))
        ends = (left.stages[-1], right.stages[-1])
        return _Pair(*ends, (f"{a} -p {passes}" if passes else a, f"{a} -p {with_}"), (), left.stages)
    path, its_name = address(a)[0], None
    is_one = b is None or (address(b)[0] == path and path != "-")
    left, name = build_and_stage(a, passes if is_one or address(a)[1] is not None else None)
    right = left
    if b is None and len(left.stages) == 1:
        raise click.UsageError("compare takes a second program, --passes, or --ref")
    if b is not None and is_one and left.path == path:
        its_name = address(b)[1]
    elif b is not None:  # another build, or the recorded one beside passes that go on from its stage
        right, its_name = build_and_stage(b, None if is_one else passes)
    first = chosen(left, name, 0 if right is left else -1)
    second = chosen(right, its_name, -1)
    links: Links = ()
    if right is left and left.snapshots and first.number <= second.number:
        links = links_between(left.snapshots, first.number, second.number)
    return _Pair(first, second, (left.title(first), right.title(second)), links, left.stages)


def _stepped(
    pair: _Pair, paths: tuple[str | None, ...], sampling: Sampling, allowed: Tolerance, script: str | None
) -> int:
    """Walk through the runs of two stages."""
    from relax_explorer.core.session.lockstep import lockstep
    from relax_explorer.ui.cli.debug import walk

    commands = commands_of(script, (*paths, sampling.calls))
    function, found = sampling.of(pair.a, pair.earlier)
    found = tuple(on_equal_terms(found, pair.way, function))
    trial = Trial(pair.a, pair.b, function, found[0], allowed, pair.links, directories.kernel_cache())
    runs = interruptible(lambda interrupt: lockstep(replace(trial, interrupt=interrupt)))
    return walk(runs, pair.names, commands, script or "-")


def _compared(pair: _Pair, sampling: Sampling, allowed: Tolerance, everything: bool) -> Comparison:
    """Compare two stages of one build, or of two."""
    function, chosen = sampling.of(pair.a, pair.earlier)
    chosen = tuple(on_equal_terms(chosen, pair.way, function))
    cache = directories.kernel_cache()

    def work(interrupt: Interrupt) -> Comparison:
        with sampling.executor() as pool, progress() as told:
            return compare_stages(
                pair.a,
                pair.b,
                function,
                chosen,
                allowed,
                links=pair.links,
                cache=cache,
                everything=everything,
                executor=pool,
                interrupt=interrupt,
                told=told,
            )

    result: Comparison = interruptible(work)
    return replace(result, a=pair.names[0], b=pair.names[1])


@dataclass(frozen=True)
class CommandTest:
    """A command that gets a stage as a file, in place of `{}` or as its last word. It holds if the command exits with 0."""

    words: tuple[str, ...]

    def __call__(self, stage: Stage) -> str:
        """Why the command failed."""
        with tempfile.NamedTemporaryFile(
            "w", suffix=".py", encoding="utf-8", errors="backslashreplace"
        ) as file:
            file.write(stage.text)
            file.flush()
            words = [file.name if word == "{}" else word for word in self.words]
            if "{}" not in self.words:
                words.append(file.name)
            try:
                done = run_child(words, b"", None)
            except OSError as error:
                raise click.UsageError(f"{self.words[0]} can't be run: {error.strerror or error}") from None
            except ChildOutputTooLong:
                return f"{self.words[0]} wrote more than 64 MiB"
        if done.status == 0:
            return ""
        last_line = (done.errors or done.output).decode("utf-8", "replace").strip().split("\n")[-1]
        return f"{self.words[0]} exited with {done.status}{': ' if last_line else ''}{last_line[:200]}"


def _one_stage(command: str, build: Build) -> click.UsageError:
    """The error for a program alone, where stages are compared."""
    text = f"{command} takes --passes, or a folder or file with several stages"
    return click.UsageError(
        text + ("; `-p file` applies the passes that this file applies" if build.written else "")
    )


def bisect(
    input: str, command: tuple[str, ...], passes: str | None, test: str, ref: str | None, profile: str, **options: Any
) -> Result:  # fmt: skip
    """Find the first stage that fails a test."""
    sampling = Sampling(**options)
    of_passes = "spec" if profile == "auto" else profile
    build, skipped = build_of(input, passes, sampling.func, of_passes)
    if len(build.stages) == 1:
        raise _one_stage("bisect", build)
    allowed = sampling.tolerance()
    first = build.stages[0]
    runs = test in ("same-output", "no-nan") and not command
    function, chosen = sampling.of(first) if runs else ("", ())
    cache = directories.kernel_cache()
    results = _reference(ref) if ref is not None else ()

    def work(interrupt: Interrupt) -> Bisection:
        with sampling.executor() as pool, progress() as told:
            tests: dict[str, Predicate] = {
                "same-output": SameOutput(first, function, chosen, allowed, results, cache, interrupt),
                "no-nan": NoNan(first, function, chosen, cache, interrupt),
                "well-formed": WellFormed(build.rules(profile), build.is_recorded),
            }
            predicate = CommandTest(command) if command else tests[test]
            return find(build, predicate, executor=pool, interrupt=interrupt, told=told)

    found = interruptible(work)
    equal = output.CANNOT if skipped else output.OK
    return bisected(found, input, " ".join(command or (test,)), bool(build.snapshots), equal)


def _reference(path: str) -> tuple[tuple[str, Any], ...]:
    """The recorded results of a file, in order."""
    found = read_arrays(path, wanted=_RESULT.fullmatch)
    if sorted(found) != sorted(f"out{n}" for n in range(len(found))) or not found:
        raise click.UsageError(f"{path} has no results out0, out1, …")
    return tuple([(f"out{n}", found[f"out{n}"]) for n in range(len(found))])


def validate(input: str, passes: str | None, **options: Any) -> Result:
    """Run every stage against the first one."""
    sampling = Sampling(**options)
    build, skipped = build_of(input, passes, sampling.func)
    if len(build.stages) == 1:
        raise _one_stage("validate", build)
    allowed = sampling.tolerance()
    function, chosen = sampling.of(build.stages[0])

    def work(interrupt: Interrupt) -> list[Row]:
        with sampling.executor() as pool, progress() as told:
            cache = directories.kernel_cache()
            return validate_stages(
                build,
                function,
                chosen,
                allowed,
                cache=cache,
                executor=pool,
                interrupt=interrupt,
                told=told,
            )

    rows = interruptible(work)
    ran = not rows or any(not cell.stopped for row in rows for cell in row.cells)
    is_known = ran and not skipped and not any(row.unknown for row in rows)
    equal = output.OK if is_known else output.CANNOT
    aside = not_run(build.changing(), on_equal_terms(chosen, build.changing(), function), function)
    first, samples = build.title(build.stages[0]), [str(sample) for sample in chosen]
    return validated(rows, first, samples, aside, equal)
