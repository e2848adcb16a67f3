"""The menu above the `:` line: what may follow, with a few words about each choice, and what Tab took."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.geometry import Region
from textual.widgets import Input

from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.widgets.framed import ROWS, CommandInput
from relax_explorer.ui.tui.widgets.line_view import LineView
from tests.support.roundtrip import SAMPLES
from tests.ui.test_explorer import LLAMA, screen_text
from tests.ui.test_screens import idle, press

BROKEN = str(SAMPLES[0].parent / "broken_build")


def menu_lines(app: Explorer) -> list[str]:
    """The rows of the menu, without its frame."""
    lines = screen_text(app).split("\n")
    top = max((n for n, line in enumerate(lines) if line.startswith("╭")), default=len(lines))
    return [line.split("│")[1].rstrip() for line in lines[top + 1 :] if line.startswith("│")]


async def test_the_menu_tells_what_may_follow_and_marks_what_tab_took() -> None:
    app = Explorer(BROKEN)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "colon", *"fo")
        assert menu_lines(app) == [
            " fold [all|open|close|layers]  Fold or open what the cursor is in, or all."
        ]
        await press(pilot, app, "escape", "colon", *"stage", "space")
        assert menu_lines(app)[:2] == [" input                stage 0", " LegalizeOps          stage 1"]
        await press(pilot, app, "tab", "tab")
        assert menu_lines(app)[:2] == [" input                stage 0", "▌LegalizeOps          stage 1"]
        await press(pilot, app, "shift+tab")
        assert menu_lines(app)[0].startswith("▌input")
        await press(pilot, app, "backspace")
        assert menu_lines(app) == [" input  stage 0"], "typing ends the choice"
        assert "stage N|PASS: Show a stage." in screen_text(app)
        assert "Tab completes" in screen_text(app)
        await press(pilot, app, "escape")
        assert menu_lines(app) == []
        assert "Tab completes" not in screen_text(app)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("go softma", [" softmax   kernel", " softmax1  (b, 4, s, s) f32"]),
        ("go ids", [" ids  (b, s) i32"]),
        ("go forw", [" forward  function"]),
        ("go take", [" take  kernel"]),
        ("diff of", [" off  no marks"]),
        ("passes FoldConst", [" FoldConstant  Replace pure"]),
        ("who nothing", []),
        ("nonsense", []),
    ],
)
async def test_the_menu_has_words_about_values_modes_and_passes(text: str, expected: list[str]) -> None:
    app = Explorer(BROKEN)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "right_square_bracket", "colon")
        app.screen.query_one("#command", CommandInput).value = text
        await idle(pilot, app)
        rows = menu_lines(app)
        assert len(rows) == len(expected), rows
        assert all(row.startswith(start) for row, start in zip(rows, expected, strict=True)), rows


async def test_commands_of_the_debugger_are_listed_in_debug_only() -> None:
    app = Explorer(BROKEN)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "colon", *"rev")
        assert menu_lines(app) == []
        await press(pilot, app, "escape", "2", "colon", *"rev")
        assert menu_lines(app)[0].startswith(" reverse-step [N]")


async def test_a_long_menu_follows_the_choice() -> None:
    app = Explorer(BROKEN)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "colon", *["tab"] * 9)
        marked = [line for line in menu_lines(app) if line.startswith("▌")]
        assert len(menu_lines(app)) == ROWS
        assert marked[0].split()[0][1:] == app.screen.query_one("#command", CommandInput).value.strip()
        assert "6 more" in screen_text(app)


async def test_while_a_line_is_typed_the_view_before_keeps_its_mark_and_no_other_gets_one() -> None:
    app = Explorer(LLAMA)
    async with app.run_test(size=(200, 60)) as pilot:
        await idle(pilot, app)

        def marked() -> list[str | None]:
            views = [view for view in app.frame.query(LineView) if view.lines_shown]
            return [
                view.id
                for view in views
                if any(view.render_line(y).text.startswith("▌") for y in range(view.lines_shown))
            ]

        assert marked() == ["ir"]
        await press(pilot, app, "colon")
        assert marked() == ["ir"]
        await press(pilot, app, "escape", "tab")
        assert marked() == ["stages"]
        await press(pilot, app, "slash")
        assert marked() == ["stages"]
        await press(pilot, app, "escape", "2", "colon")
        assert marked() == ["debug_ir"]


async def test_a_control_character_in_a_line_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file has such a name; the menu, the command line beside it, and Enter say so or do nothing."""
    monkeypatch.chdir(tmp_path)
    lines = (
        "open",
        "export svg",
        "report",
        "go",
        "stage",
        "passes",
        "why",
        "what-if",
        "mark",
        "checks given",
        "explain",
    )
    app = Explorer(BROKEN)
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        for line in lines:
            for text in ("\0/", "\x1b]0;a\x07"):
                await press(pilot, app, "colon")
                app.screen.query_one("#command", CommandInput).value = f"{line} {text}"
                await press(pilot, app, "tab", "enter")
                assert app.return_code is None
                assert all(row.isprintable() for row in screen_text(app).split("\n")), line
                while len(app.screen_stack) > 1:
                    await press(pilot, app, "escape")
    assert {path.name for path in tmp_path.iterdir()} <= {"own-state"}, "nothing was written"


@pytest.mark.parametrize("theme", ["dark", "light", "classic"])
@pytest.mark.parametrize(("key", "name"), [("colon", "command"), ("slash", "search")])
async def test_the_key_of_a_line_stands_before_it_and_is_seen(theme: str, key: str, name: str) -> None:
    app = Explorer(BROKEN, theme=theme)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, key, "a")
        line = app.screen.query_one(f"#{name}", Input)
        (strip,) = line.render_lines(Region(0, 0, line.outer_size.width, 1))
        first = next(iter(strip))
        assert (first.text, strip.cell_length) == (":" if name == "command" else "/", 80)
        assert strip.text[1:].startswith("a")
        assert first.style is not None
        assert first.style.color not in (None, first.style.bgcolor), "black on black in some terminals"
