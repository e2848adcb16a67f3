"""The lineages of a recorded build: the module that is built, and what was recorded beside it.

During `tvm.compile` a recorder hears of other modules, too: helpers that a pass compiles on the way, the kernels alone once the
host build has taken them over, and pass managers, whose result is that of their last pass. Only the stages of the main lineage are
stages of a value. A recorder that knows the nesting says so; from files alone it is told by what the stages hold: a helper's
functions replace those of the module, which come back later.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from relax_explorer.core.syntax.python_tree import python_text, python_tree

_FUNCTION = re.compile(r"@(?:\w+\.)*(function|prim_func)\b[^\n]*\n[ \t]*def[ \t]+(\w+)")
_EMPTY = re.compile(r"class[ \t]+\w+:\s*(?:#[^\n]*\s*)*pass\s*\Z")
_LOWERED = re.compile(r"R\.(?:builtin\.alloc_tensor|memory\.|vm\.)|vm\.builtin\.alloc_")
_MANAGER = re.compile(r"(?:\w+\.)*(?:sequential|\w*_?pipeline)")
_HEAD = 4096  # characters in which shape variables are declared
_UNLIKE, _ALIKE = 0.2, 0.6  # shares of equal lines


class Kind(StrEnum):
    """What a stage is in a build."""

    MAIN = "main"
    CUT = "cut"  # of the main lineage, but its text ends between two functions
    HELPER = "helper"
    KERNELS = "kernels"
    MANAGER = "manager"
    OTHER = "other"


class Contents:
    """What the text of a stage holds: names of functions, its lines, and how far it is lowered."""

    def __init__(self, text: str) -> None:
        found = _FUNCTION.findall(text)
        self.relax = frozenset(name for kind, name in found if kind == "function")
        self.kernels = frozenset(name for kind, name in found if kind != "function")
        self.is_empty = not found and _EMPTY.search(text) is not None
        self._text = text

    def forget_text(self) -> None:
        """Drop the text of a long log, after everything was found that may be asked for."""
        _ = self.is_lowered, self.is_cut, self.lines
        self._text = ""

    @cached_property
    def is_cut(self) -> bool:
        """True if the text ends inside of its last function: a file that was not written to its end."""
        start = self._text.rfind("@")
        function = textwrap.dedent(self._text[self._text.rfind("\n", 0, start) + 1 :]) if start >= 0 else ""
        if not _FUNCTION.match(function):
            return False
        declared = "\n".join([line for line in self._text[:_HEAD].split("\n") if "TypeVar(" in line])
        try:
            body = python_tree(python_text(f"{declared}\n{function}").text).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return True
        last = body[-1].body[-1] if body and isinstance(body[-1], ast.FunctionDef) else None
        return "R.function" in function.partition("\n")[0] and not isinstance(last, (ast.Return, ast.If))

    @cached_property
    def is_lowered(self) -> bool:
        """True if it allocates memory, or calls the virtual machine."""
        return _LOWERED.search(self._text) is not None

    @cached_property
    def lines(self) -> frozenset[str]:
        """Its lines, without indentation."""
        return frozenset(line.strip() for line in self._text.split("\n")) - {""}

    def likeness(self, other: Contents) -> float:
        """The share of lines that it has in common with another stage, from 0 to 1."""
        return len(self.lines & other.lines) / max(len(self.lines | other.lines), 1)


@dataclass(frozen=True, slots=True)
class Recorded:
    """One recorded stage for `kinds`: its pass, its contents, and a key that equal texts share."""

    made_by: str
    contents: Contents
    key: Hashable


def kinds(stages: Sequence[Recorded]) -> list[Kind]:
    """The lineage of each stage of a build, told from what the stages hold."""
    start = next((n for n, item in enumerate(stages) if item.contents.relax), None)
    if start is None:  # a build of kernels
        return [Kind.MANAGER if _is_manager(stages, n, n - 1) else Kind.MAIN for n in range(len(stages))]
    found: list[Kind] = [Kind.HELPER if _is_told(item.contents) else Kind.MAIN for item in stages[:start]]
    last = start
    for number in range(start, len(stages)):
        kind = Kind.MAIN if number == start else _kind(stages, number, last)
        if kind is Kind.OTHER and found.count(Kind.MAIN) > 1:
            return [*found, *[kind] * (len(stages) - number)]
        kind = Kind.MAIN if kind is Kind.OTHER else kind  # one stage alone is no build
        found.append(kind)
        last = number if kind is Kind.MAIN and _is_told(stages[number].contents) else last
    return found


def _is_told(contents: Contents) -> bool:
    """True if the contents of a stage could be told: its text was not cut off."""
    return contents.is_empty or (bool(contents.relax or contents.kernels) and not contents.is_cut)


def _kind(stages: Sequence[Recorded], number: int, last: int) -> Kind:
    """The lineage of a stage, whose module was last seen in the stage `last`."""
    if _is_manager(stages, number, last):
        return Kind.MANAGER
    here, before = stages[number].contents, stages[last].contents
    if _ends_early(stages, number, last):
        return Kind.CUT
    if stages[number].key == stages[last].key or not _is_told(here):
        return Kind.MAIN
    if here.relax & before.relax:
        if before.is_lowered and not here.is_lowered:
            return Kind.OTHER  # lowered programs do not become operators again: another build begins
        is_like = here.likeness(before) >= _UNLIKE
        return Kind.MAIN if is_like or not _returns(stages, number, before, _ALIKE) else Kind.HELPER
    if _returns(stages, number, before, 0.0):
        return Kind.HELPER
    if here.relax:
        is_renamed = bool(here.kernels & before.kernels) or here.likeness(before) >= _UNLIKE
        return Kind.MAIN if is_renamed else Kind.OTHER
    return Kind.KERNELS


def _ends_early(stages: Sequence[Recorded], number: int, last: int) -> bool:
    """True if a stage has some kernels of the module alone, and the next one has more again: its text ends between two lines.

    A helper has kernels of its own, and the host build has all of them.
    """
    here, before, following = [stages[n].contents for n in (number, last, min(number + 1, len(stages) - 1))]
    is_part = len(here.kernels) > 1 and here.kernels < before.kernels and not here.relax
    return is_part and last == number - 1 and here.kernels < following.kernels


def _is_manager(stages: Sequence[Recorded], number: int, last: int) -> bool:
    """True if a pass manager made a stage: it holds what its last pass left."""
    name = stages[number].made_by
    return last >= 0 and _MANAGER.fullmatch(name) is not None and stages[number].key == stages[last].key


def _returns(stages: Sequence[Recorded], number: int, before: Contents, least: float) -> bool:
    """True if the module comes back behind a stage: its functions, and at least a share of its lines."""
    return any(
        item.contents.relax & before.relax
        and (item.contents.is_lowered or not before.is_lowered)
        and (not least or item.contents.likeness(before) >= least)
        for item in stages[number + 1 :]
    )
