"""The stages of a build: programs in files, parsed when they are first needed."""

from __future__ import annotations

import ast
import mmap
import re
import textwrap
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.diagnostics import Diagnostic, ParseError
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.source import Source, with_line_feeds
from relax_explorer.core.syntax.context import Kernels
from relax_explorer.core.syntax.finder import Found, programs, without_escapes
from relax_explorer.core.syntax.parser import parse
from relax_explorer.core.syntax.python_tree import python_text, python_tree
from relax_explorer.core.syntax.surroundings import NOTHING

# -- lineages --------------------------------------------------------------------------------------------------------
# The lineages of a recorded build: the module that is built, and what was recorded beside it.
#
# During `tvm.compile` a recorder hears of other modules, too: helpers that a pass compiles on the way, the kernels
# alone once the host build has taken them over, and pass managers, whose result is that of their last pass. Only the
# stages of the main lineage are stages of a value. A recorder that knows the nesting says so; from files alone it is
# told by what the stages hold: a helper's functions replace those of the module, which come back later.


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
    """The lineage of each stage of a build, derived from the contents of the stages."""
    start = next((n for n, item in enumerate(stages) if item.contents.relax), None)
    if start is None:  # a build of kernels
        return [Kind.MANAGER if _is_manager(stages, n, n - 1) else Kind.MAIN for n in range(len(stages))]
    found: list[Kind] = [Kind.HELPER if _is_whole(item.contents) else Kind.MAIN for item in stages[:start]]
    last = start
    for number in range(start, len(stages)):
        kind = Kind.MAIN if number == start else _kind(stages, number, last)
        if kind is Kind.OTHER and found.count(Kind.MAIN) > 1:
            return [*found, *[kind] * (len(stages) - number)]
        kind = Kind.MAIN if kind is Kind.OTHER else kind  # one stage alone is no build
        found.append(kind)
        last = number if kind is Kind.MAIN and _is_whole(stages[number].contents) else last
    return found


def _is_whole(contents: Contents) -> bool:
    """True if the contents of a stage are whole: its text was not cut off."""
    return contents.is_empty or (bool(contents.relax or contents.kernels) and not contents.is_cut)


def _kind(stages: Sequence[Recorded], number: int, last: int) -> Kind:
    """The lineage of a stage, whose module was last seen in the stage `last`."""
    if _is_manager(stages, number, last):
        return Kind.MANAGER
    here, before = stages[number].contents, stages[last].contents
    if _ends_early(stages, number, last):
        return Kind.CUT
    if stages[number].key == stages[last].key or not _is_whole(here):
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
    return last >= 0 and is_manager(name) and stages[number].key == stages[last].key


def is_manager(name: str) -> bool:
    """True for the name of a pass manager."""
    return _MANAGER.fullmatch(name) is not None


def _returns(stages: Sequence[Recorded], number: int, before: Contents, least: float) -> bool:
    """True if the module comes back behind a stage: its functions, and at least a share of its lines."""
    return any(
        item.contents.relax & before.relax
        and (item.contents.is_lowered or not before.is_lowered)
        and (not least or item.contents.likeness(before) >= least)
        for item in stages[number + 1 :]
    )


# -- long logs -------------------------------------------------------------------------------------------------------
# Logs that are too long to be held: they are searched on the disk, and each program is read when it is needed.


LONG = 32 << 20
"""Bytes from which on a text is searched in pieces."""

_PERHAPS = re.compile(
    rb"@(?:[\w.]{0,20}ir_module|(?:[\w.]{0,16}(?:R|relax|T|tirx?))\.(?:function|prim_func))\b"
)
_ABOVE = 64 << 10  # bytes before a program in which its heading and declarations stand
_MOST = 64 << 20  # bytes of one program


@dataclass(frozen=True, slots=True)
class InLog:
    """A program in a long log: its bytes, the lines above them, and the digest of its text."""

    path: str
    start: int
    end: int
    above: int
    digest: bytes = b""

    def read(self) -> Found:
        """The program. Raises ParseError if the file has changed since it was found."""
        with Path(self.path).open("rb") as file:
            file.seek(self.start)
            found = next(iter(_found(file.read(self.end - self.start))), None)
        if found is None or _digest(found) != self.digest:
            text = f"{self.path} has changed since it was opened"
            raise ParseError(Diagnostic(codes.UNREADABLE, text, help="open it again"))
        return found


def is_long(path: str) -> bool:
    """True for a text that is searched in pieces. Other formats are recognised by their first bytes."""
    place = Path(path)
    try:
        if not place.is_file() or place.stat().st_size <= LONG:
            return False
        with place.open("rb") as file:
            head = file.read(4096)
    except OSError:
        return False
    return b"\x00" not in head and not head.lstrip().startswith((b"{", b"<", b"PK"))


def programs_in(path: str) -> Iterator[tuple[InLog, Found]]:
    """The programs of a long log, one after the other. Whoever keeps none of them needs the memory of one."""
    with Path(path).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        low = lines = counted = 0
        hit = _PERHAPS.search(data)
        while hit is not None:
            start = max(low, data.rfind(b"\n", 0, max(hit.start() - _ABOVE, 0)) + 1)
            following = _PERHAPS.search(data, hit.end())
            while following is not None and not data[following.start() : following.end()].endswith(b"module"):
                following = _PERHAPS.search(data, following.end())
            stop = len(data) if following is None else data.rfind(b"\n", 0, following.start()) + 1
            stop = min(max(stop, hit.end()), start + _MOST)
            lines, counted = lines + _lines(data, counted, start), start
            low = stop
            for found in _found(data[start:stop])[:1]:
                end = start + _length(data[start:stop], found)
                yield InLog(path, start, end, lines, _digest(found)), found
                low = end
            hit = _PERHAPS.search(data, max(low, hit.end()))


def _found(data: bytes) -> list[Found]:
    return programs(without_escapes(with_line_feeds(data.decode("utf-8", "replace"))))


def _digest(found: Found) -> bytes:
    return blake2b(found.body.encode("utf-8", "replace"), digest_size=16).digest()


def _length(data: bytes, found: Found) -> int:
    """The number of bytes up to the end of a program."""
    at = -1
    for _ in range(found.last):
        at = data.find(b"\n", at + 1)
        if at < 0:
            return len(data)
    return at + 1


def _lines(data: mmap.mmap, start: int, end: int) -> int:
    """The number of line ends between two places."""
    size = 1 << 22
    return sum(data[at : min(at + size, end)].count(b"\n") for at in range(start, end, size))


# -- stages ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class BuildTexts:
    """The different texts of a build by their keys, and the kernels in them."""

    texts: dict[object, StageText] = field(default_factory=dict)
    kernels: Kernels = field(default_factory=dict)


class StageText:
    """A program in a file. `above` lines of the file stand before the text that it was found in.

    Without `found` the text is the whole of the file. `failure` tells why a file has no text. A program in a long log is read again
    each time, so that only its module stays in memory.
    """

    def __init__(
        self,
        text: str,
        file: str,
        found: Found | InLog | None = None,
        above: int = 0,
        failure: ParseError | None = None,
    ) -> None:
        self._text, self.file, self._found, self.above, self._failure = text, file, found, above, failure
        self._known: BuildTexts | None = None

    def shared(self, known: BuildTexts) -> StageText:
        """This text, as one of a build: equal texts and equal kernels are read once."""
        known.texts.setdefault(self.key, self)
        self._known = known
        return self

    @property
    def found(self) -> Found | None:
        """The program in the file; None if it is the whole of it."""
        return self._found.read() if isinstance(self._found, InLog) else self._found

    @property
    def text(self) -> str:
        """The program alone, as it stands in the file."""
        found = self.found
        return self._text if found is None else found.body

    @property
    def key(self) -> object:
        """Equal for texts with the same program."""
        if self._failure is not None:
            return id(self)
        if isinstance(self._found, InLog):
            return self._found.digest
        return self.text if self._found is None or self._found.around == NOTHING else (self.text, id(self))

    @property
    def lines(self) -> tuple[int, int]:
        """The first and the last line in the file."""
        found = self.found
        if found is None:
            return 1, self.text.count("\n") + 1
        return found.first + self.above, found.last + self.above

    @cached_property
    def module(self) -> IRModule:
        """The module. Raises ParseError if the text is no program."""
        if self._failure is not None:
            raise self._failure
        return self.parsed()

    def parsed(self) -> IRModule:
        """The module of the text, or that of an equal text of the build. Raises ParseError."""
        if self._known is None:
            return parse(self._source, self.file)
        first = self._known.texts[self.key]
        return parse(self._source, self.file, kernels=self._known.kernels) if first is self else first.module

    @property
    def _source(self) -> Source | str:
        found = self.found
        return self.text if found is None else found.source(self.file, self.above)

    def read_in(self, dialect: str) -> IRModule:
        """The module, read in a dialect that the text does not tell. Raises ParseError."""
        if self._failure is not None:
            raise self._failure
        return parse(self._source, self.file, dialect=dialect)

    def __reduce__(self) -> tuple[Any, ...]:
        """Other processes get the text, and parse it there."""
        return StageText, (self._text, self.file, self._found, self.above, self._failure)


@dataclass(frozen=True, slots=True)
class RecordedPass:
    """What a recording tells of the pass that made a stage.

    `lineage` is the module that it was applied to, by process and number, and `kind` what that is; a helper is made by the pass `of`.
    `inside` are the passes around it. `place` is where the user's script ran the outermost of them.
    """

    lineage: tuple[int, int]
    kind: Kind
    of: str = ""
    inside: tuple[str, ...] = ()
    is_input: bool = False
    is_unchanged: bool = False
    seconds: float = 0.0
    place: str = ""

    @property
    def run_by(self) -> str:
        """What ran the pass: `build.py:12 › sequential`; empty if nothing is told."""
        return " › ".join([*filter(None, [self.place]), *self.inside])


class Stage:
    """One stage: its number, the pass that made it, its module, and the file that holds it. `recorded` is what a recording tells of it.

    It is sent to other processes as text, and parsed there when it is needed.
    """

    def __init__(
        self,
        number: int,
        made_by: str,
        module: IRModule | StageText | str,
        file: str = "",
        recorded: RecordedPass | None = None,
    ) -> None:
        self.number, self.made_by, self.file, self.recorded = number, made_by, file, recorded
        self._given = StageText(module, file or str(self)) if isinstance(module, str) else module

    @property
    def module(self) -> IRModule:
        """The module. Raises ParseError if the text is no program."""
        return self._given.module if isinstance(self._given, StageText) else self._given

    @property
    def text(self) -> str:
        """The program as text, with its constants."""
        return self._given.text if isinstance(self._given, StageText) else self._given.script()

    @property
    def origin(self) -> StageText | None:
        """The text in the file; None for a module that was made."""
        return self._given if isinstance(self._given, StageText) else None

    @property
    def entry(self) -> str:
        """The function to run if none is named."""
        return Snapshot(self.number, self.made_by, self.module).entry

    def __str__(self) -> str:
        return f"{self.number} {self.made_by}"

    def __reduce__(self) -> tuple[Any, ...]:
        return Stage, (self.number, self.made_by, self.origin or self.text, self.file)


@dataclass(frozen=True, slots=True)
class Aside:
    """Stages beside the main lineage: of a helper that the pass `of` compiles, kernels alone, of a pass manager, or of another build.

    They stand before the main stage with the number `before`, or behind all of them (None). `path` opens them as a build of their
    own. A folder inside of a folder of stages has the kind None; its stages are counted, and read when it is opened.
    """

    kind: Kind | None
    stages: tuple[Stage, ...]
    before: int | None
    path: str
    of: str = ""
    count: int = 0

    @property
    def numbers(self) -> str:
        """The numbers of its stages: `14` or `20–78`."""
        first, last = self.stages[0].number, self.stages[-1].number
        return str(first) if first == last else f"{first}–{last}"


# -- distinct --------------------------------------------------------------------------------------------------------
# The problems of all stages, each once: a pass hands most of them on.


Distinct = tuple[Snapshot, Diagnostic, tuple[Snapshot, ...]]
"""The first stage that has a problem, the problem, and the later stages that have it too."""
S = TypeVar("S", Snapshot, Stage)


def distinct(found: Iterable[tuple[S, Diagnostic]]) -> tuple[tuple[S, Diagnostic, tuple[S, ...]], ...]:
    """Each problem at the first stage that has it. Errors come first, notes last.

    A problem is the same if its code, its sentence and the line it points at are: passes move lines.
    """
    told: dict[tuple[str, str, str, int], tuple[S, Diagnostic, list[S]]] = {}
    counts: Counter[tuple[int, str, str, str]] = Counter()
    for stage, problem in found:
        span = problem.span
        line = "" if span is None else span.source.line(span.line).strip()
        same: tuple[str, str, str] = (problem.code.id, problem.message, line)
        counts[stage.number, *same] += 1
        key = (*same, counts[stage.number, *same])
        if key in told:
            told[key][2].append(stage)
        else:
            told[key] = (stage, problem, [])
    ordered = sorted(told.values(), key=lambda item: -item[1].level)
    return tuple([(stage, problem, tuple(later)) for stage, problem, later in ordered])
