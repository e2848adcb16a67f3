"""Some hundred trials of `python -m tests.fuzz`, and the texts that once revealed a fault."""

from __future__ import annotations

from pathlib import Path

import pytest

import relax_explorer as rxe
from relax_explorer.core.diagnostics import ParseError
from relax_explorer.core.session.compiled import linked
from relax_explorer.core.syntax.executable import read_executable
from tests.fuzz.build_recordings import BuildRecordings
from tests.fuzz.call_files import CallFiles
from tests.fuzz.doors import Doors
from tests.fuzz.json_mutations import JsonMutator, documents
from tests.fuzz.mutations import Mutator, programs
from tests.fuzz.trial import trial
from tests.fuzz.weight_files import KINDS, WeightFiles

RUNS = 120  # `tests.fuzz.campaign` goes on from a fresh seed in CI
DATA = Path(__file__).parents[1] / "data"
FOUND = sorted((DATA / "fuzz").glob("*.py"))


def test_damaged_programs_are_read_or_refused() -> None:
    mutator = Mutator(0, programs())
    read = 0
    for _ in range(RUNS):
        outcome = trial(mutator.text(), long=True)
        read += outcome.parsed
        assert outcome.finding is None, (
            f"{outcome.finding.what}\n{outcome.finding.text}\n{outcome.finding.details}"
        )
    assert read


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_of_weights_are_read_or_refused(kind: str, tmp_path: Path) -> None:
    files = WeightFiles(0, tmp_path)
    for _ in range(RUNS // 4):
        finding = files.trial(kind)
        assert finding is None, f"{finding.what}\n{finding.text}\n{finding.details}"


def test_damaged_recordings_of_builds_open_or_are_refused(tmp_path: Path) -> None:
    files = BuildRecordings(0, tmp_path)
    for _ in range(RUNS // 4):
        finding = files.trial()
        assert finding is None, f"{finding.what}\n{finding.text}\n{finding.details}"


def test_texts_around_damaged_programs_open_or_are_refused() -> None:
    doors = Doors(0)
    for _ in range(RUNS // 2):
        finding = doors.trial()
        assert finding is None, f"{finding.what}\n{finding.text}\n{finding.details}"


def test_damaged_json_is_read_or_refused() -> None:
    mutator = JsonMutator(0, documents())
    read = 0
    for _ in range(RUNS):
        outcome = trial(mutator.text())
        read += outcome.parsed
        assert outcome.finding is None, (
            f"{outcome.finding.what}\n{outcome.finding.text}\n{outcome.finding.details}"
        )
    assert 0 < read < RUNS


def test_damaged_executables_are_read_or_refused() -> None:
    texts = [path.read_text(encoding="utf-8") for path in sorted((DATA / "executables").glob("*.txt"))]
    mutator, count = Mutator(0, texts), 0
    for _ in range(RUNS):
        try:
            executable = read_executable(mutator.text())
        except ParseError:
            continue
        count += 1
        places = linked(executable, rxe.load(DATA / "executables" / "branch_last_stage.py")).places
        assert {name: len(found) for name, found in places.items()} == {
            name: len(function.instructions) for name, function in executable.functions.items()
        }
    assert 0 < count < RUNS


def test_damaged_files_of_calls_are_made_or_refused() -> None:
    calls = CallFiles(0)
    for _ in range(RUNS // 2):
        finding = calls.trial()
        assert finding is None, f"{finding.what}\n{finding.text}\n{finding.details}"


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_a_text_that_once_showed_a_fault(path: Path) -> None:
    finding = trial(path.read_text(encoding="utf-8"), long=True).finding
    assert finding is None, f"{finding.what}\n{finding.details}"
