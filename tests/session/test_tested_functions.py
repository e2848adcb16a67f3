"""Which functions of a build a test runs: those that a pass makes have their own first stage, and those that did not run are named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import relax_explorer as rxe
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.session.build_files import open_build
from relax_explorer.core.session.samples import sample_of_calls, samples_of
from relax_explorer.core.session.tested_functions import having, not_run
from relax_explorer.ui.cli.main import group
from relax_explorer.ui.tui.app import Explorer
from tests.ui.test_explorer import screen_text
from tests.ui.test_screens import idle, press

HEAD = "@I.ir_module\nclass Module:\n"
FUNCTION = """    @R.function{}
    def {}(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y: R.Tensor((4,), "float32") = {}
        return y
"""


def fn(name: str, value: str, private: bool = False) -> str:
    return FUNCTION.format("(private=True)" if private else "", name, value)


MAIN, GRADIENT, WRONG = (fn(*pair) for pair in (("main", "R.add(x, x)"), ("gradient", "R.sin(x)"), ("gradient", "R.cos(x)")))  # fmt: skip


def folder(place: Path, *programs: str) -> str:
    for number, text in enumerate(programs):
        (place / f"{number:02}_{'input' if number == 0 else f'Pass{number}'}.py").write_text(HEAD + text)
    return str(place)


@pytest.mark.parametrize("command", ["bisect", "validate"])
def test_a_function_that_a_pass_makes_is_tested_from_its_first_stage(tmp_path: Path, command: str) -> None:
    path = folder(tmp_path, MAIN, MAIN + GRADIENT, MAIN + GRADIENT, MAIN + WRONG, MAIN + WRONG)
    done = CliRunner().invoke(group, [command, path, "--func", "gradient", "--format", "json"])
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    if command == "bisect":
        assert [item["number"] for item in found["attempts"]] == [1, 2, 3]
        assert found["first_bad"]["number"] == 3
    else:
        assert [(item["number"], item["equal"]) for item in found["stages"]] == [
            (2, True), (3, False), (4, False),
        ]  # fmt: skip
    assert found["not_run"] == ["main"]
    assert "stage 0 has no function 'gradient': the first stage is 1 Pass1" in done.stderr


def test_what_did_not_run_is_named_where_everything_holds(tmp_path: Path) -> None:
    path = folder(tmp_path, MAIN, MAIN + GRADIENT, MAIN + WRONG)
    for command in ("bisect", "validate"):
        done = CliRunner().invoke(group, [command, path])
        assert done.exit_code == 0
        assert "1 function did not run (--func runs one): gradient" in done.stdout


def test_a_build_whose_functions_all_run_says_nothing(tmp_path: Path) -> None:
    calls = HEAD + fn("main", "Module.work(x)") + fn("work", "R.sin(x)") + fn("left", "R.cos(x)", True)
    (tmp_path / "0_input.py").write_text(calls)
    (tmp_path / "1_Pass.py").write_text(calls.replace("y: R", "z = R.neg(x)\n        y: R"))
    found = rxe.bisect(open_build(tmp_path))
    assert found.not_run == ()
    assert "did not run" not in CliRunner().invoke(group, ["bisect", str(tmp_path)]).stdout


def test_functions_that_calls_of_a_file_run_are_not_left_out(tmp_path: Path) -> None:
    build = open_build(folder(tmp_path, MAIN + GRADIENT, MAIN + GRADIENT + fn("third", "R.exp(x)")))
    (tmp_path / "calls.txt").write_text("a = main('ones')\nb = gradient(a)\n")
    sample = sample_of_calls(str(tmp_path / "calls.txt"), [build.stages[0].module])
    assert not_run(build.stages, (sample,), "") == ("third",)
    assert not_run(build.stages, samples_of(build.stages[0].module, "main"), "main") == ("gradient", "third")


def test_the_work_on_weights_that_a_pass_splits_off_runs_with_its_function() -> None:
    module = rxe.parse(
        HEAD
        + '    @R.function\n    def main(x: R.Tensor((2, 3), "float32"), w: R.Tensor((4, 3), "float32")) -> R.Tensor((2, 4), "float32"):\n'
        '        R.func_attr({"num_input": 1})\n        with R.dataflow():\n            t = R.permute_dims(w)\n            y = R.matmul(x, t)\n'
        "            R.output(y)\n        return y\n"
    )
    assert rxe.bisect(rxe.Session(module, "LiftTransformParams")).not_run == ()


def test_a_session_is_tested_from_the_stage_that_makes_the_function(tmp_path: Path) -> None:
    path = tmp_path / "loss.py"
    path.write_text(
        HEAD + '    @R.function\n    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((), "float32"):\n'
        "        with R.dataflow():\n            y = R.sum(R.multiply(x, x))\n            R.output(y)\n        return y\n"
    )
    words = ["bisect", str(path), "-p", "Gradient{func_name=main},LegalizeOps,FuseOps", "--func", "main_adjoint", "--format", "json"]  # fmt: skip
    done = CliRunner().invoke(group, words)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert next(item["number"] for item in found["attempts"]) == 1
    assert found["not_run"] == ["main"]


def test_a_name_that_no_stage_has(tmp_path: Path) -> None:
    build = open_build(folder(tmp_path, MAIN, MAIN + GRADIENT))
    with pytest.raises(Failure, match=r"no stage of .* has a Relax function 'other'") as caught:
        having(build, "other")
    assert caught.value.diagnostics[0].help == "they have gradient, main"
    assert having(build, "main") == (build, "")


def test_an_unreadable_stage_before_the_first_counts_as_one_without_the_function(tmp_path: Path) -> None:
    path = folder(tmp_path, MAIN, MAIN + GRADIENT, MAIN + GRADIENT)
    (tmp_path / "00_input.py").write_text(HEAD + "    @R.function\n    def main(x: R.Tensor((4,), \n")
    done = CliRunner().invoke(group, ["bisect", path, "--func", "gradient"])
    assert done.exit_code == 3  # a stage was left out
    assert "the test holds after every pass" in done.stdout


async def test_b_runs_the_function_under_the_cursor_from_its_first_stage(tmp_path: Path) -> None:
    path = folder(tmp_path, MAIN, MAIN + GRADIENT, MAIN + WRONG)
    app = Explorer(path)
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "]")
        app.change(selection=replace(app.state.selection, function="gradient", binding=None))
        await press(pilot, app, "B")
        await idle(pilot, app)
        text = screen_text(app)
        assert "  2 Pass2" in text
        assert "  0 input" not in text
        assert "✗" in text


async def test_b_names_what_did_not_run(tmp_path: Path) -> None:
    app = Explorer(folder(tmp_path, MAIN, MAIN + GRADIENT, MAIN + WRONG))
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "B")
        await idle(pilot, app)
        text = screen_text(app)
        assert "main: every stage gives the same results" in text
        assert "1 function did not run (B in one runs it): gradient" in text
