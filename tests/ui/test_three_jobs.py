"""The three jobs that people open the explorer for, done with keys alone: in the screen of a test, and with the installed program in tmux."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from relax_explorer.ui.tui import keys
from relax_explorer.ui.tui.app import Explorer
from tests.cli.test_commands import rxe_cli
from tests.support.roundtrip import DATA, SAMPLES
from tests.ui.test_explorer import screen_text
from tests.ui.test_screens import idle, press
from tests.viz.test_report import document_in

BROKEN = SAMPLES[0].parent / "broken_build"
LAYER = next(path for path in SAMPLES if path.stem.startswith("12"))
PLANTED = "T_softmax_exp[v_i0, v_i1, v_i2→v_k, v_k→v_i2]"


async def test_the_planted_axis_is_found_within_six_keys() -> None:
    """Each key is named by the footer, by a line of the popup, or by the details."""
    app = Explorer(str(BROKEN))
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        assert "B bisect" in screen_text(app)
        await press(pilot, app, "B")
        assert "First bad stage: 12 FuseTIRInner" in screen_text(app)
        assert "Enter goes there" in screen_text(app)
        await press(pilot, app, "enter")
        assert app.state.selection.variable == "softmax"
        assert "calls softmax, changed here; Enter" in screen_text(app)
        await press(pilot, app, "enter")
        assert "c change" in [f"{key.label} {key.hint}" for key in keys.hints("passes")[0]]
        await press(pilot, app, "c", "c")
        assert PLANTED in screen_text(app)


def test_the_planted_axis_is_found_by_one_command() -> None:
    done = rxe_cli("bisect", str(BROKEN))
    assert done.exit_code == 1, done.output
    assert "first bad pass: FuseTIRInner (stage 12)" in done.output
    assert "first difference: softmax of forward" in done.output
    assert "+ T.reads(T_softmax_exp[v_i0, v_i1, v_k, v_i2])" in done.output


class Tmux:
    """The installed program in a terminal of 80×24."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.socket = f"rxe-{os.getpid()}-{time.monotonic_ns()}"
        program = [sys.executable, "-m", "relax_explorer", *arguments]
        self._tmux(
            "-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "-c", str(folder), *program
        )

    def _tmux(self, *arguments: str) -> str:
        command = ["tmux", "-L", self.socket, *arguments]
        environment = os.environ | {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout

    def press(self, *names: str) -> None:
        """Press keys, by tmux's names."""
        for name in names:
            self._tmux("send-keys", name)

    def type(self, text: str) -> None:
        """Type a text and Enter."""
        self._tmux("send-keys", "-l", text)
        self.press("Enter")

    def wait(self, text: str, seconds: float = 60) -> str:
        """The screen once it shows a text."""
        end = time.monotonic() + seconds
        shown = ""
        while time.monotonic() < end:
            shown = self._tmux("capture-pane", "-p")
            if text in shown:
                return shown
            time.sleep(0.05)
        raise AssertionError(f"{text!r} never came:\n{shown}")

    def close(self) -> None:
        """End the terminal."""
        subprocess.run(["tmux", "-L", self.socket, "kill-server"], capture_output=True, check=False)


@pytest.fixture
def real_dumps(tmp_path: Path) -> Path:
    """Stages of a Llama as TVM printed them."""
    folder = tmp_path / "dumps"
    folder.mkdir()
    for path in sorted((DATA / "llama").glob("[0-9]*.py"))[:6]:
        shutil.copy(path, folder)
    return folder


@pytest.fixture
def in_dumps(real_dumps: Path, tmp_path: Path) -> Iterator[Tmux]:
    """The program on the dumps of a real build."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    made = Tmux(tmp_path, str(real_dumps))
    yield made
    made.close()


@pytest.fixture
def terminal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tmux]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    made = Tmux(tmp_path, *request.param)
    yield made
    made.close()


@pytest.mark.parametrize("terminal", [(str(BROKEN),)], indirect=True)
def test_a_pass_broke_my_value(terminal: Tmux) -> None:
    terminal.wait("stage 0/25 input")
    terminal.press("B")
    terminal.wait("First bad stage: 12 FuseTIRInner")
    terminal.press("Enter")
    terminal.wait("calls softmax, changed here")
    terminal.press("Enter", "c")
    assert "T.reads(T_softmax_exp[v_i0, v_i1, v_i2→v_k" in terminal.wait("change 14 of 15")
    terminal.press("w")
    terminal.wait("History of kernel softmax")
    terminal.wait("12 ~ FuseTIRInner             changed: ~2")


def test_a_value_is_followed_through_a_build(in_dumps: Tmux, tmp_path: Path) -> None:
    """Who changed it, what it was merged from, both stages in lock-step, and the report to take away."""
    terminal = in_dumps
    terminal.wait("stage 0/12")
    terminal.press("/")
    terminal.type("var:matmul1")
    terminal.wait("lines with var:matmul1")
    terminal.press("w")
    assert "~   4 ≈ FuseOps                  lv = @fused_matmul1" in terminal.wait("History of matmul1")
    terminal.press("Down", "Down", "Down", "Enter")
    terminal.wait("stage 4/")
    terminal.wait("merged from matmul1, mul, add by FuseOps ≈")
    terminal.press("5")
    terminal.wait("B 4 FuseOps   equal")
    terminal.press("g", "g", "s", "s", "p")
    terminal.wait("B = (")
    terminal.press(":")
    terminal.type("report")
    terminal.wait("wrote ")
    found = document_in(next(tmp_path.glob("*.html")).read_text(encoding="utf-8"))
    assert "merged from matmul1, mul, add" in [
        group[1] for item in found["changes"] for group in item["groups"]
    ]
    terminal.press("q", "q")


@pytest.mark.parametrize("terminal", [(str(LAYER), "-p", "zero")], indirect=True)
def test_a_pass_is_turned_off_and_on_again(terminal: Tmux) -> None:
    terminal.wait("stage 0/5")
    terminal.press("]")
    terminal.wait("stage 1/5")
    terminal.press("]")
    terminal.wait("stage 2/5")
    terminal.press("x")
    terminal.wait("AnnotateTIROpPattern is off; u undoes; warning: FuseOps requires")
    terminal.wait("stage 2/4")
    terminal.press("5")
    terminal.wait("equal")
    terminal.press("1", "u")
    terminal.wait("stage 2/5")
    terminal.press("Y")
    terminal.wait("relax-explorer show ")
    terminal.press("q")


def test_the_output_is_wrong(in_dumps: Tmux) -> None:
    terminal = in_dumps
    terminal.wait("stage 0/")
    terminal.press("2")
    terminal.wait("inputs made up")
    terminal.press("I")
    terminal.wait("Inputs of forward")
    terminal.press("2", "Tab", "4", "Enter")
    terminal.wait("b = 2, s = 4")
    terminal.press(":")
    terminal.type("break op:nn.softmax if max > 0.5")
    terminal.wait("breakpoint 1")
    terminal.press("c")
    shown = terminal.wait("hit 1")
    assert "▶ softmax" in shown
    terminal.press("i")
    terminal.wait("softmax: (2, 4, 4, 4) f32")
    terminal.press("q", "S")
    terminal.wait("▶ add ")
    terminal.press("5")  # the first stage with the first that changed
    terminal.wait("B 1 LegalizeOps   equal")
    terminal.press("q", "q")


@pytest.mark.parametrize("terminal", [(str(LAYER),)], indirect=True)
def test_what_does_this_program_do(terminal: Tmux, tmp_path: Path) -> None:
    terminal.wait("stage 0/")
    terminal.press("t")
    terminal.wait("R.matmul")
    terminal.press("t", "t", "/")
    terminal.type("op:nn.softmax")
    terminal.wait("1 line with op:nn.softmax")
    terminal.press("3")
    terminal.wait("weights = nn.softmax(scores)")
    terminal.press("e")
    terminal.wait("wrote ")
    assert b"<svg" in next(tmp_path.glob("*.svg")).read_bytes()[:2000]
    terminal.press("2")
    terminal.wait("inputs made up")
    terminal.press("s", "s")
    terminal.wait("step 2")
    terminal.press("S")
    terminal.wait("step 1")
    terminal.press("?")
    terminal.wait("Keys of Debug")
