"""Sessions as files: everything that was done comes back, a killed explorer loses nothing, and a hostile file is a diagnostic."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.session.build_files import open_build
from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.core.session.saved import Saved, Spot, archive, saved_in
from relax_explorer.core.session.session import Plan
from relax_explorer.ui import directories
from relax_explorer.ui.tui import saving
from relax_explorer.ui.tui.app import Explorer
from tests.cli.test_commands import rxe_cli
from tests.support.recordings import archive as recording
from tests.ui.test_explorer import screen_text, wait
from tests.ui.test_screens import idle, press, typed

PROGRAM = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        a = R.exp(x)
        b = R.add(a, a)
        c = R.sin(b)
        return c
"""
PLAN = Plan.of("LegalizeOps,FuseOps").with_edit(-1, PROGRAM.replace("R.sin", "R.cos")).toggled(2)
SAVED = Saved(
    "/models/a.py", PROGRAM, (Plan.of("LegalizeOps"), PLAN), 1, Spot(1, "LegalizeOps", "main", "b"), {"q": Spot(0, "input", "main", "c")},
    ("break b if max(a) > 1", "break c", "disable 2", "watch a + 1"), {"main": CallInputs("main", {"x": "ones"}, {"n": 3})}, "/models/calls.txt",
)  # fmt: skip


@pytest.fixture
def program(tmp_path: Path) -> str:
    (tmp_path / "a.py").write_text(PROGRAM)
    return str(tmp_path / "a.py")


def test_a_session_comes_back_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "s.rxs").write_bytes(archive(SAVED))
    assert saved_in(str(tmp_path / "s.rxs")) == SAVED
    build = open_build(tmp_path / "s.rxs")
    assert (build.stages[0].text, build.written) == (PROGRAM, PLAN.text)


def test_a_session_of_a_build_leaves_its_stages_where_they_are(tmp_path: Path) -> None:
    path = str(recording(tmp_path / "run.rxs"))
    (tmp_path / "s.rxs").write_bytes(archive(Saved(path)))
    assert [stage.made_by for stage in open_build(tmp_path / "s.rxs").stages] == [
        stage.made_by for stage in open_build(path).stages
    ]
    os.unlink(path)
    done = rxe_cli("show", str(tmp_path / "s.rxs"))
    assert (done.exit_code, "RX0035" in done.stderr, "is not there" in done.stderr) == (2, True, True)


HOSTILE: dict[str, object] = {
    "path": 7, "text": "0" * 64, "at": 5, "plans": [[["NoSuchPass", True]]], "selection": ["a"], "marks": {"q": [1, 2, 3, 4]},
    "commands": ["output a.txt"], "calls": None, "inputs": {"main": [{"x": 1}, {}]},
}  # fmt: skip


@pytest.mark.parametrize("name", [*HOSTILE, "nested", "two passes", "long"])
def test_a_hostile_session_is_a_diagnostic(name: str, tmp_path: Path) -> None:
    path = tmp_path / "s.rxs"
    path.write_bytes(archive(replace(SAVED, plans=(Plan.of("LegalizeOps"),), at=0)))
    with zipfile.ZipFile(path) as file:
        parts = {item: file.read(item) for item in file.namelist()}
    told = json.loads(parts["manifest.json"])
    session = told["session"]
    if name == "nested":
        session |= {"text": "", "path": str(path)}
    elif name == "two passes":
        session["plans"] = [[["LegalizeOps,FuseOps", True]]]
    elif name == "long":
        session["commands"] = ["break a"] * 100_000
    else:
        session[name] = HOSTILE[name]
    parts["manifest.json"] = json.dumps(told).encode()
    with zipfile.ZipFile(path, "w") as file:
        for item, data in parts.items():
            file.writestr(zipfile.ZipInfo(item), data)
    with pytest.raises(Failure) as failure:
        open_build(path)
    assert failure.value.diagnostics[0].code.id == "RX0035"


def test_the_shell_saves_a_program_with_passes(program: str, tmp_path: Path) -> None:
    out = str(tmp_path / "s.rxs")
    done = rxe_cli("save", program, "-p", "LegalizeOps", "-o", out)
    assert done.exit_code == 0, done.output
    saved = saved_in(out)
    assert saved is not None
    assert (saved.text, [plan.text for plan in saved.plans]) == (PROGRAM, ["LegalizeOps"])
    assert "call_tir" in rxe_cli("opt", out, "-p", "file").stdout
    build = str(recording(tmp_path / "run.rxs"))
    assert rxe_cli("save", build, "-o", out).exit_code == 0
    refused = rxe_cli("save", build, "-p", "LegalizeOps", "-o", out)
    assert (refused.exit_code, "has its own passes" in refused.stderr) == (2, True)


async def kept(pilot: Any, app: Explorer) -> None:
    """Have what was done on the disk now. Nobody waits for this work, so the explorer counts as idle."""
    app.saving.keep()
    await wait(pilot, lambda: not app.jobs.is_working("keep"))


async def worked(pilot: object, app: Explorer) -> None:
    """Work of a user: a pass off, a mark, a breakpoint with a condition, a watch, inputs."""
    await idle(pilot, app)
    await typed(pilot, app, "toggle FuseOps")
    await typed(pilot, app, "toggle LegalizeOps")
    await typed(pilot, app, "toggle FuseOps")
    await press(pilot, app, "u", "u")
    await typed(pilot, app, "stage 1")
    await typed(pilot, app, "go c")
    await press(pilot, app, "m", "q", "2")
    await typed(pilot, app, "break b if max(a) > 1")
    await typed(pilot, app, "break c")
    await typed(pilot, app, "disable 2")
    await press(pilot, app, "escape")
    await typed(pilot, app, "watch a + 1")
    app.run_control.with_inputs("main", CallInputs("main", {"x": "ones"}))
    await idle(pilot, app)


COMMANDS = ("break b if max(a) > 1", "break c", "disable 2", "watch a + 1")


async def is_as_it_was(pilot: object, app: Explorer) -> None:
    """Everything that `worked` did is there."""
    assert app.state.plan is not None
    assert [(str(item.step), item.is_on) for item in app.state.plan.entries] == [
        ("LegalizeOps", True),
        ("FuseOps", False),
    ]
    assert app.state.selection.stage == 1
    assert app.marks.places["q"].selection.variable == "c"
    assert app.run_control.calls["main"].sources == {"x": "ones"}
    await press(pilot, app, "2")
    assert app.run_control.point_commands == COMMANDS
    assert app.run_control.session is not None
    assert [item.number for item in app.run_control.session.watches] == [1]
    await press(pilot, app, "1", "u")
    assert [item.is_on for item in app.state.plan.entries] == [True, True]
    await press(pilot, app, "ctrl+r")
    assert [item.is_on for item in app.state.plan.entries] == [True, False]
    await press(pilot, app, "ctrl+r")
    assert [item.is_on for item in app.state.plan.entries] == [False, False]


async def test_a_saved_session_opens_where_it_was(program: str, tmp_path: Path) -> None:
    app = Explorer(program, "LegalizeOps,FuseOps")
    async with app.run_test(size=(120, 40)) as pilot:
        await worked(pilot, app)
        await typed(pilot, app, f"save {tmp_path / 's.rxs'}")
        assert "saved: " in screen_text(app)
    os.unlink(program)
    again = Explorer(str(tmp_path / "s.rxs"))
    async with again.run_test(size=(120, 40)) as pilot:
        await idle(pilot, again)
        await is_as_it_was(pilot, again)


async def test_what_a_killed_explorer_left_is_offered_and_comes_back(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    app = Explorer(program, "LegalizeOps,FuseOps")
    async with app.run_test(size=(120, 40)) as pilot:
        with monkeypatch.context() as patch:
            patch.setattr(saving.os, "getpid", lambda: gone.pid)
            await worked(pilot, app)
            await kept(pilot, app)
        app._is_cut = True  # as if it did not come to its end
    folder = directories.state() / "sessions"
    assert len(list(folder.iterdir())) == 1
    again = Explorer(program, "LegalizeOps,FuseOps")
    async with again.run_test(size=(120, 40)) as pilot:
        await idle(pilot, again)
        assert "a session of this program ended early; :recover goes on with it" in screen_text(again)
        await typed(pilot, again, "recover")
        await is_as_it_was(pilot, again)
        await kept(pilot, again)
        assert [item.stem.rpartition("-")[2] for item in folder.iterdir()] == [str(os.getpid())]
        await typed(pilot, again, "recover")
        assert "no session of this program was left" in screen_text(again)
    assert list(folder.iterdir()) == []  # it came to its end


async def test_a_session_without_work_keeps_nothing(program: str) -> None:
    app = Explorer(program, "LegalizeOps")
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "right_square_bracket", "j")
        await kept(pilot, app)
        assert not (directories.state() / "sessions").exists() or not list(
            (directories.state() / "sessions").iterdir()
        )


async def test_the_oldest_of_many_left_sessions_go(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    monkeypatch.setattr(saving, "MOST_LEFT", 3)
    folder = directories.state() / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(5):
        place = folder / f"{number}-{gone.pid}.rxs"
        place.write_bytes(b"")
        os.utime(place, (number, number))
    app = Explorer(program, "LegalizeOps")
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "m", "a")
        await kept(pilot, app)
        left = {place.name.partition("-")[0] for place in folder.iterdir()}
    assert left >= {"2", "3", "4"}
    assert not left & {"0", "1"}
