"""The differences from TVM's results that are promised for single programs: the lines that differ, or the code of a refusal.

`tests/data/differences/PASS.md` has a section for each difference: the options of the pass and the program, the first words of
its row in `differences.md`, and the change from TVM's result to ours, both as we print them. `python -m tests.oracle.pass_results
--update` writes them; a new section gets the row `?`, which a test refuses, until somebody has named the reason.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.support.pass_variants import variants
from tests.support.shares import Shares

FOLDER = Path(__file__).resolve().parent.parent / "data" / "differences"
UNKNOWN = "?"
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")
_FENCE = "~~~"


@dataclass(frozen=True)
class Patch:
    """A difference of one program: the row that it stands under, and a unified diff without context, or `refused CODE`."""

    row: str
    change: str

    @property
    def refused(self) -> str:
        """The code with which we refuse the program; empty if we do not."""
        return self.change.removeprefix("refused ") if self.change.startswith("refused ") else ""


def difference(theirs: str, ours: str) -> str:
    """The change from one text to another."""
    lines = difflib.unified_diff(theirs.splitlines(), ours.splitlines(), n=0, lineterm="")
    return "\n".join([line for line in lines if not line.startswith(("--- ", "+++ "))])


def patched(text: str, change: str) -> str | None:
    """A text after a change; None if the text does not have the lines that go."""
    given, result, at = text.splitlines(), list[str](), 0
    for start, old, new in _hunks(change):
        if given[start : start + len(old)] != old or start < at:
            return None
        result += [*given[at:start], *new]
        at = start + len(old)
    return "\n".join([*result, *given[at:]]) + "\n"


def _hunks(change: str) -> Iterable[tuple[int, list[str], list[str]]]:
    """The first line (from 0), the lines that go and those that come, for each part of a change."""
    found: list[tuple[int, list[str], list[str]]] = []
    for line in change.splitlines():
        if head := _HUNK.fullmatch(line):
            found.append((int(head[1]) - (head[2] != "0"), [], []))
        elif found:
            _, old, new = found[-1]
            (old if line.startswith("-") else new).append(line[1:])
    return found


@cache
def patches(name: str) -> dict[tuple[str, str], Patch]:
    """The differences of a pass by the title of the variant and of the program."""
    path = FOLDER / f"{name}.md"
    if not path.exists():
        return {}
    found = {}
    for section in path.read_text(encoding="utf-8").split("\n## ")[1:]:
        title, _, rest = section.partition("\n")
        of, _, program = title.partition(" | ")
        row, _, rest = rest.strip().partition(f"\n{_FENCE}\n")
        found[of, program] = Patch(row.strip(), rest.removesuffix(_FENCE).rstrip("\n"))
    return found


def write(name: str, found: dict[tuple[str, str], Patch]) -> None:
    """Write the differences of a pass; a pass without any has no file."""
    path = FOLDER / f"{name}.md"
    if not found:
        path.unlink(missing_ok=True)
        return
    FOLDER.mkdir(exist_ok=True)
    sections = [
        f"\n## {of} | {program}\n{patch.row}\n{_FENCE}\n{patch.change}\n{_FENCE}\n"
        for (of, program), patch in sorted(found.items())
    ]
    path.write_text(f"# {name}: from TVM's result to ours\n{''.join(sections)}", encoding="utf-8")
    patches.cache_clear()


@dataclass(frozen=True)
class Record:
    """What became of the programs that a pass changes here or in TVM, or that only we refuse: their titles, by variant.

    `no_program` has those of `equal` and `row` whose result TVM itself refuses, or whose print it does not read.
    """

    equal: tuple[str, ...] = ()
    row: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    no_program: tuple[str, ...] = ()

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of the verdict about each program."""
        return {title: kind for kind in ("equal", "row", "refused") for title in getattr(self, kind)}

    @property
    def shares(self) -> Shares:
        """How many programs there are of each kind."""
        apart = {*self.no_program}
        return Shares(len({*self.equal} - apart), len({*self.row} - apart), len(apart))


@cache
def records() -> dict[str, Record]:
    """What became of programs, by the title of the variant. It stays so."""
    path = FOLDER / "results.json"
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {
        of: Record(**{kind: tuple(titles) for kind, titles in kinds.items()}) for of, kinds in found.items()
    }


def write_records(found: dict[str, Record]) -> None:
    """Write what became of programs, for some variants anew."""
    records.cache_clear()  # another pass may have been written in between
    shown = {
        of: {kind: titles for kind, titles in vars(record).items() if titles}
        for of, record in {**records(), **found}.items()
    }
    text = json.dumps(shown, indent=0, sort_keys=True, ensure_ascii=False)
    (FOLDER / "results.json").write_text(text + "\n", encoding="utf-8")
    records.cache_clear()


def shares_of(name: str) -> Shares:
    """How many results of a pass there are of each kind, for all its variants."""
    return sum([records().get(of.title, Record()).shares for of in variants(name)], Shares())
