"""What a stranger wants first takes one or two keys at every width, and the screen names them; lists and walks say where they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from relax_explorer.ui import directories, history
from relax_explorer.ui.tui.app import Explorer
from tests.support.roundtrip import SAMPLES
from tests.ui.test_explorer import screen_text
from tests.ui.test_screens import idle, press, typed, under_cursor

LAYER, BUILD = str(SAMPLES[11]), str(SAMPLES[0].parent / "broken_build")
SIZES = [(60, 20), (80, 24), (99, 24), (100, 30), (120, 40), (140, 40), (160, 40), (200, 50)]


@pytest.fixture(autouse=True)
def _fresh_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directories, "state", lambda: tmp_path / "state")
    monkeypatch.chdir(tmp_path)


def header(app: Explorer) -> str:
    return screen_text(app).split("\n")[0]


def footer(app: Explorer) -> str:
    return screen_text(app).rstrip("\n").split("\n")[-1]


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_three_jobs_take_one_two_and_two_keys_that_the_screen_names(size: tuple[int, int]) -> None:
    app = Explorer(LAYER)
    async with app.run_test(size=size) as pilot:
        await idle(pilot, app)
        assert "] next stage" in footer(app)
        assert "2 Debug" in header(app)
        assert "3 Graph" in header(app)
        await press(pilot, app, "right_square_bracket")  # one key: the pipeline
        assert app.state.selection.stage == 5
        await press(pilot, app, "3")
        assert "e SVG" in footer(app)
        await press(pilot, app, "e")  # two keys: a picture
        await idle(pilot, app)
        [picture] = Path().glob("*.svg")
        assert picture.read_text().startswith("<")
        await press(pilot, app, "2")  # one key: the lengths
        await idle(pilot, app)
        assert "b = 3" in screen_text(app)
        assert "s = 3" in screen_text(app)
        if size[0] < 100:
            assert "v next table" in screen_text(app)
            await press(pilot, app, "v")
            assert "b = 3 ← x.shape[0]" in screen_text(app)  # and where they come from


async def test_the_palette_finds_the_key_that_writes_a_picture() -> None:
    app = Explorer(LAYER)
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "3", "ctrl+p", *"svg")
        lines = [line.strip(" ┃│") for line in screen_text(app).split("\n")]
        assert "Write the graph as SVG" in " ".join(lines[:6])


async def test_a_long_pass_gives_way_to_the_names_of_screens() -> None:
    app = Explorer(LAYER, pipeline="zero,default_build")
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "right_square_bracket", "right_square_bracket")
        assert header(app).rstrip().endswith("stage 2/21")
        assert "3 Graph" in header(app)
        assert "AnnotateTIROpPattern" in screen_text(app)  # below it
        await pilot.resize_terminal(60, 20)
        await idle(pilot, app)
        assert header(app).rstrip().endswith("stage 2/21")


# -- home -----------------------------------------------------------------------------------------------------------


async def test_the_cursor_of_home_stops_at_what_opens_something(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("")
    history.remember_path(str(tmp_path / "one.py"))
    app = Explorer(None)
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        assert "one.py" in under_cursor(app)
        await press(pilot, app, "down")
        assert "a tour" in under_cursor(app)  # not the empty line, nor the title
        await press(pilot, app, "up")
        assert "one.py" in under_cursor(app)
        await press(pilot, app, "up")
        assert "Recent" in under_cursor(app)  # nothing more opens there: the list scrolls to its title
        while "waiting" not in under_cursor(app):
            await press(pilot, app, "j")
        await press(pilot, app, "j")
        assert (
            "contracts" in under_cursor(app)
            or ".shapes" in under_cursor(app)
            or "flatten" in under_cursor(app)
        )


# -- the tour -------------------------------------------------------------------------------------------------------


async def test_the_tour_waits_for_its_bisection(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Explorer(None)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        app.tutorial.start()
        await idle(pilot, app)
        app.tutorial.at = 7  # B was pressed
        with monkeypatch.context() as patch:
            patch.setattr(app.jobs, "is_working", lambda *lanes: "compare" in lanes)
            app.draw_bars()
            assert "Tour 7 of 8" in screen_text(app)
            assert "until the first wrong one is found" in screen_text(app)
            assert "FuseTIRInner" not in app.tutorial.text
        app.draw_bars()
        await pilot.pause()
        assert "Tour 8 of 8" in screen_text(app)
        assert "FuseTIRInner it was" in screen_text(app)


# -- walks ----------------------------------------------------------------------------------------------------------


async def test_a_walk_through_a_kernel_says_where_it_is_and_keeps_the_lengths() -> None:
    app = Explorer(LAYER)
    async with app.run_test(size=(140, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "right_square_bracket", "2")
        await idle(pilot, app)
        assert "step 0 of 25 " in screen_text(app)  # no branch: the end is known at once
        await press(pilot, app, "e", "e", "e", "e")
        shown = screen_text(app)
        assert "main ▸ layer_norm" in shown
        assert "step 0 of 25, store 3" in shown
        assert "b = 3, s = 3" in shown
        assert "ax0 = 0, ax1 = 0, ax2 = 0, k0 = 1" in shown
        await press(pilot, app, "E")
        assert "step 0 of 25, store 2" in screen_text(app)
        await press(pilot, app, "o")
        shown = screen_text(app)
        assert "step 1 of 25 " in shown
        assert "main ▸" not in shown
        assert "store" not in shown


async def test_a_run_with_a_branch_tells_its_end_once_it_was_reached() -> None:
    app = Explorer(str(SAMPLES[4]))
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "2")
        await idle(pilot, app)
        assert "step 0 of 0+" in screen_text(app)


async def test_the_next_binding_is_the_one_that_is_marked() -> None:
    """A line of the source may compute several values."""
    app = Explorer(LAYER)
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "2")
        await idle(pilot, app)
        assert " next normed = R.nn.layer_norm(x, gain, bias" in screen_text(app)  # as written
        await press(pilot, app, "s", "s", "s")
        assert "▶  4 lv " in screen_text(app)
        assert " next lv: R.Tensor((b, s, 16)" in screen_text(app)
        await press(pilot, app, "s", "s")
        assert "next q = R.permute_dims(R.reshape(parts[0]" in screen_text(app)


async def test_panels_without_rows_leave_them_to_the_shapes() -> None:
    app = Explorer(LAYER)
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "2")
        await idle(pilot, app)
        heights = [app.frame.lines(name).size.height for name in ("shapes", "calls", "points")]
        assert heights[1:] == [1, 1]
        assert heights[0] >= 5
        await press(pilot, app, "b", "j", "b", "j", "b")
        assert app.frame.lines("points").size.height == 3


# -- lists ----------------------------------------------------------------------------------------------------------


async def test_a_search_in_all_stages_tells_a_kernel_in_one_line() -> None:
    app = Explorer(BUILD)
    async with app.run_test(size=(120, 50)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "all:softmax", "slash")
        await idle(pilot, app)
        lines = [line for line in screen_text(app).split("\n") if " LegalizeOps " in line and "┃" in line]
        assert [line for line in lines if "kernel softmax: 21 lines" in line]
        assert not [line for line in lines if "T_softmax_expsum" in line]
        assert [line for line in lines if "softmax1       = @softmax(add3)" in line]
        await press(pilot, app, "slash", *"kernel softmax", "enter", "enter")
        assert app.state.selection.function == "softmax"


async def test_a_history_tells_doubts_and_changes_apart() -> None:
    app = Explorer(BUILD)
    async with app.run_test(size=(140, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, *["right_square_bracket"] * 3, "slash", *"softmax(lv", "enter")
        await idle(pilot, app)
        await press(pilot, app, "w")
        await idle(pilot, app)
        shown = screen_text(app)
        assert "~   1 ≈ LegalizeOps" in shown
        assert "12   FuseTIRInner" in shown  # here; `=` would say that it did not change
        assert "History of softmax  ≈ likely, ? perhaps the same value" in shown


# -- values beside Passes -------------------------------------------------------------------------------------------


def values_of(app: Explorer, name: str) -> str:
    """What stands behind the StructInfo in the row of a binding."""
    line = next(line for line in screen_text(app).split("\n") if re.search(rf" \d+ {name} +=", line))
    return line.rpartition("┃")[0].rpartition("f32")[2].strip(" ▂▅▁▆▇█▃▄")


@pytest.mark.parametrize("diff", ["inline", "off", "only"])
async def test_the_values_of_a_run_stand_beside_the_rows_of_its_stage(diff: str) -> None:
    app = Explorer(LAYER)
    async with app.run_test(size=(160, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "right_square_bracket")
        app.show_with(diff=diff)
        assert values_of(app, "normed") == ""
        await press(pilot, app, "2")
        await idle(pilot, app)
        await press(pilot, app, "s", "s", "1")
        assert "−3.71 … 3.48" in values_of(app, "normed")
        assert "…" in values_of(app, "qkv")
        assert "…" not in values_of(app, "q")  # not done yet
        await press(pilot, app, "2", "S", "1")
        assert values_of(app, "qkv") == ""  # stepped back
        assert "−3.71 … 3.48" in values_of(app, "normed")
        await pilot.resize_terminal(159, 40)
        await idle(pilot, app)
        assert values_of(app, "normed") == ""
        await pilot.resize_terminal(200, 50)
        await idle(pilot, app)
        assert "−3.71 … 3.48" in values_of(app, "normed")
        await press(pilot, app, "right_square_bracket")  # another stage, which did not run
        assert values_of(app, "normed") == ""


async def test_values_leave_layers_and_folds_as_they_are() -> None:
    app = Explorer(BUILD)
    async with app.run_test(size=(200, 50)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "2")
        await idle(pilot, app)
        await press(pilot, app, "s", "s", "s", "1")
        await typed(pilot, app, "layers")
        shown = screen_text(app)
        line = next(line for line in shown.split("\n") if " reshape1 " in line)
        assert "embed" in line
        assert "…" in line.rpartition("f32")[2]
