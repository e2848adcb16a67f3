"""`--ascii` on the command line: views with ASCII marks, data without loss, also where the locale is not UTF-8."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import relax_explorer as rxe
from relax_explorer.viz.visible import ascii_cells
from tests.cli.test_commands import rxe_cli
from tests.support.roundtrip import SAMPLES

LAYER = str(next(path for path in SAMPLES if path.stem.startswith("12")))
BROKEN = str(SAMPLES[0].parent / "broken_build")
ODD = '@R.function(pure=False)\ndef main(größe: R.Tensor((2,), "float32")):\n    R.print(größe, format="é→🔎 {}")\n    return größe\n'


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("--ascii", "diff", LAYER), 0), (("--ascii", "--help"), 0), (("check", "--ascii", "--help"), 0),
        (("run", LAYER, "--ascii", "--time-bindings"), 0), (("graph", LAYER, "--ascii"), 0),
        (("check", "nofile…é→", "--ascii"), 2), (("ops", "--ascii"), 0), (("compare", "--ascii", BROKEN + "@0", BROKEN + "@12"), 1),
    ],
    ids=lambda value: " ".join([Path(part).name for part in value]) if isinstance(value, tuple) else "",
)  # fmt: skip
def test_views_have_ascii_only(arguments: tuple[str, ...], status: int) -> None:
    shown = rxe_cli(*arguments)
    assert shown.exit_code == status
    assert shown.output.isascii()
    assert len(shown.output.splitlines()) > 0


def test_some_view_has_more_without_it() -> None:
    assert not rxe_cli("diff", LAYER).output.isascii()


def test_data_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "odd.py"
    path.write_text(ODD.replace("größe", "x"))
    shown = rxe_cli("show", str(path), "--ascii").stdout
    assert shown.isascii()
    assert rxe.structural_equal(rxe.parse(shown), rxe.load(path))
    path.write_text(ODD)
    for arguments in (
        ("show", "--format", "json"),
        ("graph", "--format", "json"),
        ("check", "--output-format", "sarif"),
    ):
        word, *options = arguments
        text = rxe_cli(word, str(path), *options).stdout
        ascii = rxe_cli(word, str(path), *options, "--ascii").stdout
        assert ascii.isascii()
        assert json.loads(ascii) == json.loads(text)
    assert not text.isascii() or word == "check"


def test_a_file_gets_everything(tmp_path: Path) -> None:
    path, goal = tmp_path / "odd.py", tmp_path / "out.py"
    path.write_text(ODD)
    assert rxe_cli("opt", str(path), "-p", "DeadCodeElimination", "--ascii", "-o", str(goal)).exit_code == 0
    assert "é→🔎" in goal.read_text()


def test_the_settings_choose_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "relax-explorer.toml").write_text("ascii = true\n")
    assert rxe_cli("diff", LAYER).output.isascii()
    assert not rxe_cli("diff", LAYER, "--no-ascii").output.isascii()
    (tmp_path / "relax-explorer.toml").write_text('ascii = "yes"\n')
    assert "true or false" in rxe_cli("diff", LAYER).output
    (tmp_path / "relax-explorer.toml").unlink()
    monkeypatch.setenv("RXE_ASCII", "1")
    assert rxe_cli("diff", LAYER).output.isascii()


@pytest.mark.parametrize(
    ("environment", "arguments", "is_ascii"),
    [
        ({"LC_ALL": "C.UTF-8"}, (), False),
        ({"LC_ALL": "C"}, (), True),
        ({"PYTHONIOENCODING": "iso8859-1"}, (), True),
        ({"PYTHONIOENCODING": "ascii"}, ("--no-ascii",), False),
    ],
)
def test_the_locale_decides(environment: dict[str, str], arguments: tuple[str, ...], is_ascii: bool) -> None:
    command = [sys.executable, "-m", "relax_explorer", *arguments, "diff", LAYER, "--style", "stat"]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, check=True)
    assert done.stdout.isascii() == is_ascii
    assert (b">" in done.stdout) == is_ascii


def test_an_origin_is_no_comparison_and_done_is_no_fold() -> None:
    """`n = 3 < x.shape[0]` read as a comparison, and `v` is an open fold."""
    assert ascii_cells("n = 3 ← x.shape[0]") == "n = 3 = x.shape[0]"
    assert len({ascii_cells(mark) for mark in "✓▾✗·▶"}) == 5
    assert ascii_cells("✓") == ascii_cells("✔")
