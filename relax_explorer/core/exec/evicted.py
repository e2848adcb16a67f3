"""Values that a recorded run dropped to stay within its memory budget. They are computed again when they are read."""

from __future__ import annotations

from typing import Protocol

from relax_explorer.core.exec.values import Value


class Source(Protocol):
    """Computes evicted values again."""

    def recall(self, evicted: Evicted) -> Value:
        """The value."""


class Evicted:
    """Stands for the value that instruction `index` of the plan of `frame` wrote. `text` describes it."""

    __slots__ = ("frame", "index", "source", "text")

    def __init__(self, source: Source, frame: object, index: int, text: str) -> None:
        self.source, self.frame, self.index, self.text = source, frame, index, text

    def __repr__(self) -> str:
        return f"{self.text}, evicted: `print` computes it again"


def recalled(value: Value) -> Value:
    """The value itself, computed again if it was evicted."""
    return value.source.recall(value) if type(value) is Evicted else value
