"""The first minute: Home, the tour that waits for real keys, and what each screen says when it has nothing to show."""

from __future__ import annotations

from pathlib import Path

import pytest

from relax_explorer.core.session.build_files import open_build
from relax_explorer.ui import directories, history
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.keys import keymap
from relax_explorer.ui.tui.screens.home_screen import RECIPE
from relax_explorer.ui.tui.tutorial import LESSONS
from tests.support.roundtrip import SAMPLES
from tests.ui.test_explorer import screen_text
from tests.ui.test_screens import idle, press

SIZE = (80, 24)
RELATIONS = str(SAMPLES[0].parent / "relations" / "waiting.relay")


@pytest.fixture(autouse=True)
def _fresh_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directories, "state", lambda: tmp_path / "state")


async def test_home_leads_to_samples_and_to_the_recipe() -> None:
    app = Explorer(None)
    async with app.run_test(size=(120, 60)) as pilot:
        await idle(pilot, app)
        shown = screen_text(app)
        assert all(sample.stem in shown for sample in directories.samples())
        assert "Recent" not in shown
        assert "class Dump:" in shown
        await press(pilot, app, "G", "enter")
        assert app.clipboard == RECIPE
        assert "copied" in screen_text(app)
        await press(pilot, app, "g", "enter")
        assert "this line opens nothing" in screen_text(app)
        await press(pilot, app, "slash", *"06_rec", "enter", "enter")
        await idle(pilot, app)
        assert (app.screen_name, Path(app.state.path).stem) == ("passes", "06_recursion")
        await press(pilot, app, "0")
        assert "Recent" in screen_text(app)
        assert "06_recursion.py" in screen_text(app)


async def test_home_starts_with_the_title_of_the_first_list(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("")
    history.remember_path(str(tmp_path / "one.py"))
    app = Explorer(None)
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        lines = screen_text(app).split("\n")
        assert "Recent" in lines[2]
        assert "▌" in lines[3]
        await press(pilot, app, "G", "g", "j")
        assert "Recent" in screen_text(app)


async def test_home_lists_only_digits_that_show_something(tmp_path: Path) -> None:
    def digits() -> str:
        return " ".join(
            part for part in screen_text(app).split("\n")[0].split() if part.strip("[]").isdigit()
        )

    bad, good = tmp_path / "bad.py", tmp_path / "good.py"
    bad.write_text("no program\n")
    good.write_text("@R.function\ndef main(x: R.Tensor((2,))):\n    return x\n")
    app = Explorer(None)
    async with app.run_test(size=SIZE) as pilot:
        await idle(pilot, app)
        assert digits() == ""
        for path, listed in ((bad, "4"), (good, "1 2 3 4 5 6")):
            app.stage_control.open(str(path))
            await idle(pilot, app)
            await press(pilot, app, "escape", "0")
            assert app.screen_name == "home"
            assert digits() == listed, path
        app.stage_control.open(RELATIONS)
        await idle(pilot, app)
        await press(pilot, app, "0")
        assert digits() == "4 7"


@pytest.mark.parametrize("first", ["4", "7"])
async def test_a_screen_without_a_program_lists_its_own_digit(first: str) -> None:
    app = Explorer(None)
    async with app.run_test(size=SIZE) as pilot:
        await idle(pilot, app)
        await press(pilot, app, first)
        header = screen_text(app).split("\n")[0]
        assert f"[{first} {app.screen_name.title()}]" in header
        assert sum(sign.isdigit() for sign in header) == 1


async def test_a_program_that_is_read_or_was_not_read_lists_all_digits(tmp_path: Path) -> None:
    app = Explorer(str(tmp_path / "missing.py"))
    async with app.run_test(size=SIZE) as pilot:
        assert " 2 Debug  3 Graph  4  5  6 " in screen_text(app).split("\n")[0]
        await idle(pilot, app)
        await press(pilot, app, "escape", "0")
        assert " 1  2 Debug  3 Graph  4  5  6 " in screen_text(app).split("\n")[0]


async def test_a_program_of_relations_has_no_stages() -> None:
    app = Explorer(RELATIONS)
    async with app.run_test(size=SIZE) as pilot:
        await idle(pilot, app)
        assert " 4 [7 Solver]" in screen_text(app).split("\n")[0].replace("  ", " ")
        assert " 2 " not in screen_text(app).split("\n")[0]


async def test_the_tour_waits_for_each_key() -> None:
    app = Explorer(None)
    async with app.run_test(size=SIZE) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "enter")  # the first row that opens something
        await idle(pilot, app)
        keys = ["right_square_bracket", "c", "2", "s", "S", "1", "B", "enter"]
        for number, lesson in enumerate(LESSONS):
            text, _, line = app.tutorial.text.partition("\n")
            shown = screen_text(app)
            assert f"Tour {number + 1} of 8" in shown
            assert text in shown  # whole: it fits
            assert line in shown
            assert line.startswith(("]", "c", "2", "s", "S", "1", "B", "Enter")[number] + "  ")
            await press(pilot, app, "j", "y")  # other keys work, and do not end the step
            assert app.tutorial.at == number
            await press(pilot, app, "k", keys[number])
            await idle(pilot, app)
            assert app.tutorial.at == number + 1, lesson
            if lesson.action == "bisect":
                assert "First bad stage: 12 FuseTIRInner" in screen_text(app)
                await press(pilot, app, "enter")
        assert "That was the tour." in screen_text(app)
        assert app.state.selection.function == "softmax"
        await press(pilot, app, "escape")
        assert not app.tutorial.is_on
        assert "Tour" not in screen_text(app)


async def test_the_tour_can_be_skipped_and_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Explorer(None)
    async with app.run_test(size=SIZE) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "colon", *"tutorial", "enter")
        await idle(pilot, app)
        assert "Tour 1 of 8" in screen_text(app)
        assert Path(app.state.path).name == "broken_build"
        await press(pilot, app, "colon", *"2s", "escape")  # keys of a typed line are text
        assert app.tutorial.at == 0
        await press(pilot, app, "3", "question_mark", "escape")  # closing help does not end the tour
        assert "Tour 1 of 8" in screen_text(app)
        await pilot.resize_terminal(50, 12)
        await idle(pilot, app)
        assert "Tour" not in screen_text(app)
        await pilot.resize_terminal(*SIZE)
        await press(pilot, app, "escape")
        assert "Tour" not in screen_text(app)
        monkeypatch.setattr(directories, "samples", list)
        app.tutorial.start()
        assert not app.tutorial.is_on


def test_the_lessons_name_the_keys_of_the_user() -> None:
    app = Explorer(None, keymap=keymap("default", {"next-changing-stage": "ctrl+n"}))
    app.tutorial.at = 0
    assert app.tutorial.text.split("\n")[1].startswith("ctrl+n  shows")


# -- nothing to show ------------------------------------------------------------------------------------------------

PROGRAMS = {
    "empty": "@I.ir_module\nclass M:\n    pass\n",
    "no binding": '@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    return x\n',
    "errors": '@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    y = R.add(x, z)\n    return y\n',
    "kernel": '@I.ir_module\nclass M:\n    @T.prim_func\n    def k(A: T.Buffer((2,), "float32")):\n        A[0] = T.float32(1)\n',
    "folder": None,
}
CHECKED = "Checked: that it can be read, its syntax, and that its names are defined."
SAID = {  # for each screen: what was looked at, and a key
    ("empty", "1"): ("has no function", "declares a module with nothing in it", ":open PATH"),
    ("empty", "2"): ("has no Relax function to run", "The module is empty.", "0 shows samples"),
    ("empty", "3"): ("has no Relax function to draw", "The module is empty.", "0 shows samples"),
    ("empty", "4"): ("no problems in", "Checked: syntax, well-formedness, StructInfo, purity"),
    ("empty", "5"): ("nothing to compare: none of the 6 passes changed the module", "b chooses a stage"),
    ("no binding", "1"): ("main(x: (2,) f32)",),
    ("no binding", "2"): ("next return from main",),
    ("no binding", "4"): ("no problems in 7 stages", "B in Passes (1)"),
    ("kernel", "1"): ("@k(",),
    ("kernel", "2"): ("has no Relax function to run", "It has 1 PrimFunc: k. 1 shows the code."),
    ("kernel", "3"): ("has no Relax function to draw", "It has 1 PrimFunc: k."),
    ("errors", "1"): ("1 problem, not checked further", "^ 'z' is not defined", "hint: Bind it first", "p.py  [1 Passes]"),
    ("errors", "2"): ("no program is open", ":open PATH"),
    ("errors", "3"): ("can't be shown: 1 problem", "1 shows the source", "4 shows each problem", ":open "),
    ("errors", "4"): ("not defined here", "hint: Bind it first"),
    ("errors", "5"): ("no program is open", ":open PATH"),
    ("folder", "1"): ("has no files such as 00_input.py", CHECKED),
    ("folder", "4"): ("name a folder of numbered stages",),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
async def test_empty_screens_say_what_was_checked_and_what_to_press(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = PROGRAMS[name]
    Path("p.py").write_text(text) if text is not None else Path("p.py").mkdir()
    app = Explorer("p.py")
    async with app.run_test(size=SIZE) as pilot:
        await idle(pilot, app)
        if name == "folder":
            await press(pilot, app, "escape")  # the popup with the problem: it has no source
        for screen in [screen for program, screen in SAID if program == name]:
            await press(pilot, app, screen)
            await idle(pilot, app)
            shown = screen_text(app)
            missing = [part for part in SAID[name, screen] if part not in shown]
            assert missing == [], (screen, shown)
            assert len(app.screen_stack) == 1  # no popup: the screen itself says it


def test_home_offers_what_it_can_open() -> None:
    for sample in directories.samples():
        assert open_build(str(sample)).stages[0].text
