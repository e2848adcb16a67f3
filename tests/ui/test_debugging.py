"""The debug pane: breakpoints, conditions, watches, the cursor, and the `:` line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.widgets import Input

from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.debug_rows import ValueRows
from relax_explorer.ui.tui.screens.popup import Popup
from relax_explorer.ui.tui.widgets.framed import CommandInput
from relax_explorer.ui.tui.widgets.line_view import LineView
from tests.ui.test_explorer import LLAMA, screen_text, wait
from tests.ui.test_screens import idle, press

PROGRAM = """@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((2, 2), "float32")):
        y = R.add(x, x)
        z = M.double(y)
        w = R.concat((z, z), axis=0)
        p = R.print(w, format="printed")
        v = M.double(w)
        return v

    @R.function
    def double(a: R.Tensor(("k", 2), "float32")) -> R.Tensor("float32", ndim=2):
        b = R.multiply(a, R.const(2.0, "float32"))
        return b
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "p.py"
    path.write_text(PROGRAM)
    return str(path)


async def opened(app: Explorer, pilot: Any) -> None:
    await wait(pilot, lambda: app.state.session is not None)
    await pilot.press("2")
    await wait(pilot, lambda: app.state.run is not None)


async def typed(pilot: Any, app: Explorer, text: str, key: str = "colon") -> None:
    """Type behind a key that opens the `:` line, and wait for the answer."""
    await pilot.press(key)
    await wait(pilot, lambda: app.focused is not None and app.focused.id == "command")
    line = app.frame.query_one("#command", CommandInput)
    line.value += text
    await pilot.press("enter")
    await settled(pilot, app)


async def test_the_table_of_values_fits_its_frame(program: str) -> None:
    """A run may end before the table is laid out: its rows are as wide as the terminal then."""
    app = Explorer(program)
    async with app.run_test(size=(190, 45)) as pilot:
        await opened(app, pilot)
        box, values = app.frame.query_one("#values_box"), app.frame.query_one("#values", LineView)
        box.display = False
        await wait(pilot, lambda: not values.scrollable_content_region.width)
        await press(pilot, app, "s")
        assert isinstance(values.rows, ValueRows)
        assert values.rows.width == 190 - 3
        box.display = True
        await wait(pilot, lambda: fits(values))


def fits(view: LineView) -> bool:
    """True if the rows of a table of values are as wide as its frame."""
    rows = view.rows
    return isinstance(rows, ValueRows) and rows.width == view.scrollable_content_region.width - 3


async def settled(pilot: Any, app: Explorer) -> None:
    await wait(pilot, lambda: app.jobs.is_idle)
    await pilot.pause()


def gutters(app: Explorer) -> dict[str, str]:
    rows = app.frame.query_one("#debug_ir", LineView).rows
    return {row.text.split()[1]: row.mark for row in rows if row.mark != " "}


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_breakpoints_watches_and_the_cursor(program: str, size: tuple[int, int]) -> None:
    app = Explorer(program, "")
    async with app.run_test(size=size) as pilot:
        await opened(app, pilot)
        await typed(pilot, app, "max(w)", "a")
        assert "1: max(w): w has no value here" in screen_text(app)
        await pilot.press("j", "j", "b")  # w
        await settled(pilot, app)
        assert gutters(app)["w"] == "●"
        await pilot.press("B")
        await pilot.pause(0.1)
        assert "condition 1 " in screen_text(app)
        app.frame.query_one("#command", CommandInput).value += "min(w) < 99"
        await pilot.press("enter")
        await settled(pilot, app)
        assert gutters(app)["w"] == "◆"
        await pilot.press("c")
        await settled(pilot, app)
        assert app.run_control.session.debugger.event.binding.var.name == "w"
        assert "breakpoint 1 (w if min(w) < 99), hit 1" in screen_text(app)
        assert "* 1: max(w) = " in screen_text(app)
        is_narrow = size[0] < 100
        assert ("w if min(w) < 99, 1 hit" in screen_text(app)) is not is_narrow
        await pilot.press(*["v", "v"] * is_narrow)
        assert "0 main, p = R.print" in screen_text(app)
        await pilot.press(*["v"] * is_narrow)
        assert "1: w if min(w) < 99, 1 hit" in screen_text(app)
        await pilot.press("C")
        await settled(pilot, app)
        assert app.run_control.session.debugger.position == 0
        assert "1: w if min(w) < 99, 0 hits" in screen_text(app)
        await pilot.press("j", "j", "b")
        await settled(pilot, app)
        assert "deleted 1" in screen_text(app)
        assert gutters(app)["w"] == "·"


async def test_to_the_cursor_and_back(program: str) -> None:
    app = Explorer(program, "")
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        await pilot.press("j", "j", "full_stop")
        await settled(pilot, app)
        assert app.run_control.session.debugger.event.binding.var.name == "w"
        await pilot.press("k", "k", "comma")
        await settled(pilot, app)
        assert app.run_control.session.debugger.event.binding.var.name == "z"


async def test_the_command_line(program: str) -> None:
    app = Explorer(program, "")
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        await typed(pilot, app, "break fn:double if k == 4")
        await typed(pilot, app, "run")
        assert app.run_control.session.debugger.frame.shape_vars == {"k": 4}
        assert "| printed" in screen_text(app)
        await typed(pilot, app, "info frames")
        assert isinstance(app.screen, Popup)
        await pilot.press("escape")
        await typed(pilot, app, "brek y")
        assert "there is no command 'brek'; did you mean break" in screen_text(app)
        await pilot.press("colon", "up", "up", "enter")  # info frames
        await settled(pilot, app)
        assert isinstance(app.screen, Popup)
        await pilot.press("escape", "colon", "escape")
        assert app.focused is app.frame.query_one("#debug_ir")
        await typed(pilot, app, "last-change a")
        assert app.run_control.session.debugger.event.kind == "enter"
        await typed(pilot, app, "quit")
        assert app.screen_name == "passes"


async def test_keys_typed_at_once_behind_the_key_that_opens_a_line_are_its_text(program: str) -> None:
    app = Explorer(program, "")
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        start = app.view.cursor
        for keys, line in (
            (("colon", *"break w"), "#command"),
            (("j", "slash", *"qj2d"), "#search"),
        ):
            for key in keys:
                app.post_message(events.Key("space" if key == " " else key, key if len(key) == 1 else None))
            await pilot.pause(0.2)
            assert app.frame.query_one(line, Input).value == {"#command": "break w", "#search": "qj2d"}[line]
            assert app.screen is app.frame
            await pilot.press("escape")
        assert app.view.cursor == start + 1


async def test_breakpoints_and_watches_survive_a_restart_and_another_stage(program: str) -> None:
    app = Explorer(program, "LegalizeOps")
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(app, pilot)
        await wait(pilot, lambda: len(app.state.session.stages) == 2)
        for command in ("break b if k > 2", "break op:concat", "break if max > 1e9", "watch k", "disable 1"):
            await typed(pilot, app, command)
            if isinstance(app.screen, Popup):
                await pilot.press("escape")
        first = app.run_control.session
        await pilot.press("s", "r")
        await settled(pilot, app)
        assert app.run_control.session is not first
        assert [point.text for point in app.run_control.session.debugger.breakpoints] == [
            "b",
            "op:concat",
            "max > 1e9",
        ]
        assert [point.is_enabled for point in app.run_control.session.debugger.breakpoints] == [
            False,
            True,
            True,
        ]
        assert len(app.run_control.session.watches) == 1
        await pilot.press("1", "right_square_bracket", "2")
        await settled(pilot, app)
        assert [point.text for point in app.run_control.session.debugger.breakpoints] == ["b", "max > 1e9"]
        assert "without a place here: op:concat" in screen_text(app)


PRIM_FUNC = """@I.ir_module
class M:
    @T.prim_func
    def twice(A: T.Buffer((2, 2), "float32"), B: T.Buffer((2, 2), "float32")):
        for i, j in T.grid(2, 2):
            with T.sblock("B"):
                v, w = T.axis.remap("SS", [i, j])
                B[v, w] = A[v, w] * T.float32(2)

    @R.function
    def main(x: R.Tensor((2, 2), "float32")):
        cls = M
        y = R.call_tir(cls.twice, (x,), out_sinfo=R.Tensor((2, 2), "float32"))
        z = R.add(y, y)
        return z
"""


async def test_a_prim_func_is_entered_by_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text(PRIM_FUNC)
    app = Explorer(str(path), "")
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(app, pilot)
        await typed(pilot, app, "into 3")
        shown = screen_text(app)
        assert "store 2 of twice: B[0, 1]" in shown
        assert "i = 0" in shown
        assert "j = 1" in shown
        assert (
            next(
                row.text for row in app.frame.query_one("#debug_ir", LineView).rows if row.mark == "▶"
            ).strip()
            == "B[v, w] = A[v, w] * T.float32(2.0)"
        )
        await pilot.press("s")
        await settled(pilot, app)
        assert "store 3 of twice" in screen_text(app)
        await pilot.press("S", "S")
        await settled(pilot, app)
        assert "store 1 of twice" in screen_text(app)
        await typed(pilot, app, "break if j == 1")
        await pilot.press("c")
        await settled(pilot, app)
        assert "store 2 of twice" in screen_text(app)
        await pilot.press("b")  # no binding is under the cursor
        await settled(pilot, app)
        await pilot.press("o", "o")
        await settled(pilot, app)
        assert "y = " in screen_text(app)


async def test_what_calls_for_their_effect_return_is_not_listed() -> None:
    app = Explorer(LLAMA, "zero,default_build")
    async with app.run_test(size=(160, 50)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "stage VMShapeLower")
        await press(pilot, app, "2", *"ssssssss")
        view = app.state.run
        assert view is not None
        names = [row.function for row in view.values]
        assert "shape_heap" in names
        assert not [name for name in names[1:] if name.startswith("_")]
        assert view.values.of_width(80).name_width < view.values.of_width(140).name_width


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_rows_of_values_are_made_for_the_width_that_is_shown(size: tuple[int, int]) -> None:
    """The thread of the run makes them; made for another width, they would be made again while a key waits."""
    app = Explorer(LLAMA, screen="debug")
    async with app.run_test(size=size) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "s", "s")
        assert app.state.run is not None
        assert app.state.run.values.width == app.run_control.shown_width
