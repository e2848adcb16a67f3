"""What a command of the table is: its name, one sentence, its arguments and examples."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument. It is positional if its name has no dash.

    `kind` is text, names (with commas), int, float, flag, switch (a flag with a `--no-` form), permission (a flag that is typed), source (a path
    to read), target (a path to write), address (of a server), pair (`name=value`, may be repeated), many (may be repeated), code (files to execute,
    may be repeated) or one of `choices`.
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
        return self.is_code or self.kind == "permission"

    @property
    def is_code(self) -> bool:
        """True for files that are executed."""
        return self.kind == "code"

    @property
    def may_repeat(self) -> bool:
        """True if the option may be given several times."""
        return self.kind in ("pair", "many", "code")

    @property
    def positional(self) -> bool:
        """True if the argument is positional."""
        return not self.name.startswith("-")


@dataclass(frozen=True, slots=True)
class Command:
    """One command: its name, one sentence, its arguments and examples."""

    name: str
    doc: str
    arguments: tuple[Argument, ...]
    examples: tuple[str, ...] = ()
    screen: str = ""  # the equivalent screen of the explorer

    def text(self, values: Mapping[str, Any]) -> str:
        """The command line with these arguments. Arguments with default values are omitted."""
        parts = ["relax-explorer", self.name]
        for argument in self.arguments:
            value = values.get(argument.key)
            if value is None or value == argument.default:
                continue
            if argument.positional:
                parts.append(shlex.quote(str(value)))
            elif argument.kind in ("flag", "permission"):
                parts.append(argument.name)
            elif isinstance(value, Mapping):
                parts += [f"{argument.name} {shlex.quote(f'{key}={item}')}" for key, item in value.items()]
            else:
                parts.append(f"{argument.name} {shlex.quote(str(value))}")
        return " ".join(parts)
