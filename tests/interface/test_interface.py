"""What users may rely on is what was recorded; a difference has a line in the changelog."""

from __future__ import annotations

import pytest

from tests.support import interface
from tests.support.golden import Golden


@pytest.mark.parametrize("part", ["api", "help_texts", "diagnostics", "passes", "keys", "json_forms"])
def test_what_users_rely_on_has_not_changed(part: str, golden: Golden) -> None:
    golden.check(f"{part}.txt", getattr(interface, part)())
