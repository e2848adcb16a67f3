"""A program cut out of a larger text, with the values that the text around it gives to names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.source import Source

Literal: TypeAlias = "int | float | str | bool | tuple[Literal, ...] | None"
"""A value that a text writes as a literal."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a text says of names outside of its programs.

    `values` are literals and arithmetic on them. `computed` are names whose values only running the text would tell, each with
    the reason as a phrase: `line 4 computes it: N = size()`. `lengths` are shape variables.
    """

    values: Mapping[str, Literal] = field(default_factory=dict)
    computed: Mapping[str, str] = field(default_factory=dict)
    lengths: Mapping[str, DType] = field(default_factory=dict)


NOTHING = Surroundings()


class Excerpt(Source):
    """A part of a file that the parser reads, behind `above` lines.

    `margins` are the numbers of columns that were cut off its lines: one for all, or one for each.
    """

    def __init__(
        self,
        text: str,
        filename: str,
        above: int,
        margins: int | Sequence[int] = 0,
        around: Surroundings = NOTHING,
    ) -> None:
        super().__init__(text, filename, above)
        self._margins, self.around = margins, around

    def margin(self, line: int) -> int:
        """The number of columns that were cut off a line of the file."""
        if isinstance(self._margins, int):
            return self._margins
        line -= self.above
        return self._margins[line - 1] if 0 < line <= len(self._margins) else 0
