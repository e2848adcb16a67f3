"""What CI systems of users get: test reports, a hook of pre-commit and an action."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from relax_explorer.ui.cli import output

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[2]
GOOD = '@R.function\ndef f(x: R.Tensor((2, 3), "float32")):\n    return R.add(x, x)\n'
BAD = GOOD.replace("R.add", "R.matmul")
NOTED = GOOD.replace("    return", "    y = R.exp(x)\n    return")


def rxe(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "relax_explorer", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "bad.py").write_text(BAD)
    (tmp_path / "noted.py").write_text(NOTED)
    (tmp_path / "other.py").write_text("import os\n")
    dumps = tmp_path / "dumps"
    dumps.mkdir()
    (dumps / "0_A.py").write_text(GOOD)
    (dumps / "1_B.py").write_text(BAD)
    return tmp_path


def report(folder: Path, *words: str) -> tuple[int, Any]:
    answer = rxe(folder, "check", "--output-format", "junit", *words)
    assert answer.stderr == ""
    return answer.returncode, ElementTree.fromstring(answer.stdout)


def test_a_report_has_a_suite_for_each_path_and_a_case_for_each_stage(folder: Path) -> None:
    status, root = report(folder, "good.py", "bad.py", "noted.py", "dumps")
    assert status == 1
    assert dict(root.attrib) == {"name": "relax-explorer check", "tests": "5", "failures": "2", "errors": "0"}
    suites = {suite.get("name"): suite for suite in root}
    assert [(name, one.get("tests"), one.get("failures")) for name, one in suites.items()] == [
        ("good.py", "1", "0"), ("bad.py", "1", "1"), ("noted.py", "1", "0"), ("dumps", "2", "1"),
    ]  # fmt: skip
    (case,) = suites["bad.py"]
    (failure,) = case
    assert (case.get("name"), case.get("file"), failure.get("type")) == ("bad.py", "bad.py", "RX0203")
    assert failure.text.startswith("bad.py:3:12: error[RX0203]: ")
    assert "Hint: " in failure.text
    assert [child.tag for child in suites["noted.py"][0]] == ["system-out"]
    assert [(one.get("name"), [child.tag for child in one]) for one in suites["dumps"]] == [
        ("0 A", []),
        ("1 B", ["failure"]),
    ]


def test_what_fails_is_what_the_options_say(folder: Path) -> None:
    status, root = report(folder, "noted.py", "--fail-on", "note")
    assert (status, root.get("failures")) == (1, "1")
    status, root = report(folder, "bad.py", "--ignore", "RX0203")
    assert (status, root.get("failures"), list(root[0][0])) == (0, "0", [])
    status, root = report(folder, "nothing.py", "good.py")
    assert (status, root.get("failures")) == (2, "1")


def test_names_and_messages_are_text_in_a_report(folder: Path) -> None:
    hostile = folder / 'a<b>&"\x1b[31m.py'
    hostile.write_text(BAD.replace("x", "ü"))
    status, root = report(folder, hostile.name)
    assert status == 1
    assert "\x1b" not in root[0].get("name")
    assert root[0].get("name").startswith('a<b>&"')


def test_the_hook_finds_problems_and_leaves_other_python_alone(folder: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert {"id", "name", "entry", "language", "types"} <= set(hook)
    program, *words = shlex.split(hook["entry"])
    assert program == "relax-explorer"
    assert rxe(folder, *words, "good.py", "other.py", "noted.py").returncode == 0
    answer = rxe(folder, *words, "good.py", "bad.py", "other.py")
    assert answer.returncode == 1
    assert answer.stdout.startswith("bad.py:3:12: error[RX0203]")


def test_the_page_and_the_help_have_one_table_of_exit_statuses(folder: Path) -> None:
    page = (ROOT / "docs" / "ci.md").read_text()
    table = {int(status): text for status, text in re.findall(r"^\| (\d+) \| (.*) \|$", page, re.MULTILINE)}
    assert table == output.STATUSES
    told = rxe(folder, "--help").stdout.partition("Exit statuses of all commands:\n")[2]
    assert {int(line.split()[0]): " ".join(line.split()[1:]) for line in told.splitlines()} == output.STATUSES
    names = [name for name, value in vars(output).items() if name.isupper() and type(value) is int]
    assert len(names) == len(output.STATUSES)


def steps() -> list[dict[str, Any]]:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    inputs = set(action["inputs"])
    for step in action["runs"]["steps"]:
        assert "${{" not in step["run"], "an input in a script would be executed"
        named = re.findall(r"\$\{\{ inputs\.(\w+) \}\}", " ".join(step["env"].values()))
        assert set(named) <= inputs
    found: list[dict[str, Any]] = action["runs"]["steps"]
    return found


def run_step(step: dict[str, Any], folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """A step with these inputs, as the runner of GitHub makes its environment."""
    environment = {
        name: re.sub(r"\$\{\{ (?:inputs|github)\.(\w+) \}\}", lambda hit: inputs.get(hit[1], ""), text)
        for name, text in step["env"].items()
    }
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True
    )


def test_the_action_annotates(folder: Path) -> None:
    check = steps()[-1]
    answer = run_step(check, folder, paths="good.py bad.py", python=sys.executable)
    assert answer.returncode == 1
    assert answer.stdout.startswith("::error file=bad.py,line=3,col=12,title=RX0203::")
    assert run_step(check, folder, paths="*d.py", python=sys.executable).returncode == 1
    fine = run_step(
        check, folder, paths="good.py noted.py", options="--fail-on warning", python=sys.executable
    )
    assert fine.returncode == 0
    strict = run_step(check, folder, paths="noted.py", options="--fail-on note", python=sys.executable)
    assert (strict.returncode, "::notice" in strict.stdout) == (1, True)


def test_inputs_of_the_action_are_words_and_no_script(folder: Path) -> None:
    for paths in ("good.py; touch hacked", "$(touch hacked)", "--version `touch hacked`"):
        run_step(steps()[-1], folder, paths=paths, python=sys.executable)
        run_step(steps()[-1], folder, paths="good.py", options=paths, python=sys.executable)
    assert not (folder / "hacked").exists()


def test_the_action_installs_what_it_belongs_to(folder: Path) -> None:
    install = steps()[0]
    python = folder / "python"
    python.write_text('#!/bin/sh\necho "$@"\n')
    python.chmod(0o755)
    own = run_step(install, folder, python=str(python), action_path="/actions/rxe it")
    assert own.stdout == "-m pip install --quiet /actions/rxe it\n"
    named = run_step(install, folder, python=str(python), version="relax-explorer==0.2.0", action_path="/x")
    assert named.stdout == "-m pip install --quiet relax-explorer==0.2.0\n"
