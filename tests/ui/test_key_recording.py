"""Recorded keys and clicks: what is written, and that playing them leads to the same screens."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest
from textual import events
from textual.screen import Screen

from relax_explorer.ui.files import target
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.key_recording import BadRecording, Recorder, play, read, screen_text
from tests.cli.test_commands import rxe_cli
from tests.perf.tui import Terminal
from tests.support.roundtrip import SAMPLES
from tests.ui.test_endless import PROGRAMS as ENDLESS
from tests.ui.test_explorer import wait
from tests.ui.test_screens import idle, press

SAMPLE = str(SAMPLES[5])  # a recursion
PIPELINE = "CanonicalizeBindings,LegalizeOps"


def without_times(text: str) -> str:
    return re.sub(r"\d+ ms", "N ms", text)


def mouse(app: Explorer, part: type[events.MouseEvent], x: int, y: int) -> None:
    """What a terminal sends."""
    app.post_message(part(None, x, y, 0, 0, 1, False, False, False, x, y))


@pytest.mark.parametrize("requirement", ["UI-20"])
async def test_a_recording_leads_to_the_same_screens(requirement: str, tmp_path: Path) -> None:
    app = Explorer(SAMPLE, PIPELINE)
    app.recorder = Recorder(target(str(tmp_path / "session.keys")), "relax-explorer program.py")
    seen = []
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        for keys in (
            ["alt+right_square_bracket", "j", "j"],
            ["2"],
            ["s", "s", "b"],
            ["3", "f", "j"],
            ["question_mark"],
            ["escape", "1"],
        ):
            await press(pilot, app, *keys)
            await wait(pilot, lambda: app.is_at_rest)  # panels follow the cursor after a moment
            seen.append(without_times(screen_text(app)))
        await press(pilot, app, "colon", *"go", "space", *"stop", "enter")
        mouse(app, events.MouseDown, 12, 9)
        mouse(app, events.MouseUp, 12, 9)
        await wait(pilot, lambda: app.is_at_rest)
        last = without_times(screen_text(app))
        app.recorder.finish()
    found = read((tmp_path / "session.keys").read_text())
    assert found[0].text == "size 100 30"
    again = Explorer(SAMPLE, PIPELINE)
    shown: list[str] = []
    async with again.run_test(size=(100, 30)) as pilot:
        await play(
            pilot,
            lambda: again.is_at_rest,
            found,
            lambda event: shown.append(without_times(screen_text(again))),
        )
    assert shown[-1] == last
    places = [shown.index(screen) for screen in seen]
    assert places == sorted(places)
    assert len(set(seen)) == len(seen)


async def test_what_is_written() -> None:
    app = Explorer(SAMPLE, "")
    recorder = app.recorder = Recorder(target("unused.keys"))
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await pilot.press("right_square_bracket", "j", "ctrl+o", "slash", "space", "x", "escape")
        mouse(app, events.MouseDown, 3, 4)
        mouse(app, events.MouseUp, 3, 4)
        mouse(app, events.MouseDown, 3, 4)
        mouse(app, events.MouseUp, 5, 6)
        mouse(app, events.MouseScrollDown, 7, 8)
        app.post_message(events.Paste("two\nlines"))
        await pilot.resize_terminal(80, 24)
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        app.jobs.start("export", "busy", lambda job: 0, lambda done: None)
        recorder.take(events.Key("escape", None), is_busy=True)
        recorder.take(events.Key("j", "j"), is_busy=True)
    assert recorder.lines == [
        "size 100 30", "key ]", "key j", "key ctrl+o", "key /", "key space", "key x", "key escape", "click 3 4", "drag 3 4 5 6",
        "scroll down 7 8", 'paste "two\\nlines"', "size 80 24", "now key escape", "key j",
    ]  # fmt: skip
    assert [event.text for event in read("\n".join(recorder.lines))] == recorder.lines


@pytest.mark.parametrize(
    "line", ["keys j", "key", "size 80", "size 80 x", "click 1", "click -1 2", "scroll left 1 2", "now size 8 8", "size 1000000 2"]
)  # fmt: skip
def test_a_line_that_says_nothing_known_is_named(line: str) -> None:
    with pytest.raises(BadRecording, match=r"line 3: .* is none of size W H"):
        read(f"# a recording\n\n{line}\n")


async def test_a_key_that_cancels_is_played_while_the_work_runs(tmp_path: Path) -> None:
    endless = tmp_path / "endless.py"
    endless.write_text(ENDLESS["recursion"])
    app = Explorer(str(endless), "")
    async with app.run_test(size=(100, 30)) as pilot:
        found = read("key 2 c\nnow key escape")
        await asyncio.wait_for(play(pilot, lambda: app.jobs.is_idle, found), 60)  # the run would take years
        assert app.jobs.is_idle
        assert app.run_control.session.debugger.position > 0


def test_the_command_prints_the_screen(tmp_path: Path) -> None:
    keys = tmp_path / "a.keys"
    keys.write_text("size 100 30\nkey 3 f\n")
    last = rxe_cli("play", str(keys), SAMPLE, "-p", "")
    assert last.exit_code == 0
    assert "power  recursive" in last.output
    assert max(map(len, last.output.splitlines())) == 100
    each = rxe_cli("play", str(keys), SAMPLE, "-p", "", "--each", "--size", "80x24")
    assert [line for line in each.output.splitlines() if re.match(r"\d+: ", line)] == [
        "1: size 100 30",
        "2: key 3 f",
    ]
    drawn = rxe_cli("play", str(keys), SAMPLE, "--format", "svg", "-o", str(tmp_path / "a.svg"))
    assert drawn.exit_code == 0
    assert "recursive" in (tmp_path / "a.svg").read_text()


@pytest.mark.parametrize(
    ("lines", "said", "status"),
    [
        ("click 99 99\n", "line 1: click 99 99 is outside of the screen, 80 by 24", 1),
        ("key q\nkey j\n", "line 2: the explorer ended before it", 1),
        ("jump\n", "line 1: 'jump' is none of", 2),
        ("key \udcff", "it is not UTF-8 text", 2),
    ],
)
def test_what_cannot_be_played_is_said(tmp_path: Path, lines: str, said: str, status: int) -> None:
    keys = tmp_path / "a.keys"
    keys.write_bytes(lines.encode("utf-8", "surrogateescape"))
    done = rxe_cli("play", str(keys), SAMPLE, "-p", "")
    assert said in done.output
    assert done.exit_code == (3 if status == 1 else 2)


def test_playing_leaves_no_loop_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is open fails when it is collected in another thread, since it gives the signals back."""
    loops: list[asyncio.AbstractEventLoop] = []
    new = asyncio.new_event_loop

    def noted() -> asyncio.AbstractEventLoop:
        loops.append(new())
        return loops[-1]

    monkeypatch.setattr(asyncio, "new_event_loop", noted)
    keys = tmp_path / "a.keys"
    for lines in ("key 3\n", "click 99 99\n", "key q\nkey j\n"):
        keys.write_text(lines)
        rxe_cli("play", str(keys), SAMPLE, "-p", "")
    assert [loop.is_closed() for loop in loops] == [True] * 3


@pytest.mark.parametrize("keys", [":export {}", ":export svg {}", ":report {}", "3 e", "3 f e"])
def test_a_played_recording_writes_nothing_unless_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: str
) -> None:
    folder, state = tmp_path / "here", tmp_path / "state"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr("relax_explorer.ui.directories.state", lambda: state)
    kept = folder / "kept.html"
    kept.write_text("mine")
    typed = keys.format("kept.html")
    line = f"key colon\ntype {typed[1:]}\nkey enter" if typed.startswith(":") else f"key {typed}"
    (tmp_path / "a.keys").write_text(f"size 120 30\n{line}\n")
    command = ("play", str(tmp_path / "a.keys"), SAMPLE, "-p", "")
    done = rxe_cli(*command)
    assert (done.exit_code, "not written: " in done.output) == (0, True)
    assert ([path.name for path in folder.iterdir()], kept.read_text()) == (["kept.html"], "mine")
    assert not state.exists()
    rxe_cli(*command, "--allow-writes")
    assert kept.read_text() != "mine" or len([*folder.iterdir()]) == 2
    assert (state / "recent.json").exists()


def test_a_terminal_records_and_plays(tmp_path: Path) -> None:
    keys = tmp_path / "a.keys"
    command = [sys.executable, "-m", "relax_explorer", "tui", SAMPLE, "-p", "", "--record", str(keys)]
    terminal = Terminal("", tuple(command))
    terminal.read_until(b"less_equal")
    for key in (b"3", b"f"):
        terminal.press(key)
    terminal.rest()
    os.write(terminal.fd, b"\x11")  # ctrl+q
    os.waitpid(terminal.pid, 0)
    os.close(terminal.fd)
    assert [event.text for event in read(keys.read_text())][-3:] == ["key 3", "key f", "key ctrl+q"]
    keys.write_text("key 3 f\n")
    terminal = Terminal("", (*command[:-2], "--play", str(keys)))
    terminal.read_until(b"recursive")
    terminal.read_until(b"the keys are yours")
    terminal.close()


def test_a_recording_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    keys = str(folder / "a.keys")
    terminal = Terminal(
        "", (sys.executable, "-m", "relax_explorer", "tui", SAMPLE, "-p", "", "--record", keys)
    )
    terminal.read_until(b"less_equal")
    folder.rmdir()
    os.write(terminal.fd, b"\x11")  # ctrl+q
    terminal.read_until(b"a.keys can't be written")
    _, status = os.waitpid(terminal.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 3
    os.close(terminal.fd)


async def test_the_text_of_a_screen_without_a_layout_is_blank() -> None:
    app = Explorer([])
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        whole = screen_text(app).split("\n")
        app.push_screen(Screen())
        empty = screen_text(app).split("\n")
        await pilot.pause()
        app.pop_screen()
        await pilot.pause()
        assert screen_text(app).split("\n") == whole
    assert whole[0].strip()
    assert len(empty) == 24
