"""`compare --step`: a walk through two runs at a prompt, or by a script of commands."""

from __future__ import annotations

from collections.abc import Sequence

from relax_explorer.core.session.compare import Lockstep
from relax_explorer.core.session.lockstep_commands import LOCKSTEP_COMMANDS, LockstepSession, execute
from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.prompt import Console, printer
from relax_explorer.viz.lockstep_text import lockstep_data, lockstep_lines
from relax_explorer.viz.visible import visible


def walk(
    runs: Lockstep, names: tuple[str, str], commands: Sequence[str] | None, script: str, format: str
) -> int:
    """Walk through two runs. The exit status tells if their results differ."""
    if format == "text":
        output.say(f"A {visible(names[0], 200)}\nB {visible(names[1], 200)}")
        output.say(f"function {runs.trial.function}, {visible(str(runs.trial.sample), 200)}")
    show = printer("lockstep", format, lockstep_data, lockstep_lines)
    session = LockstepSession(runs)
    show("", session.stop())
    console = Console(session, lambda line: execute(session, line), show, LOCKSTEP_COMMANDS)
    status = console.run(commands, script, format == "text")
    return status or (output.OK if runs.verdict.equal else output.FOUND)
