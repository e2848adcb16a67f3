"""The executable beside a folder of stages: its instructions behind the bindings that they came from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relax_explorer.core.session.folders import executable_beside
from tests.cli.test_commands import rxe_cli
from tests.support.oracle import ROOT

DATA = ROOT / "tests" / "data" / "executables"
G = "#13 %8 = my.f(%4, c[4], i-3, c[2])"


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """A folder of two equal stages, without an executable."""
    folder = tmp_path / "dump"
    folder.mkdir()
    text = (DATA / "branch_last_stage.py").read_text()
    for name in ("000_input.py", "001_AttachGlobalSymbol.py"):
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("form", "name"), [("branch.txt", "executable.txt"), ("branch.py.txt", "executable.py")]
)
@pytest.mark.parametrize("place", [".", ".."])
def test_the_history_of_a_variable_goes_on_in_the_executable(
    dump: Path, form: str, name: str, place: str
) -> None:
    (dump / place / name).write_text((DATA / form).read_text())
    lines = rxe_cli("who", str(dump), "g").stdout.splitlines()
    assert lines[-1] == f"   vm ≈ {name:<24} {G}"
    assert "vm ≈" not in rxe_cli("who", str(dump), "shape_heap").stdout
    found = json.loads(rxe_cli("who", str(dump), "g", "--format", "json").stdout)
    assert [(item["function"], item["instruction"]) for item in found["executable"]] == [("main", 13)]


def test_a_stage_is_put_beside_the_executable(dump: Path) -> None:
    (dump.parent / "executable.txt").write_text((DATA / "branch.txt").read_text())
    lines = rxe_cli("diff", str(dump), "--between", "1..executable").stdout.splitlines()
    assert lines[0].endswith("executable.txt: 13 of 15 bindings have instructions")
    place = next(n for n, line in enumerate(lines) if line.startswith("main  g: R.Any"))
    assert lines[place + 1].strip() == G
    assert lines[lines.index("main  shape_heap: R.Any = R.null_value()") + 1].strip() == "no instruction"
    damaged = (
        (DATA / "branch.txt")
        .read_text()
        .replace("  call  my.f             in: %4", "  call  my.e             in: %4")
    )
    (dump.parent / "executable.txt").write_text(damaged)
    after = rxe_cli("diff", str(dump), "--between", "1..executable").stdout
    assert "12 of 15 bindings" in after.splitlines()[0]
    assert "my.e" in after


def test_without_an_executable_and_with_a_damaged_one(dump: Path) -> None:
    (dump / "executable.txt").write_text("no instructions\n")  # another file of this name
    assert executable_beside(str(dump)) == ""
    assert "vm ≈" not in rxe_cli("who", str(dump), "g").stdout
    done = rxe_cli("diff", str(dump), "--between", "1..executable")
    assert (done.exit_code, "no executable.txt or executable.py" in done.stderr) == (2, True)
    (dump / "executable.txt").write_text("@main:\n  call  foo")
    done = rxe_cli("diff", str(dump), "--between", "1..executable")
    assert done.exit_code == 2
    assert "executable.txt:2" in done.stderr


def test_a_search_and_the_history_in_the_explorer_reach_the_executable(dump: Path, tmp_path: Path) -> None:
    (dump / "executable.txt").write_text((DATA / "branch.txt").read_text())
    keys = tmp_path / "session.keys"
    keys.write_text("key colon\ntype all my.f(\nkey enter\n")
    shown = rxe_cli("play", str(keys), str(dump), "--size", "120x30").stdout
    assert f" vm executable.txt     main {G}" in shown
    assert shown.count(" vm executable.txt ") == 2
    keys.write_text("key colon\ntype all my.f(%4\nkey enter enter w\n")  # it stands in the executable alone
    shown = rxe_cli("play", str(keys), str(dump), "--size", "160x30").stdout
    assert "stage 1/1 AttachGlobalSymbol" in shown
    assert f" vm ≈ executable.txt           {G}" in shown  # the history of the binding that it came from
    (dump / "executable.txt").write_text("@main:\n  call  foo")
    keys.write_text("key colon\ntype all my.f(%4\nkey enter\n")
    assert "no stage has my.f(%4" in rxe_cli("play", str(keys), str(dump), "--size", "160x30").stdout
