"""What a terminal shows has colours; a file, a pipe, NO_COLOR and a dumb terminal have none."""

from __future__ import annotations

import re
from pathlib import Path

import click.testing
import pytest
from click.testing import CliRunner, Result

from relax_explorer.ui.cli.main import group
from tests.support.roundtrip import SAMPLES, function

_OPERATOR = "\x1b[38;2;86;180;233m{}\x1b[39m"  # the dark theme's
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
WRONG = function('y = R.matmul(x, x)\nz = R.add(y, "\x1b[31m")\nreturn y', 'x: R.Tensor((2, 3), "float32")')
LINES = [
    (("show", str(SAMPLES[0])), ("relu", "add")),
    (("opt", str(SAMPLES[0]), "-p", "CanonicalizeBindings"), ("relu", "add")),
    (("diff", str(SAMPLES[0]), "-p", "LegalizeOps"), ("relu", "call_tir")),
    (("who", str(SAMPLES[0]), "shifted", "-p", "LegalizeOps"), ("call_tir",)),
    (("check", "wrong.py"), ("matmul",)),
]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(click.testing._NamedTextIOWrapper, "isatty", lambda self: True)
    for name, value in {"TERM": "xterm-256color", "COLORTERM": "truecolor", "NO_COLOR": ""}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    Path("wrong.py").write_text(WRONG)


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(group, arguments, color=True)


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(("arguments", "operators"), LINES, ids=lambda value: value[0])
def test_code_has_colours_in_a_terminal(
    arguments: tuple[str, ...], operators: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = _run(*arguments).output
    for name in operators:
        assert _OPERATOR.format(name) in shown
    monkeypatch.setenv("NO_COLOR", "1")
    plain = _run(*arguments).output
    assert plain == _ESCAPES.sub("", shown)
    assert "\x1b" not in plain  # those of the program are escaped


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("COLORTERM", "", "\x1b[38;5;74mrelu"),
        ("COLORFGBG", "0;15", "\x1b[38;2;0;95;150mrelu"),
        ("COLORFGBG", "15;0", "\x1b[38;2;86;180;233mrelu"),
        ("TERM", "dumb", ".relu"),
    ],
)
def test_the_terminal_says_its_colours(
    name: str, value: str, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    assert wanted in _run("show", str(SAMPLES[0])).output


@pytest.mark.usefixtures("terminal")
def test_no_mark_of_a_difference_is_dark_blue_on_black() -> None:
    """ANSI blue, 34, has a contrast of 2:1 there."""
    shown = _run("diff", str(SAMPLES[0]), "-p", "LegalizeOps").output
    assert re.search(r"^\x1b\[94m\+\x1b", shown, re.MULTILINE)
    assert "\x1b[34m" not in shown


@pytest.mark.usefixtures("terminal")
def test_files_and_data_have_no_colours(tmp_path: Path) -> None:
    _run("opt", str(SAMPLES[0]), "-p", "LegalizeOps", "-o", "out.py")
    assert "\x1b" not in Path("out.py").read_text()
    assert "\x1b" not in _run("show", str(SAMPLES[0]), "--format", "json").output


def test_a_pipe_has_no_colours() -> None:
    assert "\x1b" not in _run("show", str(SAMPLES[0])).output
