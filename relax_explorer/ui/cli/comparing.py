"""`compare`, `bisect` and `validate`."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass, replace
from typing import Any

import click

from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.session.addresses import address
from relax_explorer.core.session.arrays import read_arrays
from relax_explorer.core.session.bisect import Bisection, NoNan, Predicate, SameOutput, WellFormed
from relax_explorer.core.session.bisect import bisect as find
from relax_explorer.core.session.builds import Build
from relax_explorer.core.session.compare import Comparison, Links, Trial, against, links_between
from relax_explorer.core.session.compare import compare as compare_stages
from relax_explorer.core.session.difference import Tolerance
from relax_explorer.core.session.stages import Stage
from relax_explorer.core.session.validate import validate as validate_stages
from relax_explorer.ui import directories
from relax_explorer.ui.cli import comparison_output as shown
from relax_explorer.ui.cli import output, trials
from relax_explorer.ui.cli.interruptible import interruptible
from relax_explorer.ui.cli.packed_files import register_files
from relax_explorer.ui.cli.progress import progress
from relax_explorer.ui.cli.prompt import commands_of
from relax_explorer.viz.child import ChildOutputTooLong, run_child

_ONE_SAMPLE = "--step walks through one sample: no --ref, --all, --samples, --workers or --scheduler"
_RESULT = re.compile(r"out[0-9]{1,9}")


def compare(
    a: str, b: str | None, passes: str | None, func: str | None, ref: str | None, input_: tuple[str, ...], shape: tuple[str, ...],
    samples: int | None, rtol: float | None, atol: float | None, max_input: float, packed: tuple[str, ...], all: bool, step: bool, script: str | None,
    workers: int | None, scheduler: str | None, format: str, calls: str | None,
) -> int:  # fmt: skip
    """Compare two programs, or one with recorded values."""
    allowed = trials.tolerance(rtol, atol)
    if script is not None and not step:
        raise click.UsageError("--script goes with --step")
    if step:
        if all or any(option is not None for option in (ref, samples, workers, scheduler)):
            raise click.UsageError(_ONE_SAMPLE)
        register_files(packed)
        return _stepped(a, b, passes, func, (input_, shape, 1, max_input), calls, allowed, script, format)
    choice, where = (input_, shape, samples, max_input), (workers, scheduler, packed)
    if ref is not None:
        if b is not None or workers is not None or scheduler is not None:
            raise click.UsageError("--ref compares A alone, in this process")
        register_files(packed)
        result = _recorded(a, passes, func, ref, choice, calls, allowed)
    else:
        result = _compared(a, b, passes, func, choice, calls, allowed, all, where)
    shown.print_comparison(result, format, all)
    if not result.equal:
        return output.FOUND
    return output.OK if result.ran else output.CANNOT


def _recorded(
    a: str, passes: str | None, func: str | None, ref: str, choice: trials.Choice, calls: str | None, allowed: Tolerance,
) -> Comparison:  # fmt: skip
    """Compare one program with recorded values."""
    build, name = trials.build_and_stage(a, passes)
    stage = trials.chosen(build, name, -1)
    function, found = trials.function_and_samples(stage, func, calls, choice, build.stages)
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
    """Two stages to compare, their names in messages, and which binding came from which; `earlier` are stages before A."""

    a: Stage
    b: Stage
    names: tuple[str, str]
    links: Links
    earlier: tuple[Stage, ...] = ()


def _pair(a: str, b: str | None, passes: str | None) -> _Pair:
    """Two stages of one build, or of two."""
    path, its_name = address(a)[0], None
    is_one = b is None or (address(b)[0] == path and path != "-")
    left, name = trials.build_and_stage(a, passes if is_one or address(a)[1] is not None else None)
    right = left
    if b is None and len(left.stages) == 1:
        raise click.UsageError("compare takes a second program, --passes, or --ref")
    if b is not None and is_one and left.path == path:
        its_name = address(b)[1]
    elif b is not None:  # another build, or the recorded one beside passes that go on from its stage
        right, its_name = trials.build_and_stage(b, None if is_one else passes)
    first = trials.chosen(left, name, 0 if right is left else -1)
    second = trials.chosen(right, its_name, -1)
    links: Links = ()
    if right is left and left.snapshots and first.number <= second.number:
        links = links_between(left.snapshots, first.number, second.number)
    return _Pair(first, second, (left.title(first), right.title(second)), links, left.stages)


def _stepped(
    a: str, b: str | None, passes: str | None, func: str | None, choice: trials.Choice, calls: str | None, allowed: Tolerance,
    script: str | None, format: str,
) -> int:  # fmt: skip
    """Walk through the runs of two stages."""
    from relax_explorer.core.session.compare import lockstep
    from relax_explorer.ui.cli.stepping import walk

    commands = commands_of(script, (a, b, calls))
    pair = _pair(a, b, passes)
    function, found = trials.function_and_samples(pair.a, func, calls, choice, pair.earlier)
    trial = Trial(pair.a, pair.b, function, found[0], allowed, pair.links, directories.kernel_cache())
    runs = interruptible(lambda interrupt: lockstep(replace(trial, interrupt=interrupt)))
    return walk(runs, pair.names, commands, script or "-", format)


def _compared(
    a: str, b: str | None, passes: str | None, func: str | None, choice: trials.Choice, calls: str | None, allowed: Tolerance, everything: bool,
    where: tuple[int | None, str | None, tuple[str, ...]],
) -> Comparison:  # fmt: skip
    """Compare two stages of one build, or of two."""
    pair = _pair(a, b, passes)
    function, chosen = trials.function_and_samples(pair.a, func, calls, choice, pair.earlier)
    cache = directories.kernel_cache()

    def work(interrupt: Interrupt) -> Comparison:
        with trials.executor(*where) as executor, progress() as told:
            return compare_stages(
                pair.a,
                pair.b,
                function,
                chosen,
                allowed,
                links=pair.links,
                cache=cache,
                everything=everything,
                executor=executor,
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
        said = (done.errors or done.output).decode("utf-8", "replace").strip().split("\n")[-1]
        return f"{self.words[0]} exited with {done.status}{': ' if said else ''}{said[:200]}"


def _one_stage(command: str, build: Build) -> click.UsageError:
    """The error for a program alone, where stages are compared."""
    text = f"{command} takes --passes, or a folder or file with several stages"
    return click.UsageError(
        text + ("; `-p file` applies the passes that this file applies" if build.written else "")
    )


def bisect(
    input: str, command: tuple[str, ...], passes: str | None, func: str | None, test: str, ref: str | None, input_: tuple[str, ...],
    shape: tuple[str, ...], samples: int | None, rtol: float | None, atol: float | None, max_input: float, packed: tuple[str, ...],
    workers: int | None, scheduler: str | None, profile: str, format: str, calls: str | None,
) -> int:  # fmt: skip
    """Find the first stage that fails a test."""
    build, skipped = trials.build_of(input, passes, func, profile)
    if len(build.stages) == 1:
        raise _one_stage("bisect", build)
    allowed = trials.tolerance(rtol, atol)
    first = build.stages[0]
    runs = test in ("same-output", "no-nan") and not command
    choice = input_, shape, samples, max_input
    function, chosen = trials.function_and_samples(first, func, calls, choice) if runs else ("", ())
    cache = directories.kernel_cache()
    results = _reference(ref) if ref is not None else ()

    def work(interrupt: Interrupt) -> Bisection:
        with trials.executor(workers, scheduler, packed) as executor, progress() as told:
            tests: dict[str, Predicate] = {
                "same-output": SameOutput(first, function, chosen, allowed, results, cache, interrupt),
                "no-nan": NoNan(first, function, chosen, cache, interrupt),
                "well-formed": WellFormed(profile),
            }
            predicate = CommandTest(command) if command else tests[test]
            return find(build, predicate, executor=executor, interrupt=interrupt, told=told)

    found = interruptible(work)
    shown.print_bisection(found, input, " ".join(command or (test,)), bool(build.snapshots), format)
    return output.FOUND if found.failed is not None else output.CANNOT if skipped else output.OK


def _reference(path: str) -> tuple[tuple[str, Any], ...]:
    """The recorded results of a file, in order."""
    found = read_arrays(path, wanted=_RESULT.fullmatch)
    if sorted(found) != sorted(f"out{n}" for n in range(len(found))) or not found:
        raise click.UsageError(f"{path} has no results out0, out1, …")
    return tuple([(f"out{n}", found[f"out{n}"]) for n in range(len(found))])


def validate(
    input: str, passes: str | None, func: str | None, input_: tuple[str, ...], shape: tuple[str, ...], samples: int | None,
    rtol: float | None, atol: float | None, max_input: float, packed: tuple[str, ...], workers: int | None, scheduler: str | None,
    format: str, calls: str | None,
) -> int:  # fmt: skip
    """Run every stage against the first one."""
    build, skipped = trials.build_of(input, passes, func)
    if len(build.stages) == 1:
        raise _one_stage("validate", build)
    allowed = trials.tolerance(rtol, atol)
    choice = input_, shape, samples, max_input
    function, chosen = trials.function_and_samples(build.stages[0], func, calls, choice)

    def work(interrupt: Interrupt) -> Any:
        with trials.executor(workers, scheduler, packed) as executor, progress() as told:
            cache = directories.kernel_cache()
            return validate_stages(
                build,
                function,
                chosen,
                allowed,
                cache=cache,
                executor=executor,
                interrupt=interrupt,
                told=told,
            )

    rows = interruptible(work)
    shown.print_validation(rows, build.title(build.stages[0]), [str(sample) for sample in chosen], format)
    if any(not row.equal for row in rows):
        return output.FOUND
    ran = not rows or any(not cell.stopped for row in rows for cell in row.cells)
    return output.OK if ran and not skipped else output.CANNOT
