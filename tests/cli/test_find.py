"""`find` lists the bindings that a pattern matches."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relax_explorer.ui.cli import output
from tests.cli.test_commands import rxe_cli
from tests.support.roundtrip import SAMPLES, function

BODY = """
t = R.permute_dims(x, axes=None)
y = R.matmul(x, t)
z = R.add(y, R.const(1.5, "float32"))
w = R.matmul(z, t)
return w
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "program.py"
    path.write_text(function(BODY, 'x: R.Tensor((2, "n"), "float32")'))
    return str(path)


def test_a_match_has_a_line_and_named_parts(program: str) -> None:
    done = rxe_cli("find", program, "add(m=matmul(_, w: f32[rows, _]), c)")
    lines = Path(program).read_text().splitlines()
    (number,) = (n for n, line in enumerate(lines, 1) if " z = " in line)
    assert done.exit_code == output.OK
    assert done.stdout.splitlines() == [
        f"main:{number}: {lines[number - 1].strip()}",
        "    w = t", "    m = y", '    c = a constant, R.Tensor((), dtype="float32")', "    rows = n",
    ]  # fmt: skip


def test_matches_are_data(program: str) -> None:
    done = rxe_cli("find", program, "permute_dims(_) ^ matmul(a, _)", "--format", "json")
    content = json.loads(done.stdout)
    assert content["schema"] == "rxe.find/1"
    assert content["stage"] == 0
    (match,) = content["matches"]
    assert (match["function"], match["variable"], match["parts"]) == ("main", "y", {"a": "x"})
    assert [line["text"].split(" = ")[0] for line in match["bindings"]] == ["t", "y"]


def test_no_match_is_a_status(program: str) -> None:
    assert rxe_cli("find", program, "sin(_)").exit_code == output.FOUND
    assert rxe_cli("find", program, "sin(_)").stdout == ""
    assert json.loads(rxe_cli("find", program, "sin(_)", "--format", "json").stdout)["matches"] == []


def test_mistakes_are_usage_errors(program: str) -> None:
    wrong = rxe_cli("find", program, "matmul(_ _)")
    assert wrong.exit_code == output.USAGE
    assert "RX0030" in wrong.stderr
    assert rxe_cli("find", program, "_", "--func", "other").exit_code == output.USAGE


def test_stages_after_passes_and_of_folders_are_searched(program: str) -> None:
    pattern = "call_tir(@matmul, (_, call_tir(...)))"
    assert rxe_cli("find", program, pattern).exit_code == output.FOUND
    after = rxe_cli("find", program, pattern, "-p", "LegalizeOps")
    assert after.exit_code == output.OK
    assert rxe_cli("find", program, pattern, "-p", "LegalizeOps", "--stage", "0").exit_code == output.FOUND
    folder = str(SAMPLES[0].parent / "broken_build")
    searches = [rxe_cli("find", folder, "call_tir(...)", "--stage", stage) for stage in ("0", "LegalizeOps")]
    assert [search.exit_code for search in searches] == [output.FOUND, output.OK]


def test_one_function_is_searched(tmp_path: Path) -> None:
    path = tmp_path / "two.py"
    bodies = "".join(
        f'    @R.function\n    def {name}(x: R.Tensor((2,), "float32")):\n        y = R.exp(x)\n        return y\n'
        for name in ("first", "second")
    )
    path.write_text(f"@I.ir_module\nclass Module:\n{bodies}")
    both = rxe_cli("find", str(path), "exp(_)").stdout.splitlines()
    assert [line.split(":")[0] for line in both] == ["first", "second"]
    one = rxe_cli("find", str(path), "exp(_)", "--func", "second").stdout.splitlines()
    assert one == both[1:]
