"""A folder of a stranger: no command that is run in it executes, writes or opens what it was not told to.

In the folder lie modules under the names of what we import, settings, recordings, builds and files with hostile names. The commands
and their options are those of the table, so a new one is tested as well.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from relax_explorer.core.session.command_types import Argument, Command
from relax_explorer.core.session.commands import COMMANDS
from tests.doors.audited import ROOT, audited
from tests.support.roundtrip import SAMPLES

PLANTED = (
    "click", "numpy", "numba", "llvmlite", "textual", "rich", "graphviz", "pygraphviz", "platformdirs", "ml_dtypes", "sitecustomize", "usercustomize",
    "json", "typing", "dataclasses", "subprocess", "multiprocessing", "pickle", "site", "encodings", "conftest", "setup", "distributed", "aiohttp",
    "textual_serve", "tomllib", "ctypes", "resource",
)  # fmt: skip
HOSTILE = (
    "-rf.py",
    "--help.py",
    "a\nb.py",
    "\x1b[31mred.py",
    "é\udcff.py",
    "$(touch executed).py",
    "a;b.py",
    "x" * 200 + ".py",
    "@1.py",
    "'q'\".py",
)
CODE = "import os\nos.close(os.open('executed', os.O_CREAT | os.O_WRONLY))\n"
SETTINGS = 'passes = "LegalizeOps"\n[play]\nallow-writes = true\n[run]\npacked = "click.py"\n' + "".join(
    f'[{name}]\noutput = "written"\n' for name in ("opt", "graph", "report")
)
VALUES = {
    "b": "other.py", "after": "other.py", "right": "other.py", "events": "a.keys", "pattern": "add", "name": "main", "subject": "add",
    "shell": "bash",
}  # fmt: skip
OPTIONAL = ("input", "files", "paths", "subject", "name")
ENDLESS = {"serve"}  # tests/cli/test_serve.py
OURS = ("home/cache", "home/state", "home", "tmp")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stranger's folder, in a folder of its own."""
    place = tmp_path_factory.mktemp("outside") / "stranger"
    place.mkdir()
    program = SAMPLES[0].read_text()
    for name in PLANTED:
        (place / f"{name}.py").write_text(CODE)
    for name in ("relax_explorer", "importlib"):
        (place / name).mkdir()
        (place / name / "__init__.py").write_text(CODE)
    for name in ("model.py", "other.py", *HOSTILE):
        (place / name).write_text(program)
    shutil.copytree(SAMPLES[0].parent / "broken_build", place / "build")
    (place / "build" / "evil\n\x1b[2J.py").write_text(program)
    (place / "dot").write_text("#!/bin/sh\ntouch executed\n")
    (place / "dot").chmod(0o755)
    (place / "a.keys").write_text("key 3\nkey colon\ntype export text written\nkey enter\n")
    (place / "relax-explorer.toml").write_text(SETTINGS)
    (place / "pyproject.toml").write_text(f"[tool.relax-explorer]\n{SETTINGS}")
    (place / ".pdbrc").write_text("import os\nos.mkdir('executed')\n")
    (place / "calls.txt").write_text("main(zeros)\n")
    return place


def words_of(command: Command) -> list[str]:
    """A call of a command with all that it must have."""
    found = [command.name]
    for argument in command.arguments:
        if argument.positional and (argument.required or argument.key in OPTIONAL):
            found.append(value_of(argument))
    return found


def value_of(argument: Argument) -> str:
    return argument.choices[0] if argument.choices else VALUES.get(argument.key, "model.py")


def check(folder: Path, words: list[str], stdin: str = "") -> str:
    """Run a command in the folder. Returns its output."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    outside = folder.parent
    done = audited(words, folder, outside, stdin)
    executed = [path for path in done.of("exec") if Path(path).is_relative_to(folder)]
    written = [
        path
        for path in done.of("write")
        if path != "/dev/null"
        and not any(Path(path) == outside / name or (outside / name) in Path(path).parents for name in OURS)
    ]
    assert (executed, written) == ([], []), words
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before, words
    assert "Traceback" not in done.output, (words, done.output)
    assert "\x1b[2J" not in done.output
    return done.output


@pytest.mark.parametrize(
    "command", [item for item in COMMANDS if item.name not in ENDLESS], ids=lambda item: item.name
)
def test_each_command_leaves_it_alone(command: Command, folder: Path) -> None:
    assert check(folder, words_of(command), "quit\n")


CALLS = {
    "workers": ("bisect", "build", "--workers", "2"),
    "dot": ("graph", "model.py", "--format", "svg"),
    "names": ("check", "build", *[f"./{name}" for name in HOSTILE]),
}


@pytest.mark.parametrize("words", CALLS.values(), ids=list(CALLS))
def test_children_and_hostile_names_do_no_harm(words: tuple[str, ...], folder: Path) -> None:
    check(folder, list(words))


def test_what_is_executed_and_written_there_would_be_seen(folder: Path) -> None:
    done = audited(["run", "model.py", "--packed", "click.py", "-o", "written"], folder, folder.parent)
    assert str(folder / "click.py") in done.of("exec")
    (folder / "executed").unlink()
    done = audited(["opt", "model.py", "-p", "LegalizeOps", "-o", "written"], folder, folder.parent)
    assert any(Path(path).parent == folder for path in done.of("write"))
    (folder / "written").unlink()


def test_the_module_as_a_program_takes_only_itself_from_the_folder(folder: Path, tmp_path: Path) -> None:
    for name in ("click", "numpy", "platformdirs", "json", "tomllib"):
        (tmp_path / f"{name}.py").write_text((folder / f"{name}.py").read_text())
    words = [sys.executable, "-m", "relax_explorer", "run", str(SAMPLES[0])]
    done = subprocess.run(
        words, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=False
    )
    assert (done.returncode, (tmp_path / "executed").exists()) == (0, False), done.stderr
