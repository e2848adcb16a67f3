"""A language model as MLC-LLM builds it for a GPU: weights of four bits, a paged cache, products on tensor cores. No pass is blamed."""

from __future__ import annotations

from pathlib import Path

import pytest

from relax_explorer.core.session.build_files import open_build
from tests.cli.test_commands import rxe_cli

DATA = Path(__file__).parents[1] / "data" / "paged_llama"
CALLS = ("--calls", str(DATA / "calls.txt"))
TARGETS = {"cuda": "tvm_mma_sync", "metal": "simdgroup_multiply_accumulate"}


@pytest.mark.parametrize("target", TARGETS)
def test_each_stage_computes_what_the_first_does(target: str) -> None:
    build = open_build(DATA / f"{target}.rxs")
    scheduled = next(stage for stage in build.stages if stage.made_by == "ApplyDefaultSchedule")
    assert TARGETS[target] in scheduled.text
    done = rxe_cli("bisect", build.path, *CALLS)
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-2:] == [
        "the test holds after every pass",
        "1 function did not run (--func runs one): decode",
    ]


@pytest.mark.parametrize("target", TARGETS)
def test_its_stages_have_no_problem(target: str) -> None:
    done = rxe_cli("check", str(DATA / f"{target}.rxs"), "--ignore", "RX0112", "--fail-on", "warning")
    assert done.exit_code == 0, done.output
    assert rxe_cli("bisect", str(DATA / f"{target}.rxs"), "--test", "well-formed").exit_code == 0


@pytest.mark.parametrize(
    ("target", "right", "wrong"),
    [
        ("cuda", '"col_major")', '"row_major")'),
        ("metal", "8, 8, T.bool(True))", "8, 8, T.bool(False))"),
        ("cuda", "T.int64(2), thread=", "T.int64(1), thread="),
    ],
)
def test_a_schedule_that_reads_a_tile_wrongly_is_named(
    target: str, right: str, wrong: str, tmp_path: Path
) -> None:
    for stage in open_build(DATA / f"{target}.rxs").stages:
        is_after = stage.made_by in ("ApplyDefaultSchedule", "StaticPlanBlockMemory", "VMShapeLower")
        text = stage.text.replace(right, wrong) if is_after else stage.text
        assert (text != stage.text) == is_after
        (tmp_path / f"{stage.number:02}_{stage.made_by}.py").write_text(text, encoding="utf-8")
    done = rxe_cli("bisect", str(tmp_path), *CALLS)
    assert done.exit_code == 1, done.output
    assert "first bad pass: ApplyDefaultSchedule (stage 8), in call 6 (prefill)" in done.stdout
    assert "first difference: " in done.stdout
