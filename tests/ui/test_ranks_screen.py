"""The ranks screen: values of ranks beside each other, stepping, the first that parts, other numbers, calls, and what can't run."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.core.session.ranked import RankRow
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.twins import command_line
from relax_explorer.ui.tui.typed import twin_of_line
from relax_explorer.viz.visible import columns
from tests.cli.test_commands import rxe_cli
from tests.cli.test_ranked_run import CALLS, LAYER, SUM, X
from tests.ui.test_explorer import screen_text
from tests.ui.test_exporting import typed
from tests.ui.test_screens import idle, press


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("whole.py").write_text(LAYER.format(inner=16, sum="z = R.add(y, R.const(0, 'float32'))"))
    Path("two.py").write_text(LAYER.format(inner=8, sum=SUM))
    Path("wrong.py").write_text(LAYER.format(inner=8, sum=SUM.replace("sum", "max")))
    Path("four.py").write_text(LAYER.format(inner=4, sum=SUM))


def names(app: Explorer) -> list[str]:
    """The mark and the name of each row."""
    return [f"{row.mark}{row.node.name}" for row in app.view.rows if isinstance(row.node, RankRow)]


async def test_the_first_value_that_parts_is_under_the_cursor() -> None:
    app = Explorer("wrong.py", "", ranks=(2, "whole.py"), screen="ranks")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        assert names(app) == ["=h", "=a", "=y", "≠z", "≠out0"]
        assert app.view.row_node.name == "z"
        text = screen_text(app)
        assert "2 ranks met once; z is the first value that parts from the undivided program" in text
        assert "2 of 5 part" in text
        assert "[8 Ranks]" in text
        assert "apart, max|Δ|" in text
        await press(pilot, app, "c")
        assert app.view.row_node.name == "out0"
        await press(pilot, app, "c")
        assert app.notice == "no further value that parts"
        await press(pilot, app, "C", "S", "S")
        assert app.view.row_node.name == "a"
        assert "parts, axis 1" in screen_text(app)
        await press(pilot, app, "s", "s", "s", "s")
        assert app.notice == "no further value"
        await press(pilot, app, "C", "enter")
        assert (app.screen_name, app.state.selection.variable) == ("passes", "z")
        await press(pilot, app, "8")
        assert app.view.row_node.name == "z"  # it does not run again


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (140, 40), (200, 50), (60, 16)])
async def test_four_ranks_fit_every_size(size: tuple[int, int]) -> None:
    app = Explorer("four.py", "", ranks=(4, "whole.py"), screen="ranks")
    async with app.run_test(size=size) as pilot:
        await idle(pilot, app)
        assert names(app) == ["=h", "=a", "=y", "=z", "=out0"]
        lines = screen_text(app).split("\n")
        assert all(columns(line) <= size[0] for line in lines)
        assert any("rank 0" in line and "together" in line for line in lines)
        await press(pilot, app, "j")
        assert app.view.row_node.name == "a"


async def test_ranks_are_asked_for_and_change() -> None:
    app = Explorer("two.py", "")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        assert "8" not in screen_text(app).split("\n")[0]
        await press(pilot, app, "8")
        assert "no ranks ran yet" in screen_text(app)
        assert "takes a number from 1 to 64" in await typed(pilot, app, "ranks")
        assert "takes a number from 1 to 64" in await typed(pilot, app, "ranks 65 whole.py")
        twin = twin_of_line(app, "ranks 2 whole.py")
        await typed(pilot, app, "ranks 2")
        assert "2 ranks met once; --unsharded FILE compares" in screen_text(app)
        assert names(app) == ["=h", "=a", "=y", "=z", "=out0"]
        await typed(pilot, app, "ranks 2 whole.py")
        assert "all 5 values of the same name" in screen_text(app)
        assert command_line(app) == twin
        assert rxe_cli(*shlex.split(twin)[1:]).exit_code == 0
        await typed(pilot, app, "ranks 3 whole.py")
        assert "no part of shape (8, 16) for 3 ranks" in app.state.failures[0].message
        await press(pilot, app, "escape")
        await typed(pilot, app, "ranks 2 nowhere.py")
        assert "nowhere.py" in screen_text(app)
        await press(pilot, app, "escape")
        assert app.state.ranked is not None  # what ran last stays
        await typed(pilot, app, "open whole.py")
        assert app.state.ranked is None


async def test_a_rank_that_stops_is_a_problem() -> None:
    text = (
        Path("two.py")
        .read_text()
        .replace("R.nn.silu(h)", "R.ccl.allgather(h, 4)")
        .replace("R.matmul(a, v)", "R.matmul(h, v)")
    )
    Path("stops.py").write_text(text)
    app = Explorer("stops.py", "", ranks=(2, ""), screen="ranks")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        assert "RX0531" in screen_text(app)
        await press(pilot, app, "escape")
        assert "rank 0 stopped" in screen_text(app)
        assert names(app) == ["=h"]


async def test_calls_of_a_file_have_rows_of_their_own() -> None:
    Path("calls.txt").write_text(CALLS.format(x=X, w="ones"))
    app = Explorer("two.py", "", call=CallInputs(calls="calls.txt"), ranks=(2, ""), screen="ranks")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        assert names(app)[:6] == ["=1.h", "=1.a", "=1.y", "=1.z", "=a", "=2.h"]
        await press(pilot, app, "s", "enter")
        assert app.state.selection.variable == "a"
        await press(pilot, app, "8")
        assert "--calls calls.txt" in command_line(app)


async def test_another_stage_runs_again() -> None:
    app = Explorer("wrong.py", "LegalizeOps", ranks=(2, "whole.py"), screen="ranks")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        assert app.state.ranked is not None
        first = app.state.ranked
        await press(pilot, app, "right_square_bracket")
        assert (first.stage, app.state.ranked.stage) == (0, 1)
        assert names(app)[-1] == "≠out0"
