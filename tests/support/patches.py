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


@cache
def equal_results() -> dict[str, list[str]]:
    """Programs that a pass changes, and whose results are TVM's as they stand, by the title of the variant: they stay so."""
    found: dict[str, list[str]] = json.loads((FOLDER / "equal.json").read_text(encoding="utf-8"))
    return found


def write_equal(found: dict[str, list[str]]) -> None:
    """Write the programs whose results are equal, those of some variants anew."""
    path = FOLDER / "equal.json"
    FOLDER.mkdir(exist_ok=True)
    equal_results.cache_clear()  # another pass may have been written in between
    known = equal_results() if path.exists() else {}
    text = json.dumps({**known, **found}, indent=0, sort_keys=True, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
    equal_results.cache_clear()
