"""The pages of `explain` in the explorer: of the selected operator, of the pass of a stage, of a problem, or by name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from relax_explorer.ui.tui.answers import _joined
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.completion import completions
from relax_explorer.ui.tui.screens.popup import Popup
from tests.cli.test_commands import rxe_cli
from tests.support.roundtrip import SAMPLES
from tests.ui.test_explorer import screen_text, wait
from tests.ui.test_screens import FIRST, idle, press, typed


def words(text: str) -> list[str]:
    return text.split()


def page(app: Explorer) -> list[str]:
    assert isinstance(app.screen, Popup)
    return [row.text for row in app.view.rows]


def screen_of_popup(app: Explorer) -> str:
    """The lines of the popup as they are drawn, beside its scrollbar."""
    view = app.view
    return "\n".join(view.render_line(y).text for y in range(min(view.lines_shown, len(view.rows))))


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "p.py"
    path.write_text(FIRST)
    return str(path)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
@pytest.mark.parametrize("subject", ["permute_dims", "LegalizeOps", "RX0203", "Tensor", "nn.conv2d"])
async def test_a_page_is_that_of_the_command_line(program: str, size: tuple[int, int], subject: str) -> None:
    app = Explorer(program, "")
    async with app.run_test(size=size) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, f"explain {subject}")
        await wait(pilot, lambda: isinstance(app.screen, Popup))
        lines = page(app)
        assert words(" ".join(lines)) == words(rxe_cli("explain", subject).stdout)
        assert not [line for line in lines if re.match(r" \S", line)], "wrapped text stands below its text"
        while "…" not in (shown := screen_of_popup(app)) and app.view.cursor < len(lines) - 1:
            await press(pilot, app, "ctrl+d")
        assert "…" not in shown, "nothing is cut"


async def test_what_is_selected_is_explained(program: str) -> None:
    app = Explorer(program, "LegalizeOps")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "K")
        assert "explain takes a name" in screen_text(app), "a function is selected"
        await typed(pilot, app, "go b")
        await press(pilot, app, "K")
        await wait(pilot, lambda: isinstance(app.screen, Popup))
        assert page(app)[0].startswith("R.permute_dims(")
        await press(pilot, app, "escape", "2")
        await idle(pilot, app)
        await press(pilot, app, "s", "K")
        await wait(pilot, lambda: isinstance(app.screen, Popup))
        assert page(app)[0].startswith("R.permute_dims("), "the next binding of the run"
        await press(pilot, app, "escape", "1", "right_square_bracket", "tab", "K")
        await wait(pilot, lambda: isinstance(app.screen, Popup))
        assert page(app)[0] == "LegalizeOps"


async def test_the_code_of_a_problem_is_explained() -> None:
    path = next(path for path in SAMPLES if path.stem.startswith("12"))
    app = Explorer(str(path), "")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "4", "K")
        assert "explain takes a name" in screen_text(app), "there is no problem"


async def test_a_problem_is_explained_from_each_of_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text(FIRST.replace("R.exp(x)", 'R.match_cast(x, R.Tensor((n, 3), "float32"))'))
    app = Explorer(str(path), "")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "4", "j", "j", "K")
        await wait(pilot, lambda: isinstance(app.screen, Popup))
        assert page(app)[0].startswith("RX0241 (")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("explain matmull", "did you mean"),
        ("explain nothing at all", "nothing is called"),
        ("explain \x1b[31m", "nothing is called"),
    ],
)
async def test_an_unknown_name_is_told(program: str, line: str, said: str) -> None:
    app = Explorer(program, "")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, line)
        assert said in screen_text(app)
        assert not isinstance(app.screen, Popup)
        assert "nn.conv2d" in " ".join(completions(app.state, False, "explain nn.conv2d"))


def test_paragraphs_are_joined_and_lists_and_tables_stay() -> None:
    lines = [
        "Cut",
        "in the source.",
        "",
        "* one",
        "* two",
        "",
        "Options:",
        "  a  first",
        "",
        "End",
        "  indented",
        "text",
    ]
    assert _joined(lines) == ["Cut in the source.", *lines[2:]]


async def test_a_docstring_of_several_lines_fills_the_page() -> None:
    app = Explorer(None)
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "explain CanonicalizeBindings")
        await wait(pilot, lambda: isinstance(app.screen, Popup))
        lines = page(app)
        start = next(n for n, line in enumerate(lines) if line.startswith("A shape variable"))
        end = lines.index("", start)
        assert end - start > 2
        assert min(map(len, lines[start : end - 1])) > 85, "only the last line of a paragraph is short"


async def test_a_page_in_a_terminal_without_room_for_it(program: str) -> None:
    app = Explorer(program)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "j", "j")
        await pilot.resize_terminal(1, 1)
        await press(pilot, app, "K")
        await pilot.resize_terminal(80, 24)
        await wait(pilot, lambda: isinstance(app.screen, Popup))
        assert not app.state.failures
        assert page(app)
