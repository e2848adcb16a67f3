"""Faults that the fuzzers of CI found once are played again, and a fault is kept so that one command shows it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.fuzz import campaign
from tests.fuzz.trial import Finding

KEPT = sorted(campaign.FOUND.glob("*.json"))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_a_fault_that_was_found_is_mended(path: Path) -> None:
    finding = campaign.replay(path)
    assert finding is None, f"{finding.what}\n{finding.details}"


@pytest.mark.parametrize("kind", campaign.FUZZERS)
def test_a_fault_is_kept_and_played_again(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(seed: int, _: Path) -> campaign.Trial:
        return lambda number: Finding("broken", "text") if number == 2 and seed == 5 else None

    monkeypatch.setitem(campaign.FUZZERS, kind, broken)
    monkeypatch.setattr(
        sys, "argv", ["campaign", "--seed", "5", "--only", kind, "--trials", "4", "--out", str(tmp_path)]
    )
    assert campaign.main() == 1
    (path,) = tmp_path.glob("*.json")
    said = capsys.readouterr().out
    assert "seed 5: python -m tests.fuzz.campaign --seed 5" in said
    assert (f"--replay {path}" in said, json.loads(path.read_text())["trial"]) == (True, 2)
    monkeypatch.setitem(
        campaign.BY_TEXT, kind, lambda text: Finding("broken", text)
    ) if kind in campaign.BY_TEXT else None
    assert campaign.replay(path) is not None
    monkeypatch.setattr(sys, "argv", ["campaign", "--replay", str(path)])
    assert campaign.main() == 1


def test_seeds_are_fresh_and_time_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "done").touch()
    words = ["campaign", "--only", "recordings", "--until", str(tmp_path / "done"), "--seconds", "0.05"]
    seeds = set()
    for _ in range(2):
        monkeypatch.setattr(sys, "argv", words)
        assert campaign.main() == 0
        seeds.add(capsys.readouterr().out.split()[1])
    assert len(seeds) == 2


def test_ci_runs_them() -> None:
    text = (Path(__file__).parents[2] / ".ci" / "run").read_text()
    assert "python -m tests.fuzz.campaign" in text
