"""The user's own editor, in the terminal of the explorer: `$VISUAL`, or `$EDITOR`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from textual.app import App, SuspendNotSupported

from relax_explorer.ui.tui.host import Host
from relax_explorer.viz.child import run_through
from relax_explorer.viz.visible import visible

UNSET = "set $EDITOR for an editor of your own; e edits here"
_PLUS = ("vi", "vim", "nvim", "view", "nano", "emacs", "emacsclient", "kak", "micro", "joe", "mg")
_COLON = {"hx": (), "helix": (), "code": ("--wait", "--goto"), "codium": ("--wait", "--goto")}


def users_editor() -> tuple[str, ...]:
    """The words of the command that the user edits with; none if none is set, or if the text is no command."""
    try:
        return tuple(shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""))
    except ValueError:  # a quote that is not closed
        return ()


def at_line(editor: Sequence[str], path: str, line: int) -> list[str]:
    """The command that opens a file at a line, for editors that are known; others begin where they do."""
    name = Path(editor[0]).name
    file = os.path.abspath(path)  # no name of a file is an option
    if name in _PLUS:
        return [*editor, f"+{line}", file]
    if name in _COLON:
        return [*editor, *_COLON[name], f"{file}:{line}"]
    return [*editor, file]


def edit_outside(app: Host, path: str, line: int) -> str:
    """Leave the terminal to the user's editor until it ends. Returns why that is not done; empty if it was."""
    editor = users_editor()
    if not editor:
        return UNSET
    if not app.permit.is_typed:
        return "no recording starts an editor; e edits here"
    try:
        with cast("App[int]", app).suspend():
            status = run_through(at_line(editor, path, line), {})
    except SuspendNotSupported:
        return "your editor needs a terminal of its own; e edits here"
    except OSError as error:
        return f"{visible(editor[0], 60)} can't be started: {error.strerror or error}; e edits here"
    return f"{visible(editor[0], 60)} ended with status {status}" if status else ""
