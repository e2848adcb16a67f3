"""What a terminal shows has colours; a file, a pipe, NO_COLOR and a dumb terminal have none."""

from __future__ import annotations

import re
from pathlib import Path

import click.testing
import pytest
from click.testing import CliRunner, Result

from relax_explorer.ui import process
from relax_explorer.ui.cli.main import group
from relax_explorer.ui.tui.themes import chosen_theme
from relax_explorer.viz.tokens import DARK, MONO
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


@pytest.fixture(autouse=True)
def _colors_of_this_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_colors", "auto")  # `--color` is about a process


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


BUILD = str(SAMPLES[0].parent / "broken_build")
PARTS = [f"{BUILD}@FuseOps", f"{BUILD}@FuseTIRInner"]


@pytest.mark.parametrize("front", [True, False])
def test_colours_are_asked_for_where_no_terminal_is(front: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLORTERM", "")
    shown = ("show", str(SAMPLES[0]))
    line = ("--color", "always", *shown) if front else (*shown, "--color", "always")
    assert (
        "\x1b[38;5;74mrelu" in CliRunner().invoke(group, line).output
    )  # no terminal, and click would drop them


def test_the_choice_is_that_of_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for line in (("--color", "never", "ops"), ("ops", "--color", "never")):
        CliRunner().invoke(group, line)
        assert not process.no_colors()


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("arguments", [line for line, _ in LINES], ids=lambda value: value[0])
def test_colours_are_turned_off_in_a_terminal(arguments: tuple[str, ...]) -> None:
    assert "\x1b" not in _run(*arguments, "--color", "never").output


def test_the_explorer_has_the_colours_that_were_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert chosen_theme("auto") is DARK
    process.use_colors("never")
    assert chosen_theme("auto") is MONO
    process.use_colors("always")
    monkeypatch.setenv("NO_COLOR", "1")
    assert chosen_theme("auto") is DARK


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        (("bisect", BUILD), ["\x1b[32mholds\x1b[0m", "\x1b[1;31mFAILS\x1b[0m", "\x1b[1mfirst bad pass\x1b[0m"]),
        (("compare", *PARTS), ["\x1b[1;31mDIFFERENT\x1b[0m", "\x1b[32mequal\x1b[0m", "\x1b[33m-\x1b[0m "]),
    ],
    ids=["bisect", "compare"],
)  # fmt: skip
def test_verdicts_have_colours_and_fit_the_terminal(
    command: tuple[str, ...], wanted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    shown = _run(*command).stdout
    for text in wanted:
        assert text in shown
    lines = [_ESCAPES.sub("", line) for line in shown.split("\n")]
    assert [line for line in lines if len(line) > 72] == []
    monkeypatch.setattr(click.testing._NamedTextIOWrapper, "isatty", lambda self: False)
    plain = _run(*command).stdout
    assert "\x1b" not in plain
    assert [word for line in lines for word in line.split()] == plain.split()  # nothing is lost


@pytest.mark.usefixtures("terminal")
def test_a_history_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "76")
    line = ("who", str(SAMPLES[11]), "scores", "-p", "zero,default_build")
    lines = [_ESCAPES.sub("", text) for text in _run(*line).output.split("\n")]
    assert max(map(len, lines)) == 76
    monkeypatch.setattr(click.testing._NamedTextIOWrapper, "isatty", lambda self: False)
    assert max(map(len, _run(*line).output.split("\n"))) > 100  # a file has it whole
