"""`debug`: a debugging session at a prompt, or by a script of commands."""

from __future__ import annotations

import threading

import click

from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.session.debug_commands import DEBUG_COMMANDS, execute
from relax_explorer.core.session.debug_session import Answer, DebugSession, open_debug_session
from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.interruptible import PATIENCE, interruptible
from relax_explorer.ui.cli.opening import session_to_run
from relax_explorer.ui.cli.packed_files import register_files
from relax_explorer.ui.cli.progress import compiling
from relax_explorer.ui.cli.prompt import Console, commands_of, printer
from relax_explorer.ui.cli.run import check_alone, started
from relax_explorer.viz.debug_text import answer_data, answer_lines

STUCK = (
    "the step goes on: one call of numpy or of a packed function takes long; ctrl+c again ends the session"
)


def debug(
    input: str, func: str | None, passes: str | None, input_: tuple[str, ...], shape: tuple[str, ...], max_input: float,
    budget: int, script: str | None, profile: str, format: str, packed: tuple[str, ...], private: bool,
    calls: str | None, stage: str | None, const: str | None,
) -> int:  # fmt: skip
    """Debug a function of a stage."""
    if not 0 <= budget < 1 << 30:
        raise click.UsageError("--budget takes a number of MiB from 0 on")
    check_alone(calls, (func, input_, shape))
    commands = commands_of(script, (input, calls))
    register_files(packed)  # a notation is read with the relations and primitives of these files
    session = session_to_run(input, passes, stage, profile, const, (func,) if func is not None else ())
    last = session.stages[-1]
    start = started(session, calls, (func, input_, shape, max_input), private)
    most = budget << 20 or None
    debugger = interruptible(
        lambda interrupt: Debugger(
            start.module, start.name, start.args, session.cache, interrupt, private, most
        )
    )
    opened = open_debug_session(session, debugger, last.number, start.program)
    show = printer("debug", format, answer_data, answer_lines)
    show("", opened.stop())
    console = Console(opened, lambda line: _executed(opened, line), show, DEBUG_COMMANDS)
    return console.run(commands, script or "-", format == "text")


def _executed(session: DebugSession, line: str) -> Answer:
    """The answer to a command. Ctrl+c stops a move and keeps the session."""
    answers: list[Answer] = []
    problems: list[BaseException] = []
    is_done = threading.Event()  # join() of Python 3.11 takes an interrupted wait for the end of the thread

    def work() -> None:
        try:
            with compiling(session.debugger.machine.kernels):
                answers.append(execute(session, line))
        except BaseException as raised:  # noqa: BLE001  # raised again below
            problems.append(raised)
        finally:
            is_done.set()

    interrupt: Interrupt = session.debugger.interrupt
    interrupt.clear()
    threading.Thread(target=work, name="debug", daemon=True).start()
    try:
        is_done.wait()
    except KeyboardInterrupt:
        interrupt.cancel()
        if not is_done.wait(PATIENCE):
            output.say(STUCK, err=True)
            is_done.wait()
    if problems:
        raise problems[0]
    return answers[0]
