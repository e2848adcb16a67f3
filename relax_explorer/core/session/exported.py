"""A program to pass on: a Python file for TVM, or the text of an issue with that file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import relax_explorer
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.values import Value
from relax_explorer.core.passes.pipeline import Step, run_pipeline
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.anonymous import anonymous
from relax_explorer.core.session.arrays import INPUT_LIMIT
from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.core.session.difference import leaves_of
from relax_explorer.core.session.inputs import call_values
from relax_explorer.core.session.model_weights import with_weights
from relax_explorer.core.session.recording import Recording, finished
from relax_explorer.core.session.reproducer import Reproducer
from relax_explorer.core.session.samples import function_of

TO = ("tvm", "issue")
"""What a program is written as."""


@dataclass(frozen=True)
class Question:
    """A program with the passes that are at fault, the function that runs, what the user gave for it, and a name for readers.

    With `is_anonymous` the names of the program are replaced.
    """

    module: IRModule
    entry: str
    passes: tuple[Step, ...] = ()
    given: CallInputs = CallInputs()  # noqa: RUF009  # it is frozen
    name: str = "program"
    is_anonymous: bool = False
    most: int = INPUT_LIMIT
    target: str = "llvm"  # of TVM, for its passes


@dataclass(frozen=True)
class Export:
    """The text, the function and the passes in it under the names that they have there, and remarks on what was made up."""

    text: str
    entry: str
    passes: tuple[Step, ...]
    remarks: tuple[str, ...] = ()


def exported(
    asked: Question, to: str, cache: Path | None = None, interrupt: Interrupt | None = None
) -> Export:
    """A program as `tvm` or `issue`. Raises Failure."""
    given = with_weights(asked.given, [asked.module], asked.entry)
    module, steps = _before_live(asked.module, asked.passes)
    values, made_up = call_values(function_of(module, asked.entry), given, asked.most)
    remarks = [f"made up: {made_up}"] if made_up else []
    entry, name = asked.entry, asked.name
    if asked.is_anonymous:
        renamed = anonymous(module)
        module, steps, name = renamed.module, renamed.steps(steps), "program"
        entry = renamed.functions[entry]
        remarks = ["made up: values of parameters"] if made_up else []
        remarks += [f"TVM looks this name up, so it stays: {item}" for item in renamed.remaining]
    run = finished(module, entry, tuple(values), cache, interrupt)
    made = Reproducer(
        module, entry, values, steps, run.result if run.failure is None else (), name, asked.target
    )
    remarks += [f"the program stops here: {run.failure.message}"] if run.failure is not None else []
    text = made.script() if to == "tvm" else _issue(made, run)
    return Export(text, entry, steps, tuple(remarks))


def _before_live(module: IRModule, steps: tuple[Step, ...]) -> tuple[IRModule, tuple[Step, ...]]:
    """The module on which the live passes at the end of a pipeline run, and these passes. Without any, all passes are TVM's there."""
    ours = [number for number, step in enumerate(steps) if step.of.has_contract]
    if len(ours) == len(steps) or not ours:
        return module, steps
    return run_pipeline(module, steps[: ours[-1] + 1], verify=False), steps[ours[-1] + 1 :]


def _issue(made: Reproducer, run: Recording) -> str:
    """The text of an issue, in Markdown."""
    passes = ", ".join([f"`{step}`" for step in made.passes]) or "none: the build alone"
    facts = [f"- function `{made.entry}`, passes: {passes}"]
    if run.failure is not None:
        facts.append(f"- relax-explorer stops: {run.failure.message}")
    facts += [
        f"- out{n} as relax-explorer computes it: {_summary(value)}"
        for n, value in enumerate(leaves_of(run.result))
    ]
    return "\n".join(
        [
            f"# {made.name}: results differ after {passes}" if made.passes else f"# {made.name}",
            "", "## Expected and found", "", *facts, "- TVM: run the file below, and paste what it prints", "",
            "## Versions", "", "- TVM: (it prints its own)", f"- relax-explorer {relax_explorer.__version__}", "",
            "## Reproducer", "", "```python", made.script().rstrip("\n"), "```", "",
        ]
    )  # fmt: skip


def _summary(value: Value) -> str:
    if not isinstance(value, np.ndarray):
        return repr(value)
    first = ", ".join(
        [f"{item:.6g}" if value.dtype.kind == "f" else str(item) for item in value.reshape(-1)[:4]]
    )
    return f"{value.dtype} {value.shape}: {first}{', …' if value.size > 4 else ''}"
