"""`debug` at a prompt in a terminal: commands line by line, ctrl+c in a move, and the end."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from relax_explorer.ui.cli.main import group
from tests.support.signals import hearing
from tests.ui.test_endless import PROGRAMS

SMALL = """@R.function
def main(x: R.Tensor((2,), "float32")):
    y = R.add(x, x)
    z = R.negative(y)
    return z
"""


_STARTED: list[int] = []


@pytest.fixture(autouse=True)
def nothing_goes_on() -> Iterator[None]:
    """End the programs that a failed test leaves."""
    yield
    while _STARTED:
        with contextlib.suppress(ProcessLookupError):
            os.kill(_STARTED.pop(), signal.SIGKILL)


class Prompt:
    """`rxe debug` in a terminal of its own."""

    def __init__(self, path: Path, *arguments: str) -> None:
        pid, self.fd = pty.fork()
        if pid == 0:
            hearing()
            os.environ["TERM"] = "dumb"
            os.execv(sys.executable, [sys.executable, "-m", "relax_explorer", "debug", str(path), *arguments])
        self.pid = pid
        _STARTED.append(pid)

    def read(self, until: str = "(rxe) ", seconds: float = 60) -> str:
        text, end = "", time.monotonic() + seconds
        while not text.endswith(until):
            ready, _, _ = select.select([self.fd], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"{until!r} did not come: {text!r}"
            text += os.read(self.fd, 4096).decode("utf-8", "replace")
        return text.replace("\r\n", "\n")

    def send(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def interrupt(self) -> None:
        """Ctrl+c at the prompt, again if it comes just before the terminal library waits for keys, which it does not notice."""
        self.send("\x03")
        while not select.select([self.fd], [], [], 1.0)[0]:
            self.send("\x03")
        self.read()

    def status(self) -> int:
        try:
            while os.read(self.fd, 4096):
                pass
        except OSError:
            pass  # the other end is closed
        _, status = os.waitpid(self.pid, 0)
        _STARTED.remove(self.pid)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


def test_commands_are_read_line_by_line_and_an_empty_line_repeats(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text(SMALL)
    prompt = Prompt(path, "--input", "x=arange")
    assert "step 0, main starts" in prompt.read()
    prompt.send("s\n")
    assert "y = (2,) f32 [0 2]" in prompt.read()
    prompt.send("\n")
    assert "z = (2,) f32" in prompt.read()
    prompt.send("brek\n")
    assert "did you mean break" in prompt.read()
    prompt.send("half a line")
    prompt.read("half a line")
    prompt.interrupt()
    prompt.send("S\n")
    assert "step 1, main" in prompt.read()
    prompt.send("\x04")
    assert prompt.status() == 0


def test_tab_completes_commands_and_what_follows_them(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text(SMALL)
    prompt = Prompt(path, "--input", "x=arange")
    prompt.read()
    prompt.send("s\n")
    prompt.read()
    for line, answer in (
        ("pri\ty\t\n", "y = (2,) f32 [0 2]"),
        ("info loc\t\n", "x = (2,) f32"),
        ("list ma\t\n", "def main"),
        ("help unti\t\n", "until [PLACE] [if CONDITION]"),
    ):
        prompt.send(line)
        assert answer in prompt.read()
    prompt.send("quit\n")
    assert prompt.status() == 0


def test_ctrl_c_stops_a_move_and_keeps_the_session(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text(PROGRAMS["recursion"])
    prompt = Prompt(path)
    prompt.read()
    prompt.send("continue\n")
    time.sleep(0.7)
    start = time.monotonic()
    prompt.send("\x03")
    answer = prompt.read(seconds=10)
    assert time.monotonic() - start < 2
    assert "cancelled at step" in answer
    prompt.send("where\n")
    assert "main" in prompt.read()
    prompt.send("S\n")
    assert "step" in prompt.read()
    prompt.send("quit\n")
    assert prompt.status() == 0


PACKED = """@R.function
def main(x: R.Tensor((2,), "float32")):
    y = R.call_pure_packed("waits", x, sinfo_args=R.Tensor((2,), "float32"))
    return y
"""


def waiting(folder: Path, body: str) -> Prompt:
    """A session whose first step calls a packed function with this body."""
    path, code = folder / "p.py", folder / "packed.py"
    path.write_text(PACKED)
    code.write_text(f"import time\n\ndef waits(x):\n    {body}\n    return x\n")
    prompt = Prompt(path, "--packed", f"{code}:waits")
    prompt.read()
    prompt.send("continue\n")
    time.sleep(0.7)
    prompt.send("\x03")
    return prompt


def test_ctrl_c_stops_a_packed_function_that_loops(tmp_path: Path) -> None:
    prompt = waiting(tmp_path, "while True: pass")
    assert "cancelled at step 0" in prompt.read(seconds=10)
    prompt.send("where\n")
    assert "main" in prompt.read()
    prompt.send("quit\n")
    assert prompt.status() == 0


def test_during_one_long_call_ctrl_c_keeps_the_session_once(tmp_path: Path) -> None:
    prompt = waiting(tmp_path, "time.sleep(4)")
    assert "ctrl+c again ends the session" in prompt.read(seconds=20)  # up to the prompt after the call
    prompt.send("quit\n")
    assert prompt.status() == 0
    prompt = waiting(tmp_path, "time.sleep(60)")
    assert "ctrl+c again" in prompt.read("ends the session\r\n", seconds=20)
    prompt.send("\x03")
    assert prompt.status() == 130


def test_a_script_goes_on_after_ctrl_c(tmp_path: Path) -> None:
    path, script = tmp_path / "p.py", tmp_path / "commands.txt"
    path.write_text(PROGRAMS["recursion"])
    script.write_text("continue\nwhere\n")
    command = [sys.executable, "-m", "relax_explorer", "debug", str(path), "--script", str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=hearing) as process:
        assert process.stdout is not None
        while "(rxe) continue" not in process.stdout.readline():
            continue
        time.sleep(0.7)
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert "cancelled at step" in rest
    assert "(rxe) where" in rest
    assert process.returncode == 130


def test_json_has_one_object_for_each_command(tmp_path: Path) -> None:
    path, script = tmp_path / "p.py", tmp_path / "commands.txt"
    path.write_text(SMALL)
    commands = [
        "break z if max > -9",
        "watch y",
        "continue",
        "info breakpoints",
        "where",
        "print y / 0",
        "C",
        "blame",
    ]
    commands += ["n 2", "print nan(z)", "break nan", "help", "zork"]
    script.write_text("\n".join(commands))
    done = CliRunner().invoke(group, ["debug", str(path), "--script", str(script), "--format", "json", "--input", "x=arange"])  # fmt: skip
    assert done.exit_code == 2
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["command"] for row in rows] == ["", *commands]
    assert {row["schema"] for row in rows} == {"rxe.debug/1"}
    stop = rows[3]
    assert (stop["position"], stop["reason"], stop["event"]["binding"]) == (2, "breakpoint", "z = negative")
    assert stop["value"] == {"shape": [2], "dtype": "float32", "value": [0, -2]}
    assert stop["hits"] == [
        {"number": 1, "place": "z", "condition": "max > -9", "enabled": True, "temporary": False, "hits": 1}
    ]
    assert stop["watches"][0]["changed"]
    assert stop["watches"][0]["value"]["value"] == [0, 2]
    assert rows[5]["frames"][0]["next"] is None
    assert rows[6]["value"]["value"] == ["nan", "inf"]
    assert rows[7]["position"] == 0
    assert rows[-1]["problems"][0]["code"] == "RX0530"


def test_commands_are_data_on_standard_input(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text(SMALL)
    done = CliRunner().invoke(group, ["debug", str(path)], input="n\nn\nquit\nzork\n")
    assert done.exit_code == 0
    assert done.stdout.count("(rxe) n") == 2
    done = CliRunner().invoke(group, ["debug", str(path), "--script", "-"], input=b"\xff\xfe\n")
    assert done.exit_code == 2
    assert "UTF-8" in done.stderr


def test_a_stage_after_passes_is_listed_as_printed(tmp_path: Path) -> None:
    path, script = tmp_path / "p.py", tmp_path / "commands.txt"
    path.write_text(SMALL)
    script.write_text("list\nbreak kernel:add\nc\nC\n")
    done = CliRunner().invoke(group, ["debug", str(path), "-p", "LegalizeOps", "--script", str(script)])
    assert done.exit_code == 0, done.output
    shown = next(line for line in done.stdout.splitlines() if line.startswith("▶"))
    number = int(shown.split()[1])
    printed = CliRunner().invoke(group, ["show", str(path), "-p", "LegalizeOps"]).stdout.splitlines()
    assert "y" in printed[number - 1].split("=")[0]
    assert len(shown) == 80  # cut
    assert printed[number - 1].startswith(shown[1:].lstrip(" 0123456789").rstrip("…"), 8)
    script.write_text(f"break line:{number}\nc\nbreak line:{number - 5}\n")
    done = CliRunner().invoke(group, ["debug", str(path), "-p", "LegalizeOps", "--script", str(script)])
    assert "hit 1" in done.stdout
