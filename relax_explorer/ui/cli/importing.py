"""`import`: a model of another framework as a program with its weights, and what that framework computes."""

from __future__ import annotations

import contextlib
import shlex
import shutil
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO

import click

import relax_explorer
from relax_explorer.core.codes.runtime import NO_EVALUATION
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.session.arrays import SafetensorsFile
from relax_explorer.core.session.compare import Comparison, against
from relax_explorer.core.session.difference import Tolerance
from relax_explorer.core.session.folders import MODELS, RECORDED, model_at
from relax_explorer.core.session.imported import write_container
from relax_explorer.core.session.model_weights import input_count
from relax_explorer.core.session.samples import Sample, function_of, sample_run
from relax_explorer.core.session.stages import Stage
from relax_explorer.core.session.verdict import Verdict
from relax_explorer.ui import directories
from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.input_options import lengths_given
from relax_explorer.ui.cli.interruptible import interruptible
from relax_explorer.ui.cli.output import Result
from relax_explorer.ui.files import CannotWrite, Target, target
from relax_explorer.ui.imported_models import Imported, Importer, computed, imported
from relax_explorer.viz.visible import visible

_WEIGHTS = ".safetensors"


def import_model(
    model: str, output_: Target | None, python: str | None, shape: tuple[str, ...], max_seconds: float, max_memory: float
) -> Result:  # fmt: skip
    """Import a model, and write it with its weights."""
    if not model_at(model):
        endings = ", ".join(MODELS)
        raise click.UsageError(f"{model} is no model: a file that ends with one of {endings} is imported")
    file = output_ or _target(f"{Path(model).stem}{RECORDED}")
    if file.name is None:
        raise click.UsageError("--output takes a file: the weights go with it; `show` prints the program")
    is_text = not file.name.endswith(RECORDED)
    beside = _target(str(Path(file.name).with_suffix(_WEIGHTS))) if is_text else file
    importer = importer_of(python, shape, max_seconds, max_memory)
    found = imported(model, importer, Path(str(beside.name)).name)
    files = _write_text(found, file, beside) if is_text else _write_container(found, file)
    data = {"model": model, "files": files, **found.told}
    lines = [f"{visible(model, 200)}: {line}" for line in found.remarks]
    return Result(
        "import", data, [*lines, f"wrote {' and '.join(files)}; open it: rxe {shlex.quote(file.name)}"]
    )


def importer_of(python: str | None, shape: tuple[str, ...], seconds: float, gigabytes: float) -> Importer:
    """How the options of the command line want models imported."""
    if not 0 < seconds < 1 << 30:  # also refuses NaN
        raise click.UsageError("--max-seconds takes a number above 0")
    if not 0 < gigabytes < 1 << 20:
        raise click.UsageError("--max-memory takes a number of GiB above 0")
    return Importer(python or "", lengths_given(shape), seconds, int(gigabytes * (1 << 30)))


def _target(name: str) -> Target:
    try:
        return target(name)
    except CannotWrite as error:
        raise click.UsageError(str(error)) from None


def _write_text(found: Imported, file: Target, beside: Target) -> list[str]:
    """Write the text, and the weights beside it first: the text never names what is not there."""
    files = [str(file.name)]
    if found.weights:
        with open(found.weights, "rb") as weights, _opened(beside) as goal:
            shutil.copyfileobj(weights, goal)
        files.append(str(beside.name))
    output.write(found.text, file)
    return files


def _write_container(found: Imported, file: Target) -> list[str]:
    more: dict[str, object] = {"explorer": relax_explorer.__version__, "import": dict(found.told)}
    with _opened(file) as goal:
        if not found.weights:
            write_container(goal, found.text, None, more)
        else:
            with SafetensorsFile(found.weights) as weights:
                write_container(goal, found.text, weights, more)
    return [str(file.name)]


@contextlib.contextmanager
def _opened(file: Target) -> Iterator[IO[bytes]]:
    """Open a file for writing. If that fails, the command ends."""
    try:
        with file.opened() as goal:
            yield goal
    except CannotWrite as error:
        raise output.Unwritable(visible(str(error), 600)) from None


# -- framework -------------------------------------------------------------------------------------------------------


def beside_framework(
    model: str, python: str | None, stage: Stage, title: str, function: str, samples: Sequence[Sample], tolerance: Tolerance
) -> Comparison:  # fmt: skip
    """Compare runs of a stage with what the framework of a model computes on the same inputs, value by value."""
    fn = function_of(stage.module, function)
    inputs = [list(sample_run(stage, function, sample).values[: input_count(fn)]) for sample in samples]
    found = computed(model, Importer(python or ""), inputs)
    verdicts: list[Verdict] = []
    for sample, theirs in zip(samples, found, strict=True):
        if theirs.failure:
            output.say(f"{theirs.by} stops on {sample}: {theirs.failure}", err=True)
            continue
        ran = partial(against, stage, function, sample, theirs.values, tolerance, directories.kernel_cache())
        one: Comparison = interruptible(ran)
        verdicts += one.verdicts
    if not verdicts:
        raise Failure(Diagnostic(NO_EVALUATION, f"{found[0].by} computes {model} on none of the inputs"))
    return Comparison(f"{found[0].by} on {model}", title, function, tuple(verdicts))
