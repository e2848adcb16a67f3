"""A terminal may shrink to one cell, whatever is open: each screen and each dialog survives it, and is whole again afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events
from textual.geometry import Size
from textual.widgets import Input, TextArea

from relax_explorer.core.session.debug_commands import DEBUG_COMMANDS
from relax_explorer.ui import directories
from relax_explorer.ui.tui import keys
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.key_recording import at_rest
from relax_explorer.ui.tui.typed import TYPED, execute_typed
from tests.support.roundtrip import SAMPLES
from tests.ui.test_looks import RELATIONS

TINY = ((1, 1), (1, 50), (200, 1), (2, 2))
USUAL = (80, 24)
LEAVING = {"quit", "back"}
DIALOGS = {
    "passes": {"KeyPrompt", "Palette", "PipelineEditor", "Popup"},
    "debug": {"Inputs", "KeyPrompt", "Palette"},
}
"""Which dialogs the keys of a screen open, at least; a command opens the TextEditor."""


def opened(app: Explorer) -> tuple[str, str, str]:
    """What lies over the screen, and what takes the keys."""
    kind = type(app.focused).__name__ if isinstance(app.focused, (Input, TextArea)) else ""
    return (
        app.screen_name,
        type(app.screen).__name__ if len(app.screen_stack) > 1 else "",
        f"{kind} {getattr(app.focused, 'id', '')}",
    )


BUILD = str(SAMPLES[0].parent / "broken_build")
PLACES = [
    (str(SAMPLES[0]), "passes"),
    *[(BUILD, name) for name in keys.SCREENS if name not in ("passes", "solver")],
    (RELATIONS, "solver"),
]
EVERYWHERE = [key for key in keys.KEYS if not key.screens]


def keys_of(screen: str) -> list[str]:
    """The keys of a screen; those of all screens belong to the first one."""
    own = [key for key in keys.KEYS if screen in key.screens]
    found = [*own, *(EVERYWHERE if screen == "passes" else [])]
    return [
        *[key.key.split()[0] for key in found if key.action not in LEAVING and key.key],
        "colon",
        "ctrl+p",
        "slash",
    ]


@pytest.mark.parametrize(("program", "screen"), PLACES, ids=[name for _, name in PLACES])
async def test_each_dialog_survives_one_cell(
    program: str, screen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directories, "state", lambda: tmp_path)
    monkeypatch.chdir(tmp_path)
    app = Explorer(program, screen=screen if screen != "solver" else "passes")
    app.permit.is_all = False  # it writes no file
    seen: set[tuple[str, str, str]] = set()
    async with app.run_test(size=USUAL) as pilot:
        await at_rest(pilot, lambda: app.is_at_rest)
        for key in dict.fromkeys(keys_of(screen)):
            app.show_screen(screen)
            await pilot.press(key)
            if opened(app) in seen:
                continue
            seen.add(opened(app))
            for size in (*TINY, USUAL):
                app.post_message(events.Resize(Size(*size), Size(*size)))
                app.post_message(events.Key("down", None))
                app.post_message(events.MouseDown(None, 0, 0, 0, 0, 1, False, False, False, 0, 0))
                await pilot.pause()
                assert (app.is_running, app.return_code) == (True, None), (key, size)
            await pilot.press("escape", "escape")
        assert len(seen) > 1
        assert not list(tmp_path.glob("crash-*")), next(tmp_path.glob("crash-*")).read_text()[-3000:]
        app.exit(0)
    assert DIALOGS.get(screen, {"Palette"}) <= {kind for _, kind, _ in seen}


async def test_each_command_survives_one_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directories, "state", lambda: tmp_path)
    monkeypatch.chdir(tmp_path)
    app = Explorer(str(SAMPLES[0]), "", screen="debug")
    app.permit.is_all = False
    seen: set[str] = set()
    async with app.run_test(size=(1, 1)) as pilot:
        await at_rest(pilot, lambda: app.is_at_rest)
        for name in dict.fromkeys(
            item.name for item in (*TYPED, *DEBUG_COMMANDS) if item.name not in ("exit", "quit")
        ):
            for argument in ("", " x"):
                execute_typed(app, f"{name}{argument}")  # type: ignore[arg-type]  # the app has the controls
                await pilot.pause(0)
                assert (app.is_running, app.return_code) == (True, None), (name, argument)
                seen.add(type(app.screen).__name__)
            while len(app.screen_stack) > 1:
                app.pop_screen()
        await at_rest(pilot, lambda: app.jobs.is_idle)
        assert (app.is_running, app.return_code) == (True, None)
        app.exit(0)
    assert seen >= {"TextEditor", "PipelineEditor", "Inputs"}
