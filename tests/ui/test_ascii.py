"""`--ascii`, reduced motion, and terminals without colours: every screen with ASCII only, and nothing that moves by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import constants
from textual.widgets import Input

from relax_explorer.ui.tui.app import Explorer
from relax_explorer.viz.tokens import DARK, MONO
from relax_explorer.viz.visible import ascii_cells, columns
from tests.support.roundtrip import SAMPLES
from tests.ui.test_explorer import screen_text
from tests.ui.test_looks import BROKEN, CONTRACTS, LAYER, LOOKS, RELATIONS
from tests.ui.test_screens import idle, press

CHECKS = str(SAMPLES[2])
FAULT = str(SAMPLES[0].parent / "wrong_fusion")
ODD = """@R.function
def main(größe: R.Tensor((2,), "float32"), 漢字: R.Tensor((2,), "float32")):
    résultat = R.add(größe, 漢字)
    R.print(résultat, format="→ 🔎 ☃ é {}")
    return résultat
"""
WALKS = {  # keys from screen to screen, each of which is looked at
    BROKEN: ("4", "0", "1", "d", "t", "B", "question_mark", "escape"),
    LAYER: ("2", "s", "i", "escape", "v", "I", "escape", "3", "colon", "s", "tab", "escape", "5", "ctrl+p", "escape", "1", "E", "escape", "w"),
    CHECKS: ("6", "f", "f", "j", "enter"), RELATIONS: ("s", "s", "v"), CONTRACTS: ("n", "n", "v"), "wrong": ("j", "4", "e"),
    FAULT: ("j", "6", "escape", "1", "B", "escape", "5", "p"),
    "odd": ("z", "2", "s", "3"),
    "": ("question_mark",),
}  # fmt: skip


@pytest.mark.parametrize(
    "path", WALKS, ids=["build", "layer", "checks", "relations", "contracts", "wrong", "fault", "odd", "home"]
)
async def test_every_screen_has_ascii_only(path: str, tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(ODD)
    (tmp_path / "wrong.py").write_text(
        ODD.replace("(größe, 漢字)", "(größe, ≈)").replace("return", "return é, ")
    )
    given = {"odd": str(tmp_path / "odd.py"), "wrong": str(tmp_path / "wrong.py"), "": None}.get(path, path)
    app = Explorer(given, is_ascii=True)
    seen = set()
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        for key in ("", *WALKS[path]):
            await press(pilot, app, *([key] if key else []))
            shown = screen_text(app)
            assert shown.isascii(), (key, [c for c in shown if not c.isascii()])
            assert {len(line) for line in shown.split("\n")} == {80}
            seen.add(shown)
    assert len(seen) > len(WALKS[path]) * 0.6  # the keys do lead somewhere


async def test_frames_and_marks_stay_apart() -> None:
    app = Explorer(LAYER, is_ascii=True, theme="mono")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, *LOOKS["debug"][1])
        shown = screen_text(app)
        assert "#= main ===" in shown  # the pane with the focus
        assert "+- Shapes ---" in shown
        assert "# V  1 normed   = nn.layer_norm" in shown  # done
        assert "#|>  4 lv " in shown  # the cursor, at the next binding
        assert "# .  5 lv1 " in shown  # not yet


def test_texts_keep_their_cells() -> None:
    text = "┌─┬─┐│ ━┃┏═║╔╭ ┼┄ ▁▂▃▄▅▆▇█ ▶●○✓✗·…→≈ é ñ Å 漢字 🔎 ⠀⣿ ǆ ½ ☃"
    shown = ascii_cells(text)
    assert shown == "+-+-+| =##=##+ +- _.:-=+*# >*oVx.~>: e n A ???? ??  * ? ? ?"
    assert columns(shown) == columns(text)
    assert ascii_cells("e\u0301x") == "ex"  # a combining mark has no cell
    assert len({ascii_cells(bar) for bar in "▁▂▃▄▅▆▇█"}) == 8
    assert len({ascii_cells(mark) for mark in "▶●○◆✓✗·"}) == 7


# -- motion ---------------------------------------------------------------------------------------------------------


async def test_nothing_moves_by_itself() -> None:
    app = Explorer(LAYER, is_still=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        assert app.animation_level == "none"
        for keys in (("colon",), ("escape", "2", "I"), ("escape", "ctrl+p")):
            await press(pilot, app, *keys)
            assert isinstance(app.screen.focused, Input)
            assert not app.screen.focused.cursor_blink


async def test_a_cursor_blinks_unless_the_environment_says_no(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Explorer(None)
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, app, "colon")
        assert app.screen.focused.cursor_blink
    monkeypatch.setattr(constants, "TEXTUAL_ANIMATIONS", "none")
    assert Explorer(None).animation_level == "none"


# -- colours --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "theme"),
    [({}, DARK), ({"NO_COLOR": "1"}, MONO), ({"NO_COLOR": ""}, DARK), ({"TERM": "dumb"}, MONO)],
    ids=["usual", "no colour", "empty", "dumb"],
)
async def test_the_theme_follows_the_terminal(
    environment: dict[str, str], theme: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    app = Explorer(None)
    assert app.tokens is theme
    if not environment or ("NO_COLOR" in environment and theme is MONO):
        async with app.run_test(size=(80, 24)) as pilot:
            await idle(pilot, app)
            assert (colors_of(app) <= {"default"}) == (theme is MONO)
            app.use_theme(MONO)
            await idle(pilot, app)
            assert colors_of(app) <= {"default"}


def colors_of(app: Explorer) -> set[str]:
    strips = app.screen._compositor.render_strips()
    styles = [segment.style for strip in strips for segment in strip if segment.style]
    return {color.name for style in styles for color in (style.color, style.bgcolor) if color is not None}


async def test_without_colours_a_popup_leaves_in_sight_what_is_around_it() -> None:
    app = Explorer(LAYER, theme="mono")
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        before = screen_text(app).split("\n")
        await press(pilot, app, "question_mark")
        after = screen_text(app).split("\n")
        assert "Keys of Passes" in after[2]
        assert (after[0], after[-1]) == (before[0], before[-1])
        assert [line[-3:] for line in after[4:12]] == [line[-3:] for line in before[4:12]]
        styles = [
            item.style
            for item in app.screen._compositor.render_strips()[0]
            if item.style and item.text.strip()
        ]
        assert styles
        assert all(style.dim and not style.reverse for style in styles)
