"""Which requirements of the language have a test, and whether it passes: `pytest --spec-coverage`."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_ITEMS = Path(__file__).resolve().parent.parent / "data" / "language_items.tsv"
_NAME = re.compile(r"\b(?:GRAM|VAL|SCOPE|NORM|WF|TYPE|SI|PRIM|PURE|OPS)-\d+[a-z]?\b")


@cache
def requirements() -> dict[str, str]:
    """Every requirement: identifier → sentence, in the order of the list."""
    lines = _ITEMS.read_text(encoding="utf-8").splitlines()
    return {name: sentence for name, _, sentence in (line.split("\t") for line in lines)}


def items_in(text: str) -> list[str]:
    """The identifiers that a heading or the name of a test mentions."""
    return _NAME.findall(text)


class Coverage:
    """Collects the outcomes of the tests whose names mention requirements."""

    def __init__(self) -> None:
        self.passed: set[str] = set()
        self.failed: set[str] = set()

    def record(self, name: str, when: str, outcome: str) -> None:
        """Note how one phase of a test ended."""
        if outcome == "failed":
            self.failed.update(items_in(name))
        elif when == "call" and outcome == "passed":
            self.passed.update(items_in(name))

    def lines(self) -> list[str]:
        """A line per group, then one for each requirement that fails or has no test."""
        groups: dict[str, list[str]] = {}
        for name in requirements():
            groups.setdefault(name.partition("-")[0], []).append(name)
        good = self.passed - self.failed
        table = [
            f"{group:<6} {sum(name in good for name in names):>3} of {len(names):>3} tested and passing"
            for group, names in groups.items()
        ]
        table.append(f"{'all':<6} {len(good)} of {len(requirements())}")
        for name, sentence in requirements().items():
            if name not in good:
                what = "FAILS" if name in self.failed else "has no test that ran"
                table.append(f"{name} {what}: {sentence[:100]}")
        return table
