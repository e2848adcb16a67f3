"""A stage that can't be run here is no fault of its pass: nothing is known about it, and the search goes on behind it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import relax_explorer as rxe
from relax_explorer.core.session.bisect import NoNan, SameOutput
from relax_explorer.core.session.build_files import open_build
from relax_explorer.core.session.builds import Build
from relax_explorer.core.session.samples import sample_run, samples_of
from relax_explorer.ui.cli.main import group
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.viz.verdict_text import bisection_lines, comparison_lines, validation_lines
from tests.ui.test_explorer import screen_text
from tests.ui.test_screens import idle, press

ADDED = '@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((8,), "float32")):\n        y = R.add(x, x)\n        return {}\n'
KERNEL = """@I.ir_module
class Module:
    @T.prim_func(private=True)
    def k(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        S = T.sblock_alloc_buffer((8,), "float32", scope="shared")
        for tx in T.thread_binding(8, thread="threadIdx.x"):
            S[tx] = A[tx] + A[tx]
            T.evaluate(T.ptx_wait_group(0))
            B[tx] = S[tx]
    @R.function
    def main(x: R.Tensor((8,), "float32")):
        {}y = R.call_tir(Module.k, (x,), out_sinfo=R.Tensor((8,), "float32"))
        return y
"""
RIGHT, WRONG = ADDED.format("y"), ADDED.format("x")
WAITING, ALSO_WAITING = KERNEL.format(""), KERNEL.format("z = R.add(x, x)\n        ")
"""Threads that wait for copies of the hardware."""
PACKED = RIGHT.replace("R.add(x, x)", 'R.call_pure_packed("other", x, sinfo_args=R.Tensor((8,), "float32"))')


def build(folder: Path, *texts: str) -> Build:
    for number, text in enumerate(texts):
        (folder / f"{number:02}_{'input' if number == 0 else f'Pass{number}'}.py").write_text(text)
    return open_build(folder)


def test_a_pass_whose_kernels_have_no_translation_is_not_blamed(tmp_path: Path) -> None:
    found = rxe.bisect(build(tmp_path, RIGHT, WAITING, ALSO_WAITING))
    assert found.failed is None
    assert [item.number for item in found.unknown] == [1, 2]
    *_, reason, outcome = bisection_lines(found)
    assert reason.startswith(
        "stages 1 to 2 can't be run here: y: T.ptx_wait_group(T.int32(0)), evaluated for its effect,"
    )
    assert outcome == "the test holds for 1 of 3 stages; nothing is known about the others"


def test_a_call_of_an_unknown_packed_function_is_no_fault(tmp_path: Path) -> None:
    found = rxe.bisect(build(tmp_path, RIGHT, PACKED))
    assert found.failed is None
    assert [item.number for item in found.unknown] == [1]


def test_a_dumped_text_without_the_data_of_its_constants_is_no_fault(tmp_path: Path) -> None:
    bare = RIGHT.replace("R.add(x, x)", 'R.add(x, metadata["relax.expr.Constant"][0])')
    found = rxe.bisect(build(tmp_path, bare, bare.replace("y", "z")))
    assert found.failed is None
    assert {item.unknown for item in found.unknown} == {
        "the function needs the data of a constant, which is not in the text; rxe record keeps it"
    }
    assert len(found.unknown) == len(found.attempts)


def test_the_search_goes_on_behind_it(tmp_path: Path) -> None:
    found = rxe.bisect(build(tmp_path, RIGHT, WAITING, RIGHT.replace("add", "multiply"), WRONG))
    assert found.failed is not None
    assert found.failed.made_by == "Pass2"
    lines = list(bisection_lines(found))
    assert "first bad pass: Pass2 (stage 2), or one before it: stage 1 can't be judged" in lines
    assert found.comparison is not None
    assert found.comparison.a.endswith("@0 input")


def test_a_fault_before_it_is_found(tmp_path: Path) -> None:
    found = rxe.bisect(build(tmp_path, RIGHT, WRONG, WAITING))
    assert found.failed is not None
    assert found.failed.made_by == "Pass1"
    assert not found.unknown
    assert "first bad pass: Pass1 (stage 1)" in bisection_lines(found)


def test_if_the_first_stage_can_not_be_run_nothing_is_known(tmp_path: Path) -> None:
    found = rxe.bisect(build(tmp_path, WAITING, RIGHT, WRONG))
    assert list(bisection_lines(found))[-1] == "nothing is known about any stage"
    assert found.failed is None
    assert len(found.unknown) == len(found.attempts) == 3


def test_recorded_results_blame_a_stage_that_can_be_run(tmp_path: Path) -> None:
    given = build(tmp_path, WAITING, RIGHT, WRONG)
    first = given.stages[0]
    (sample,) = samples_of(first.module, "main", count=1)
    value = sample_run(first, "main", sample).values
    right = (("out0", rxe.run(rxe.parse(RIGHT), "main", value)),)
    found = rxe.bisect(given, SameOutput(first, "main", (sample,), recorded=right))
    assert found.failed is not None
    assert found.failed.made_by == "Pass2"
    assert [item.number for item in found.unknown] == [0]


def test_without_a_nan_nothing_is_known_of_a_run_that_ended_early(tmp_path: Path) -> None:
    given = build(tmp_path, RIGHT, WAITING)
    first = given.stages[0]
    found = rxe.bisect(given, NoNan(first, "main", samples_of(first.module, "main", count=1)))
    assert found.failed is None
    assert [item.number for item in found.unknown] == [1]


def test_validate_does_not_count_it(tmp_path: Path) -> None:
    rows = rxe.validate(build(tmp_path, RIGHT, WAITING, ALSO_WAITING, RIGHT))
    assert [bool(row.unknown) for row in rows] == [True, True, False]
    lines = list(validation_lines(rows, ["seed 0"]))
    assert "not run here" in lines[2]
    assert any(line.startswith("stages 1 to 2 can't be run here: ") for line in lines)
    assert "1 of 3 stages give the results of the first" in lines


@pytest.mark.parametrize("texts", [(RIGHT, WAITING), (WAITING, RIGHT)])
def test_comparing_says_which_side_can_not_be_run(tmp_path: Path, texts: tuple[str, str]) -> None:
    given = build(tmp_path, *texts)
    comparison = rxe.compare(*given.stages)
    assert comparison.equal
    assert not comparison.ran
    assert [verdict.unknown for verdict in comparison.verdicts] == [True]
    side = "B" if texts[1] is WAITING else "A"
    assert f"not compared, {side} can't be run here: y: T.ptx_wait_group" in "".join(
        comparison_lines(comparison, True)
    )


@pytest.mark.parametrize("command", ["bisect", "validate"])
def test_the_status_says_that_nothing_is_known(tmp_path: Path, command: str) -> None:
    build(tmp_path, RIGHT, WAITING)
    result = CliRunner().invoke(group, [command, str(tmp_path)])
    assert result.exit_code == 3
    assert "can't be run here" in result.stdout
    data = json.loads(CliRunner().invoke(group, [command, str(tmp_path), "--format", "json"]).stdout)
    if command == "bisect":
        assert data["holds"] is False
        assert data["first_bad"] is None
        assert [bool(item["unknown"]) for item in data["attempts"]] == [False, True]
    else:
        assert [stage["equal"] for stage in data["stages"]] == [False]


def test_a_stage_among_others_that_can_not_be_run_makes_the_status_3(tmp_path: Path) -> None:
    build(tmp_path, RIGHT, WAITING, RIGHT.replace("R.add(x, x)", "R.add(x, R.add(x, R.subtract(x, x)))"))
    result = CliRunner().invoke(group, ["validate", str(tmp_path)])
    assert result.exit_code == 3
    assert "1 of 2 stages give the results of the first" in result.stdout


@pytest.mark.parametrize("size", [(80, 24), (140, 40)])
async def test_the_explorer_says_so(tmp_path: Path, size: tuple[int, int]) -> None:
    app = Explorer(build(tmp_path, RIGHT, WAITING).path)
    async with app.run_test(size=size) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "B")
        await idle(pilot, app)
        text = screen_text(app)
        assert "· " in text
        assert "can't be run here: y: T.ptx_wait" in text
        assert "holds for 1 of 2 stages" in text
