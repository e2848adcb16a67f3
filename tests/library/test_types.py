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


NAMES = ("script.py", "mistakes.py")
Lines = dict[str, set[int]]  # by the name of the file


def checked_by_mypy(cache: Path) -> Lines:
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
        [*command, "--config-file=", *[str(HERE / name) for name in NAMES]],
        capture_output=True,
        text=True,
        cwd=cache,
    )
    assert answer.returncode in (0, 1), answer.stderr
    found: Lines = {name: set() for name in NAMES}
    for line in [line for line in answer.stdout.splitlines() if ": error:" in line]:
        hit = re.search(r"(\w+\.py):(\d+): error", line)
        assert hit, answer.stdout
        assert hit[1] in NAMES, answer.stdout
        found[hit[1]].add(int(hit[2]))
    return found


def checked_by_pyright(cache: Path) -> Lines:
    """The lines with errors."""
    for name in NAMES:
        shutil.copy(HERE / name, cache / name)
    settings = {"include": [*NAMES], "pythonVersion": "3.11", "typeCheckingMode": "strict", "reportUnknownMemberType": False,
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
    found: Lines = {name: set() for name in NAMES}
    for item in json.loads(answer.stdout)["generalDiagnostics"]:
        if item["severity"] == "error":
            found[Path(item["file"]).name].add(item["range"]["start"]["line"] + 1)
    return found


@pytest.fixture(scope="module", params=[checked_by_mypy, checked_by_pyright])
def lines(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """What a checker finds in both files: most of its time goes into the package that they import."""
    found: Lines = request.param(tmp_path_factory.mktemp("checked"))
    return found


def test_a_script_has_no_problem(lines: Lines) -> None:
    assert lines["script.py"] == set()


def test_each_mistake_is_told_at_its_line(lines: Lines) -> None:
    assert lines["mistakes.py"] == MISTAKES
    assert len(MISTAKES) == 15


def test_the_script_runs(capsys: pytest.CaptureFixture[str]) -> None:
    script.main()
    out = capsys.readouterr().out
    assert out.startswith("Counter({'R.matmul': 1, 'R.nn.relu': 1}) True  ['h', 'y'] ['y'] True\n"), out
    assert "- " in out
    assert out.endswith("True True\n")
