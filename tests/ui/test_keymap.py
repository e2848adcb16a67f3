"""Presets and keys of the user: read, checked with the place of a mistake, bound, and shown in footer and help."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from textual.binding import Binding
from textual.keys import _character_to_key

from relax_explorer.ui import directories
from relax_explorer.ui.cli.main import group
from relax_explorer.ui.commands import command
from relax_explorer.ui.config import BadConfig, settings
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.keys import (
    KEYS,
    PRESETS,
    SCREENS,
    WIDEST_LABEL,
    BadKeys,
    Key,
    action_names,
    bindings,
    help_lines,
    help_text,
    keymap,
    keys_of,
)
from relax_explorer.ui.tui.state import room
from relax_explorer.ui.tui.widgets.line_view import LineView
from relax_explorer.viz.table_diff import GLYPHS, GROUP_GLYPHS
from relax_explorer.viz.tables import FARTHER
from relax_explorer.viz.tokens import MARKS
from tests.support.roundtrip import SAMPLES
from tests.ui.test_explorer import screen_text
from tests.ui.test_screens import idle, press, typed


def keys_for(screen: str, name: str, preset: str = "default", **changes: str) -> list[str]:
    table = keymap(preset, {key.replace("_", "-"): text for key, text in changes.items()})
    return [key.key for key in keys_of(screen, table) if key.name == name]


def test_each_action_has_one_name_of_words() -> None:
    actions = {key.action for key in KEYS}
    names = {(key.action, key.name) for key in KEYS}
    assert len(names) == len(actions) == len({name for _, name in names})
    assert all(name.replace("-", "").isalpha() for name in action_names())
    assert keymap() == KEYS


@pytest.mark.parametrize("preset", PRESETS)
def test_each_preset_keeps_every_action_within_reach(preset: str) -> None:
    table = keymap(preset)
    assert {key.action for key in table} == {key.action for key in KEYS}
    assert {key.name for key in table if not key.key} <= {"open-all", "close-all"}
    assert command("tui").arguments  # its option lists the presets
    option = next(item for item in command("tui").arguments if item.name == "--keys")
    assert option.choices == tuple(PRESETS)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("F7,F6,ö", ["f7", "f6", "ö"]),
        ("]", ["right_square_bracket"]),
        ("'", ["apostrophe"]),
        (";", ["semicolon"]),
        ("ctrl+alt+Left", ["ctrl+alt+left"]),
        ("Space", ["space"]),
        ("shift+F3", ["shift+f3"]),
        ("+", ["plus"]),
        ("-", ["minus"]),
        (",", ["comma"]),
        ("z q", ["z q"]),
        ("alt+]", ["alt+right_square_bracket"]),
    ],
)
def test_keys_are_written_as_they_are_shown(text: str, keys: list[str]) -> None:
    moved = (
        "next-changing-stage",
        "to-mark",
        "back-to-cursor",
        "fold",
        "wider",
        "narrower",
        "next-stage",
        "next-problem",
        "previous-match",
    )
    free = {name: f"F{number}" for number, name in enumerate((*moved, "next-match", "command", "layers"), 13)}
    table = keymap("default", {**free, "help": text})
    assert [key.key for key in table if key.action == "help"] == keys
    for key in keys:
        last = text.split("+")[-1]
        assert len(last) != 1 or last.isalnum() or key.endswith(_character_to_key(last))


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("stepp", "s", "there is no action 'stepp'; did you mean 'step'?"),
        ("step", "ctrl+i", "terminals send Tab"),
        ("step", "", "it names no key"),
        ("step", "hyper+x", "is no key"),
        ("step", "F77", "is no key"),
        ("step", "a b c", "is no key"),
        ("step", "\0", "is no key"),
        ("step", "n", "n is the key of 'next' in Debug"),
        ("step", "b x", "or b x, is the key of 'breakpoint' in Debug"),
        ("help", "n", "n is the key of "),
    ],
)
def test_a_wrong_key_is_refused_with_its_action(name: str, text: str, reason: str) -> None:
    with pytest.raises(BadKeys) as error:
        keymap("default", {name: text})
    assert error.value.action == name
    assert reason in str(error.value)


def test_a_key_may_move_where_another_one_leaves() -> None:
    assert keys_for("debug", "step", step="n", next="s") == ["n"]
    assert keys_for("debug", "step", "gdb", step="F8") == ["f8"]
    assert keys_for("debug", "finish", "gdb") == ["f"]
    assert keys_for("graph", "next-match") == ["n", "f3"]


@pytest.fixture
def user_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    path = tmp_path / "user.toml"
    monkeypatch.setattr(directories, "config", lambda: path)
    monkeypatch.chdir(tmp_path)

    def write(text: str) -> Path:
        path.write_text(text)
        return path

    return write


def test_the_settings_file_chooses_keys(user_file: Callable[[str], Path], tmp_path: Path) -> None:
    user_file('[keys]\npreset = "vim"\nstep = ["F8", "z s"]\n')
    found, remarks = settings(tmp_path)
    assert (found["tui"]["keys"], found["tui"]["key"], remarks) == ("vim", ["step=F8,z s"], [])
    (tmp_path / "relax-explorer.toml").write_text('[keys]\nquit = "x"\n')
    found, remarks = settings(tmp_path)
    assert found["tui"]["keys"] == "vim"
    assert "a file found in a folder does not choose keys" in remarks[0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('[keys]\n\nstepp = "s"\n', ":3: keys.stepp: there is no action 'stepp'; did you mean 'step'?"),
        ('profile = "tvm"\n[keys]\n"step" = "n"\n', ":3: keys.step: n is the key of 'next' in Debug"),
        (
            '[check]\npreset = 1\n[keys]\npreset = "emacs"\n',
            ":4: keys.preset is 'emacs', it must be one of default,",
        ),
        ("[keys]\nstep = [1]\n", ":2: keys.step is [1], it must be a text or a list of texts"),
        ("[keys]\nstep = []\n", ":2: keys.step is [], it must be"),
        ("[keys]\npreset = []\n", ":2: keys.preset is []"),
        ('keys = "vim"\n', "'keys' has to be a table"),
    ],
)
def test_a_wrong_setting_is_told_with_its_line(
    user_file: Callable[[str], Path], tmp_path: Path, text: str, reason: str
) -> None:
    path = user_file(text)
    with pytest.raises(BadConfig, match="toml") as error:
        settings(tmp_path)
    assert str(error.value).startswith(str(path))
    assert reason in str(error.value)
    done = CliRunner().invoke(group, ["passes"])
    assert done.exit_code == 2
    assert "Traceback" not in done.output


async def test_keys_of_the_user_act_and_are_shown() -> None:
    table = keymap("vim", {"next-change": "F7,] c", "unchanged": "H"})
    app = Explorer(str(SAMPLES[0]), "LegalizeOps", keymap=table)
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "right_square_bracket")
        assert "] ]          Next stage that changed the module" in screen_text(app)
        await press(pilot, app, "right_square_bracket")
        assert app.state.selection.stage == 1
        assert "F7 change" in screen_text(app)
        await press(pilot, app, "g", "g", "f7")
        assert "change 1 of" in screen_text(app)
        await press(pilot, app, "g", "g", "right_square_bracket", "c")
        assert "change 1 of" in screen_text(app)
        await press(pilot, app, "c", "d", "U")  # c and U have no action now, d has
        assert app.state.options.diff == "beside"
        assert not app.state.options.shows_unchanged
        await press(pilot, app, "H", "z", "M")
        assert app.state.options.shows_unchanged
        assert "changed" in app.view.rows[0].text
        await press(pilot, app, "z", "R", "z", "x")
        assert "no action has these two keys" in screen_text(app)
        assert not app.state.options.folded.hides_code
        await press(pilot, app, "question_mark")
        shown = [row.text for row in app.screen.query_one("#popup", LineView).rows]
        assert any(line.startswith("F7 ] c ") for line in shown)
        await press(pilot, app, "G", "g", "g")
        assert app.screen.query_one("#popup", LineView).cursor == 0
        await press(pilot, app, "escape")
        await typed(pilot, app, "keys")
        named = [row.text.split() for row in app.screen.query_one("#popup", LineView).rows]
        assert ["next-change", "F7", "]", "c"] in [line[:4] for line in named]
        await press(pilot, app, "escape", "Z", "Z")
    assert app.return_code == 0


def test_bindings_and_help_come_from_the_same_table() -> None:
    table = keymap("vim")
    found = {item.key: item.action for item in bindings("passes", table) if isinstance(item, Binding)}
    assert found["z"] == "chord('z')"
    assert ("z a", "Fold or open the function, block, branch or kernel") in help_lines("passes", table)
    assert all(key.key.partition(" ")[0] in found for key in keys_of("passes", table) if key.key)


def test_a_wrong_key_of_the_command_line_is_told() -> None:
    environment = {"TEXTUAL_DRIVER": "none"}  # as in a terminal, which this is not
    done = CliRunner().invoke(group, ["tui", str(SAMPLES[0]), "--key", "stepp=s"], env=environment)
    assert done.exit_code == 2
    assert "key 'stepp': there is no action 'stepp'; did you mean 'step'?" in done.output


def test_help_tells_what_every_mark_means() -> None:
    for screen, marks in (
        ("passes", {*GLYPHS.values(), *GROUP_GLYPHS.values(), FARTHER} - {GLYPHS["renamed"], " "}),
        ("debug", {"▶", "✓", "·", "●", "◆", "○"}),
        ("compare", {"=", "≠", "a", "b", "?"}),
        ("checks", {"✓", "·", "✗"}),
    ):
        told = dict(MARKS[screen])
        assert set(told) == marks
        lines = help_lines(screen)
        start = lines.index(("Marks", "at the left of lines"))
        assert lines[start + 1 : start + 1 + len(told)] == list(told.items())
    assert ("Marks", "at the left of lines") not in help_lines("home")


@pytest.mark.parametrize("screen", SCREENS)
def test_help_cuts_no_sentence(screen: str) -> None:
    """At 60 columns, at 80, and where there is room; also with keys that take more room than others."""
    longest = "ctrl+alt+shift+F11 ctrl+alt+shift+F12"
    table = (*KEYS, Key("f6", "top", "A sentence that " + "goes on and " * 4 + "ends", shown=longest))
    for width in (room(60), room(80), room(140)):
        lines = help_text(screen, width, table)
        assert max(map(len, lines)) <= width
        column = min(WIDEST_LABEL, max(len(label) for label, _ in help_lines(screen, table)))
        shown: list[list[str]] = []
        for line in lines:
            if line[:column].strip() or not line.strip():
                shown.append(line.split())
            else:
                shown[-1] += line.split()
        assert shown == [f"{label} {text}".split() for label, text in help_lines(screen, table)]
        if width == room(140):
            assert len(lines) == len(shown)


def test_help_has_words_without_room_for_them() -> None:
    for width in (1, room(20), room(40)):
        assert "Undo the" in " ".join(" ".join(help_text("passes", width)).split())


async def test_help_fits_into_a_narrow_terminal() -> None:
    app = Explorer(str(SAMPLES[11]))
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "question_mark")
        shown = screen_text(app)
        assert "Changes in place, side by side, only what changed, ┃" in shown
        assert "┃                   or none  " in shown
        assert "scrolls right" not in shown
