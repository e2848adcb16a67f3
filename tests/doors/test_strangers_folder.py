"""A folder of a stranger: no command that is run in it executes, writes or opens what it was not told to.

In the folder lie modules under the names of what we import, settings, recordings, builds and files with hostile names. The commands
and their options are those of the table, so a new one is tested as well.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from relax_explorer.core.session.command import Argument, Command
from relax_explorer.ui.cli.main import group
from relax_explorer.ui.commands import COMMANDS
from tests.doors.audited import ROOT, audited
from tests.doors.strangers_files import (
    CODE,
    ODD,
    PROGRAMS,
    REFUSED,
    WEIGHTS,
    lines_of_doors,
    make_files,
    make_odd,
)
from tests.support.roundtrip import SAMPLES

PLANTED = (
    "click", "numpy", "numba", "llvmlite", "textual", "rich", "graphviz", "pygraphviz", "platformdirs", "ml_dtypes", "sitecustomize", "usercustomize",
    "json", "typing", "dataclasses", "subprocess", "multiprocessing", "pickle", "site", "encodings", "conftest", "setup", "distributed", "aiohttp",
    "textual_serve", "tomllib", "ctypes", "resource", "safetensors", "zipfile", "scipy", "onnx", "tvm", "_distutils_hack", "pytest",
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
SETTINGS = 'passes = "LegalizeOps"\n[play]\nallow-writes = true\n[run]\npacked = "click.py"\n' + "".join(
    f'[{name}]\noutput = "written"\n' for name in ("opt", "graph", "report")
)
VECTOR = '@R.function\ndef main(x: R.Tensor((3,), "float32")):\n    y = R.add(x, x)\n    return y\n'
VALUES = {
    "b": "other.py", "after": "other.py", "right": "other.py", "events": "a.keys", "pattern": "add", "name": "main", "subject": "add",
    "shell": "bash",
}  # fmt: skip
OPTIONAL = ("input", "files", "paths", "subject", "name")
BAD = ("Traceback", "internal error", "\x1b[2J", "\x1b]0;")
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
    (place / "vector.py").write_text(VECTOR)
    make_files(place)
    make_odd(place)
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


WRITING = {"save"}  # writes a file beside the program unless told otherwise: that is what it is for


def check(folder: Path, lines: list[list[str]]) -> list[tuple[int, str]]:
    """Run command lines in the folder, in one process. Returns how each ended, with its output."""
    before = state(folder)
    outside = folder.parent
    done = audited(
        [], folder, outside, json.dumps(lines), program=Path(__file__).with_name("command_lines.py")
    )
    assert done.status == 0, done.output
    said, harm, words = json.loads(done.stdout), [], ""
    for kind, path in done.events:
        if kind == "words":
            words = path
        elif (kind == "exec" and Path(path).is_relative_to(folder)) or (
            kind == "write" and is_foreign(path, outside)
        ):
            harm.append((words, kind, path))
    assert harm == []
    assert state(folder) == before
    for line, (status, text) in zip(lines, said, strict=True):
        assert status != -1, (line, text)
        assert [word for word in BAD if word in text] == [], (line, text)
        assert status == 0 or text, line
    return [(status, text) for status, text in said]


def state(folder: Path) -> dict[Path, bytes]:
    """What the folder holds."""
    return {
        path: path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        for path in folder.rglob("*")
    }


def is_foreign(path: str, outside: Path) -> bool:
    """True for a place that is none of ours."""
    ours = [outside / name for name in OURS]
    return path != "/dev/null" and not any(
        Path(path) == place or place in Path(path).parents for place in ours
    )


def test_each_command_leaves_it_alone(folder: Path) -> None:
    others = ENDLESS | WRITING
    named = [item for item in COMMANDS if item.name not in others]
    assert set(group.list_commands(click.Context(group))) == {item.name for item in named} | others
    ended = check(folder, [words_of(item) for item in named])
    silent = [item.name for item, (_, text) in zip(named, ended, strict=True) if not text]
    assert silent == []
    ended = check(folder, [[item.name, name] for item in named for name in ("-rf.py", "./--help.py")])


def test_each_file_of_his_is_read_or_refused(folder: Path) -> None:
    lines = list(lines_of_doors())
    ended = dict(zip([tuple(line) for line in lines], check(folder, lines), strict=True))
    for line, (status, text) in ended.items():
        name = line[-1].removeprefix("x=")
        if name in PROGRAMS + WEIGHTS:
            assert (status == 0) is (name not in REFUSED), (line, text)
        elif "--input" in line or name in ODD or name.endswith(("calls", "keys")):
            assert status != 0, (line, text)


CALLS = {
    "workers": ("bisect", "build", "--workers", "2"),
    "dot": ("graph", "model.py", "--format", "svg"),
    "names": ("check", "build", *[f"./{name}" for name in HOSTILE]),
}


@pytest.mark.parametrize("words", CALLS.values(), ids=list(CALLS))
def test_children_and_hostile_names_do_no_harm(words: tuple[str, ...], folder: Path) -> None:
    done = audited(words, folder, folder.parent)
    executed = [path for path in done.of("exec") if Path(path).is_relative_to(folder)]
    written = [path for path in done.of("write") if is_foreign(path, folder.parent)]
    assert (executed, written, (folder / "executed").exists()) == ([], [], False)
    assert [word for word in BAD if word in done.output] == []


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
