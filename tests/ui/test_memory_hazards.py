"""A write that destroys a planned value, as the explorer tells it."""

from __future__ import annotations

from pathlib import Path

import pytest

from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.twins import command_line
from tests.check.test_memory_hazards import HALF, PLAN, program
from tests.ui.test_explorer import screen_text
from tests.ui.test_screens import idle, press, typed


@pytest.mark.parametrize(("size", "way"), [((80, 24), "key"), ((120, 24), "command"), ((200, 24), "key")])
async def test_the_write_both_lives_and_the_plan_stand_on_the_screen(
    tmp_path: Path, size: tuple[int, int], way: str
) -> None:
    path = tmp_path / "p.py"
    path.write_text(program(PLAN, lines=HALF))
    app = Explorer(str(path), "")
    async with app.run_test(size=size) as pilot:
        await idle(pilot, app)
        if way == "key":
            await press(pilot, app, "4")
        else:
            await typed(pilot, app, "problems")
        assert app.screen_name == "problems"
        assert command_line(app).startswith("relax-explorer check")
        text = " ".join(screen_text(app).replace("┃", " ").split())
        for told in (
            "RX0157",
            "_ = cls.pair(w, b)",
            "b is written here: bytes 8 to 15",
            "a was written here: bytes 0 to 15",
            "are last read here",
            "the plan: s, of 64 bytes",
        ):
            assert told in text, told
        await press(pilot, app, "enter")
        assert app.screen_name == "passes"
        chosen = app.state.selection.binding
        assert chosen is not None
        assert chosen.span is not None
        assert chosen.span.text == "_ = cls.pair(w, b)"
