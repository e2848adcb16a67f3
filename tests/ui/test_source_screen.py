"""The source screen: a program that can't be shown keeps its source on screen, with its problems below their lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from relax_explorer.ui import directories
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.screens.pipeline_editor import TextEditor
from relax_explorer.ui.tui.users_editor import at_line
from tests.ui.test_explorer import screen_text, wait
from tests.ui.test_screens import idle, press, typed, under_cursor

GOOD = """@R.function
def main(x: R.Tensor((2, 3), "float32")):
    a = R.exp(x)
    b = R.nn.relu(a)
    return b
"""
BROKEN = GOOD.replace("R.exp(x)", "R.matmul(x, x)").replace("relu(a)", "relu(zz)")


@pytest.fixture(autouse=True)
def _fresh_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directories, "state", lambda: tmp_path / "state")
    monkeypatch.chdir(tmp_path)
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    Path("model.py").write_text(BROKEN)
    Path("good.py").write_text(GOOD)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
async def test_a_broken_program_keeps_its_source_on_screen(size: tuple[int, int]) -> None:
    app = Explorer("model.py")
    async with app.run_test(size=size) as pilot:
        await idle(pilot, app)
        shown = screen_text(app)
        assert app.screen is app.frame  # no popup
        assert "f fix" not in shown  # no problem here has one
        assert "[1 Passes]" in shown
        assert "model.py" in shown.split("\n")[0]
        assert "2 problems, not checked further" in shown
        assert all(line.strip() in shown for line in BROKEN.split("\n"))
        assert under_cursor(app).strip() == "a = R.matmul(x, x)"
        await press(pilot, app, "[")
        assert "no further problem above" in screen_text(app)
        await press(pilot, app, "]")
        assert under_cursor(app).strip() == "b = R.nn.relu(zz)"
        assert "problem 2 of 2" in screen_text(app)
        await press(pilot, app, "]")
        assert "no further problem below" in screen_text(app)
        await press(pilot, app, "[")
        assert under_cursor(app).strip() == "a = R.matmul(x, x)"
        await press(pilot, app, "4")
        assert "model.py:3:9" in screen_text(app)
        assert screen_text(app).strip().startswith("model.py ")  # Problems names the file, too
        await press(pilot, app, "1", "]")
        assert app.screen_name == "source"
        assert "problem 2 of 2" in screen_text(app)


async def test_another_size_keeps_the_problem_under_the_cursor() -> None:
    app = Explorer("model.py")
    async with app.run_test(size=(160, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "]")
        await pilot.resize_terminal(70, 24)
        await idle(pilot, app)
        assert under_cursor(app).strip() == "b = R.nn.relu(zz)"


async def test_what_can_be_read_takes_its_place_and_gives_it_back() -> None:
    app = Explorer("model.py")
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        Path("model.py").write_text(GOOD)
        await typed(pilot, app, "open model.py")
        assert (app.screen_name, app.state.failures) == ("passes", ())
        Path("model.py").write_text(BROKEN)
        await typed(pilot, app, "open model.py")
        assert app.screen is not app.frame  # a popup tells it: the program that is open stays
        await press(pilot, app, "escape")
        assert app.screen_name == "passes"
        assert "not checked further" not in screen_text(app)


async def test_from_home_a_broken_program_shows_its_source_too() -> None:
    app = Explorer(None)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "open model.py")
        assert app.screen_name == "source"
        assert "not checked further" in screen_text(app)
        await press(pilot, app, "0", "1")
        assert app.screen_name == "source"
        await typed(pilot, app, "open missing.py")
        assert app.screen is not app.frame
        await press(pilot, app, "escape")
        await typed(pilot, app, "open good.py")
        assert app.screen_name == "passes"


async def test_every_kind_of_source_is_shown() -> None:
    Path("wrong.relay").write_text("def @f(%x : Tensor[(2,), float32]) {\n  add(%x, %y\n}\n")
    app = Explorer("wrong.relay")
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        assert app.screen_name == "source"
        assert "add(%x, %y" in screen_text(app)


# -- editing --------------------------------------------------------------------------------------------------------


def editor(app: Explorer) -> TextEditor:
    assert isinstance(app.screen, TextEditor)
    return app.screen


@pytest.mark.parametrize("key", ["e", "enter", "t"])
async def test_the_editor_starts_at_the_problem_and_opens_the_text_without_writing(key: str) -> None:
    app = Explorer("model.py")
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "]", key)
        area = editor(app).area
        assert (area.text, area.cursor_location) == (BROKEN, (3, 18))
        assert "the file stays" in screen_text(app)
        area.load_text(BROKEN.replace("zz", "ww"))
        await press(pilot, app, "ctrl+s")
        assert "line 4: 'ww' is not defined" in screen_text(app)
        area.load_text(GOOD)
        await press(pilot, app, "ctrl+s")
        await idle(pilot, app)
        assert (app.screen_name, app.state.failures) == ("passes", ())
        assert app.screen is app.frame
        assert "the edited text is open; model.py is as it was" in screen_text(app)
    assert Path("model.py").read_text() == BROKEN


async def test_what_is_wrong_is_told_while_it_is_typed() -> None:
    app = Explorer("model.py")
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "]", "e")
        await pilot.pause(0.5)
        assert "line 4: 'zz' is not defined" in screen_text(app)  # before anything is typed
        await press(pilot, app, "delete", "delete", "a")
        await pilot.pause(0.5)
        assert "is not defined" not in screen_text(app)
        await press(pilot, app, "q")
        await pilot.pause(0.5)
        assert "line 4: 'aq' is not defined" in screen_text(app)
        await press(pilot, app, "escape")
        assert app.screen_name == "source"
    assert Path("model.py").read_text() == BROKEN


async def test_ctrl_o_writes_the_file_and_reads_it_again_even_if_problems_remain() -> None:
    Path("model.py").write_bytes(b"\xef\xbb\xbf" + BROKEN.replace("\n", "\r\n").encode())
    app = Explorer("model.py")
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "e")
        editor(app).area.load_text(BROKEN.replace("R.matmul(x, x)", "R.exp(yy)"))
        await press(pilot, app, "ctrl+o")
        await idle(pilot, app)
        assert "'yy' is not defined" in screen_text(app)
        assert "'zz' is not defined" in screen_text(app)
        written = Path("model.py").read_bytes()
        assert (
            written
            == b"\xef\xbb\xbf" + BROKEN.replace("R.matmul(x, x)", "R.exp(yy)").replace("\n", "\r\n").encode()
        )
        await press(pilot, app, "e")
        editor(app).area.load_text(GOOD)
        await press(pilot, app, "ctrl+o")
        await idle(pilot, app)
        assert app.screen_name == "passes"
    assert Path("model.py").read_bytes() == b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode()


async def test_nothing_typed_is_lost_if_the_file_changed_meanwhile() -> None:
    app = Explorer("model.py")
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "e")
        editor(app).area.load_text(GOOD)
        Path("model.py").write_text("# by someone else\n")
        await press(pilot, app, "ctrl+o")
        assert "not written: the file changed on the disk meanwhile" in screen_text(app)
        assert editor(app).area.text == GOOD
        await press(pilot, app, "escape", "e")
        assert "model.py is another text now" in screen_text(app)
    assert Path("model.py").read_text() == "# by someone else\n"


async def test_a_recording_writes_no_file() -> None:
    app = Explorer("model.py")
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        app.permit.is_all = False
        await press(pilot, app, "e")
        editor(app).area.load_text(GOOD)
        await press(pilot, app, "ctrl+o")
        assert "not written" in screen_text(app)
    assert Path("model.py").read_text() == BROKEN


async def test_other_notations_are_not_edited_here() -> None:
    Path("wrong.relay").write_text("def @f(%x : Tensor[(2,), float32]) {\n  add(%x, %y\n}\n")
    app = Explorer("wrong.relay")
    async with app.run_test(size=(100, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "e")
        assert "only a file with TVMScript is edited here" in screen_text(app)


MAYBE = """import tvm


def build():
    @R.function
    def main(x: R.Tensor(None, "float32")):
        y: R.Tensor((2, 3), "float32") = R.exp(x)
        return zz
"""


@pytest.mark.parametrize("margin", [0, 4])
async def test_f_applies_the_fix_in_the_editor(margin: int) -> None:
    text = MAYBE if margin else "".join(line[4:] for line in MAYBE.splitlines(True)[4:])
    Path("model.py").write_text(text)
    app = Explorer("model.py")
    async with app.run_test(size=(120, 30)) as pilot:
        await idle(pilot, app)
        assert "(f applies it)" in screen_text(app)
        assert "f fix" in screen_text(app)
        await press(pilot, app, "f")
        wanted = 'y = R.match_cast(R.exp(x), R.Tensor((2, 3), dtype="float32"))'
        assert editor(app).area.text == text.replace('y: R.Tensor((2, 3), "float32") = R.exp(x)', wanted)
        await press(pilot, app, "escape", "]", "f")
        assert "no fix that is sure" in screen_text(app)
    assert Path("model.py").read_text() == text


async def test_a_fix_that_adds_a_line_keeps_the_margin() -> None:
    text = """def build():
    @I.ir_module
    class M:
        @R.function
        def f(y: R.Tensor((2, 3), "float32")):
            return y
        @R.function
        def main(x: R.Tensor(None, "float32")):
            y = M.f(x)
            return zz
"""
    Path("model.py").write_text(text)
    app = Explorer("model.py")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "f")
        cast = '            x_cast = R.match_cast(x, R.Tensor((2, 3), dtype="float32"))\n'
        assert editor(app).area.text == text.replace(
            "            y = M.f(x)", f"{cast}            y = M.f(x_cast)"
        )


# -- watching -------------------------------------------------------------------------------------------------------


async def test_w_watches_the_file() -> None:
    app = Explorer("model.py")
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        Path("model.py").write_text(BROKEN.replace("zz", "uu"))
        await pilot.pause(1.2)
        assert "'zz' is not defined" in screen_text(app)  # off at first
        await press(pilot, app, "w")
        assert "model.py is read again when it changes" in screen_text(app)
        await wait(pilot, lambda: "'uu' is not defined" in screen_text(app))
        assert "not checked further, watched" in screen_text(app)
        Path("model.py").unlink()
        await pilot.pause(1.2)
        assert "'uu' is not defined" in screen_text(app)
        Path("model.py").write_text(GOOD)
        await wait(pilot, lambda: app.screen_name == "passes")
        await idle(pilot, app)
        assert app.state.failures == ()


async def test_w_again_leaves_the_file_alone() -> None:
    app = Explorer("model.py")
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "w", "w")
        assert "no longer watched" in screen_text(app)
        Path("model.py").write_text(GOOD)
        await pilot.pause(1.2)
        assert app.screen_name == "source"


async def test_watching_waits_for_the_editor() -> None:
    app = Explorer("model.py")
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "w", "e")
        editor(app).area.load_text("typed")
        Path("model.py").write_text(GOOD)
        await pilot.pause(1.2)
        assert editor(app).area.text == "typed"
        await press(pilot, app, "escape")
        await wait(pilot, lambda: app.screen_name == "passes")


async def test_a_program_that_is_watched_from_the_start_is_read_again() -> None:
    app = Explorer("good.py")
    app.stage_control.watch.turn(True)
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        Path("good.py").write_text(GOOD.replace("R.exp", "R.tanh"))
        await wait(
            pilot,
            lambda: app.state.session is not None and "R.tanh" in app.state.session.stages[0].module.script(),
        )


async def test_an_edited_text_is_not_replaced_by_its_file() -> None:
    app = Explorer("model.py")
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "w", "e")
        editor(app).area.load_text(GOOD)
        await press(pilot, app, "ctrl+s")
        await idle(pilot, app)
        session = app.state.session
        assert session is not None
        Path("model.py").write_text(GOOD.replace("R.exp", "R.tanh"))
        await pilot.pause(1.2)
        await idle(pilot, app)
        assert app.state.session is session


# -- the user's editor ----------------------------------------------------------------------------------------------


@contextmanager
def _away() -> Iterator[None]:
    """The terminal, left to somebody else."""
    yield


def editing(monkeypatch: pytest.MonkeyPatch, app: Explorer, code: str) -> None:
    """Let a Python program be the editor; it has the words behind it in `sys.argv`."""
    Path("editor.py").write_text(f"import sys, pathlib\npath = pathlib.Path(sys.argv[-1])\n{code}\n")
    monkeypatch.setenv("EDITOR", f"{sys.executable} editor.py")
    vars(app)["suspend"] = _away


@pytest.mark.parametrize("key", ["enter", "E"])
async def test_an_editor_of_the_user_changes_the_file(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    app = Explorer("model.py")
    editing(monkeypatch, app, f"assert path.read_text() == {BROKEN!r}\npath.write_text({GOOD!r})")
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        assert "Enter your editor" in screen_text(app)
        await press(pilot, app, key)
        await idle(pilot, app)
        assert (app.screen_name, app.state.failures) == ("passes", ())


async def test_what_an_editor_did_not_do_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Explorer("model.py")
    editing(monkeypatch, app, "sys.exit(3)")
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "E")
        assert "ended with status 3" in screen_text(app)
        monkeypatch.setenv("EDITOR", "no-such-editor-anywhere --wait")
        await press(pilot, app, "E")
        assert "no-such-editor-anywhere can't be started" in screen_text(app)
        app.permit.is_typed = False
        await press(pilot, app, "E")
        assert "no recording starts an editor" in screen_text(app)
        app.permit.is_typed = True
        vars(app).pop("suspend")
        monkeypatch.setenv("EDITOR", "vi")
        await press(pilot, app, "E")  # a test has no terminal
        assert "your editor needs a terminal of its own" in screen_text(app)
        monkeypatch.setenv("EDITOR", "'")  # no command
        await press(pilot, app, "E")
        assert isinstance(app.screen, TextEditor)


@pytest.mark.parametrize(
    ("editor", "wanted"),
    [
        (("nvim", "-p"), ["nvim", "-p", "+7", "FILE"]),
        (("/usr/bin/emacsclient", "-t"), ["/usr/bin/emacsclient", "-t", "+7", "FILE"]),
        (("hx",), ["hx", "FILE:7"]),
        (("code",), ["code", "--wait", "--goto", "FILE:7"]),
        (("ed",), ["ed", "FILE"]),
    ],
)
def test_editors_open_the_line_of_the_problem(
    editor: tuple[str, ...], wanted: list[str], tmp_path: Path
) -> None:
    file = str(tmp_path / "-rf.py")  # a name is no option
    assert at_line(editor, "-rf.py", 7) == [word.replace("FILE", file) for word in wanted]


# -- problems of a program that can be shown ------------------------------------------------------------------------


TYPED = """@R.function
def main(x: R.Tensor((2, 3), "float32")):
    a: R.Tensor((2, 4), "float32") = R.exp(x)
    b: R.Tensor((2, 3), "float16") = R.exp(a)
    return b
"""


@pytest.mark.parametrize("size", [(80, 24), (140, 40)])
async def test_annotations_that_disagree_stand_in_the_source(size: tuple[int, int]) -> None:
    Path("model.py").write_text(TYPED)
    app = Explorer("model.py")
    async with app.run_test(size=size) as pilot:
        await idle(pilot, app)
        assert app.screen_name == "passes"  # it can be shown
        await press(pilot, app, "4")
        assert "s source" in screen_text(app)
        await press(pilot, app, "s")
        shown = screen_text(app)
        assert "[4 Problems]" in shown
        assert all(line.strip() in shown for line in TYPED.split("\n"))
        assert under_cursor(app).strip() == 'a: R.Tensor((2, 4), "float32") = R.exp(x)'
        await press(pilot, app, "]")
        assert under_cursor(app).strip() == 'b: R.Tensor((2, 3), "float16") = R.exp(a)'
        await press(pilot, app, "q")
        assert app.screen_name == "problems"
        await press(pilot, app, "1")
        assert app.screen_name == "passes"


async def test_the_source_shows_the_problem_that_is_selected_and_stays_while_there_are_some() -> None:
    Path("model.py").write_text(TYPED)
    app = Explorer("model.py")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "4", "G", "k")
        await press(pilot, app, "s")
        assert under_cursor(app).strip() == 'b: R.Tensor((2, 3), "float16") = R.exp(a)'
        await press(pilot, app, "q", "g", "s")
        assert under_cursor(app).strip() == 'a: R.Tensor((2, 4), "float32") = R.exp(x)'
        await press(pilot, app, "e")
        editor(app).area.load_text(TYPED.replace("(2, 4)", "(2, 3)"))
        await press(pilot, app, "ctrl+o")
        await idle(pilot, app)
        assert app.screen_name == "source"  # one is left
        assert under_cursor(app).strip() == 'b: R.Tensor((2, 3), "float16") = R.exp(a)'
        await press(pilot, app, "e")
        editor(app).area.load_text(TYPED.replace("(2, 4)", "(2, 3)").replace("float16", "float32"))
        await press(pilot, app, "ctrl+o")
        await idle(pilot, app)
        assert app.screen_name == "passes"


async def test_annotations_are_checked_while_they_are_typed_and_do_not_keep_a_text_from_opening() -> None:
    app = Explorer("model.py")
    async with app.run_test(size=(140, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "e")
        editor(app).area.load_text(TYPED.replace("(2, 4)", "(2, 3)"))
        await wait(pilot, lambda: "line 4: the value is" in screen_text(app))
        editor(app).area.load_text(TYPED.replace("(2, 4)", "(2, 3)").replace("float16", "float32"))
        await wait(pilot, lambda: "line 4" not in screen_text(app))
        editor(app).area.load_text(TYPED)
        await press(pilot, app, "ctrl+s")
        await idle(pilot, app)
        assert not isinstance(app.screen, TextEditor)
        assert app.screen_name == "source"
        assert len(app.state.marked) == 2


async def test_a_stage_without_problems_has_no_source_to_show() -> None:
    app = Explorer("good.py")
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "4", "s")
        assert app.screen_name == "problems"
        assert "this line has no place" in screen_text(app)


async def test_a_variable_that_stands_twice_has_a_label_at_each_place() -> None:
    Path("twice.py").write_text(
        '@R.function\ndef main(x: R.Tensor((2, 3), "float32")):\n    a = R.matmul(x, x)\n    return zz\n'
    )
    app = Explorer("twice.py")
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        lines = screen_text(app).split("\n")
        code = next(line for line in lines if "R.matmul(x, x)" in line)
        first, second = (next(line for line in lines if text in line) for text in ("- 3 columns", "- 2 rows"))
        assert (first.index("-"), second.index("-")) == (code.index("(x") + 1, code.index(", x") + 2)
