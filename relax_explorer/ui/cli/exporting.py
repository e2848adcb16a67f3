"""`export`: a program as a Python file for TVM, or as the text of an issue."""

from __future__ import annotations

from relax_explorer.core.session.exported import Question, exported
from relax_explorer.ui import directories, live_settings
from relax_explorer.ui.cli.comparing import stage_and_steps
from relax_explorer.ui.cli.input_options import inputs_given
from relax_explorer.ui.cli.interruptible import interruptible
from relax_explorer.ui.cli.output import Program, Result
from relax_explorer.ui.cli.run import most_bytes
from relax_explorer.ui.files import STANDARD_OUTPUT, Target
from relax_explorer.viz.visible import visible


def export(
    input: str, passes: str | None, func: str | None, to: str, input_: tuple[str, ...], shape: tuple[str, ...], max_input: float,
    output_: Target | None, profile: str, anonymous: bool,
) -> Result:  # fmt: skip
    """Write a program for others to run."""
    stage, steps = stage_and_steps(input, passes, profile)
    given, name = inputs_given(input_, shape), visible(input, 200)
    asked = Question(
        stage.module, func or stage.entry, steps, given, name, anonymous, most_bytes(max_input), live_settings.target()
    )  # fmt: skip
    found = interruptible(lambda interrupt: exported(asked, to, directories.kernel_cache(), interrupt))
    lines = [Program(found.text) if to == "tvm" else found.text]
    data = {
        "input": input,
        "function": found.entry,
        "to": to,
        "passes": list(map(str, found.passes)),
        "text": found.text,
    }
    return Result("export", data, lines, remarks=list(found.remarks), file=output_ or STANDARD_OUTPUT)
