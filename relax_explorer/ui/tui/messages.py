"""The messages of workers and widgets to the app, named in the past tense."""

from __future__ import annotations

from typing import Any

from textual.message import Message

from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.session.session import Session


class SessionOpened(Message):
    """A file was read. Its stages follow."""

    def __init__(self, session: Session, path: str) -> None:
        super().__init__()
        self.session, self.path = session, path


class StageAdded(Message):
    """A pass has run."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class WorkFailed(Message):
    """Some work failed. The screen stays unchanged."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__()
        self.diagnostics = diagnostics


class GraphDrawn(Message):
    """The drawing of a graph is ready."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class GraphExported(Message):
    """A picture was written."""

    def __init__(self, path: str, note: str) -> None:
        super().__init__()
        self.path, self.note = path, note


class CursorMoved(Message):
    """Another line is selected in a view of lines."""

    def __init__(self, view: str, node: Any, function: str) -> None:
        super().__init__()
        self.view, self.node, self.function = view, node, function
