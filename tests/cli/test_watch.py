"""`check --watch` and `show --watch` read a file again when it changed on the disk, until ctrl+c."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty, Queue

import pytest

from relax_explorer.ui.cli import watching
from relax_explorer.ui.file_stamp import stamp
from tests.cli.test_commands import rxe_cli

GOOD = '@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    y = R.exp(x)\n    return y\n'
BAD = GOOD.replace("R.exp(x)", "R.exp(zz)")
SECONDS = 60.0


class Watching:
    """A command that runs until it is interrupted; its lines of both streams come as they are written."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "relax_explorer", *arguments]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ}
        )
        self._lines: Queue[str] = Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))

    def until(self, text: str) -> list[str]:
        """The lines up to one with a text."""
        found: list[str] = []
        while not found or text not in found[-1]:
            try:
                found.append(self._lines.get(timeout=SECONDS))
            except Empty:
                pytest.fail(f"no {text!r} came after {found}")
        return found


@pytest.fixture
def watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Watching]]:
    monkeypatch.chdir(tmp_path)
    started: list[Watching] = []

    def start(*arguments: str) -> Watching:
        started.append(Watching(*arguments))
        return started[-1]

    yield start
    for item in started:
        item.process.kill()
        item.process.wait()


def _replaced(path: str, text: str) -> None:
    """Write a file as editors do: another one takes its place."""
    Path(f"{path}.new").write_text(text)
    Path(f"{path}.new").replace(path)


def test_check_reads_a_file_again_and_ends_as_interrupted(watch: Callable[..., Watching]) -> None:
    Path("model.py").write_text(GOOD)
    child = watch("check", "model.py", "--watch")
    assert "1 file checked: no problems" in child.until("watching model.py; ctrl+c ends it")
    _replaced("model.py", BAD)
    assert any("'zz' is not defined" in line for line in child.until("checked: 1 error"))
    Path("model.py").unlink()  # away for a moment
    Path("model.py").write_text(GOOD)
    assert any("model.py changed at" in line for line in child.until("checked: no problems"))
    child.process.send_signal(signal.SIGINT)
    assert child.process.wait(SECONDS) == 130


def test_show_goes_on_after_a_text_that_it_cant_read(watch: Callable[..., Watching]) -> None:
    Path("model.py").write_text(BAD)
    child = watch("show", "model.py", "--func", "main", "--watch")
    assert any("'zz' is not defined" in line for line in child.until("watching model.py"))
    _replaced("model.py", GOOD.replace("main", "other"))  # what the option names is gone
    child.until("the module has no function 'main'")
    _replaced("model.py", GOOD)
    child.until("y = R.exp(x)")
    child.process.send_signal(signal.SIGINT)
    assert child.process.wait(SECONDS) == 130


def test_a_stage_in_a_folder_is_seen(watch: Callable[..., Watching]) -> None:
    Path("dumps").mkdir()
    for name in ("00_input.py", "01_Next.py"):
        Path("dumps", name).write_text(GOOD)
    child = watch("check", "dumps", "--watch", "--output-format", "concise")
    child.until("watching dumps")
    Path("dumps/01_Next.py").write_text(BAD)
    child.until("'zz' is not defined")


def test_what_can_not_be_watched_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    missing = rxe_cli("check", "missing.py", "--watch")  # it ends: there is nothing to wait for
    assert (missing.exit_code, "watching" in missing.output) == (2, False)
    stdin = rxe_cli("check", "-", "--watch")
    assert stdin.exit_code == 2
    assert "standard input is read once" in stdin.output


def test_a_stamp_tells_contents_apart(tmp_path: Path) -> None:
    one, folder = tmp_path / "one.py", tmp_path / "folder"
    assert stamp("") == stamp(str(one)) == stamp("a\0b") == ""
    one.write_text("a")
    before = stamp(str(one))
    assert before == stamp(str(one)) != ""
    one.write_text("ab")
    assert stamp(str(one)) != before
    folder.mkdir()
    (folder / "00.py").write_text("a")
    before = stamp(str(folder))
    (folder / "00.py").write_text("ab")
    assert stamp(str(folder)) != before
    assert watching.EVERY < 1
