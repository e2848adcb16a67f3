"""`reduce`: the smallest program that shows a fault, written to a file."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.session import smaller
from relax_explorer.core.session.call_inputs import REST
from relax_explorer.core.session.samples import function_of
from relax_explorer.core.session.smaller import Case
from relax_explorer.core.session.smallest import SAME_OUTPUT, Fault, Reduction
from relax_explorer.core.session.smallest import reduce as smallest
from relax_explorer.core.syntax.notes import UnreadableText, short_text
from relax_explorer.ui import directories
from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.comparing import CommandTest, Sampling, stage_and_steps
from relax_explorer.ui.cli.input_options import inputs_given
from relax_explorer.ui.cli.interruptible import interruptible, progress
from relax_explorer.ui.cli.output import Result
from relax_explorer.ui.files import Target
from relax_explorer.viz.visible import visible

_MARK = "# Reduced by relax-explorer from "


def reduce(
    input: str, command: tuple[str, ...], passes: str | None, test: str, output_: Target | None, seconds: float | None, profile: str,
    **options: Any,
) -> Result:  # fmt: skip
    """Make a program smaller while it shows the same fault."""
    sampling = Sampling(calls=None, **options)
    case = _case(input, passes, sampling, profile)
    if test == SAME_OUTPUT and not command and not case.passes:
        raise click.UsageError("reduce takes --passes, a command, or --test no-nan or well-formed")
    target, words = output_ or _default(input), " ".join(command or (test,))
    fault = _fault(case, sampling, test, command, profile)

    def work(interrupt: Interrupt) -> Reduction | None:
        with sampling.executor() as pool, progress() as told:
            workers = 1 if pool is None else sampling.workers or os.cpu_count() or 1
            own = replace(fault, interrupt=interrupt)
            return smallest(case, own, executor=pool, workers=workers, seconds=seconds, told=told)

    found = interruptible(work)
    if found is None:
        text = f"{visible(input, 200)} shows no fault: the test {visible(words, 200)} holds after every pass"
        data = {"input": input, "test": words, "fault": None}
        return Result("reduce", data, status=output.CANNOT, remarks=[text])
    shown = _command(found, target.name or "-", command, test, profile)
    head = [f"{_MARK}{visible(input, 200)}", *[f"# {line}" for line in _facts(found)], f"# {shown}"]
    output.write(output.Program("\n".join([*head, found.case.module.script(), ""])), target)
    lines = () if target.name is None else _lines(found, target.name, shown, profile)
    return Result("reduce", lambda: _data(found, input, words, target, shown), lines)


def _case(path: str, passes: str | None, sampling: Sampling, profile: str) -> Case:
    """The whole program with its passes."""
    stage, steps = stage_and_steps(path, passes, profile)
    lengths, entry = inputs_given(sampling.input_, sampling.shape).shape, sampling.func or stage.entry
    function_of(stage.module, entry)  # says so if there is none
    return Case(stage.module, entry, steps, tuple(lengths.items()))


def _fault(case: Case, sampling: Sampling, test: str, command: tuple[str, ...], profile: str) -> Fault:
    given = inputs_given(sampling.input_, sampling.shape)
    sources = {REST: given.whole} if given.whole else dict(given.sources)
    own = CommandTest(command) if command else None
    return Fault(
        test, own, tuple(sources.items()), sampling.samples, sampling.tolerance(), profile, directories.kernel_cache()
    )  # fmt: skip


def _default(path: str) -> Target:
    """The file beside the user: a name from that of the input. Another file of this name stays."""
    stem = Path(path.partition("@")[0]).stem or "program"
    name = Path(f"{'program' if path == '-' else stem}.reduced.py")
    try:
        is_own = not os.path.lexists(name) or short_text(name).startswith(_MARK)
    except UnreadableText:
        is_own = False
    if not is_own:
        raise click.UsageError(f"{name} is not a file of reduce; give another one with -o")
    return Target(str(name))


def _facts(found: Reduction) -> Iterator[str]:
    """What was found, without times."""
    sizes = [str(size) for size in found.sizes]
    shown = sizes if len(sizes) <= 12 else [*sizes[:6], "…", *sizes[-5:]]
    yield f"{shown[0]} bindings" + "".join([f" → {size}" for size in shown[1:]]) + f"   ({found.tries} tries)"
    case = found.case
    count, functions, kernels = case.size, len(case.module.relax_functions), smaller.kernels_of(case)
    parts = [f"{count} binding{'s' * (count != 1)} in {functions} function{'s' * (functions != 1)}"]
    parts += [f"{kernels} kernel{'s' * (kernels != 1)}"] if kernels else []
    needed = [", ".join(found.operators)] if found.operators else []
    needed += [f"{name} ≥ {length}" for name, length in found.least]
    yield ", ".join(parts) + (f"; needed: {', '.join(needed)}" if needed else "")
    if case.passes:
        yield f"passes: {','.join(map(str, case.passes))}"
    yield f"fault: {found.kind}"
    if not found.is_whole:
        yield "the time was over before nothing more could be left out"


def _lines(found: Reduction, name: str, shown: str, profile: str) -> Iterator[str]:
    first, *rest = _facts(found)
    yield f"{first.removesuffix(')')}, {found.seconds:.0f} s)"
    yield from rest
    yield f"written: {visible(name, 200)}"
    yield f"show it: {shown}"
    passes = ["-p", ",".join(map(str, found.case.passes))] if found.case.passes else []
    words = ["export", name, *passes, *_lengths(found.case), *_profile(profile), "-o", "reproducer.py"]
    yield f"for TVM: {shlex.join(['relax-explorer', *words])}"


def _command(found: Reduction, path: str, command: tuple[str, ...], test: str, profile: str) -> str:
    """The command that shows the fault in the smaller program."""
    case = found.case
    if not case.passes and not command:
        words = ["check", path] if test == "well-formed" else ["run", path, "--stop-on", "nan"]
    else:
        words = ["bisect", path, *(["-p", ",".join(map(str, case.passes))] if case.passes else [])]
        words += ["--test", test] if test != SAME_OUTPUT and not command else []
    words += _profile(profile)
    if not command and test != "well-formed":
        words += ["--func", case.entry] if len(case.module.relax_functions) > 1 else []
        words += _lengths(case)
    return shlex.join(["relax-explorer", *words, *(["--", *command] if command else [])])


def _lengths(case: Case) -> list[str]:
    """The options that give the lengths of shape variables."""
    free = smaller.free_names(case)
    return [word for name, n in case.lengths if name in free for word in ("--shape", f"{name}={n}")]


def _profile(profile: str) -> list[str]:
    return ["--profile", profile] if profile != "spec" else []


def _data(found: Reduction, name: str, test: str, target: Target, shown: str) -> dict[str, Any]:
    case = found.case
    return {
        "input": name,
        "test": test,
        "fault": found.kind,
        "sizes": list(found.sizes),
        "tries": found.tries,
        "seconds": round(found.seconds, 3),
        "function": case.entry,
        "bindings": case.size,
        "operators": found.operators,
        "passes": [str(step) for step in case.passes],
        "lengths": dict(found.least),
        "is_smallest": found.is_whole,
        "written": target.name,
        "command": shown,
    }
