"""Long sweeps tell on the terminal how far they are, and leave nothing behind."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from relax_explorer.ui.cli import interruptible
from relax_explorer.ui.cli.main import group

DATA = Path(__file__).parent.parent / "data" / "corpus" / "mlp"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def opened(monkeypatch: pytest.MonkeyPatch, patience: float = 0.0) -> Terminal:
    """A terminal as standard error. The test must call this: pytest sets standard error after fixtures."""
    shown = Terminal()
    monkeypatch.setattr(interruptible, "QUIET", patience)
    monkeypatch.setattr("sys.stderr", shown)
    return shown


def lines(terminal: Terminal) -> list[str]:
    return terminal.getvalue().replace("\x1b[K", "").split("\r")


def test_the_line_is_replaced_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = opened(monkeypatch)
    with interruptible.progress() as told:
        told("stage", 1, 3)
        told("stage", 2, 3)
        told("sample", 1, 1)  # a single part is no news
    assert lines(terminal) == ["", "stage 1/3", "stage 2/3", ""]


def test_the_line_goes_after_an_error_too(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = opened(monkeypatch)
    with contextlib.suppress(KeyboardInterrupt), interruptible.progress() as told:
        told("stage", 1, 3)
        raise KeyboardInterrupt
    assert lines(terminal) == ["", "stage 1/3", ""]


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = opened(monkeypatch, 60.0)
    with interruptible.progress() as told:
        told("stage", 1, 3)
    assert terminal.getvalue() == ""


def test_a_pipe_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interruptible, "QUIET", 0.0)
    shown = io.StringIO()
    monkeypatch.setattr("sys.stderr", shown)
    with interruptible.progress() as told:
        told("stage", 1, 3)
    assert shown.getvalue() == ""


@pytest.mark.parametrize("command", ["validate", "bisect"])
def test_each_stage_is_told(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told = []
    monkeypatch.setattr(interruptible, "QUIET", 0.0)
    monkeypatch.setattr("relax_explorer.ui.cli.comparing.progress", lambda: _Listening(told))
    done = CliRunner().invoke(group, [command, str(DATA), "--samples", "2"])
    assert done.exit_code == 0, done.output
    stages = [number for what, number, total in told if what == "stage"]
    count = max(stages)
    repeats = 2 if command == "validate" else 1
    assert stages == list(range(1, count + 1)) * repeats
    assert count > 3


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("run", []),
        ("run", ["--watch", "lv"]),
        ("run", ["--calls", "{calls}"]),
        ("debug", ["--script", "{script}"]),
        ("debug", ["--calls", "{calls}", "--script", "{script}"]),
    ],
    ids=["run", "steps", "calls", "debug", "debug calls"],
)
def test_compiled_kernels_are_counted(
    command: str, options: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "calls").write_text(f'y = forward({[[1.0] * 16]}, "ones", "ones", "ones")\n')
    (tmp_path / "script").write_text("continue\n")
    stage = DATA / "12_FuseTIRInner.py"
    count = len(set(re.findall(r"call_tir\(cls\.(\w+)", stage.read_text())))
    terminal = Terminal()
    monkeypatch.setattr(interruptible, "QUIET", 0.0)
    monkeypatch.setattr(interruptible, "sys", SimpleNamespace(stderr=terminal))
    given = [option.format(calls=tmp_path / "calls", script=tmp_path / "script") for option in options]
    done = CliRunner().invoke(group, [command, str(stage), *given])
    assert done.exit_code == 0, done.output
    shown = [line for line in lines(terminal) if line]
    assert count > 1
    assert shown == [f"compiling {number}/{count} kernels" for number in range(1, len(shown) + 1)]
    assert len(shown) == count
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_a_pipe_is_not_told_of_kernels() -> None:
    done = CliRunner().invoke(group, ["run", str(DATA / "12_FuseTIRInner.py")])
    assert "compiling" not in done.output + done.stderr


class _Listening:
    def __init__(self, told: list[tuple[str, int, int]]) -> None:
        self.told = told

    def __enter__(self) -> object:
        return lambda what, number, total: self.told.append((what, number, total))

    def __exit__(self, *problem: object) -> None:
        return None
