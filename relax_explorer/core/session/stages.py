"""The stages of a build: programs in files, parsed when they are first needed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from relax_explorer.core.diagnostics import ParseError
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.lineages import Kind
from relax_explorer.core.session.long_logs import InLog
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.source import Source
from relax_explorer.core.syntax.excerpt import NOTHING
from relax_explorer.core.syntax.finder import Found
from relax_explorer.core.syntax.parser import Kernels, parse


@dataclass(slots=True, eq=False)
class Known:
    """The different texts of a build by their keys, and the kernels in them."""

    texts: dict[object, StageText] = field(default_factory=dict)
    kernels: Kernels = field(default_factory=dict)


class StageText:
    """A program in a file. `above` lines of the file stand before the text that it was found in.

    Without `found` the text is the whole of the file. `failure` tells why a file has no text. A program in a long log is read again
    each time, so that only its module is held.
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
        self._known: Known | None = None

    def shared(self, known: Known) -> StageText:
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
            return 1, self._text.count("\n") + 1
        return found.first + self.above, found.last + self.above

    @cached_property
    def module(self) -> IRModule:
        """The module. Raises ParseError if the text is no program."""
        if self._failure is not None:
            raise self._failure
        if self._known is None:
            return parse(self._source, self.file)
        first = self._known.texts[self.key]
        return parse(self._source, self.file, kernels=self._known.kernels) if first is self else first.module

    @property
    def _source(self) -> Source | str:
        found = self.found
        return self._text if found is None else found.source(self.file, self.above)

    def read_in(self, dialect: str) -> IRModule:
        """The module, read in a dialect that the text does not tell. Raises ParseError."""
        if self._failure is not None:
            raise self._failure
        return parse(self._source, self.file, dialect=dialect)

    def __reduce__(self) -> tuple[Any, ...]:
        """Other processes get the text, and parse it there."""
        return StageText, (self._text, self.file, self._found, self.above, self._failure)


class Stage:
    """One stage: its number, the pass that made it, its module, and the file that holds it.

    It is sent to other processes as text, and parsed there when it is needed.
    """

    def __init__(self, number: int, made_by: str, module: IRModule | StageText | str, file: str = "") -> None:
        self.number, self.made_by, self.file = number, made_by, file
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
