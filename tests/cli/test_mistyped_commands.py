"""A word that is no command and no file is told so, with the command that was meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from relax_explorer.ui.cli.main import group
from tests.support.roundtrip import SAMPLES


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["chek"], "no command and no file 'chek'. Did you mean check?"),
        (["chek", "FILE"], "no command and no file 'chek'. Did you mean check?"),
        (["passe", "--missing"], "Did you mean passes?"),
        (["fmt", "FILE"], "no command and no file 'fmt'."),
        (["fmt", "--help"], "no command and no file 'fmt'."),
        (["FILE", "FILE"], "several files are the stages of one session"),
    ],
)
def test_mistyped_commands(words: list[str], expected: str) -> None:
    result = CliRunner().invoke(group, [word.replace("FILE", str(SAMPLES[0])) for word in words])
    assert result.exit_code == 2
    assert expected in result.output


def test_a_file_with_the_name_of_no_command_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chek").write_text(SAMPLES[0].read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "json").write_text("", encoding="utf-8")  # the value of an option is no second file
    result = CliRunner().invoke(group, ["chek", "--format", "json"])
    assert result.exit_code == 0, result.output
    assert result.output.startswith("{")


def test_a_missing_file_is_told_as_before() -> None:
    result = CliRunner().invoke(group, ["missing.py"])
    assert "RX0001" in result.output
