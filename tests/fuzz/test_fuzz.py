"""A few seconds of `python -m tests.fuzz`; what it once found is in the tests of the places that were mended."""

from __future__ import annotations

import time

from tests.fuzz.mutations import Mutator, programs
from tests.fuzz.trial import trial

SECONDS = 5


def test_damaged_programs_are_read_or_refused() -> None:
    mutator = Mutator(0, programs())
    end, read = time.monotonic() + SECONDS, 0
    while time.monotonic() < end:
        outcome = trial(mutator.text(), long=True)
        read += outcome.parsed
        assert outcome.finding is None, (
            f"{outcome.finding.what}\n{outcome.finding.text}\n{outcome.finding.details}"
        )
    assert read
