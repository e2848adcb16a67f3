"""Each test of the explorer starts without recent files and remembered inputs, and waits no longer than it must."""

from __future__ import annotations

from pathlib import Path

import pytest

from relax_explorer.ui import directories
from tests.support import textual_speed

textual_speed.hasten()


@pytest.fixture(autouse=True)
def _fresh_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directories, "state", lambda: tmp_path / "own-state")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "own-state"))  # of processes that the test starts
