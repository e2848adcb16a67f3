"""`compare`, `bisect` and `validate` as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from relax_explorer.ui.cli.main import group

PROGRAM = """
@R.function
def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 4), "float32")):
    with R.dataflow():
        a = R.matmul(x, w)
        b = R.nn.relu(a)
        c = R.add(b, x)
        R.output(c)
    return c
"""
STOPS = """
@R.function
def main(x: R.Tensor(("n", 4), "float32")):
    n = T.int64()
    y = R.match_cast(x, R.Tensor((n + 1, 4), "float32"))
    return R.add(y, y)
"""
WRONG = PROGRAM.replace("R.nn.relu(a)", "R.abs(a)")


def rxe(folder: Path, *words: str) -> Result:
    (folder / "right.py").write_text(PROGRAM)
    (folder / "wrong.py").write_text(WRONG)
    done = CliRunner().invoke(group, [word.replace("@@", f"{folder}/") for word in words])
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    return done


def test_a_difference_is_shown_with_its_operands_and_the_bound(tmp_path: Path) -> None:
    done = rxe(tmp_path, "compare", "@@right.py", "@@wrong.py", "--shape", "n=2")
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    assert any(line.startswith("sample 1 of 1 (n = 2, seed 0): DIFFERENT") for line in lines)
    start = lines.index("  first difference: b of main")
    assert lines[start + 1].strip().startswith("A 6: b: R.Tensor((n, 4)")
    assert "R.abs(a)" in lines[start + 2]
    assert "max |Δ|" in lines[start + 3]
    assert "ulp, cos" in lines[start + 3]
    assert lines[start + 4].strip() == "operand a: equal [name, equal value]"
    assert lines[-1].startswith("bound: |Δ| ≤ 0.0001·|a| + 1e-05·s")
    assert (
        "bound: |Δ| ≤ 0.5·|a| + 9 "
        in rxe(tmp_path, "compare", "@@right.py", "@@wrong.py", "--rtol", "0.5", "--atol", "9").stdout
    )


def test_a_comparison_as_json(tmp_path: Path) -> None:
    done = rxe(tmp_path, "compare", "@@right.py", "@@wrong.py", "--format", "json", "--all")
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert found["schema"] == "rxe.compare/1"
    assert found["equal"] is False
    verdict = found["verdicts"][0]
    assert [verdict["first"][side]["name"] for side in "ab"] == ["b", "b"]
    assert [pair["b"]["name"] for pair in verdict["pairs"]] == ["a", "b", "c"]
    assert len(verdict["first"]["delta"]["index"]) == 2
    assert [item["sample"] for item in found["verdicts"]] == [
        "n = 2, seed 0",
        "n = 1, seed 1",
        "n = 0, seed 2",
    ]
    assert found["verdicts"][2]["equal"] is True  # no element, no difference


def test_passes_on_one_side(tmp_path: Path) -> None:
    done = rxe(tmp_path, "compare", "@@right.py", "-p", "LegalizeOps", "--all")
    assert done.exit_code == 0
    assert "[provenance, equal value]" in done.stdout
    assert rxe(tmp_path, "compare", "@@right.py", "@@right.py", "-p", "LegalizeOps").exit_code == 0
    assert rxe(tmp_path, "compare", "@@wrong.py", "@@right.py", "-p", "LegalizeOps").exit_code == 1
    assert (
        rxe(tmp_path, "compare", "@@right.py@LegalizeOps", "@@wrong.py@0", "-p", "LegalizeOps").exit_code == 1
    )


def test_recorded_values_are_a_reference(tmp_path: Path) -> None:
    x, w = np.ones((2, 4), np.float32), np.full((4, 4), -1, np.float32)
    np.savez(tmp_path / "in.npz", x=x, w=w)
    np.savez(tmp_path / "ref.npz", a=x @ w, b=0 * x, out0=x)
    words = ("--input", "@@in.npz", "--ref", "@@ref.npz")
    assert rxe(tmp_path, "compare", "@@right.py", *words).exit_code == 0
    done = rxe(tmp_path, "compare", "@@wrong.py", *words)
    assert done.exit_code == 1
    assert "first difference: b of main" in done.stdout
    np.savez(tmp_path / "ref.npz", out0=x)
    (tmp_path / "dump").mkdir()
    (tmp_path / "dump" / "0_input.py").write_text(PROGRAM)
    (tmp_path / "dump" / "3_Relu.py").write_text(WRONG)
    done = rxe(tmp_path, "bisect", "@@dump", *words)
    assert done.exit_code == 1
    assert "first bad pass: Relu (stage 3)" in done.stdout
    assert "first difference: b of main" in done.stdout
    np.savez(tmp_path / "ref.npz", out0=x + 1)
    assert "fails on the input already" in rxe(tmp_path, "bisect", "@@dump", *words).stdout


def test_a_command_is_a_test(tmp_path: Path) -> None:
    done = rxe(
        tmp_path,
        "bisect",
        "@@right.py",
        "-p",
        "default",
        "--format",
        "json",
        "--",
        "grep",
        "-q",
        "R.matmul",
        "{}",
    )
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert found["schema"] == "rxe.bisect/1"
    assert found["first_bad"]["made_by"] == "LegalizeOps"
    assert found["leave_out"] == {"passes": [{"number": 5, "pass": "LegalizeOps"}], "smallest": True}
    assert rxe(tmp_path, "bisect", "@@right.py", "-p", "default", "--", "grep", "-q", "matmul").exit_code == 0


def test_a_table_of_stages_and_samples(tmp_path: Path) -> None:
    done = rxe(tmp_path, "validate", "@@right.py", "-p", "default", "--samples", "2")
    assert done.exit_code == 0
    assert any(
        line.split()[:2] == ["5", "LegalizeOps"] and len(line.split()) == 4
        for line in done.stdout.splitlines()
    )
    assert "2 of 2 stages give the results of the first" in done.stdout
    (tmp_path / "dump").mkdir()
    for name, text in (("0_a", PROGRAM), ("1_b", WRONG), ("2_c", PROGRAM)):
        (tmp_path / "dump" / f"{name}.py").write_text(text)
    done = rxe(tmp_path, "validate", "@@dump", "--format", "json")
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert found["schema"] == "rxe.validate/1"
    assert [row["equal"] for row in found["stages"]] == [False, True]
    assert "1 b (n = 2, seed 0): out0 differs" in rxe(tmp_path, "validate", "@@dump").stdout


def test_stages_that_all_stop_are_not_called_right(tmp_path: Path) -> None:
    (tmp_path / "stops.py").write_text(STOPS)
    done = rxe(tmp_path, "validate", "@@stops.py", "-p", "default")
    assert done.exit_code == 3
    assert "nothing was compared" in done.stderr
    assert "give the results" not in done.stdout


@pytest.mark.parametrize("command", ["compare", "bisect", "validate"])
def test_texts_fit_a_terminal(command: str, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "0_a.py").write_text(PROGRAM)
    (tmp_path / "d" / "1_\x1b[31mb.py").write_text(WRONG)
    done = rxe(tmp_path, command, "@@d")
    assert done.exit_code == 1
    assert "\x1b" not in done.stdout
    own = [line.replace(str(tmp_path), "") for line in done.stdout.splitlines()]
    assert max(map(len, own)) <= 120
