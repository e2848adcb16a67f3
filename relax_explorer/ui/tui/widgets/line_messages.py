"""What views and lines of text tell their screen."""

from __future__ import annotations

from textual.message import Message


class CursorMoved(Message):
    """The user put the cursor on another line. `view` is the id of the view."""

    def __init__(self, view: str, line: int) -> None:
        super().__init__()
        self.view, self.line = view, line


class RowChosen(Message):
    """The user clicked the line under the cursor."""

    def __init__(self, view: str, line: int) -> None:
        super().__init__()
        self.view, self.line = view, line


class Fitted(Message):
    """A view or lines of text have another size."""

    def __init__(self, view: str) -> None:
        super().__init__()
        self.view = view
