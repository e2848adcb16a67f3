"""Passes of others: those of installed packages (entry point group `relax_explorer.passes`), and those that a program registers.

`importlib.metadata` takes 37 ms to import, so packages are asked only when all passes are wanted, or an unknown one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from relax_explorer.core.codes import passes as codes
from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.passes.contract import KINDS, Option, Pass

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "relax_explorer.passes"
REGISTERED: dict[str, Pass] = {}  # passes that a program registered


class Installed(NamedTuple):
    """The passes of installed packages by name, and what is wrong with the others."""

    passes: dict[str, Pass]
    problems: tuple[Diagnostic, ...]


@cache
def installed(taken: frozenset[str]) -> Installed:
    """The passes of installed packages. Names in `taken` stay what they are."""
    from importlib.metadata import entry_points

    passes: dict[str, Pass] = {}
    problems: list[Diagnostic] = []
    for entry in sorted(entry_points(group=GROUP), key=_place):
        try:
            found = _loaded(entry)
        except Exception as error:  # noqa: BLE001  # a package of others may raise anything; the other passes are still of interest
            problems.append(_broken(entry, f"{type(error).__name__}: {error}"))
            continue
        for item in found:
            wrong = mistake(item, taken | passes.keys())
            if wrong:
                problems.append(_broken(entry, wrong))
            elif isinstance(item, Pass):
                passes[item.name] = item
    return Installed(passes, tuple(problems))


def _place(entry: EntryPoint) -> tuple[str, str]:
    """The order does not depend on that of the folders of packages."""
    return entry.name, entry.value


def _loaded(entry: EntryPoint) -> list[object]:
    """What an entry point names: one pass, or several in a list."""
    value = entry.load()
    several = isinstance(value, Iterable) and not isinstance(value, (str, bytes))
    return list(value) if several else [value]


def _broken(entry: EntryPoint, reason: str) -> Diagnostic:
    package = entry.dist.name if entry.dist is not None else "a package"
    text = f"the entry point {entry.name!r} of {package} ({entry.value}) gives no pass: {reason}"
    return Diagnostic(codes.BROKEN_ENTRY_POINT, text, help=codes.BROKEN_ENTRY_POINT.fix)


def mistake(of: object, taken: Collection[str]) -> str:
    """Why a value cannot be a pass of that name; empty if it can."""
    if not isinstance(of, Pass):
        return f"{of!r:.80} is no pass; declare one with function_pass or module_pass"
    if not (isinstance(of.name, str) and of.name.isidentifier()):
        return f"{of.name!r} is not a valid pass name"
    if of.name in taken:
        return f"there is a pass or pipeline {of.name!r} already"
    if not of.doc:
        return f"{of.name} has no docstring; its first line is shown in lists"
    wrong = [option.name for option in of.options if not _is_option(option)]
    known = ", ".join(KINDS.values())
    return f"option {wrong[0]!r} of {of.name} needs a default that is {known}" if wrong else ""


def _is_option(option: Option) -> bool:
    return type(option.default) in KINDS
