"""Inputs are remembered for each module and function, within limits, and a home that can't be written changes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from textual.widgets import Input

from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.core.syntax.load import load
from relax_explorer.ui import directories, history
from relax_explorer.ui.history import module_key, remember, remembered
from relax_explorer.ui.tui.app import Explorer
from tests.ui.test_explorer import screen_text
from tests.ui.test_screens import FIRST, SECOND, idle, press


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "state"
    monkeypatch.setattr(directories, "state", lambda: place)
    return place


def test_each_module_and_function_has_its_inputs(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = CallInputs("f", {"x": "ones"}, {"n": 4}), CallInputs("g", {"0": "zeros"})
    remember("a", "f", one)
    remember("a", "g", other)
    remember("b", "f", other)
    assert remembered("a") == {"f": one, "g": other}
    assert remembered("b") == {"f": CallInputs("f", {"0": "zeros"})}
    assert remembered("c") == {}
    remember("a", "g", CallInputs("g"))
    assert remembered("a") == {"f": one}
    remember("a", "f", CallInputs("f", {"x": "1" * 20_000}))
    assert remembered("a") == {"f": one}
    now = int(history.time.time()) + 10
    for number in range(history.MOST):
        monkeypatch.setattr(history.time, "time", lambda number=number: now + number)
        remember(f"m{number}", "f", one)
    assert len(json.loads((home / "inputs.json").read_text())) == history.MOST
    assert remembered("a") == {}
    assert remembered("m0") == {"f": one}
    monkeypatch.setattr(history.time, "time", lambda: now + 10 + history.DAYS * 86_400)
    assert remembered("m9") == {}
    assert remembered("m10") == {"f": one}


def test_files_are_found_from_every_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("io.npz", x=np.zeros(1))
    remember("a", "f", CallInputs("f", {"x": "io.npz:x", "y": "io.npz", "z": "none.npy", "w": "randn:1"}))
    full = str(tmp_path / "io.npz")
    assert remembered("a")["f"].sources == {"x": f"{full}:x", "y": full, "z": "none.npy", "w": "randn:1"}


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"a": 1}', '{"a": {"when": 9e9}}', '{"a": {"when": 99999999999, "functions": []}}',
     '{"a": {"when": 99999999999, "functions": {"f": 1, "g": {"sources": {"x": 1}, "shape": {}}}}}',
     '{"a": {"when": 99999999999, "functions": {"f": {"sources": {}, "shape": {"n": true}}}}}', "[" * 100_000],
)  # fmt: skip
def test_a_damaged_file_is_no_inputs(home: Path, text: str) -> None:
    home.mkdir()
    (home / "inputs.json").write_text(text)
    assert remembered("a") == {}
    remember("a", "f", CallInputs("f", {"x": "ones"}))
    assert remembered("a") == {"f": CallInputs("f", {"x": "ones"})}


def test_a_home_that_cannot_be_written_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(directories, "state", lambda: tmp_path / "file" / "state")
    remember("a", "f", CallInputs("f", {"x": "ones"}))
    assert remembered("a") == {}


def test_a_module_is_known_by_its_structure(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("p.py", "q.py", "r.py")]
    for path, text in zip(
        paths, (FIRST, FIRST.replace("            a =", "\n            a ="), SECOND), strict=True
    ):
        path.write_text(text)
    first, moved, changed = [module_key(load(path)) for path in paths]
    assert first == moved
    assert first != changed


async def test_the_explorer_starts_with_the_inputs_of_last_time(tmp_path: Path) -> None:
    path, file = tmp_path / "p.py", tmp_path / "x.npy"
    path.write_text(FIRST)
    np.save(file, np.full((5, 3), 2, np.float32))
    app = Explorer(str(path), "")
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "2", "I")
        app.screen.query(Input)[1].value = str(file)
        await press(pilot, app, "enter")
        assert "(5, 3) f32" in screen_text(app)
    copy = tmp_path / "copy.py"
    copy.write_text(FIRST + "\n")
    app = Explorer(str(copy), "LegalizeOps", screen="debug")
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        assert "(5, 3) f32" in screen_text(app)
        assert "I changes the inputs of last time" in screen_text(app)
        await press(pilot, app, "I")
        assert [line.value for line in app.screen.query(Input)] == ["", str(file), "", ""]
        await press(pilot, app, "escape")
    app = Explorer(str(copy), "", screen="debug", call=CallInputs("", {"x": "ones"}, {"n": 4}))
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        assert "(4, 3) f32" in screen_text(app)  # what is typed wins
    file.unlink()
    app = Explorer(str(path), "", screen="debug")
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        assert "I changes inputs: those of last time do not fit" in screen_text(app)
        assert app.state.run is not None
