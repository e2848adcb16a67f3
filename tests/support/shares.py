"""How many results of a pass are TVM's, in the profile `tvm`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import astuple, dataclass

COLUMNS = ("as they stand", "by a row", "not a program", "unexplained")
LEAST = 0.95
"""The share of the results of each pass that are equal as they stand."""


@dataclass(frozen=True)
class Shares:
    """Numbers of results that a pass changes.

    `no_program` are those that TVM itself refuses, or whose print it does not read, whatever ours are: the share is that of the others.
    """

    equal: int = 0
    row: int = 0
    no_program: int = 0
    unexplained: int = 0

    def __add__(self, other: Shares) -> Shares:
        return Shares(*[a + b for a, b in zip(astuple(self), astuple(other), strict=True)])

    @property
    def changed(self) -> int:
        """How many results could be equal."""
        return self.equal + self.row + self.unexplained

    @property
    def is_enough(self) -> bool:
        """True if nearly all are equal as they stand."""
        return self.equal >= LEAST * self.changed

    def cells(self, name: str) -> dict[str, int]:
        """The counts of a row of a table, by row and column: `name|column`."""
        return {f"{name}|{column}": count for column, count in zip(COLUMNS, astuple(self), strict=True)}

    def __str__(self) -> str:
        share = f"{self.equal / self.changed:.1%}" if self.changed else "nothing changed"
        counts = [f"{count} {column}" for column, count in zip(COLUMNS, astuple(self), strict=True)]
        return f"{share} ({', '.join(counts)})"


def lines(cells: Counter[str]) -> Iterator[str]:
    """The rows of a table of shares, and their sum."""
    names = list(dict.fromkeys([cell.partition("|")[0] for cell in sorted(cells)]))
    found = {name: Shares(*[cells[f"{name}|{column}"] for column in COLUMNS]) for name in names}
    yield from [f"{name}: {shares}" for name, shares in found.items()]
    yield f"all: {sum(found.values(), Shares())}"
