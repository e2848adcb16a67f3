"""`debug` and `compare --step`: sessions at a prompt, or by a script of commands."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import click

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.session.command import Command
from relax_explorer.core.session.debug_commands import DEBUG_COMMANDS, execute
from relax_explorer.core.session.debug_session import (
    Answer,
    DebugSession,
    execute_from,
    found_command,
    open_debug_session,
)
from relax_explorer.core.session.lockstep import LOCKSTEP_COMMANDS, Lockstep, LockstepSession
from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.input_options import register_files
from relax_explorer.ui.cli.interruptible import compiling, interruptible
from relax_explorer.ui.cli.opening import session_to_run, short_input
from relax_explorer.ui.cli.output import Result
from relax_explorer.ui.cli.run import check_alone, started
from relax_explorer.viz.debug_text import WIDTH, answer_data, answer_lines
from relax_explorer.viz.visible import visible

PROMPT = "(rxe) "


class Ending(Protocol):
    """A session that a command can end."""

    is_over: bool

    def names(self, kind: str) -> Iterable[str]:
        """What may stand for an argument of a kind: variables, functions."""


def commands_of(script: str | None, sources: Sequence[str | None]) -> list[str] | None:
    """The lines of a script, or of standard input; None for a terminal. `sources` are the other files to read."""
    is_prompt = script is None and sys.stdin.isatty()
    if [*sources, script or "-"].count("-") > 1:
        raise click.UsageError("standard input is read once: give the commands in a file, --script FILE")
    return None if is_prompt else short_input("--script", script or "-").splitlines()


@dataclass(frozen=True)
class Console:
    """A session with the function that runs its commands, and the schema of their answers."""

    session: Ending
    execute: Callable[[str], Answer]
    schema: str
    commands: Sequence[Command[Answer]]

    def run(self, first: Answer, lines: Sequence[str] | None, name: str) -> int:
        """Show where the session stands, then run the lines of the script `name`, or those typed at a prompt. Returns the exit status."""
        self.show("", first)
        return self._prompt() if lines is None else self._script(lines, name)

    def show(self, command: str, answer: Answer) -> None:
        """Print the answer to a command as lines of text, or as a line of JSON."""

        def lines() -> Iterator[str]:
            yield from answer_lines(
                answer, shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH
            )

        data = {"command": command, **answer_data(answer)} if output.is_json() else {}
        output.show_answer(Result(self.schema, data, lines()))

    def _script(self, lines: Sequence[str], name: str) -> int:
        """Run the commands up to a wrong one. After ctrl+c, the rest is run, but the status is that of an interruption."""
        status = output.OK
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            output.say_lines([f"{PROMPT}{line.strip()}"])
            answer = self.execute(line)
            self.show(line.strip(), answer)
            if answer.kind == "refused":
                output.say(f"{name}:{number}: the script ends at a wrong command", err=True)
                return output.USAGE
            if answer.data.get("reason") == "cancelled":
                status = output.INTERRUPTED
            if self.session.is_over:
                break
        return status

    def choices(self, head: str, word: str) -> list[str]:
        """What completes a word behind the head of a line: commands, then what the argument takes."""
        words, commands = head.split(), [command.name for command in self.commands]
        if not words:
            return [f"{name} " for name in commands if name.startswith(word)]
        try:
            found = found_command(self.commands, words[0]).argument(len(words))
        except Failure:
            return []
        if found is None:
            return []
        names = commands if found.kind == "command" else [*found.choices, *self.session.names(found.kind)]
        return [name for name in names if name.startswith(word)]

    def _prompt(self) -> int:
        """Read commands from the terminal. An empty line repeats the last one."""
        last = ""
        _complete(self.choices)
        for line in _typed():
            last = line.strip() or last
            self.show(last, self.execute(last))
            if self.session.is_over:
                break
        return output.OK


def _typed() -> Iterator[str]:
    """The lines typed at the prompt, up to ctrl+d. Ctrl+c drops a line."""
    while True:
        try:
            yield input(PROMPT)
        except KeyboardInterrupt:
            output.say("")
        except EOFError:
            output.say("")
            return


def _complete(choices: Callable[[str, str], Sequence[str]]) -> None:
    """Let Tab complete a word by what stands before it, where the terminal library is there."""
    try:
        import readline
    except ImportError:
        return

    def completion(text: str, number: int) -> str | None:
        found = choices(readline.get_line_buffer()[: readline.get_begidx()], text)
        return found[number] if number < len(found) else None

    readline.set_completer(completion)
    readline.set_completer_delims(" ")
    readline.parse_and_bind("tab: complete")


# -- debug -----------------------------------------------------------------------------------------------------------
# `debug`: a debugging session at a prompt, or by a script of commands.


STUCK = (
    "the step goes on: one call of numpy or of a packed function takes long; ctrl+c again ends the session"
)


def debug(
    input: str, func: str | None, passes: str | None, input_: tuple[str, ...], shape: tuple[str, ...], max_input: float,
    budget: int, script: str | None, profile: str, packed: tuple[str, ...], private: bool,
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
    console = Console(opened, lambda line: _executed(opened, line), "debug", DEBUG_COMMANDS)
    return console.run(opened.stop(), commands, script or "-")


def _executed(session: DebugSession, line: str) -> Answer:
    """The answer to a command. Ctrl+c stops a move and keeps the session."""

    def work(_: Interrupt) -> Answer:
        with compiling(session.debugger.machine.kernels):
            return execute(session, line)

    interrupt: Interrupt = session.debugger.interrupt
    interrupt.clear()
    answer: Answer = interruptible(work, interrupt, STUCK)
    return answer


# -- stepping --------------------------------------------------------------------------------------------------------
# `compare --step`: a walk through two runs at a prompt, or by a script of commands.


def walk(runs: Lockstep, names: tuple[str, str], commands: Sequence[str] | None, script: str) -> int:
    """Walk through two runs. The exit status tells if their results differ."""
    a, b = [visible(name, 200) for name in names]
    head = f"A {a}\nB {b}\nfunction {runs.trial.function}, {visible(str(runs.trial.sample), 200)}"
    output.say_lines([head])
    session = LockstepSession(runs)
    console = Console(
        session, lambda line: execute_from(LOCKSTEP_COMMANDS, session, line), "lockstep", LOCKSTEP_COMMANDS
    )
    status = console.run(session.stop(), commands, script)
    return status or (output.OK if runs.verdict.equal else output.FOUND)
