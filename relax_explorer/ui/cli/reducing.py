"""`reduce`: the smallest program that shows a fault, written to a file."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.session.call_inputs import REST
from relax_explorer.core.session.model_weights import with_weights
from relax_explorer.core.session.samples import function_of
from relax_explorer.core.session.smaller import Case
from relax_explorer.core.session.smallest import SAME_OUTPUT, Fault, Reduction
from relax_explorer.core.session.smallest import reduce as smallest
from relax_explorer.ui import directories
from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.comparing import CommandTest, Sampling, stage_and_steps
from relax_explorer.ui.cli.input_options import inputs_given
from relax_explorer.ui.cli.interruptible import interruptible, progress
from relax_explorer.ui.cli.output import Result
from relax_explorer.ui.files import CannotWrite, Target
from relax_explorer.ui.files import target as writable
from relax_explorer.ui.reduced_files import default_name, values_name, write_values
from relax_explorer.viz.reduction_text import Reduced
from relax_explorer.viz.visible import visible


def reduce(
    input: str, command: tuple[str, ...], passes: str | None, test: str, output_: Target | None, seconds: float | None, profile: str,
    anonymous: bool, **options: Any,
) -> Result:  # fmt: skip
    """Make a program smaller while it shows the same fault."""
    sampling = Sampling(calls=None, **options)
    case, fault = _case(input, passes, sampling, profile), _fault(input, sampling, test, command, profile)
    if test == SAME_OUTPUT and not command and not case.passes:
        raise click.UsageError("reduce takes --passes, a command, or --test no-nan or well-formed")
    target = output_ or _default(input)

    def work(interrupt: Interrupt) -> Reduction | None:
        with (
            sampling.executor() as pool,
            progress() as told,
            TemporaryDirectory(prefix="rxe-reduce-") as folder,
        ):
            workers = 1 if pool is None else sampling.workers or os.cpu_count() or 1
            own = replace(fault, interrupt=interrupt)
            return smallest(
                case, own, executor=pool, workers=workers, seconds=seconds, told=told, folder=Path(folder), is_anonymous=anonymous
            )  # fmt: skip

    found = interruptible(work)
    if found is None:
        words = " ".join(command or (test,))
        text = f"{visible(input, 200)} shows no fault: the test {visible(words, 200)} holds after every pass"
        data = {"input": input, "test": words, "fault": None}
        return Result("reduce", data, status=output.CANNOT, remarks=[text])
    source, beside = "a program" if anonymous else input, values_name(found, target.name)
    shown = Reduced(found, source, target.name, beside, test, profile, command)
    write_values(found, beside)
    output.write(output.Program(shown.program()), target)
    lines = () if target.name is None else shown.lines()
    return Result("reduce", shown.data, lines)


def _case(path: str, passes: str | None, sampling: Sampling, profile: str) -> Case:
    """The whole program with its passes."""
    stage, steps = stage_and_steps(path, passes, profile)
    lengths, entry = inputs_given(sampling.input_, sampling.shape).shape, sampling.func or stage.entry
    function_of(stage.module, entry)  # says so if there is none
    return Case(stage.module, entry, steps, tuple(lengths.items()))


def _fault(path: str, sampling: Sampling, test: str, command: tuple[str, ...], profile: str) -> Fault:
    stage, _ = stage_and_steps(path, None, profile)
    given = with_weights(
        inputs_given(sampling.input_, sampling.shape), [stage.module], sampling.func or stage.entry
    )
    sources = {REST: given.whole} if given.whole else dict(given.sources)
    own = CommandTest(command) if command else None
    return Fault(
        test, own, tuple(sources.items()), sampling.samples, sampling.tolerance(), profile, directories.kernel_cache()
    )  # fmt: skip


def _default(path: str) -> Target:
    """The file beside the user: a name from that of the input. Another file of this name stays."""
    try:
        return writable(default_name(path))
    except CannotWrite as problem:
        raise click.UsageError(str(problem)) from None
