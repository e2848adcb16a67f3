"""A model that is imported: Esc ends the child, what was open stays, and the library loads models, too."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import relax_explorer as rxe
from relax_explorer.core.codes import foreign
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.exec.interrupt import Cancelled
from relax_explorer.ui import imported_models, live_settings
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.viz.answering_child import Unanswered
from tests.session.test_reduction import SQUARES
from tests.ui.test_explorer import screen_text, wait
from tests.ui.test_screens import idle, typed


class Child:
    """A child that works until it is cancelled, or answers with a text."""

    def __init__(self, text: str = "") -> None:
        self.text, self.asked, self.ended = text, threading.Event(), threading.Event()
        self.closed = 0

    def ask(self, *given: object) -> tuple[object, dict[str, bytes]]:
        self.asked.set()
        if self.text:
            return {"versions": {}}, {"text": self.text.encode()}
        assert self.ended.wait(60)
        raise Unanswered(Diagnostic(foreign.CRASHED, "importing was cancelled"), "cancelled")

    def cancel(self) -> None:
        self.ended.set()

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Child:
    monkeypatch.chdir(tmp_path)
    Path("model.onnx").write_bytes(b"a model")
    Path("squares.py").write_text(SQUARES)
    made = Child()
    monkeypatch.setattr(imported_models.Importer, "child", lambda self: made)
    monkeypatch.setattr(imported_models, "_KNOWN", {})
    return made


@pytest.mark.parametrize("first", ["squares.py", None])
async def test_escape_ends_an_import(child: Child, first: str | None) -> None:
    app = Explorer(first or "model.onnx", "")
    async with app.run_test(size=(80, 24)) as pilot:
        if first is not None:
            await idle(pilot, app)
            await pilot.press("colon")
            await pilot.press(*"open model", "full_stop", *"onnx", "enter")
        await wait(pilot, child.asked.is_set)
        await pilot.press("escape")
        await idle(pilot, app)
        assert child.ended.is_set()
        assert child.closed == 1
        assert app.notice == "cancelled"
        assert app.screen_name == "passes"
        assert (app.state.session is None) == (first is None)
        if first is not None:
            assert app.state.path == first
            assert "permute_dims" in screen_text(app)
        child.text = SQUARES  # the next try is a new one
        await typed(pilot, app, "open model.onnx")
        await idle(pilot, app)
        assert app.state.path == "model.onnx"
        assert app.state.session is not None


def test_the_library_loads_models_and_texts(child: Child) -> None:
    child.text = SQUARES
    assert list(rxe.load("model.onnx").functions) == list(rxe.load(Path("squares.py")).functions)
    assert rxe.load("model.onnx").relax_functions
    Path("empty.onnx").mkdir()
    with pytest.raises(rxe.ParseError):
        rxe.load("empty.onnx")
    child.text = "no program"
    Path("model.onnx").write_bytes(b"another model")
    with pytest.raises(Failure):
        rxe.load("model.onnx")


def test_only_a_child_that_is_asked_is_ended(child: Child) -> None:
    live_settings.cancel()
    assert not child.ended.is_set()
    threading.Timer(0.2, live_settings.cancel).start()
    with pytest.raises(Cancelled):
        rxe.load("model.onnx")
    child.ended.clear()
    live_settings.cancel()
    assert not child.ended.is_set()
    assert child.closed == 1
