"""`--packed`: Python files that the user trusts, and `--private`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from relax_explorer.ui.cli.main import group
from relax_explorer.ui.commands import COMMANDS

PROGRAM = """@I.ir_module
class M:
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")):
        y = R.call_packed("NAME", x)
        return y

    @R.function(private=True)
    def helper(x: R.Tensor((2,), "float32")):
        return x
"""
FUNCTIONS = """import relax_explorer as rxe

def twice(x):
    return x + x

@rxe.packed_function("cli.packed.decorated")
def decorated(x):
    return x * 3
"""


def invoke(path: Path, name: str, *arguments: str, command: str = "run") -> Result:
    (path / "p.py").write_text(PROGRAM.replace("NAME", name))
    done = CliRunner().invoke(group, [command, str(path / "p.py"), "--input", "x=2", *arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def library(path: Path, text: str = FUNCTIONS) -> str:
    (path / "lib.py").write_text(text)
    return str(path / "lib.py")


def test_functions_of_a_file_are_registered_by_name_by_alias_and_by_decorator(tmp_path: Path) -> None:
    file = library(tmp_path)
    assert "[4. 4.]" in invoke(tmp_path, "twice", "--packed", f"{file}:twice").stdout
    assert "[4. 4.]" in invoke(tmp_path, "my.twice", "--packed", f"my.twice={file}:twice").stdout
    done = invoke(tmp_path, "cli.packed.decorated", "--packed", file, "--packed", f"{file}:twice")
    assert "[6. 6.]" in done.stdout
    (tmp_path / "commands.txt").write_text("goto end\nprint y\n")
    debugged = invoke(
        tmp_path, "my.other", "--packed", f"my.other={file}:twice", "--script", str(tmp_path / "commands.txt"), command="debug"
    )  # fmt: skip
    assert "[4 4]" in debugged.stdout


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("nothing.py:f", "there is no such file"),
        ("lib.txt:f", "takes FILE.py"),
        ("=lib.py:f", "takes FILE.py"),
        ("a=LIB", "takes FILE.py"),
        ("LIB:missing", "no function 'missing'"),
        ("LIB:__name__", "no function '__name__'"),
    ],
)
def test_a_wrong_file_is_wrong_usage(given: str, text: str, tmp_path: Path) -> None:
    done = invoke(tmp_path, "twice", "--packed", given.replace("LIB", library(tmp_path)))
    assert done.exit_code == 2
    assert text in " ".join(done.stderr.split())


def test_a_file_that_raises_is_reported(tmp_path: Path) -> None:
    for body, text in (
        ("1 / 0\n", "ZeroDivisionError"),
        ("value = (\n", "SyntaxError"),
        ("import no_such_module\n", "ModuleNotFoundError"),
    ):
        done = invoke(tmp_path, "twice", "--packed", library(tmp_path, body))
        assert done.exit_code == 2
        assert text in done.stderr


def test_no_settings_file_and_no_variable_names_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    marker = tmp_path / "executed"
    file = library(tmp_path, f"open({str(marker)!r}, 'w').close()\n")
    for text in (f'packed = ["{file}"]\n', f'[run]\npacked = ["{file}"]\n'):
        (tmp_path / "relax-explorer.toml").write_text(text)
        (tmp_path / "own.toml").write_text(text)
        done = invoke(tmp_path, "no.such", "--format", "json")
        assert "ignored" in done.stderr
        given = CliRunner().invoke(group, ["--config", "own.toml", "run", "p.py"])
        assert "ignored" in given.stderr
    (tmp_path / "relax-explorer.toml").unlink()
    for variable in ("RXE_RUN_PACKED", "RXE_DEBUG_PACKED", "RXE_PACKED"):
        monkeypatch.setenv(variable, file)
    invoke(tmp_path, "no.such")
    assert not marker.exists()
    assert {item.name for item in COMMANDS for a in item.arguments if a.is_code} == {
        "tui", "play", "run", "debug", "compare", "bisect", "validate", "reduce", "shapes", "relations", "record",
    }  # fmt: skip


PURE = """@R.function
def main(x: R.Tensor((2,), "float32")):
    y = R.call_pure_packed("NAME", x, sinfo_args=R.Tensor((2,), "float32"))
    return OP(y, y)
"""


@pytest.mark.parametrize(
    ("command", "where"),
    [
        *[
            (command, where)
            for command in ("compare", "bisect", "validate")
            for where in ((), ("--workers", "2"))
        ],
        ("compare", ("--scheduler", "local")),
    ],
)
def test_compared_stages_call_the_functions_in_whatever_process(
    command: str, where: tuple[str, ...], tmp_path: Path
) -> None:
    name = f"test.packed.{command}{''.join(where)}"
    (tmp_path / "build").mkdir()
    for number, last in enumerate(["R.add(y, y)", "R.add(y, x)"]):
        text = PURE.replace("NAME", name).replace("OP(y, y)", last)
        (tmp_path / "build" / f"{number}_Stage{number}.py").write_text(text)
    words = [command, str(tmp_path / "build"), "--input", "x=3", "--format", "json", *where]
    done = CliRunner().invoke(group, [*words, "--packed", f"{name}={library(tmp_path)}:twice"])
    assert done.exit_code == 1, done.output
    assert "differs" in done.stdout
    assert "no packed function" not in done.stdout
