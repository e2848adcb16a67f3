"""A table of commands of a prompt: found by name, short form or unique beginning, and run on a session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.session.debug_places import near, refused
from relax_explorer.core.session.debug_session import Answer

_S = TypeVar("_S")


@dataclass(frozen=True, slots=True)
class DebugCommand(Generic[_S]):
    """One command: its name, its arguments, one sentence, its function, and its short forms."""

    name: str
    arguments: str
    doc: str
    handler: Callable[[_S, str], Answer]
    short: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        """The name with its arguments."""
        return f"{self.name} {self.arguments}".rstrip()


def found_command(commands: Sequence[DebugCommand[_S]], word: str) -> DebugCommand[_S]:
    """The command with this name, short form or unique beginning of its name. Raises Failure."""
    by_short = {short: item for item in commands for short in (item.name, *item.short)}
    exact = by_short.get(word)
    if exact is not None:
        return exact
    starts = [item for item in commands if item.name.startswith(word.lower())]
    if len(starts) == 1:
        return starts[0]
    if starts:
        names = ", ".join(item.name for item in starts)
        raise refused(f"{word!r} is ambiguous: {names}", "write more of the name")
    raise refused(f"there is no command {word!r}", near(word.lower(), by_short, "`help` lists the commands"))


def help_on(commands: Sequence[DebugCommand[Any]], text: str) -> Answer:
    """The answer to `help`: all commands, or the one that is named. Raises Failure."""
    return Answer("help", {"commands": [found_command(commands, text)] if text else list(commands)})


def execute_from(commands: Sequence[DebugCommand[_S]], session: _S, line: str) -> Answer:
    """Run one command line. A wrong command is answered with its problem, and changes nothing."""
    word, _, rest = line.strip().partition(" ")
    if not word or word.startswith("#"):
        return Answer("nothing")
    try:
        return found_command(commands, word).handler(session, rest.strip())
    except Failure as failure:
        return Answer("refused", {}, failure.diagnostics)
