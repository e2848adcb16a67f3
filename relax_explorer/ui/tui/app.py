"""The explorer: panes over one session and one selection. Work runs in workers, which answer by messages."""

from __future__ import annotations

import sys

from relax_explorer.ui.tui.graphing import Graphing


class Explorer(Graphing):
    """The application: the shell, and what each pane does."""


def run_app(path: str | None, pipeline: str = "default", screen: str = "passes") -> int:
    """Open the explorer; the exit status. An error of its own ends with 70, and the terminal is as it was."""
    app = Explorer(path, pipeline, screen)
    result = app.run()
    if app.return_code:
        sys.stderr.write("relax-explorer: the explorer failed; the session's file is untouched\n")
        return 70
    return result or 0
