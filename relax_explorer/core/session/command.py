"""A command: one declaration, from which all that calls, completes, explains and tests it is made.

* `Command` has a name, one sentence, arguments, and the function that runs it; besides, its short forms, examples and twin.
* `Argument` has a kind. Options of the shell and words of a prompt share the kinds, and what completes a word is found by its kind:
  `ui/cli/completing.py` for the shell, `ui/tui/completion.py` for the explorer.

There are four tables of commands. They differ in what a command runs on, and in what it returns:

* `ui/commands.py`: the commands of the shell, run with a value for each argument; they return a `Result`, which `ui/cli/output.py` shows as text
  or JSON, or the exit status. Click options, help, the settings that files may hold, and completion come from it.
  `run` names a function of `ui/cli`, imported at the first call.
* `ui/tui/typed.py`: the lines behind `:`, run on the explorer with the text behind the name. The menu, the palette, `:commands` and
  the twin in the footer come from it.
* `core/session/debug_commands.py` and `lockstep.py`: the commands of a prompt, run on its session with the text behind the
  name; they return an `Answer`, data that has a form as text and one as JSON (`viz/debug_text.py`).

A twin is the command line of the shell that does what a line of the explorer does; a command without one tells why. A key that does
what a line behind `:` does has its sentence in `ui/tui/keys.py`, and the command takes it from there.

A new command is one row of a table with one function. Its tests are those of the whole table.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

_R = TypeVar("_R", covariant=True)  # what a command returns


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument. It is positional if its name has no dash.

    `kind` is text, optional (a text that may be left out behind its name), int, float, flag, switch (a flag with a `--no-` form), permission
    (a flag that is typed), source (a path to read), sources (several), target (a path to write), address (of a server), pair (`name=value`,
    may be repeated), many (may be repeated), code (what is executed, may be repeated), interpreter (a program that is started), form (how
    the result is shown: the renderer takes it, not the handler), watch (a flag that the front end takes, too) or one of `choices`. Passes
    and codes are names with commas; stage, subject, variable and others tell what completes the argument.
    """

    name: str
    doc: str
    kind: str = "text"
    default: Any = None
    short: str = ""
    choices: tuple[str, ...] = ()
    required: bool = True
    metavar: str = ""

    @property
    def key(self) -> str:
        """The name as a Python identifier. An option that shares its name with a positional argument gets an underscore."""
        return "input_" if self.name == "--input" else self.name.removeprefix("--").replace("-", "_")

    @property
    def is_personal(self) -> bool:
        """True for paths, addresses and permissions: only the user sets them, never a settings file found in a folder."""
        return self.kind in ("source", "target", "address") or self.is_typed

    @property
    def is_typed(self) -> bool:
        """True if only the command line sets it: no settings file and no environment variable."""
        return self.is_code or self.kind in ("permission", "interpreter")

    @property
    def is_code(self) -> bool:
        """True for files that are executed."""
        return self.kind == "code"

    @property
    def may_repeat(self) -> bool:
        """True if the option may be given several times."""
        return self.kind in ("pair", "many", "sources", "code")

    @property
    def positional(self) -> bool:
        """True if the argument is positional."""
        return not self.name.startswith("-")


@dataclass(frozen=True, slots=True)
class Command(Generic[_R]):
    """One command: its name, one sentence, its function, its arguments, its short forms and examples.

    `twin` makes the command line of the shell that does the same; a text tells why there is none. `needs` is
    what must be open for it: program, plan (a program with a pipeline), or solver.
    """

    name: str
    doc: str
    run: Callable[..., _R]
    arguments: tuple[Argument, ...] = ()
    examples: tuple[str, ...] = ()
    short: tuple[str, ...] = ()
    twin: Callable[..., str] | str = ""
    needs: str = ""

    @property
    def usage(self) -> str:
        """The name with its arguments, as a prompt shows them."""
        return " ".join([self.name, *[argument.metavar for argument in self.arguments]])

    def refusal(self, text: str) -> str:
        """Why a line can't be run, if its first argument has choices and the text is none of them: `diff takes inline, only or off`."""
        first = self.argument(1)
        if first is None or not first.choices or text in first.choices or not (text or first.required):
            return ""
        return f"{self.name} takes {'' if first.required else 'nothing, or '}{either(first.choices)}"

    def argument(self, number: int) -> Argument | None:
        """The argument that word `number` belongs to, from 1; the last one takes the rest of the line. None if there is none."""
        return self.arguments[min(number, len(self.arguments)) - 1] if self.arguments else None

    def text(self, values: Mapping[str, Any]) -> str:
        """The command line with these arguments. Arguments with default values are omitted."""
        parts = ["relax-explorer", self.name]
        for argument in self.arguments:
            value = values.get(argument.key)
            if value is None or value == argument.default:
                continue
            if argument.positional:
                parts.append(shlex.quote(str(value)))
            elif argument.kind in ("flag", "permission", "watch"):
                parts.append(argument.name)
            elif isinstance(value, Mapping):
                parts += [f"{argument.name} {shlex.quote(f'{key}={item}')}" for key, item in value.items()]
            else:
                parts.append(f"{argument.name} {shlex.quote(str(value))}")
        return " ".join(parts)


def either(names: Sequence[str]) -> str:
    """`a, b or c`."""
    return " or ".join([*([", ".join(names[:-1])] if names[:-1] else []), *names[-1:]])


def word(metavar: str, kind: str = "text", choices: tuple[str, ...] = ()) -> Argument:
    """An argument of a command at a prompt; one in brackets may be omitted."""
    name = metavar.strip("[]…").lower()
    return Argument(name, "", kind, choices=choices, required=metavar[0] != "[", metavar=metavar)
