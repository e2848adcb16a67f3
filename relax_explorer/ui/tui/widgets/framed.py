"""The small parts of screens: frames, texts, lines with words to click or to type in, scrollbars, and what views tell their screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import NamedTuple, Self

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.binding import Binding
from textual.containers import Vertical
from textual.events import Click
from textual.geometry import Region
from textual.message import Message
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input

from relax_explorer.viz.visible import columns, fit, visible


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


# -- scroll bar ------------------------------------------------------------------------------------------------------
# A scrollbar that is drawn without the detour over a console, which costs Textual as much as the text beside it.


class QuickBar(ScrollBar):
    """The vertical scrollbar of lines. It looks as Textual's does."""

    def render_lines(self, crop: Region) -> list[Strip]:
        """One strip for each row of the bar."""
        look = self.render()
        size = self.size  # the layout may be ahead of it
        is_sized = crop.bottom <= size.height and crop.right <= size.width
        if not is_sized or not isinstance(look, ScrollBarRender) or not isinstance(look.style, Style):
            return super().render_lines(crop)
        bar = look.render_bar(
            size=self.size.height,
            virtual_size=look.virtual_size,
            window_size=look.window_size,
            position=look.position,
            thickness=self.size.width,
            vertical=True,
            back_color=look.style.bgcolor or Color.default(),
            bar_color=look.style.color or Color.default(),
        )
        ground, filters, below = self.background_colors[1], self.get_line_filters(), self.rich_style
        drawn: dict[Segment, Strip] = {}  # most rows are equal
        for segment in bar.segments:
            if segment not in drawn:
                cells = list(Segment.apply_style([segment], below))
                for line_filter in filters:
                    cells = line_filter.apply(cells, ground)
                drawn[segment] = Strip(cells, self.size.width)
        strips = [drawn[segment] for segment in bar.segments]
        shown = strips[crop.y : crop.bottom]
        if crop.column_span == (0, self.size.width):
            return shown
        return [strip.crop(*crop.column_span) for strip in shown]


# -- framed ----------------------------------------------------------------------------------------------------------
# Frames with a title.


class Framed(Widget):
    """A widget with a frame. Another title draws its upper edge only.

    It stands behind the widget that it extends, for Textual takes the style of the first base.
    """

    _title = ""
    _draws_title = False

    def show_title(self, title: str) -> None:
        """Show a title. The same title is not drawn again."""
        if title != self._title:
            self._title, self._draws_title = title, True
            self.border_title = title.replace("[", "\\[")
            self._draws_title = False

    def refresh(
        self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False
    ) -> Self:
        """Draw the widget, or only some regions."""
        if self._draws_title:
            regions = (Region(-1, -1, self.outer_size.width, 1),)
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)


class Box(Vertical, Framed):
    """A framed place for other widgets."""


# -- buttons ---------------------------------------------------------------------------------------------------------
# Words of a line that do something when they are clicked: tabs, keys in the footer, stages.


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


def tab_line(words: Mapping[str, str], shown: str) -> ButtonLine:
    """The tables of which a narrow terminal shows one, by name; a click chooses one."""
    line = ButtonLine()
    line.write(" ")
    for name, word in words.items():
        line.write(f"[{word}]" if name == shown else f" {word} ", f"table({name!r})")
    return line


def pressed(buttons: Sequence[Button], column: int) -> str:
    """The action at a cell of a line; empty if there is none."""
    return next((button.action for button in buttons if button.start <= column < button.end), "")


# -- fixed text ------------------------------------------------------------------------------------------------------
# Text in a place whose size does not depend on it.


class FixedText(Widget):
    """Text in a place of fixed size. Another text needs no new layout of the screen; only the rows of the two texts are drawn."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self.text = Text()
        self.buttons: Sequence[Button] = ()  # of a single line

    def show_line(self, line: ButtonLine) -> None:
        """Show a line with words to click."""
        self.buttons = line.buttons
        self._show(line.text)

    def show(self, text: Text) -> None:
        """Show a text. The same text is not drawn again."""
        self.buttons = ()
        self._show(text)

    def on_click(self, event: Click) -> None:
        """Tell the screen which word was clicked."""
        action = pressed(self.buttons, event.x)
        if action:
            self.post_message(ButtonPressed(self.id or "", action))

    def _show(self, text: Text) -> None:
        old = self.text
        if text == old and text.style == old.style:
            return
        self.text = text
        rows = max(self._most_rows(old), self._most_rows(text))
        self.refresh(Region(0, 0, self.size.width, min(rows, self.size.height)))

    def render(self) -> Text:
        """The text."""
        return self.text

    def _most_rows(self, text: Text) -> int:
        """The rows of a text at most. Two rows that follow each other in a wrapped line are longer than the width."""
        width = max(1, self.size.width)
        return sum([1 + 2 * columns(line) // width for line in text.plain.split("\n")])


class FixedLines(Widget):
    """Lines of plain text in a place of fixed size, each cut at its width. Only lines that differ are drawn."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self.lines: Sequence[str] = ()

    @property
    def text(self) -> str:
        """The lines in one text."""
        return "\n".join(self.lines)

    def show(self, lines: Sequence[str]) -> None:
        """Show other lines."""
        old, self.lines = self.lines, lines
        changed = [y for y, (before, line) in enumerate(zip_longest(old, lines)) if before != line]
        if changed and changed[0] < self.size.height:
            height = min(changed[-1] + 1, self.size.height) - changed[0]
            self.refresh(Region(0, changed[0], self.size.width, height))

    def on_resize(self) -> None:
        """Tell the screen, which may make other lines for another width."""
        self.post_message(Fitted(self.id or ""))

    def render_lines(self, crop: Region) -> list[Strip]:
        """The strips of some lines. Style and ground hold for all of them; Textual derives them anew for each."""
        style, ground, filters = self.rich_style, self.background_colors[1], self.get_line_filters()
        strips = []
        for y in crop.line_range:
            strip = self._line(y, style)
            for line_filter in filters:
                strip = strip.apply_filter(line_filter, ground)
            strips.append(strip.crop(*crop.column_span))
        return strips

    def render_line(self, y: int) -> Strip:
        """The strip of line `y`."""
        return self._line(y, self.rich_style)

    def _line(self, y: int, style: Style) -> Strip:
        width = self.size.width
        text = fit(visible(self.lines[y], 2 * width + 1), width) if y < len(self.lines) else ""
        return Strip([Segment(text + " " * (width - columns(text)), style)], width)


# -- command input ---------------------------------------------------------------------------------------------------
# The lines at the foot of the screen: `:` for commands, with a menu, history and completion, and `/` for a search.


ROWS = 6  # of the menu
_LABEL = 30  # cells at most


class Choice(NamedTuple):
    """One way to go on: the whole line, how it is listed, and what it is."""

    text: str
    label: str
    doc: str = ""


class BarInput(Input):
    """An input that is only there while something is typed."""

    DEFAULT_CSS = "BarInput { display: none; }"

    lead = "/"  # the cell before the text: the key that opened the line

    def render_lines(self, crop: Region) -> list[Strip]:
        """The line, with its key in the padding."""
        lines = super().render_lines(crop)
        if lines and not crop.x:
            key = Segment(self.lead, self.rich_style)  # the padding has no colour of its own for text
            lines[0] = Strip([key, *lines[0].crop(1)])
        return lines

    def begin(self, text: str = "") -> None:
        """Show the line with a text, and take the focus."""
        self.value = text
        self.display = True
        self.screen.set_focus(self)  # at once: `focus()` would let the next keys go to the screen
        self.cursor_position = len(text)

    def on_blur(self) -> None:
        """Close when the focus goes elsewhere."""
        self.display = False


class CommandMenu(Widget):
    """What may follow in the command line, above it; the choice that was taken is marked."""

    DEFAULT_CSS = "CommandMenu { display: none; }"

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self._choices: Sequence[Choice] = ()
        self._taken = -1

    def show(self, choices: Sequence[Choice], taken: int, title: str) -> None:
        """Show choices under a title; without any, nothing is shown but a title."""
        self._choices, self._taken = choices, taken
        self.border_title = title.replace("[", "\\[")
        more = len(choices) - ROWS
        self.border_subtitle = f"{more} more" if more > 0 else ""
        self.display = bool(choices or title)
        self.styles.height = min(ROWS, len(choices)) + 2
        self.refresh()

    def render(self) -> Text:
        """The choices around the one that was taken."""
        width = max(0, self.content_size.width - 1)
        first = max(0, min(self._taken - ROWS // 2, len(self._choices) - ROWS))
        shown = self._choices[first : first + ROWS]
        wide = min(_LABEL, max([columns(visible(item.label)) for item in shown], default=0))
        text = Text(no_wrap=True, overflow="ellipsis")
        for number, item in enumerate(shown, first):
            label = fit(visible(item.label), wide)
            room = width - wide - 3
            line = f"{label}{' ' * (wide - columns(label) + 2)}"
            text.append("▌" if number == self._taken else " ")
            text.append(line, "bold" if number == self._taken else "")
            text.append(f"{fit(visible(item.doc), room) if room > 0 else ''}\n", "dim")
        text.rstrip()
        return text


class CommandInput(BarInput):
    """Up and down go through the commands typed before; Tab completes. With `usage`, which tells what a line begins with, there is a menu."""

    BINDINGS = [  # noqa: RUF012  # as Textual declares it
        Binding("up", "older", show=False),
        Binding("down", "newer", show=False),
        Binding("tab", "complete", show=False),
        Binding("shift+tab", "complete(-1)", show=False),
    ]

    def __init__(
        self,
        history: list[str],
        complete: Callable[[str], list[Choice]],
        name: str,
        usage: Callable[[str], str] | None = None,
    ) -> None:
        super().__init__(id=name, select_on_focus=False)
        self.history, self._complete, self._usage = history, complete, usage
        self.lead = ":" if usage is not None else " "
        self._place = 0
        self._choices: list[Choice] = []  # what may follow the text that was typed
        self._taken = -1  # the choice that Tab put into the line

    def begin(self, text: str = "") -> None:
        """Show the line with a text, and take the focus."""
        self._place = len(self.history)
        super().begin(text)
        self._list()

    def on_blur(self) -> None:
        """Close the menu, too."""
        super().on_blur()
        if self._usage is not None:
            self._menu.display = False

    def on_input_changed(self, event: Input.Changed) -> None:
        """List what may follow now."""
        if self.display and self.has_focus:
            self._list()

    @property
    def _menu(self) -> CommandMenu:
        return self.screen.query_one(CommandMenu)

    def _list(self) -> None:
        """List what may follow, unless the text is one of the choices listed already."""
        if not (0 <= self._taken < len(self._choices) and self._choices[self._taken].text == self.value):
            self._choices, self._taken = self._complete(self.value), -1
        if self._usage is not None:
            self._menu.show(self._choices, self._taken, self._usage(self.value))

    def remember(self, text: str) -> None:
        """Add a command to the history."""
        if text.strip() and self.history[-1:] != [text]:
            self.history.append(text)

    def action_older(self) -> None:
        """Show the command before."""
        self._show(self._place - 1)

    def action_newer(self) -> None:
        """Show the command behind."""
        self._show(self._place + 1)

    def _show(self, place: int) -> None:
        if 0 <= place <= len(self.history):
            self._place = place
            self._set(self.history[place] if place < len(self.history) else "")

    def action_complete(self, by: int = 1) -> None:
        """Complete the last word; Tab again takes the next choice."""
        self._list()
        if self._choices:
            before = self._taken if self._taken >= 0 or by > 0 else 0
            self._taken = (before + by) % len(self._choices)
            self._set(self._choices[self._taken].text)
            self._list()

    def _set(self, text: str) -> None:
        self.value = text
        self.cursor_position = len(text)
