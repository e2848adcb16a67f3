"""Odd command lines end with the expected status: never with a traceback, never as an internal error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from relax_explorer.ui.cli.main import group
from relax_explorer.ui.cli.schemas import FOLDER
from relax_explorer.ui.commands import COMMANDS
from tests.support.odd_calls import CALLS, PROGRAMS, words, write_files

ON_STDIN = "@R.function\ndef main(x: R.Object):\n    return x\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    folder = tmp_path_factory.mktemp("odd")
    made = write_files(folder)
    before = Path.cwd()
    os.chdir(folder)
    yield made
    os.chdir(before)


def test_the_table_is_long_and_has_every_command() -> None:
    assert len(CALLS) >= 240
    assert {item.name for item in COMMANDS} <= {call.split(" ")[0] for _, call in CALLS}


@pytest.mark.parametrize(("status", "call"), CALLS, ids=[call for _, call in CALLS])
def test_an_odd_call_ends_well(status: int, call: str, files: dict[str, str]) -> None:
    done = CliRunner().invoke(group, words(call, files), input=ON_STDIN)
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    assert done.exit_code == status, done.output
    assert "RX09" not in done.output
    assert "Traceback" not in done.output
    assert status in (0, 1) or done.stderr.strip()
    if "json" in call.split() and status in (0, 1):
        check_schema(done.stdout)


def check_schema(text: str) -> None:
    """Documents fit their published schemas; those of a session are one in each line."""
    jsonschema = pytest.importorskip("jsonschema")
    for document in map(json.loads, [text] if text.startswith("{\n") else text.splitlines()):
        name = document["schema"].removeprefix("rxe.").removesuffix("/1")
        jsonschema.validate(document, json.loads((FOLDER / f"{name}.json").read_text("utf-8")))


def test_standard_input_has_the_limit_of_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("relax_explorer.core.syntax.load.MAX_BYTES", len(ON_STDIN))
    assert CliRunner().invoke(group, ["show", "-"], input=ON_STDIN).exit_code == 0
    done = CliRunner().invoke(group, ["show", "-"], input=ON_STDIN + "\n")
    assert done.exit_code == 2
    assert "larger than" in done.stderr
    (tmp_path / "p.py").write_text(ON_STDIN + "\n")
    assert CliRunner().invoke(group, ["show", str(tmp_path / "p.py")]).exit_code == 2


def real(command: str, program: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command line in the shell, where `rxe` is the program and `$p` a file."""
    script = f'rxe() {{ "{sys.executable}" -m relax_explorer "$@"; }}; p="{program}"; {command}'
    return subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, env={**os.environ, **environment}, timeout=120
    )


@pytest.mark.skipif(os.name != "posix", reason="streams of POSIX")
@pytest.mark.parametrize(
    ("status", "command", "said"),
    [
        (2, "rxe check - <&-", "closed"),
        (2, "rxe opt - <&-", "closed"),
        (0, "rxe show $p 2>&-", ""),
        (2, "rxe show nothing.py 2>&-", ""),
        (3, "rxe show $p >&-", "can't be written"),
        (3, "rxe opt $p -p LegalizeOps >/dev/full", "can't be written"),
        (3, "rxe graph $p --format svg >/dev/full", "can't be written"),
        (3, "rxe --help >/dev/full", "can't be written"),
        (0, "rxe check $p >&- 2>&-", ""),
        (3, "rxe ops >&- 2>&-", ""),
        (3, "rxe check - <&- >&- 2>&-", ""),
        (141, "rxe ops --format json | true; exit ${PIPESTATUS[0]}", ""),
        (0, "rxe run $p 2>/dev/full", ""),
    ],
)
def test_streams_that_are_closed_full_or_broken(status: int, command: str, said: str, tmp_path: Path) -> None:
    program = tmp_path / "p.py"
    program.write_text(PROGRAMS["plain"])
    done = real(command, program, XDG_STATE_HOME=str(tmp_path / "state"))
    assert done.returncode == status, (done.stdout[-400:], done.stderr)
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "state").exists(), "a report of a crash was written"


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_characters_that_the_output_lacks_are_escaped(encoding: str, tmp_path: Path) -> None:
    program = tmp_path / "p.py"
    text = PROGRAMS["plain"].replace(
        "R.add(x, x)", 'R.call_pure_packed("a→b", x, sinfo_args=R.Tensor((2,), "float32"))'
    )
    program.write_text(text, encoding="utf-8")
    done = real("rxe show $p && rxe graph $p --format unicode", program, PYTHONIOENCODING=encoding)
    assert done.returncode == 0, done.stderr
    assert "a\\u2192b" in done.stdout
    assert "+--" in done.stdout, "boxes of ASCII"
