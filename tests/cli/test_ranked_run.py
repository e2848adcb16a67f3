"""`run --ranks N`: values of ranks beside each other, and the first one that parts from the undivided program."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from relax_explorer.ui.cli.main import group

LAYER = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, {inner}), "float32"), v: R.Tensor(({inner}, 8), "float32")):
        h = R.matmul(x, w)
        a = R.nn.silu(h)
        y = R.matmul(a, v)
        {sum}
        return z
"""
SUM = 'z = R.ccl.allreduce(y, "sum")'


def run(*arguments: str) -> Result:
    return CliRunner().invoke(group, list(arguments))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "whole.py").write_text(LAYER.format(inner=16, sum="z = R.add(y, R.const(0, 'float32'))"))
    (tmp_path / "two.py").write_text(LAYER.format(inner=8, sum=SUM))
    (tmp_path / "wrong.py").write_text(LAYER.format(inner=8, sum=SUM.replace("sum", "max")))
    (tmp_path / "alone.py").write_text(LAYER.format(inner=8, sum="z = R.add(y, y)"))
    return tmp_path


def test_a_right_division(folder: Path) -> None:
    result = run(
        "run",
        str(folder / "two.py"),
        "--ranks",
        "2",
        "--unsharded",
        str(folder / "whole.py"),
        "--shape",
        "n=3",
    )
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert [line.split("  ")[0].strip() for line in lines[:5]] == ["h", "a", "y", "z", "out0"]
    assert [line[14:29].strip() for line in lines[:5]] == [
        "parts, axis 1",
        "parts, axis 1",
        "sums",
        "each has it",
        "each has it",
    ]
    assert all(line.count("f32") == 2 for line in lines[:5])
    assert lines[5] == "2 ranks met once; all 5 values of the same name make those of the undivided program"
    assert "rank 0" in result.stderr
    assert "rank 1" in result.stderr


def test_a_wrong_division_names_the_first_value(folder: Path) -> None:
    arguments = "run", str(folder / "wrong.py"), "--ranks", "2", "--unsharded", str(folder / "whole.py")
    result = run(*arguments)
    assert result.exit_code == 1
    assert "z is the first value that parts from the undivided program\nrank 0: [0, 0] is " in result.stdout
    data = json.loads(run(*arguments, "--format", "json").stdout)
    assert data["schema"] == "rxe.ranks/1"
    assert (data["ranks"], data["meetings"], data["apart"], data["failed"]) == (2, 1, "z", [])
    assert [row.get("relation") for row in data["bindings"]] == ["axis", "axis", "sums", "apart", "apart"]
    assert data["bindings"][0]["axis"] == 1
    assert data["bindings"][3]["rank"] == 0
    assert "elements differ" in data["bindings"][3]["reason"]
    assert "sums" not in run(*arguments, "-p", "LegalizeOps").stdout.splitlines()[3]


def test_each_rank_has_inputs_of_its_own(folder: Path) -> None:
    for rank in range(2):
        np.save(folder / f"w{rank}.npy", np.full((8, 8), rank + 1, "float32"))
    result = run(
        "run", str(folder / "two.py"), "--ranks", "2", "--input", "x=ones", "--input", f"w={folder}/w{{rank}}.npy", "--input", "v=ones"
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert [line[14:22].strip() for line in lines[:5]] == ["differ", "differ", "differ", "equal", "equal"]
    assert lines[5].startswith("2 ranks met once; --unsharded FILE compares")


def test_a_rank_that_stops(folder: Path) -> None:
    text = (
        (folder / "two.py")
        .read_text()
        .replace("R.nn.silu(h)", "R.ccl.allgather(h, 4)")
        .replace("R.matmul(a, v)", "R.matmul(h, v)")
    )
    (folder / "four.py").write_text(text)
    result = run("run", str(folder / "four.py"), "--ranks", "2")
    assert result.exit_code == 1
    assert "rank 0 stopped" in result.stdout
    assert "error[RX0531]: a: allgather is for num_workers=4, but 2 ranks run" in result.stderr


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--ranks", "0"), "--ranks takes a number from 1 to 64"),
        (("--ranks", "65"), "--ranks takes a number from 1 to 64"),
        (("--unsharded", "{whole}"), "--ranks takes a number from 1 to 64"),
        (("--ranks", "2", "--watch", "max(h)"), "--ranks runs to the end"),
        (("--ranks", "2", "--time-bindings"), "--ranks runs to the end"),
        (("--ranks", "2", "--engine", "reference"), "--ranks runs to the end"),
        (("--ranks", "2", "--unsharded", "{whole}", "--input", "x=randn:{{rank}}"), "{rank} has no meaning"),
    ],
)  # fmt: skip
def test_options_without_a_meaning(folder: Path, options: tuple[str, ...], text: str) -> None:
    given = [option.format(whole=folder / "whole.py") for option in options]
    result = run("run", str(folder / "two.py"), *given)
    assert result.exit_code == 2
    assert text in result.stderr


@pytest.mark.parametrize(
    ("ranks", "text"),
    [("3", "no part of shape (8, 16) for 3 ranks"), ("4", "no part of shape (8, 16) for 4 ranks")],
)
def test_a_number_of_ranks_that_the_program_is_not_divided_for(folder: Path, ranks: str, text: str) -> None:
    result = run("run", str(folder / "two.py"), "--ranks", ranks, "--unsharded", str(folder / "whole.py"))
    assert result.exit_code == 2
    assert text in result.stderr


def test_a_program_without_collectives(folder: Path) -> None:
    result = run("run", str(folder / "alone.py"), "--ranks", "3")
    assert result.exit_code == 0
    assert "3 ranks met 0 times" in result.stdout


CALLS = """a = main({x}, "{w}", "ones")
b = main(a, "{w}", "ones")
"""
X = "[[1, 2, 3, 4, 5, 6, 7, 8], [0, 1, 0, 1, 0, 1, 0, 1]]"


def test_calls_of_a_file_on_ranks(folder: Path) -> None:
    (folder / "calls.txt").write_text(CALLS.format(x=X, w="randn:1"))
    words = "run", str(folder / "two.py"), "--ranks", "2", "--calls", str(folder / "calls.txt")
    result = run(*words)
    assert result.exit_code == 0, result.output
    names = [line.split()[0] for line in result.stdout.splitlines()[:-1]]
    assert names == ["1.h", "1.a", "1.y", "1.z", "a", "2.h", "2.a", "2.y", "2.z", "b", "out0", "out1"]
    assert "2 ranks met 2 times" in result.stdout
    assert "2 calls: main" in result.stderr


def test_calls_of_the_undivided_program(folder: Path) -> None:
    np.save(folder / "w.npy", np.random.default_rng(0).standard_normal((8, 16)).astype("float32"))
    (folder / "calls.txt").write_text(CALLS.format(x=X, w="w.npy"))
    told = (
        "--ranks",
        "2",
        "--calls",
        str(folder / "calls.txt"),
        "--unsharded",
        str(folder / "whole.py"),
        "--format",
        "json",
    )
    right = json.loads(run("run", str(folder / "two.py"), *told).stdout)
    relations = ["axis", "axis", "sums", "equal"]
    assert [row["relation"] for row in right["bindings"]] == [
        *relations,
        "equal",
        *relations,
        "equal",
        "equal",
        "equal",
    ]
    assert right["apart"] is None
    result = run("run", str(folder / "wrong.py"), *told)
    assert (result.exit_code, json.loads(result.stdout)["apart"]) == (1, "1.z")


def test_each_rank_makes_calls_with_inputs_of_its_own(folder: Path) -> None:
    for rank in range(2):
        np.save(folder / f"w{rank}.npy", np.full((8, 8), rank + 1, "float32"))
    (folder / "calls.txt").write_text(CALLS.format(x=X, w="w{rank}.npy"))
    words = "run", str(folder / "two.py"), "--ranks", "2", "--calls", str(folder / "calls.txt")
    lines = run(*words).stdout.splitlines()
    assert [line[14:22].strip() for line in lines[:5]] == ["differ", "differ", "differ", "equal", "equal"]
