"""`export`: a program as a Python file for TVM, or as the text of an issue."""

from __future__ import annotations

from typing import Any

import numpy as np

import relax_explorer
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.values import Value
from relax_explorer.core.passes.pipeline import Step, run_pipeline
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.difference import leaves_of
from relax_explorer.core.session.inputs import call_values
from relax_explorer.core.session.model_weights import with_weights
from relax_explorer.core.session.recording import Recording, finished
from relax_explorer.core.session.reproducer import Reproducer
from relax_explorer.core.session.samples import function_of
from relax_explorer.ui import directories
from relax_explorer.ui.cli.comparing import stage_and_steps
from relax_explorer.ui.cli.input_options import inputs_given
from relax_explorer.ui.cli.interruptible import interruptible
from relax_explorer.ui.cli.output import Program, Result
from relax_explorer.ui.cli.run import most_bytes
from relax_explorer.ui.files import STANDARD_OUTPUT, Target
from relax_explorer.viz.visible import visible


def export(
    input: str, passes: str | None, func: str | None, to: str, input_: tuple[str, ...], shape: tuple[str, ...], max_input: float,
    output_: Target | None, profile: str,
) -> Result:  # fmt: skip
    """Write a program for others to run."""
    stage, steps = stage_and_steps(input, passes, profile)
    module, steps = _before_live(stage.module, steps)
    entry = func or stage.entry
    given = with_weights(inputs_given(input_, shape), [stage.module], entry)
    values, remark = call_values(function_of(module, entry), given, most_bytes(max_input))
    run = interruptible(
        lambda interrupt: _run(module, entry, values, interrupt),
    )
    made = Reproducer(
        module, entry, values, steps, run.result if run.failure is None else (), visible(input, 200)
    )
    text = made.script() if to == "tvm" else _issue(made, run)
    remarks = [f"made up: {remark}"] if remark else []
    remarks += [f"the program stops here: {run.failure.message}"] if run.failure is not None else []
    lines = [Program(text) if to == "tvm" else text]
    data = {"input": input, "function": entry, "to": to, "passes": list(map(str, steps)), "text": text}
    return Result("export", data, lines, remarks=remarks, file=output_ or STANDARD_OUTPUT)


def _before_live(module: IRModule, steps: tuple[Step, ...]) -> tuple[IRModule, tuple[Step, ...]]:
    """The module on which the live passes at the end of a pipeline run, and these passes. Without any, all passes are TVM's there."""
    ours = [number for number, step in enumerate(steps) if step.of.has_contract]
    if len(ours) == len(steps) or not ours:
        return module, steps
    return run_pipeline(module, steps[: ours[-1] + 1], verify=False), steps[ours[-1] + 1 :]


def _run(module: IRModule, entry: str, values: list[Any], interrupt: Interrupt) -> Recording:
    return finished(module, entry, tuple(values), directories.kernel_cache(), interrupt)


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
