"""Programs with one mistake each have TVM's verdict in the profile `tvm`; `python -m tests.oracle.mistakes` asks about many."""

from __future__ import annotations

from collections import Counter

from tests.oracle.mistakes import compare
from tests.support.oracle import Oracle

LEAST = 99.8
"""The least share of equal verdicts on the programs that are changed, in percent."""
PAGES = 3
"""The programs of pages of codes that TVM accepts: rules that only our language has."""


def test_verdicts_on_programs_with_one_mistake(oracle: Oracle, mistake_counts: Counter[str]) -> None:
    table = compare(oracle, 600, 4800)
    for kind, row in table.items():
        mistake_counts[f"{kind}|equal"] += row.equal
        mistake_counts[f"{kind}|explained"] += row.explained.total()
    assert [text for row in table.values() for text in row.unexplained] == []
    assert table.pop("pages of codes").explained.total() == PAGES
    asked, equal = sum(row.asked for row in table.values()), sum(row.equal for row in table.values())
    assert 100 * equal / asked >= LEAST
