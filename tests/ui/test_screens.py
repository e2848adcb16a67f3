"""What the screens of the explorer do: comparing, inputs, inspecting, typed commands, searches, jumps, the rail and the timeline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from textual import events
from textual.renderables.background_screen import BackgroundScreen
from textual.widgets import Input

from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.ui import history
from relax_explorer.ui.tui import pictures
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.completion import completions
from relax_explorer.ui.tui.debug_rows import RunView, step_at, timeline
from relax_explorer.ui.tui.screens.inputs_dialog import Inputs
from relax_explorer.ui.tui.screens.popup import Popup
from relax_explorer.ui.tui.widgets.framed import CommandInput, FixedLines
from relax_explorer.ui.tui.widgets.line_view import LineView
from relax_explorer.viz.tables import Row
from tests.support.roundtrip import SAMPLES
from tests.ui.test_explorer import LLAMA, screen_text, wait

LAYER = str(SAMPLES[0].parent / "12_transformer_layer.py")
FIRST = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 3), "float32")) -> R.Tensor((3, "n"), "float32"):
        n = T.int64()
        with R.dataflow():
            a = R.exp(x)
            b = R.permute_dims(a, axes=[1, 0])
            c = R.add(b, R.const(1.0, "float32"))
            R.output(c)
        return c

    @R.function
    def other(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        d = R.sqrt(x)
        return d
"""
SECOND = FIRST.replace("R.exp(x)", "R.sin(x)")


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """Three stages; the last one changed a value."""
    place = tmp_path / "dumps"
    place.mkdir()
    for name, text in {"00_input": FIRST, "01_Same": FIRST, "02_Wrong": SECOND}.items():
        (place / f"{name}.py").write_text(text)
    return str(place)


async def idle(pilot: Any, app: Explorer) -> None:
    await pilot.pause()
    await wait(pilot, lambda: app.jobs.is_idle)
    await pilot.pause()


async def press(pilot: Any, app: Explorer, *keys: str) -> None:
    """Press keys one by one, each after the work of the one before."""
    for key in keys:
        await pilot.press(key)
        await idle(pilot, app)


async def typed(pilot: Any, app: Explorer, text: str, key: str = "colon") -> None:
    await pilot.press(key)
    line = app.screen.query_one("#command" if key == "colon" else "#search", Input)
    assert app.focused is line
    line.value = text
    await press(pilot, app, "enter")


def under_cursor(app: Explorer) -> str:
    row = app.view.row
    return "" if row is None else row.text + row.note


# -- compare --------------------------------------------------------------------------------------------------------


async def test_compare_names_the_first_value_that_differs_and_leads_to_it(folder: str) -> None:
    app = Explorer(folder)
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "right_square_bracket", "5")
        assert "A 0 input" in screen_text(app)
        assert "B 2 Wrong" in screen_text(app)
        assert "DIFFERENT, out0 differs; first in a" in screen_text(app)
        assert under_cursor(app).split()[0] == "a"
        assert app.view.row.mark == "≠"
        await press(pilot, app, "c")
        assert under_cursor(app).split()[0] == "b"
        await press(pilot, app, "C", "enter")
        assert app.screen_name == "passes"
        assert (app.state.selection.stage, app.state.selection.variable) == (2, "a")


async def test_b_in_compare_bisects_between_the_two_stages(tmp_path: Path) -> None:
    texts = [FIRST, FIRST.replace("1.0", "2.0"), SECOND, SECOND.replace("R.sin", "R.cos"), SECOND]
    texts[2] = texts[1].replace("a, axes", "a, axes").replace("R.sqrt", "R.abs")  # another function alone
    for number, text in enumerate(texts):
        (tmp_path / f"{number:02}_Pass{number}.py").write_text(text)
    app = Explorer(str(tmp_path))
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "5", "B")
        assert "Bisect" not in screen_text(app)  # there is nothing between the stages 0 and 1
        await typed(pilot, app, "stage 4")
        await typed(pilot, app, "compare 1")
        assert (app.state.compared.a, app.state.compared.b) == (1, 4)
        await press(pilot, app, "B")
        shown = screen_text(app)
        assert "First bad stage: 3 Pass3" in shown, shown
        assert "0 Pass0" not in shown.partition("First bad stage")[2]
        await press(pilot, app, "escape", "1")
        await press(pilot, app, "B")
        assert "First bad stage: 1 Pass1" in screen_text(app)  # from the first stage on


async def test_compare_takes_another_stage_and_the_inputs_of_the_run(folder: str) -> None:
    app = Explorer(folder)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "2", "I")
        app.screen.query(Input).first().value = "5"
        await press(pilot, app, "enter")
        await typed(pilot, app, "stage Wrong")
        await press(pilot, app, "5", "b", "j", "enter")
        assert app.state.compared is not None
        assert (app.state.compared.a, app.state.compared.b) == (1, 2)
        assert app.state.compared.result.verdicts[0].sample == "n = 5, seed 0"
        assert not app.state.compared.result.equal


async def test_a_stage_is_not_compared_with_itself(folder: str) -> None:
    app = Explorer(folder)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "compare 0")
        assert "the stages are the same" in screen_text(app)
        assert app.state.compared is None


async def test_the_first_stage_is_compared_with_the_first_that_changed_the_module(folder: str) -> None:
    app = Explorer(folder)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "5")
        assert app.state.session is not None
        assert app.state.compared is not None
        first = next(stage.number for stage in app.state.session.stages[1:] if stage.changed)
        assert (app.state.compared.a, app.state.compared.b) == (0, first)
        await press(pilot, app, "right_square_bracket")
        assert (app.state.compared.a, app.state.compared.b) == (0, first), "the way on starts there"


# -- inputs and values ----------------------------------------------------------------------------------------------


async def test_the_inputs_dialog_tells_what_it_makes_up_and_refuses_what_is_wrong(folder: str) -> None:
    app = Explorer(folder)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "2", "I")
        assert isinstance(app.screen, Inputs)
        assert "made up: n = 3, x by randn:0" in screen_text(app)
        length, source, _, _ = app.screen.query(Input)
        length.value = "many"
        await press(pilot, app, "enter")
        assert isinstance(app.screen, Inputs)
        assert "a length is a number" in screen_text(app)
        length.value, source.value = "4", "ones"
        await pilot.pause()
        assert "all inputs are given" in screen_text(app)
        await press(pilot, app, "enter")
        assert app.screen is app.frame
        assert "n = 4" in screen_text(app)
        assert app.run_control.session.debugger.frame.values["x"].tolist() == [[1.0] * 3] * 4
        await press(pilot, app, "I")
        assert [line.value for line in app.screen.query(Input)] == ["4", "ones", "", ""]
        await press(pilot, app, "escape")
        assert app.screen is app.frame


async def test_one_file_holds_all_inputs(folder: str, tmp_path: Path) -> None:
    file = tmp_path / "io.npz"
    np.savez(file, x=np.full((2, 3), 7, np.float32), out0=np.zeros(1))
    app = Explorer(folder, call=CallInputs("", {"0": str(file)}))
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "2", "I")
        assert [line.value for line in app.screen.query(Input)] == ["", "", str(file), ""]
        await press(pilot, app, "enter")
        assert app.screen is app.frame
        assert app.run_control.session.debugger.frame.values["x"].tolist() == [[7.0] * 3] * 2
        await press(pilot, app, "I")
        app.screen.query(Input)[2].value = "io.txt"
        await press(pilot, app, "enter")
        assert "is no .npz, .safetensors or folder of weights" in screen_text(app)


async def test_a_value_is_inspected_on_a_page_of_its_own(folder: str) -> None:
    app = Explorer(folder)
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "2", "s", "i")
        assert isinstance(app.screen, Popup)
        shown = screen_text(app)
        assert "a: (3, 3) f32, 9 elements, 36 bytes" in shown
        assert "nan 0" in shown
        await press(pilot, app, "escape", "s", "k", "k", "i")
        assert "a: (3, 3) f32" in screen_text(app) or "has no value" in screen_text(app)


async def test_the_table_of_values_follows_the_run(folder: str) -> None:
    app = Explorer(folder)
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "2", "s", "s")
        values = app.frame.query_one("#values", LineView)
        assert [row.text.split()[0] for row in values.rows] == ["b", "a", "x"]
        assert values.rows[0].mark == "▶"
        await press(pilot, app, "S")
        assert [row.text.split()[0] for row in values.rows] == ["a", "x"]


async def test_a_failed_start_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text(FIRST)
    app = Explorer(str(path), "")
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "2", "I")
        app.screen.query(Input)[1].value = str(tmp_path / "none.npy")
        await press(pilot, app, "enter")
        assert isinstance(app.screen, Inputs)
        assert "none.npy" in screen_text(app)


# -- typed commands and searches ------------------------------------------------------------------------------------


async def test_commands_work_on_every_screen(folder: str) -> None:
    app = Explorer(folder)
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "go d")
        assert (app.state.selection.function, app.state.selection.variable) == ("other", "d")
        await press(pilot, app, "4")
        await typed(pilot, app, "stage 2")
        assert (app.screen_name, app.state.selection.stage) == ("passes", 2)
        await typed(pilot, app, "stage 7")
        assert "no stage '7'" in screen_text(app)
        await typed(pilot, app, "theme light")
        assert app.theme == "rxe-light"
        await typed(pilot, app, "brek a")
        assert "no command 'brek'" in screen_text(app)
        await typed(pilot, app, "compare 0")
        assert app.screen_name == "compare"
        assert app.state.compared is not None
        await typed(pilot, app, "who a")
        assert isinstance(app.screen, Popup)


async def test_open_keeps_what_is_open_if_it_fails(folder: str, tmp_path: Path) -> None:
    app = Explorer(folder)
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        before = app.state.session
        await typed(pilot, app, f"open {tmp_path / 'none.py'}")
        assert isinstance(app.screen, Popup)
        assert app.state.session is before
        await press(pilot, app, "escape")
        await typed(pilot, app, f"open {LLAMA}")
        assert app.state.session is not before
        assert "forward(" in screen_text(app)
        assert history.recent()[:2] == [str(Path(LLAMA).resolve()), str(Path(folder).resolve())]


async def test_tab_completes_commands_stages_and_variables(folder: str) -> None:
    app = Explorer(folder)
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await pilot.press("colon", *"st", "tab", "W", "tab")
        assert app.screen.query_one("#command", CommandInput).value == "stage Wrong"
        assert completions(app.state, False, "go oth") == ["go other"]
        assert completions(app.state, True, "rev")[0] == "reverse-step "
        assert completions(app.state, False, "rev") == []
        assert completions(app.state, True, "info sh") == ["info shapes"]
        assert completions(app.state, True, "help fin") == ["help finish"]
        assert completions(app.state, True, "step ") == []
        assert completions(app.state, True, "print a")[0] == "print a"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("op:sqrt", "d"),
        ("ty:(2,)", "d"),
        ("var:c", "c"),
        ("PERMUTE", ""),
        ("permute", "b"),
        ("pat:sqrt(_)", "d"),
        ("pat:sqrt(c)", "d"),
        ("pat:sqrt(permute_dims(_))", ""),
        ("pat:sqrt(", ""),
    ],
)
async def test_a_search_is_narrowed_by_a_prefix(folder: str, text: str, expected: str) -> None:
    app = Explorer(folder)
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, text, "slash")
        if expected:
            while app.state.selection.variable == "":  # the head of a function has types too
                await press(pilot, app, "n")
        assert app.state.selection.variable == expected


async def test_a_search_in_all_stages_leads_to_a_line_and_back(folder: str) -> None:
    app = Explorer(folder)
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        start = app.state.selection
        await typed(pilot, app, "all:sin(", "slash")
        assert isinstance(app.screen, Popup)
        assert [row.text.split()[:2] for row in app.view.rows] == [["2", "Wrong"]]
        await press(pilot, app, "enter")
        assert (app.state.selection.stage, app.state.selection.variable) == (2, "a")
        await press(pilot, app, "ctrl+o")
        assert app.state.selection == start
        await press(pilot, app, "alt+o")
        assert app.state.selection.stage == 2


# -- places ---------------------------------------------------------------------------------------------------------


async def test_the_history_leads_to_a_stage(folder: str) -> None:
    app = Explorer(folder)
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "go a")
        await press(pilot, app, "w")
        rows = app.view.rows
        assert [row.mark for row in rows] == ["▌", " ", "~"]
        await press(pilot, app, "G", "enter")
        assert (app.state.selection.stage, app.state.selection.variable) == (2, "a")


async def test_uses_of_a_value(folder: str) -> None:
    app = Explorer(folder)
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "go a")
        await press(pilot, app, "percent_sign")
        assert app.state.selection.variable == "b"
        await press(pilot, app, "percent_sign", "percent_sign")
        assert app.state.selection.variable == "c"
        assert "nothing reads" in screen_text(app)


async def test_stages_without_changes_are_folded_in_the_list(folder: str) -> None:
    app = Explorer(folder)
    async with app.run_test(size=(120, 30)) as pilot:
        await idle(pilot, app)
        assert "1 of 2 changed" in screen_text(app)
        assert "1 Same" in screen_text(app)
        await press(pilot, app, "tab", "G", "enter")
        assert app.state.selection.stage == 2


JUMPS = {
    "history": ("tab", "w", "enter"),
    "search": ("tab", "slash", *"all:matmul", "enter", "enter"),
    "mark": ("m", "a", "tab", "apostrophe", "a"),
    "back": ("percent_sign", "tab", "ctrl+o"),
    "use": ("tab", "percent_sign"),
    "command": ("tab", "colon", *"go main", "enter"),
    "other screen": ("tab", "3", "1"),
    "same screen": ("tab", "1"),
}


@pytest.mark.parametrize("jump", list(JUMPS))
async def test_a_jump_closes_the_drawer(folder: str, jump: str) -> None:
    app = Explorer(folder)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "go a")
        drawer, keys = app.frame.query_one("#stages"), JUMPS[jump]
        await press(pilot, app, *keys[:-1])
        assert drawer.display or jump == "other screen"
        await press(pilot, app, keys[-1])
        assert app.screen_name == "passes"
        assert not drawer.display
        assert app.frame.focused is app.frame.query_one("#ir")


async def test_a_jump_leaves_the_list_that_hides_nothing(folder: str) -> None:
    app = Explorer(folder)
    async with app.run_test(size=(120, 30)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "go a")
        await press(pilot, app, "tab", "w", "enter")
        assert app.frame.focused is app.frame.query_one("#stages")
        assert app.frame.query_one("#stages").display


async def test_the_list_of_stages_is_a_drawer_in_a_narrow_terminal(folder: str) -> None:
    app = Explorer(folder)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        drawer = app.frame.query_one("#stages")
        assert not drawer.display
        await press(pilot, app, "tab")
        assert drawer.display
        await press(pilot, app, "escape")
        assert not drawer.display
        assert app.focused is app.frame.query_one("#ir")


async def test_the_selection_crosses_screens(folder: str) -> None:
    app = Explorer(folder)
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "go b")
        await press(pilot, app, "3")
        assert " b = permute_dims(a" in screen_text(app)
        await press(pilot, app, "plus")
        assert "within 2 edges" in screen_text(app)
        await press(pilot, app, "1")
        assert app.state.selection.variable == "b"
        assert under_cursor(app).split()[1] == "b"


async def test_a_terminal_that_shrinks_and_grows_shows_everything_again(folder: str) -> None:
    app = Explorer(folder)
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        before = screen_text(app)
        await pilot.resize_terminal(50, 10)
        await pilot.pause()
        assert "needs 60×16" in screen_text(app)
        assert "R.exp" not in screen_text(app)
        await pilot.resize_terminal(120, 40)
        await idle(pilot, app)
        assert screen_text(app) == before


# -- the timeline ---------------------------------------------------------------------------------------------------


def view(position: int, last: int, hits: tuple[int, ...] = (), is_done: bool = False) -> RunView:
    return RunView(0, "f", position, last, 0, None, "", "", [], [], (), (), (), (), hits, is_done)  # type: ignore[arg-type]


def test_the_timeline_has_the_width_it_is_given_and_marks_hits() -> None:
    for position, last in ((0, 0), (3, 3), (5, 40), (40, 40)):
        for width in (30, 80, 200):
            line = timeline(view(position, last), width)
            assert len(line) <= width
            assert line.count("▶") == 1
    assert "●" in timeline(view(9, 10, (2,)), 80)


def test_a_click_on_the_timeline_goes_to_the_step_that_it_shows() -> None:
    for last in (0, 1, 7, 1_000):
        for position in (0, last // 2, last):
            shown = view(position, last)
            cell = timeline(shown, 120).index("▶")
            assert abs(step_at(cell, shown, 120) - position) <= last / 100 + 0.5


async def test_a_click_on_the_timeline(folder: str) -> None:
    app = Explorer(folder)
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "2", "dollar_sign")
        assert app.state.run.is_done
        await pilot.click("#timeline", offset=(1, 0))
        await idle(pilot, app)
        assert app.state.run.position == 0


async def test_the_command_line_of_what_is_shown(folder: str) -> None:
    app = Explorer(folder)
    async with app.run_test(size=(140, 30)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "right_square_bracket", "Y")
        assert app.clipboard == f"relax-explorer show {folder} --stage 2 --func main"
        await press(pilot, app, "5", "Y")
        assert app.clipboard == f"relax-explorer compare {folder}@0 {folder}@2 --func main"


async def test_keys_faster_than_a_dialog_closes_close_it_once(folder: str) -> None:
    app = Explorer(folder)
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "2", "I")
        dialog = app.screen
        for _ in range(3):
            dialog.post_message(Input.Submitted(dialog.query(Input).first(), ""))
        await idle(pilot, app)
        assert app.screen is app.frame
        await press(pilot, app, "question_mark")
        for _ in range(3):
            app.post_message(events.Key("escape", None))
        await idle(pilot, app)
        assert app.screen is app.frame
        assert app.return_code is None


async def test_the_history_of_the_selected_value_follows_the_cursor(folder: str) -> None:
    app = Explorer(folder)
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "go a")
        panel = app.frame.query_one("#history_text", FixedLines)
        await wait(pilot, lambda: panel.text)
        assert panel.text.split("\n") == [
            "▌ 0 input    exp(x)  (n, 3) f32",
            "  2 Wrong ~? sin(x)  (n, 3) f32",
        ]
        assert "History of a" in screen_text(app)
        await press(pilot, app, "right_square_bracket")
        await wait(pilot, lambda: panel.text)
        assert panel.text.split("\n") == [
            "  0 input    exp(x)  (n, 3) f32",
            "▌ 2 Wrong ~  sin(x)  (n, 3) f32",
        ]
        await press(pilot, app, "j")  # another value: the old history is not left behind
        assert "History of b" in screen_text(app)
        assert "exp" not in panel.text
        await wait(pilot, lambda: panel.text)
        assert [line[:10] for line in panel.text.split("\n")] == ["  0 input ", "▌ 2 Wrong "]
        assert "~" not in panel.text
        await press(pilot, app, "g")  # a function has none
        assert panel.text == "no value is selected"
        assert "History of" not in screen_text(app)
        await typed(pilot, app, "go a")
        await press(pilot, app, "i")
        assert "History" not in screen_text(app)


async def test_the_history_is_not_traced_where_it_would_slow_keys_down(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pictures, "MOST_TRACED", 2)
    app = Explorer(folder)
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "go a")
        panel = app.frame.query_one("#history_text", FixedLines)
        await wait(pilot, lambda: panel.text)
        assert panel.text == "w traces it through the stages"


@pytest.mark.parametrize("name", ["in0_x", "x"])
async def test_a_file_with_all_inputs_serves_comparing_and_bisecting(
    folder: str, tmp_path: Path, name: str
) -> None:
    """Its entries may be numbered. The dialog names the file, and shows what is in it."""
    file = tmp_path / "io.npz"
    np.savez(file, **{name: np.full((4, 3), 0.5, "float32"), "out0": np.zeros(1)})
    app = Explorer(folder, call=CallInputs("", {"0": str(file)}))
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, *["right_square_bracket"] * 2, "5")
        await wait(pilot, lambda: app.state.compared is not None)
        assert app.state.compared is not None
        shapes = [view.pairing.b.shape for view in app.state.compared.pairs if view.pairing.b is not None]
        assert shapes == [(4, 3), (3, 4), (3, 4)]
        await press(pilot, app, "1", "B")
        await wait(pilot, lambda: isinstance(app.screen, Popup))
        assert "First bad stage: 2 Wrong" in screen_text(app)
        await press(pilot, app, "escape", "2", "I")
        await wait(pilot, lambda: isinstance(app.screen, Inputs))
        await pilot.pause()
        lines = [
            line for line in screen_text(app).split("\n") if "(n, 3) f32" in line and "length" not in line
        ]
        assert any("from io.npz" in line and "0.5 … 0.5" in line for line in lines), lines
        assert app.screen.query_one("#field_0", Input).placeholder == "4"
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert "0.5 … 0.5" not in next(line for line in screen_text(app).split("\n") if "from io.npz" in line)


WARNED = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        a = R.match_cast(x, R.Tensor((n,), "float32"))
        return a
"""


async def test_a_problem_of_several_stages_is_listed_once(tmp_path: Path) -> None:
    """At the stage that has it first, though its line moves; errors come first; equal problems of one stage stay apart."""
    place = tmp_path / "dumps"
    place.mkdir()
    second = 'b = R.match_cast(a, R.Tensor((n,), "float32"))\n        return b'
    twice = WARNED.replace("return a", second)
    broken = twice.replace("return b", "return c")
    for name, text in {
        "00_input": WARNED,
        "01_Same": f"# moved\n\n{WARNED}",
        "02_Twice": twice,
        "03_Bad": broken,
    }.items():
        (place / f"{name}.py").write_text(text)
    app = Explorer(str(place), profile="spec")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "4")
        lines = [row.text for row in app.frame.query_one("#problems", LineView).rows]
        heads = [n for n, line in enumerate(lines) if "[RX" in line]
        assert lines[heads[0]].startswith("error")
        below = [
            [line.strip() for line in lines[n + 1 :]] for n in heads[1:]
        ]  # a long message takes two lines
        places = [next(line for line in some if line.startswith("stage ")) for some in below]
        told = [(lines[n].split(":")[0], place) for n, place in zip(heads[1:], places, strict=True)]
        assert told[0] == ("note[RX0241]", "stage 0 input, and in 2 later stages: 1, 2")
        assert told[1][1] == "stage 2 Twice"
        assert len(told) == 2
        await press(pilot, app, *["j"] * heads[2], "enter")
        assert (app.screen_name, app.state.selection.stage) == ("passes", 2)


async def test_screens_over_each_other_show_the_one_below(folder: str) -> None:
    """Whichever of them is drawn anew: Textual showed two of five each other after a resize, without end."""
    app = Explorer(folder, theme="dark")
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        app.show_screen("debug")
        await idle(pilot, app)
        app.ask_inputs()
        await pilot.pause()
        app.show_rows("Over the dialog", [Row("a line")])
        await pilot.pause()
        app.ask_key("a key", ["what follows"], lambda key: None)
        await pilot.pause()
        app.action_command_palette()
        await idle(pilot, app)
        stack = app.screen_stack
        assert [type(screen).__name__ for screen in stack[1:]] == ["Inputs", "Popup", "KeyPrompt", "Palette"]
        for turn in (stack, stack[::-1]):
            for screen in turn[1:] if turn is stack else turn[:-1]:
                shown = screen.render()
                assert isinstance(shown, BackgroundScreen)
                assert shown.screen is stack[stack.index(screen) - 1]
        assert not isinstance(stack[0].render(), BackgroundScreen)
        for screen, size in zip(stack, ((90, 28), (100, 30), (70, 20), (60, 16), (120, 40)), strict=True):
            screen.refresh(layout=True)
            await pilot.resize_terminal(*size)
            assert "what follows" in screen_text(app), "it is below the palette"
        await press(pilot, app, *["escape"] * 4)
        assert len(app.screen_stack) == 1
        assert app.return_code is None


@pytest.mark.parametrize("size", [(200, 60), (240, 50)])
async def test_the_inspector_uses_its_width(size: tuple[int, int]) -> None:
    """From its first picture on, and after each change of the terminal."""
    app = Explorer(LAYER)
    async with app.run_test(size=size) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "2")
        for now in (size, (184, 40), size):
            await pilot.resize_terminal(*now)
            await press(pilot, app, "s")
            await idle(pilot, app)
            await wait(pilot, lambda: app.is_at_rest)
            lines = app.frame.query_one("#inspector_text", FixedLines)
            longest = max(len(line) for line in lines.lines)
            assert lines.size.width - 12 <= longest <= lines.size.width, (now, lines.text)


async def test_lines_over_a_screen_take_the_place_of_others(folder: str) -> None:
    """Jobs may tell several problems before a key is pressed; one Esc leads back."""
    app = Explorer(folder)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        chosen: list[str] = []
        for number in range(5):
            app.show_rows(
                f"problem {number}", [Row(f"line {number}")], 0, lambda row: chosen.append(row.text)
            )
        await idle(pilot, app)
        assert len(app.screen_stack) == 2
        assert "problem 4" in screen_text(app)
        await press(pilot, app, "enter")
        assert (len(app.screen_stack), chosen) == (1, ["line 4"])
        app.show_rows("first", [Row("one")])
        app.ask_key("a key", [], lambda key: None)  # before the lines are there
        await idle(pilot, app)
        app.show_rows("second", [Row("two")])
        await idle(pilot, app)
        assert len(app.screen_stack) == 4, "what waits for a key stays"
        await press(pilot, app, "escape", "escape")
        assert " one " in screen_text(app)
        await press(pilot, app, "escape")
        assert len(app.screen_stack) == 1
        assert app.return_code is None


async def test_a_key_on_its_way_while_the_last_screen_closes_does_nothing(folder: str) -> None:
    app = Explorer(folder)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
    assert not app.screen_stack
    key = events.Key("j", "j")
    key._set_forwarded()
    await app.on_event(key)
    assert app.return_code is None


async def test_a_comparison_that_fails_does_not_start_again_and_again(tmp_path: Path) -> None:
    """Esc on its problem leads back to the screen, and other inputs start it anew."""
    path = tmp_path / "any.py"
    path.write_text(FIRST.replace("def main(", "def main(kv: R.Any, ", 1))
    app = Explorer(str(path), "LegalizeOps,ToNonDataflow")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "right_square_bracket", "5")
        assert "no value can be made for it" in screen_text(app)
        await press(pilot, app, "escape")
        await idle(pilot, app)
        assert len(app.screen_stack) == 1
        assert "no comparison" in screen_text(app)
        await press(pilot, app, "right_square_bracket")
        await idle(pilot, app)
        assert "no value can be made for it" in screen_text(app), "another stage is asked for"
        await press(pilot, app, "escape", "1", "5")
        await idle(pilot, app)
        assert len(app.screen_stack) == 1
        np.save(tmp_path / "kv.npy", np.ones(3, "float32"))
        app.run_control.calls["main"] = CallInputs("main", {"kv": str(tmp_path / "kv.npy")})
        await press(pilot, app, "1", "5")
        await wait(pilot, lambda: app.state.compared is not None)
        assert len(app.screen_stack) == 1
        first = app.state.compared
        assert first is not None
        other = next(number for number in range(3) if number not in (first.a, first.b))
        await press(pilot, app, "1")
        app.stage_control.show(other)
        await press(pilot, app, "5")
        await wait(pilot, lambda: app.state.compared is not first)


async def test_a_dialog_that_is_closed_before_it_is_filled(folder: str) -> None:
    app = Explorer(folder)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        app.show_screen("debug")
        await idle(pilot, app)
        app.ask_inputs()
        app.screen.dismiss(None)
        await idle(pilot, app)
        assert (len(app.screen_stack), app.return_code) == (1, None)
