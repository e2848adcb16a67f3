"""Marks: set and found again in other stages, functions, screens, and behind a changed pipeline."""

from __future__ import annotations

from pathlib import Path

from relax_explorer.ui.tui.app import Explorer
from tests.ui.random_events import pressed
from tests.ui.test_explorer import screen_text
from tests.ui.test_screens import FIRST, idle, press, typed


def place(app: Explorer) -> tuple[str, str, str]:
    assert app.state.stage is not None
    return app.state.stage.made_by, app.state.selection.function, app.state.selection.variable


async def test_a_mark_is_found_in_another_stage_function_and_screen(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text(FIRST)
    app = Explorer(str(path), "CanonicalizeBindings,LegalizeOps,ToNonDataflow")
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "go d")
        app.post_message(pressed("m"))
        app.post_message(pressed("a"))  # faster than the prompt is drawn
        await idle(pilot, app)
        assert "mark a: 0 input" in screen_text(app)
        await typed(pilot, app, "stage LegalizeOps")
        await typed(pilot, app, "go b")
        marked = place(app)
        await press(pilot, app, "m", "B", "apostrophe")
        assert "a   0 input" in screen_text(app)
        assert "B   2 LegalizeOps" in screen_text(app)
        await press(pilot, app, "a")
        assert place(app) == ("input", "other", "d")
        assert app.view.row.text.split()[1] == "d"
        await press(pilot, app, "apostrophe", "apostrophe")  # back to where the jump began
        assert place(app) == marked
        await press(pilot, app, "apostrophe", "z")
        assert "no mark z; m and a letter set one" in screen_text(app)
        await press(pilot, app, "m", "escape", "m", "1")
        assert "a mark is a letter" in screen_text(app)
        assert sorted(app.marks.places) == ["B", "a"]
        await typed(pilot, app, "passes LegalizeOps")  # the stage has another number now
        await press(pilot, app, "g", "apostrophe", "B")
        assert place(app) == marked
        assert app.state.selection.stage == 1
        assert app.view.row_node is app.state.selection.binding
        await typed(pilot, app, "passes ToNonDataflow")
        await press(pilot, app, "apostrophe", "B")
        assert "mark B: no stage is made by LegalizeOps any more" in screen_text(app)
        await typed(pilot, app, "marks")
        await press(pilot, app, "j", "enter")
        assert place(app) == ("input", "other", "d")
        await typed(pilot, app, "go b")
        await press(pilot, app, "2", "s", "j", "m", "r", "s", "apostrophe", "r")
        assert app.screen_name == "debug"
        assert app.view.row.text.split()[1] == app.marks.places["r"].selection.variable
        await press(pilot, app, "apostrophe", "a")
        assert app.screen_name == "passes"
        assert place(app) == ("input", "other", "d")
