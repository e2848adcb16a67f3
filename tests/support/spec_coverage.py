"""The requirements of the language, the tests of each, and their outcomes: `pytest --spec-coverage`."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_ITEMS = Path(__file__).resolve().parent.parent / "data" / "language_items.tsv"
_UI_ITEMS = _ITEMS.with_name("ui_items.tsv")  # of the explorer; tests/ui/test_items.py names them
BITES = _ITEMS.with_name("bites.tsv")
_UI_BITES = _ITEMS.with_name("ui_bites.tsv")  # what was broken by hand, and noticed
_CHAPTERS = Path(__file__).resolve().parent.parent / "spec"
_NO_MUTANT = re.compile(r"No mutant applies to ([^:]+): (.+)")
_NAME = re.compile(
    r"\b(?:GRAM|VAL|SCOPE|NORM|WF|TYPE|SI|PRIM|PURE|OPS|EVAL|PHASE|REL|SHAPE|UI)-(?:\d+[a-z]?|[A-J]\d?)\b"
)


@cache
def requirements() -> dict[str, str]:
    """Every requirement: identifier → sentence, in the order of the list."""
    lines = [line for path in (_ITEMS, _UI_ITEMS) for line in path.read_text(encoding="utf-8").splitlines()]
    return {name: sentence for name, _, sentence in (line.split("\t") for line in lines)}


def items_in(text: str) -> list[str]:
    """The identifiers in a heading or in the name of a test."""
    return _NAME.findall(text)


@cache
def bites() -> dict[str, int]:
    """For each requirement, the number of mutants that make its cases fail, as `python -m tests.mutants --write` recorded it."""
    paths = [path for path in (BITES, _UI_BITES) if path.exists()]
    lines = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    return {name: int(noticed) for name, noticed, *_ in (line.split("\t") for line in lines)}


@cache
def without_mutants() -> dict[str, str]:
    """The requirements to which no mutant applies, with the reason from their chapter."""
    found = {}
    for path in sorted(_CHAPTERS.glob("*.md")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if match := _NO_MUTANT.match(line):
                found.update(dict.fromkeys(items_in(match[1]), match[2]))
    return found


class Coverage:
    """Collects the outcomes of the tests whose names contain requirements."""

    def __init__(self) -> None:
        self.passed: set[str] = set()
        self.failed: set[str] = set()

    def record(self, name: str, when: str, outcome: str) -> None:
        """Record the outcome of one phase of a test."""
        if outcome == "failed":
            self.failed.update(items_in(name))
        elif when == "call" and outcome == "passed":
            self.passed.update(items_in(name))

    def lines(self) -> list[str]:
        """A line per group, then one for each requirement that fails, has no test, or whose cases notice no mutant."""
        groups: dict[str, list[str]] = {}
        for name in requirements():
            groups.setdefault(name.partition("-")[0], []).append(name)
        good = self.passed - self.failed
        biting = {name for name in good if bites().get(name) or name in without_mutants()}
        table = [f"{'':<6} {'counted':>7} {'passing':>7} {'bites':>7} {'all':>7}"]
        for group, names in [*groups.items(), ("all", list(requirements()))]:
            noticed = sum(bool(bites().get(name)) for name in names)
            counts = (sum(name in biting for name in names), sum(name in good for name in names), noticed)
            table.append(f"{group:<6} " + " ".join(f"{count:>7}" for count in (*counts, len(names))))
        for name, sentence in requirements().items():
            if name not in biting:
                table.append(f"{name} {self._why_not(name)}: {sentence[:100]}")
        return table

    def _why_not(self, name: str) -> str:
        if name in self.failed:
            return "FAILS"
        return "notices no mutant" if name in self.passed else "has no test that ran"
