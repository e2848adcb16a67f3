"""`debug`: a debugging session at a prompt, or by a script of commands."""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import click

from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.session.debug_commands import DEBUG_COMMANDS, execute
from relax_explorer.core.session.debug_session import Answer, DebugSession, open_debug_session
from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.calling import last_call
from relax_explorer.ui.cli.interruptible import PATIENCE, interruptible
from relax_explorer.ui.cli.opening import session_to_run
from relax_explorer.ui.cli.packed_files import register_files
from relax_explorer.ui.cli.progress import compiling
from relax_explorer.ui.cli.run import check_alone, most_bytes, relax_function, run_inputs
from relax_explorer.viz.debug_text import WIDTH, answer_data, answer_lines

PROMPT = "(rxe) "
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
    is_prompt = script is None and sys.stdin.isatty()
    if [input, script or "-", calls].count("-") > 1:
        raise click.UsageError("standard input is read once: give the commands in a file, --script FILE")
    commands = None if is_prompt else _commands(script or "-")
    session = session_to_run(input, passes, stage, profile, const)
    last = session.stages[-1]
    register_files(packed)
    if calls is not None:
        name, args = last_call(session, calls, private, most_bytes(max_input))
    else:
        name = func or last.entry
        args = run_inputs(relax_function(last.module, name), input_, shape, max_input)
    most = budget << 20 or None
    debugger = interruptible(
        lambda interrupt: Debugger(last.module, name, args, session.cache, interrupt, private, most)
    )
    opened = open_debug_session(session, debugger, last.number)
    _print("", opened.stop(), format)
    if commands is None:
        return _prompt(opened, format)
    return _script(opened, commands, script or "-", format)


def _commands(script: str) -> list[str]:
    """The lines of a script."""
    try:
        data = sys.stdin.buffer.read() if script == "-" else Path(script).read_bytes()
        return data.decode("utf-8").splitlines()
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "it is not UTF-8 text"
        raise click.UsageError(f"--script {script}: {reason}") from None


def _script(session: DebugSession, commands: list[str], name: str, format: str) -> int:
    """Run the commands up to a wrong one. After ctrl+c, the rest is run, but the status is that of an interruption."""
    status = output.OK
    for number, line in enumerate(commands, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if format == "text":
            output.say(f"{PROMPT}{line.strip()}")
        answer = _executed(session, line)
        _print(line.strip(), answer, format)
        if answer.kind == "refused":
            output.say(f"{name}:{number}: the script ends at a wrong command", err=True)
            return output.USAGE
        if answer.data.get("reason") == "cancelled":
            status = output.INTERRUPTED
        if session.is_over:
            break
    return status


def _prompt(session: DebugSession, format: str) -> int:
    """Read commands from the terminal. An empty line repeats the last one."""
    last = ""
    for line in _typed():
        last = line.strip() or last
        _print(last, _executed(session, last), format)
        if session.is_over:
            break
    return output.OK


def _typed() -> Iterator[str]:
    """The lines typed at the prompt, up to ctrl+d. Ctrl+c drops a line."""
    _complete()
    while True:
        try:
            yield input(PROMPT)
        except KeyboardInterrupt:
            output.say("")
        except EOFError:
            output.say("")
            return


def _complete() -> None:
    """Let Tab complete the names of commands, where the terminal library is there."""
    try:
        import readline
    except ImportError:
        return
    names = [command.name for command in DEBUG_COMMANDS]

    def completion(text: str, number: int) -> str | None:
        found = [name for name in names if name.startswith(text)]
        return found[number] if number < len(found) else None

    readline.set_completer(completion)
    readline.set_completer_delims(" ")
    readline.parse_and_bind("tab: complete")


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


def _print(command: str, answer: Answer, format: str) -> None:
    if format == "json":
        row = {"schema": "rxe.debug/1", "command": command, **answer_data(answer)}
        output.say(output.json_text(row))
        return
    lines = answer_lines(answer, shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH)
    if lines:
        output.say("\n".join(lines))
