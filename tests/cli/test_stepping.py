"""`compare --step` as a user types it: what goes with it, its status, and its JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from relax_explorer.ui.cli.main import group

RIGHT = """
@R.function
def main(x: R.Tensor((2,), "float32")):
    a = R.exp(x)
    b = R.sin(a)
    return b
"""
WRONG = RIGHT.replace("R.sin", "R.log")
STOPS = RIGHT.replace("R.sin(a)", 'R.match_cast(a, R.Tensor((3,), "float32"))')


def rxe(folder: Path, *words: str, typed: str = "") -> Result:
    for name, text in (("right", RIGHT), ("wrong", WRONG), ("stops", STOPS)):
        (folder / f"{name}.py").write_text(text)
    arguments = ["compare", *[word.replace("@@", f"{folder}/") for word in words]]
    done = CliRunner().invoke(group, arguments, input=typed)
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    return done


def rows(done: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_status_tells_if_the_results_differ(tmp_path: Path) -> None:
    assert rxe(tmp_path, "@@right.py", "@@wrong.py", "--step", typed="s\n").exit_code == 1
    assert rxe(tmp_path, "@@right.py", "@@right.py", "--step", typed="s\n").exit_code == 0
    assert rxe(tmp_path, "@@right.py", "@@stops.py", "--step", typed="").exit_code == 1
    assert rxe(tmp_path, "@@right.py", "@@wrong.py", "--step", typed="sideways\n").exit_code == 2
    assert rxe(tmp_path, "@@right.py", "-p", "LegalizeOps", "--step", typed="c\n").exit_code == 0


def test_commands_come_from_standard_input_or_a_script(tmp_path: Path) -> None:
    script = tmp_path / "commands.txt"
    script.write_text("# to the difference\n\ncontinue\n")
    by_script = rxe(tmp_path, "@@right.py", "@@wrong.py", "--step", "--script", "@@commands.txt")
    assert by_script.stdout == rxe(tmp_path, "@@right.py", "@@wrong.py", "--step", typed="continue\n").stdout
    assert "pair 2 of 2, main: b\n" in by_script.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("@@right.py", "@@wrong.py", "--script", "-"),
        ("@@right.py", "@@wrong.py", "--step", "--all"),
        ("@@right.py", "@@wrong.py", "--step", "--samples", "2"),
        ("@@right.py", "@@wrong.py", "--step", "--workers", "2"),
        ("@@right.py", "@@wrong.py", "--step", "--scheduler", "local"),
        ("@@right.py", "@@wrong.py", "--step", "--ref", "@@right.py"),
        ("@@right.py", "--step"),
        ("-", "@@wrong.py", "--step"),
        ("@@right.py", "-", "--step", "--script", "-"),
        ("@@right.py", "@@wrong.py", "--step", "--script", "@@missing.txt"),
    ],
)
def test_what_does_not_go_with_it_is_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert rxe(tmp_path, *words).exit_code == 2


def test_standard_input_is_a_program_or_commands(tmp_path: Path) -> None:
    for words in (("-", "@@wrong.py"), ("@@right.py", "-")):
        done = rxe(tmp_path, *words, "--step", typed=RIGHT)
        assert "standard input is read once" in done.stderr
        script = tmp_path / "commands.txt"
        script.write_text("c\n")
        done = rxe(tmp_path, *words, "--step", "--script", "@@commands.txt", typed=RIGHT)
        assert done.exit_code in (0, 1)
        assert "(rxe) c\n" in done.stdout


def test_a_walk_as_json(tmp_path: Path) -> None:
    words = ("@@right.py", "@@wrong.py", "--step", "--format", "json", "--input", "x=zeros")
    done = rxe(tmp_path, *words, typed="c\np\nl\nend\n")
    start, parts, elements, around, refused = rows(done)
    assert done.exit_code == 2
    assert {row["schema"] for row in rows(done)} == {"rxe.lockstep/1"}
    assert (start["command"], start["position"], start["pairs"]) == ("", 0, 2)
    assert (parts["command"], parts["position"]) == ("c", 2)
    assert (parts["a"]["name"], parts["b"]["operation"]) == ("b", "log")
    assert (parts["delta"]["index"], parts["delta"]["count"]) == ([0], 2)
    assert [item["a"]["name"] for item in parts["operands"]] == ["a"]
    assert parts["values"][1] == {"shape": [2], "dtype": "float32", "value": [0.0, 0.0]}
    assert elements["values"] == parts["values"]
    assert [(row["position"], row["a"]["name"]) for row in around["pairs"]] == [(1, "a"), (2, "b")]
    assert refused["problems"][0]["code"] == "RX0530"


def test_the_results_as_json(tmp_path: Path) -> None:
    end = rows(rxe(tmp_path, "@@right.py", "@@wrong.py", "--step", "--format", "json", typed="g end\n"))[1]
    assert (end["position"], end["reason"], end["stopped"]) == (3, "out0 differs", ["", ""])
    assert list(end["results"]) == ["out0"]
    end = rows(rxe(tmp_path, "@@right.py", "@@stops.py", "--step", "--format", "json", typed="g end\n"))[1]
    assert (end["reason"], end["stopped"][0], end["results"]) == ("only B stops", "", {})
    assert "expected 3, got 2" in end["stopped"][1]


def test_infinite_distances_are_texts(tmp_path: Path) -> None:
    nan = RIGHT.replace("R.sin(a)", 'R.divide(a, R.const(0, "float32"))')
    (tmp_path / "nan.py").write_text(nan)
    done = rxe(tmp_path, "@@right.py", "@@nan.py", "--step", "--format", "json", typed="c\n")
    json.loads(done.stdout.splitlines()[1], parse_constant=pytest.fail)
