"""The sentence above the program, and the room that the program has."""

from __future__ import annotations

import pytest

from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.widgets.framed import FixedText
from tests.support.roundtrip import SAMPLES
from tests.ui.test_explorer import screen_text
from tests.ui.test_screens import idle

LAYER = str(next(path for path in SAMPLES if path.stem.startswith("12")))


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (140, 40), (200, 50)])
async def test_the_sentence_stands_above_the_program(size: tuple[int, int]) -> None:
    app = Explorer(LAYER, "zero")
    async with app.run_test(size=size) as pilot:
        await idle(pilot, app)
        assert not app.frame.query_one("#sentence", FixedText).display, "the input was made by nobody"
        await pilot.press("right_square_bracket")
        await idle(pilot, app)
        assert "21 operators became calls of 17 new kernels, matmul of 6." in screen_text(app)
        await pilot.press("right_square_bracket", "right_square_bracket")
        await idle(pilot, app)
        assert "4 merges: matmul + multiply → fused_matmul1_multiply, …;" in screen_text(app)
        await pilot.press("alt+left_square_bracket")
        await idle(pilot, app)
        assert "Nothing changed." in screen_text(app)
        await pilot.press("left_square_bracket", "left_square_bracket", "left_square_bracket")
        await idle(pilot, app)
        assert app.state.selection.stage == 0
        assert "operators became" not in screen_text(app)


@pytest.mark.parametrize(("width", "least"), [(120, 80), (140, 100), (179, 139), (180, 90)])
async def test_the_program_has_the_room(width: int, least: int) -> None:
    app = Explorer(LAYER, "zero")
    async with app.run_test(size=(width, 40)) as pilot:
        await idle(pilot, app)
        await pilot.press("right_square_bracket")
        await idle(pilot, app)
        program, details = app.frame.query_one("#ir").region, app.frame.query_one("#details").region
        assert program.width >= least
        assert details.height > 2
        assert (details.y >= program.bottom) == (width < 180), "below the program, or at its right"
        assert (details.x >= program.right) == (width >= 180)
