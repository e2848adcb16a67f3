"""Under `ulimit -v`, and wherever memory ends, a command gives its result, or a sentence and a status of its own; never a traceback."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from relax_explorer.ui import process
from tests.support.roundtrip import SAMPLES

MIB = 1 << 20
SMALL = str(SAMPLES[0])
GREEDY = '@R.function\ndef main():\n    y = R.zeros((100_000_000,), "float32")\n    z = R.add(y, y)\n    return z\n'
COMMANDS = {
    "check": ("check", SMALL),
    "run": ("run", SMALL),
    "draw": ("graph", SMALL, "--format", "dot"),
    "lower": ("opt", SMALL, "-p", "zero,default_build"),
}


def limited(most: int, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "relax_explorer", *words], capture_output=True, text=True, check=False, timeout=100,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),
    )  # fmt: skip


@pytest.mark.parametrize("most", [40, 80, 120, 191])
def test_a_limit_in_which_nothing_runs_is_told(most: int) -> None:
    done = limited(most * MIB, *COMMANDS["check"])
    assert (done.returncode, done.stdout) == (process.NO_MEMORY, "")
    assert (
        done.stderr
        == f"relax-explorer: the limit of memory, {most} MB (ulimit -v), is too low: it takes 192 MB at least\n"
    )


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("most", [192, 200, 260])
def test_a_narrow_limit_gives_a_result_or_a_sentence(most: int, command: str) -> None:
    done = limited(most * MIB, *COMMANDS[command])
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    assert done.returncode == 0 or (done.returncode == process.NO_MEMORY and done.stderr.count("\n") == 1), (
        done.stderr
    )


@pytest.mark.parametrize("words", [("run", "greedy.py"), ("run", "greedy.py", "--engine", "reference")])
def test_a_command_that_needs_more_than_there_is_says_so(words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "greedy.py").write_text(GREEDY)
    done = limited(330 * MIB, words[0], str(tmp_path / words[1]), *words[2:])
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    assert done.returncode in (process.NO_MEMORY, 3, 2, 1), done.stderr[-500:]
    assert "memory" in done.stderr or "Unable to allocate" in done.stderr


@pytest.mark.parametrize(
    ("error", "is_cause"),
    [
        (MemoryError(), True), (OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)), True), (RuntimeError("can't start new thread"), True),
        (ImportError("libx.so: failed to map segment from shared object"), True), (OSError(errno.ENOENT, "no"), False), (ValueError("memory"), False),
    ],
)  # fmt: skip
def test_want_of_memory_is_known_by_its_errors(error: Exception, is_cause: bool) -> None:
    assert process.is_want_of_memory(error) is is_cause
    outer = KeyError("outer")
    outer.__cause__ = error
    assert process.is_want_of_memory(outer) is is_cause


@pytest.mark.parametrize(
    "where",
    ["raise MemoryError", "threading.Thread(target=lambda: bytearray(1 << 62)).start(); time.sleep(9)"],
)
def test_memory_that_ends_inside_a_command_is_told(where: str) -> None:
    code = f"""
import sys, threading, time
from relax_explorer.ui.cli import main, reference
def command(**_):
    {where}
reference.list_ops = command
sys.argv[1:] = ["ops"]
main.main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr.count("\n"), "not enough memory" in done.stderr) == (
        process.NO_MEMORY,
        1,
        True,
    )
