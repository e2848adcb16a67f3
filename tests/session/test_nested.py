"""Folders of stages inside a folder of stages: a row of the list each, open_build by Enter, told by the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.session.build_files import open_build
from relax_explorer.core.session.folders import nested, outer
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.widgets.line_view import LineView
from tests.cli.test_commands import rxe_cli
from tests.session.test_recorded import FIRST, SECOND
from tests.ui.test_explorer import screen_text, wait
from tests.ui.test_screens import idle

THIRD = FIRST.replace("R.exp", "R.tanh")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "dumps"
    for name, text in {
        "00_input.py": FIRST, "02_Rewrite.py": SECOND, "03_Undo.py": FIRST,
        "02_parts/00_cut.py": THIRD, "02_parts/01_joined.py": SECOND, "zlast/0_only.py": THIRD, "notes/readme.txt": "no stage",
        "10_late/00_x.py": THIRD, "9_nine/0_y.py": FIRST, "02_parts/00_cut/0_inner.py": THIRD,
    }.items():  # fmt: skip
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    return place


def test_nested_folders_come_behind_their_stage(folder: Path) -> None:
    found = [(Path(item.path).name, item.count, item.number) for item in nested(folder)]
    assert found == [("02_parts", 2, 2), ("9_nine", 1, 9), ("10_late", 1, 10), ("zlast", 1, None)]
    assert [stage.number for stage in open_build(folder).stages] == [0, 2, 3]
    assert outer(folder / "02_parts") == str(folder)
    assert outer(folder) == outer(folder / "00_input.py") == outer(folder / "zlast") == ""
    assert nested(folder / "gone") == []


def test_a_folder_with_nested_stages_only_names_them(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(Failure) as caught:
        open_build(tmp_path)
    assert str(folder) in str(caught.value.diagnostics[0].help)


async def test_enter_opens_nested_stages_and_leads_back(folder: Path) -> None:
    app = Explorer(str(folder))
    async with app.run_test(size=(140, 40)) as pilot:
        await wait(pilot, lambda: app.state.stages == 3)
        await idle(pilot, app)
        rail = app.frame.query_one("#stages", LineView)
        assert [row.text.partition("  ")[0] for row in rail.rows] == [
            "● 0 input", "● 2 Rewrite", "▸ 02_parts/ (2 stages)", "● 3 Undo", "▸ 9_nine/ (1 stage)", "▸ 10_late/ (1 stage)", "▸ zlast/ (1 stage)"
        ]  # fmt: skip
        await pilot.press("tab", "down", "down", "enter")
        await wait(pilot, lambda: app.state.path == str(folder / "02_parts"))
        await wait(pilot, lambda: app.state.stages == 2)
        await idle(pilot, app)
        assert "tanh" in screen_text(app)
        assert rail.rows[0].text == "▴ dumps/"
        assert "▸ 00_cut/ (1 stage)" in [row.text for row in rail.rows]
        await pilot.press("home", "enter")
        await wait(pilot, lambda: app.state.path == str(folder))


def test_the_command_line_tells_of_nested_stages(folder: Path) -> None:
    done = rxe_cli("show", str(folder))
    assert done.exit_code == 0
    assert "02_parts" in done.stderr
    assert "nested" not in rxe_cli("show", str(folder / "02_parts" / "00_cut")).stderr
