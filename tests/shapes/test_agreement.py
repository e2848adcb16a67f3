"""Random programs on random lengths keep what was derived of them, as `tests/shapes/agreement.py` says."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.shapes.agreement import findings


@pytest.mark.parametrize("first", range(1000, 1060, 15))
def test_random_programs_agree(first: int) -> None:
    counts: Counter[str] = Counter()
    assert [text for seed in range(first, first + 15) for text in findings(seed, counts)] == []
    assert min(counts[name] for name in ("programs", "stopped", "ended", "derived")) > 3, counts
