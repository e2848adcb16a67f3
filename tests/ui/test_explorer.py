"""The explorer driven by keys: the Llama module, its stages, its graph, steps forward and back, and bad files."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from relax_explorer.ui.tui import keys
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.screens.by_name import screen_class
from relax_explorer.ui.tui.screens.popup import Popup
from relax_explorer.ui.tui.widgets.line_view import LineView
from tests.support.roundtrip import DATA, SAMPLES

LLAMA = str(DATA / "llama" / "00_input.py")


async def wait(pilot: object, condition: object, seconds: float = 60) -> None:
    """Pause until a condition holds; the time limit only ends a failing test."""
    end, delay = time.monotonic() + seconds, 0.004
    while time.monotonic() < end:
        await pilot.pause(delay)  # type: ignore[attr-defined]  # a textual Pilot
        if condition():  # type: ignore[operator]  # a callable
            return
        delay = min(2 * delay, 0.05)
    raise AssertionError("the condition never held")


def screen_text(app: Explorer) -> str:
    """The text on the screen, line by line."""
    return "\n".join(
        "".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()
    )


@pytest.mark.parametrize("size", [(80, 24), (140, 40)])
async def test_the_llama_module_from_end_to_end(size: tuple[int, int]) -> None:
    app = Explorer(LLAMA)
    async with app.run_test(size=size) as pilot:
        await wait(
            pilot,
            lambda: (
                app.state.session is not None
                and len(app.state.session.stages) == len(app.state.session.pipeline) + 1
            ),
        )
        assert app.state.session is not None
        assert "forward(" in screen_text(app)
        assert "(b * s,) i32" in screen_text(app)
        changing = [stage.number for stage in app.state.session.changing()]
        for number in changing[1:]:
            await pilot.press("right_square_bracket")
            assert app.state.selection.stage == number
        assert app.state.session.stages[app.state.selection.stage].made_by in screen_text(app)
        for number in reversed(changing[:-1]):
            await pilot.press("left_square_bracket")
            assert app.state.selection.stage == number
        await pilot.press("3")
        graph = app.frame.query_one("#graph", LineView)
        await wait(pilot, lambda: len(graph.rows) > 20)
        assert any("matmul" in row.text for row in graph.rows)
        await pilot.press("2")
        await wait(pilot, lambda: app.state.run is not None)
        for count in (1, 2, 3):
            await pilot.press("s")
            await wait(pilot, lambda count=count: app.run_control.session.debugger.position == count)
        await wait(pilot, lambda: "▶ reshape1" in screen_text(app))
        assert "b = 3" in screen_text(app)
        assert "(3, 3, 32) f32" in screen_text(app)
        for count in (2, 1):
            await pilot.press("S")
            await wait(pilot, lambda count=count: app.run_control.session.debugger.position == count)
        await wait(pilot, lambda: "step 1" in screen_text(app))
        assert "▶ reshape " in screen_text(app)
        assert "(3, 3, 32) f32" not in screen_text(app)


async def test_a_file_that_cannot_be_read_keeps_what_is_open(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("@I.ir_module\nclass M:\n    @R.function\n    def main(x: R.Tensor((2,")
    app = Explorer(str(DATA / "mlp" / "00_input.py"))
    async with app.run_test(size=(80, 24)) as pilot:
        await wait(pilot, lambda: app.state.session is not None)
        before = app.state.session
        app.stage_control.open(str(bad))
        await wait(pilot, lambda: "RX0007" in screen_text(app))
        assert app.state.session is before
        await pilot.press("escape")
        assert "forward(" in screen_text(app)


async def test_hostile_text_does_not_reach_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "hostile.py"
    path.write_text(
        '@R.function\ndef f(x: R.Object):\n    y = R.str("[bold]\\x1b]52;c;aGk=\\x07 [/nope]")\n    return x\n'
    )
    app = Explorer(str(path), "")
    async with app.run_test(size=(80, 24)) as pilot:
        await wait(pilot, lambda: app.state.session is not None)
        text = screen_text(app)
        assert "\x1b" not in text
        assert "[bold]" in text


async def test_help_lists_every_key_and_search_finds() -> None:
    app = Explorer(LLAMA)
    async with app.run_test(size=(80, 60)) as pilot:
        await wait(pilot, lambda: app.state.session is not None)
        await pilot.press("question_mark")
        lines = [row.text.split() for row in app.screen.query_one("#popup", LineView).rows]
        shown = " ".join(word for line in lines for word in line)  # sentences go on in the next line
        assert all(key.description in shown for key in keys.keys_of("passes") if key.key)
        await pilot.press("escape", "slash", *"softmax", "enter")
        assert "softmax" in app.view.rows[app.view.cursor].text


async def test_the_history_of_a_value() -> None:
    app = Explorer(LLAMA, "LegalizeOps")
    async with app.run_test(size=(100, 30)) as pilot:
        await wait(pilot, lambda: app.state.session is not None and len(app.state.session.stages) == 2)
        view = app.frame.query_one("#ir", LineView)
        view.move(next(n for n, row in enumerate(view.rows) if row.text.split()[1:2] == ["rms_norm"]))
        await pilot.pause()
        await pilot.press("w")
        await wait(pilot, lambda: isinstance(app.screen, Popup))
        shown = [row.text for row in app.screen.query_one("#popup", LineView).rows]
        assert any(" 1   LegalizeOps" in line and "@rms_norm(" in line for line in shown)


async def test_a_small_terminal_is_told_so() -> None:
    app = Explorer(LLAMA)
    async with app.run_test(size=(50, 10)) as pilot:
        await wait(pilot, lambda: "needs 60×16" in screen_text(app))
        await wait(pilot, lambda: app.state.session is not None)
        assert "needs 60×16" in screen_text(app)


@pytest.mark.parametrize("screen", keys.SCREENS)
def test_the_table_of_keys_is_complete(screen: str) -> None:
    pressed = [key.key for key in keys.keys_of(screen) if key.key]
    assert len(pressed) == len(set(pressed))
    for key in keys.keys_of(screen):
        assert key.description
        name = key.action.partition("(")[0]
        assert hasattr(screen_class(screen), f"action_{name}"), name


def test_importing_costs_nothing_and_the_first_frame_needs_no_numba() -> None:
    code = (
        "import sys, relax_explorer; assert 'numpy' not in sys.modules; import relax_explorer.ui.cli.main; "
        "import relax_explorer.ui.cli.exploring, relax_explorer.core.syntax.load; "
        "from relax_explorer.ui.tui.screens.by_name import screen_class; screen_class('reading'); "
        "late = {'numba', 'tvm', 'graphviz', 'pygraphviz', 'numpy', *['relax_explorer.' + name for name in "
        "('core.exec', 'core.ops', 'core.check', 'core.passes', 'core.syntax.parser', 'viz.graph')]}; "
        "print(sorted((late | {'textual'}) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['textual']"


async def opened(app: Explorer, pilot: object) -> None:
    """Wait for the last stage."""
    await wait(
        pilot,
        lambda: (
            app.state.session is not None
            and len(app.state.session.stages) == len(app.state.session.pipeline) + 1
        ),
    )


async def test_the_cursor_is_always_in_sight() -> None:
    app = Explorer(LLAMA)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        view = app.frame.query_one("#ir", LineView)
        for key in ("right_square_bracket", "G", "g", "pagedown", "down", "up", "end"):
            await pilot.press(key)
            await pilot.pause()
            top = int(view.scroll_offset.y)
            assert top <= view.cursor < top + view.scrollable_content_region.height, key
        assert view.cursor == len(view.rows) - 1
        await pilot.press("up")
        assert view.cursor == len(view.rows) - 2


async def test_keys_move_the_text_that_is_shown_not_the_pane_below() -> None:
    app = Explorer(LLAMA)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        before = app.frame.query_one("#ir", LineView).cursor
        await pilot.press("question_mark", "j", "down", "slash", *"Quit", "enter")
        popup = app.screen.query_one("#popup", LineView)
        assert "Quit" in popup.rows[popup.cursor].text
        assert app.frame.query_one("#ir", LineView).cursor == before
        await pilot.press("q")
        assert app.screen is app.frame


async def test_a_lowered_stage_is_stepped_with_its_marks() -> None:
    app = Explorer(str(SAMPLES[0]))
    async with app.run_test(size=(80, 24)) as pilot:
        await wait(
            pilot,
            lambda: (
                app.state.session is not None
                and len(app.state.session.stages) == len(app.state.session.pipeline) + 1
            ),
        )
        assert app.state.session is not None
        lowered = next(stage for stage in app.state.session.stages if stage.made_by.startswith("LegalizeOps"))
        while app.state.selection.stage < lowered.number:
            await pilot.press("right_square_bracket")
        assert "call_tir" in lowered.module.script()
        await pilot.press("2")
        await wait(pilot, lambda: app.state.run is not None)
        await pilot.press("s")
        await wait(pilot, lambda: "✓" in screen_text(app))
        assert "▶" in screen_text(app)


async def test_the_selection_moves_over_statements_of_kernels() -> None:
    app = Explorer(LLAMA)
    async with app.run_test(size=(100, 40)) as pilot:
        await wait(
            pilot,
            lambda: (
                app.state.session is not None
                and len(app.state.session.stages) == len(app.state.session.pipeline) + 1
            ),
        )
        assert app.state.session is not None
        number = next(stage.number for stage in app.state.session.stages if stage.made_by == "LegalizeOps")
        app.stage_control.show(number)
        view = app.frame.query_one("#ir", LineView)
        assert any(row.text.startswith("@matmul(") and "kernel, " in row.right for row in view.rows)
        await pilot.press("Z")
        loops = [n for n, row in enumerate(view.rows) if row.text.strip().startswith("for ")]
        assert loops
        for number in loops[:3]:
            view.move(number)
            await pilot.pause()
            assert app.state.selection.binding is None
            assert view.rows[number].node is not None
        await pilot.press("right_square_bracket")
        await pilot.press("left_square_bracket")
        assert screen_text(app)
