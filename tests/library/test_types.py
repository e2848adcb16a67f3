"""Type checkers know the library: a script has no problem, and each mistake is told at its line."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.library import script

HERE = Path(__file__).parent
MISTAKES = {
    number
    for number, line in enumerate((HERE / "mistakes.py").read_text().splitlines(), 1)
    if "# mistake" in line
}


def checked_by_mypy(path: Path, cache: Path) -> set[int]:
    """The lines with errors. It runs beside the project, whose settings are not those of users."""
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--cache-dir",
        str(cache / "mypy"),
        "--no-error-summary",
        "--no-pretty",
    ]
    answer = subprocess.run(
        [*command, "--config-file=", str(path)], capture_output=True, text=True, cwd=cache
    )
    assert answer.returncode in (0, 1), answer.stderr
    lines = [line for line in answer.stdout.splitlines() if ": error:" in line]
    assert all(path.name in line for line in lines), answer.stdout
    return {int(hit[1]) for line in lines if (hit := re.search(r"\.py:(\d+): error", line))}


def checked_by_pyright(path: Path, cache: Path) -> set[int]:
    """The lines with errors."""
    shutil.copy(path, cache / path.name)
    settings = {"include": [path.name], "pythonVersion": "3.11", "typeCheckingMode": "strict", "reportUnknownMemberType": False,
                "reportMissingTypeStubs": False, "reportUnusedExpression": False, "reportUnknownVariableType": False,
                "reportUnknownArgumentType": False, "reportUnknownParameterType": False, "reportMissingTypeArgument": False}  # fmt: skip
    (cache / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [
        sys.executable,
        "-m",
        "pyright",
        "--outputjson",
        "--pythonpath",
        sys.executable,
        "-p",
        str(cache),
    ]
    answer = subprocess.run(command, capture_output=True, text=True, cwd=cache)
    if not answer.stdout.lstrip().startswith("{"):
        pytest.skip(f"pyright can't be fetched here: {(answer.stderr or answer.stdout)[-200:]}")
    found = json.loads(answer.stdout)["generalDiagnostics"]
    return {item["range"]["start"]["line"] + 1 for item in found if item["severity"] == "error"}


CHECKERS = [checked_by_mypy, checked_by_pyright]


@pytest.mark.parametrize("checker", CHECKERS)
def test_a_script_has_no_problem(checker: object, tmp_path: Path) -> None:
    assert callable(checker)
    assert checker(HERE / "script.py", tmp_path) == set()


@pytest.mark.parametrize("checker", CHECKERS)
def test_each_mistake_is_told_at_its_line(checker: object, tmp_path: Path) -> None:
    assert callable(checker)
    assert checker(HERE / "mistakes.py", tmp_path) == MISTAKES
    assert len(MISTAKES) == 15


def test_the_script_runs(capsys: pytest.CaptureFixture[str]) -> None:
    script.main()
    out = capsys.readouterr().out
    assert out.startswith("Counter({'R.matmul': 1, 'R.nn.relu': 1}) True  ['h', 'y'] ['y'] True\n"), out
    assert "- " in out
    assert out.endswith("True True\n")
