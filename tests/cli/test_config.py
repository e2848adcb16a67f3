"""Settings come from files and the environment, and what is typed wins."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from relax_explorer.ui import places
from relax_explorer.ui.cli.main import group

# An error by the specification, a warning for TVM.
PROGRAM = '@R.function\ndef f(o: R.Object):\n    y: R.Tensor((2,), "float32") = o\n    return y\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "p.py").write_text(PROGRAM)
    inside = tmp_path / "deep" / "er"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    monkeypatch.setattr(places, "config", lambda: tmp_path / "user.toml")
    return tmp_path


def check(folder: Path, *arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(group, [*arguments, "check", str(folder / "p.py")], env=environment)


def test_without_settings_the_specification_decides(folder: Path) -> None:
    assert check(folder).exit_code == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("relax-explorer.toml", 'profile = "tvm"'),
        ("relax-explorer.toml", '[check]\nprofile = "tvm"'),
        ("pyproject.toml", '[tool.relax-explorer]\nprofile = "tvm"'),
        ("user.toml", 'profile = "tvm"'),
    ],
)
def test_a_file_above_sets_the_profile(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    assert check(folder).exit_code == 0
    assert check(folder, "--isolated").exit_code == 1


def test_the_environment_and_what_is_typed_win(folder: Path) -> None:
    (folder / "relax-explorer.toml").write_text('profile = "spec"')
    assert check(folder, RXE_CHECK_PROFILE="tvm").exit_code == 0
    typed = CliRunner().invoke(
        group, ["check", "--profile", "spec", str(folder / "p.py")], env={"RXE_CHECK_PROFILE": "tvm"}
    )
    assert typed.exit_code == 1


def test_the_nearest_file_wins(folder: Path) -> None:
    (folder / "user.toml").write_text('profile = "spec"')
    (folder / "relax-explorer.toml").write_text('profile = "tvm"')
    assert check(folder).exit_code == 0


def test_a_named_file_replaces_the_others(folder: Path) -> None:
    (folder / "relax-explorer.toml").write_text('profile = "tvm"')
    (folder / "other.toml").write_text('profile = "spec"')
    assert check(folder, "--config", str(folder / "other.toml")).exit_code == 1


def test_an_unknown_key_is_a_warning_with_the_nearest(folder: Path) -> None:
    (folder / "relax-explorer.toml").write_text('[check]\nprofil = "tvm"')
    result = check(folder)
    assert "did you mean 'check.profile'" in result.stderr
    assert result.exit_code == 1


@pytest.mark.parametrize("text", ["profile = ", 'profile = "nobody"'])
def test_a_broken_file_is_a_usage_error(folder: Path, text: str) -> None:
    (folder / "relax-explorer.toml").write_text(text)
    result = check(folder)
    assert result.exit_code == 2
    assert "Traceback" not in result.output
