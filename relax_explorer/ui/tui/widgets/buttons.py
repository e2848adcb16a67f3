"""Words of a line that do something when they are clicked: tabs, keys in the footer, stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.text import Text
from textual.message import Message

from relax_explorer.viz.visible import columns


@dataclass(frozen=True, slots=True)
class Button:
    """Cells of a line from `start` up to `end`, with the action of a click."""

    start: int
    end: int
    action: str


class ButtonPressed(Message):
    """The user clicked a word. `line` is the id of its line, `action` belongs to its screen."""

    def __init__(self, line: str, action: str) -> None:
        super().__init__()
        self.line, self.action = line, action


class ButtonLine:
    """A line that is written word by word."""

    def __init__(self) -> None:
        self.text = Text(no_wrap=True)
        self.buttons: list[Button] = []

    @property
    def width(self) -> int:
        """The cells so far."""
        return columns(self.text.plain)

    def write(self, words: str, action: str = "", style: str = "") -> None:
        """Add words, with the action of a click."""
        start = self.width
        self.text.append(words, style=style)
        if action:
            self.buttons.append(Button(start, self.width, action))

    def add(self, other: ButtonLine) -> None:
        """Add another line."""
        start = self.width
        self.text.append_text(other.text)
        self.buttons += [
            replace(button, start=start + button.start, end=start + button.end) for button in other.buttons
        ]


def pressed(buttons: Sequence[Button], column: int) -> str:
    """The action at a cell of a line; empty if there is none."""
    return next((button.action for button in buttons if button.start <= column < button.end), "")
