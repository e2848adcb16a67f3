"""Keys and clicks of a session as lines of text: written while somebody works, and played again, and what they may touch then.

    size 80 24
    key ] j enter
    type /softmax
    click 12 4

Each is played when the work of the one before is done, so that a recording always leads to the same screen. `now` in front of a
key that cancels work plays it at once.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from textual import events
from textual.app import App
from textual.errors import NoWidget
from textual.geometry import Region
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import Widget

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.session.call_inputs import CallInputs, is_file
from relax_explorer.core.session.folders import address
from relax_explorer.core.syntax.notes import UnreadableText, short_text
from relax_explorer.ui import directories
from relax_explorer.ui.files import Target
from relax_explorer.viz.visible import visible

STEP = 0.02  # seconds between looks at work that runs
AT_ONCE = 0.3  # seconds before a key that cancels
CANCELLING = ("escape", "ctrl+c", "ctrl+q")
_NUMBERS = {"size": 2, "click": 2, "drag": 4}
_SCROLLS: dict[str, type[events.MouseEvent]] = {"up": events.MouseScrollUp, "down": events.MouseScrollDown}


class BadRecording(Exception):
    """A line of a recording that can't be read or played. The text says why."""


@dataclass(frozen=True, slots=True)
class Event:
    """One line: `size`, `key`, `type`, `paste`, `click`, `drag` or `scroll`, and what follows the word.

    `is_now` plays a key without waiting for the work that runs.
    """

    kind: str
    words: tuple[str, ...] = ()
    line: int = 0
    is_now: bool = False

    @property
    def numbers(self) -> tuple[int, ...]:
        """The words that are numbers: columns and rows."""
        return tuple(int(word) for word in self.words if word.isdecimal())

    @property
    def text(self) -> str:
        """The line."""
        return " ".join(["now"] * self.is_now + [self.kind, *self.words])


def read(text: str) -> list[Event]:
    """The events of a recording. Empty lines and those that start with `#` say nothing. Raises BadRecording."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            found.append(_event(line, number))
    return found


def _event(line: str, number: int) -> Event:
    head, _, rest = line.strip().partition(" ")
    is_now = head == "now"
    if is_now:
        head, _, rest = rest.strip().partition(" ")
    words = tuple(rest.split())
    if head == "type":
        return Event(head, (rest,), number)
    if head == "paste" and _pasted(rest) is not None:
        return Event(head, (rest,), number)
    if head == "key" and words:
        return Event(head, words, number, is_now)
    if (
        head in _NUMBERS
        and not is_now
        and len(words) == _NUMBERS[head]
        and all(re.fullmatch(r"[0-9]{1,4}", word) for word in words)
    ):
        return Event(head, words, number)
    if (
        head == "scroll"
        and len(words) == 3
        and words[0] in _SCROLLS
        and all(word.isdecimal() for word in words[1:])
    ):
        return Event(head, words, number)
    forms = 'size W H, key NAME ..., type TEXT, paste "TEXT", click X Y, drag X Y X Y, scroll up|down X Y'
    raise BadRecording(f"line {number}: {line.strip()!r} is none of {forms}")


def _pasted(text: str) -> str | None:
    """The text of a JSON string, which may hold several lines; None if it is none."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, str) else None


@dataclass
class Recorder:
    """Turns the events of an explorer into lines, and writes them to a file when it ends."""

    target: Target
    title: str = ""
    lines: list[str] = field(default_factory=list)
    _down: tuple[int, int] = (0, 0)

    def take(self, event: events.Event, is_busy: bool) -> None:
        """Note an event if it came from the terminal."""
        found = self._line(event, is_busy)
        if found:
            self.lines.append(found)

    def _line(self, event: events.Event, is_busy: bool) -> str:
        if isinstance(event, events.Resize):
            found = f"size {event.size.width} {event.size.height}"
            return "" if found in self.lines[-1:] else found
        if event.is_forwarded:  # it has been through the app
            return ""
        if isinstance(event, events.Paste):
            return f"paste {json.dumps(event.text)}"
        if isinstance(event, events.Key):
            name = event.character if event.is_printable and event.character != " " else event.key
            return f"{'now ' if is_busy and event.key in CANCELLING else ''}key {name}"
        if isinstance(event, events.MouseDown):
            self._down = (event.x, event.y)
        elif isinstance(event, events.MouseUp):
            at = (event.x, event.y)
            return (
                "click {} {}".format(*at) if at == self._down else "drag {} {} {} {}".format(*self._down, *at)
            )
        elif isinstance(event, (events.MouseScrollUp, events.MouseScrollDown)):
            return f"scroll {'up' if isinstance(event, events.MouseScrollUp) else 'down'} {event.x} {event.y}"
        return ""

    def finish(self) -> None:
        """Write the file. Raises CannotWrite."""
        self.target.write("\n".join([f"# {self.title}", *self.lines, ""]).encode())


async def play(
    pilot: Pilot[object], is_idle: Callable[[], bool], found: Sequence[Event], shown: Callable[[Event], None] = lambda event: None,
    pause: float = 0.0,
) -> None:  # fmt: skip
    """Play events, each after the work of the one before, and `pause` seconds later. `shown` is called after each.

    `is_idle` tells whether the explorer has no work left.

    Raises BadRecording for a place that is not on the screen, and for a key after the explorer ended.
    """
    await at_rest(pilot, is_idle)
    for number, event in enumerate(found):
        if not pilot.app.is_running:
            raise BadRecording(f"line {event.line}: the explorer ended before it")
        await asyncio.sleep(pause)
        await _perform(pilot, is_idle, event)
        if not (number + 1 < len(found) and found[number + 1].is_now):
            await at_rest(pilot, is_idle)
        shown(event)


async def at_rest(pilot: Pilot[object], is_idle: Callable[[], bool]) -> None:
    """Wait for the work that runs."""
    await pilot.pause()
    while pilot.app.is_running and not is_idle():
        await pilot.pause(STEP)
    if pilot.app.is_running:
        await pilot.pause()


async def _perform(pilot: Pilot[object], is_idle: Callable[[], bool], event: Event) -> None:
    match event.kind:
        case "key" if event.is_now:
            await asyncio.sleep(AT_ONCE)
            await pilot.press(*event.words)
        case "key":
            for name in event.words[:-1]:
                await pilot.press(name)
                await at_rest(pilot, is_idle)
            await pilot.press(event.words[-1])
        case "type":
            await pilot.press(*["space" if letter == " " else letter for letter in event.words[0]])
        case "paste":
            pilot.app.post_message(events.Paste(_pasted(event.words[0]) or ""))
        case "size" if pilot.app.is_headless:
            await pilot.resize_terminal(*event.numbers)
        case "click":
            _post(pilot.app, event, events.MouseDown, events.MouseUp)
        case "drag":
            _post(pilot.app, event, events.MouseDown, events.MouseUp)
        case "scroll":
            _post(pilot.app, event, _SCROLLS[event.words[0]])


def _post(app: App[object], event: Event, *parts: type[events.MouseEvent]) -> None:
    """Send the parts of a click as a terminal does."""
    size = app.size
    for number, part in enumerate(parts):
        x, y = event.numbers[2 * number :][:2] or event.numbers[:2]
        if not (x < size.width and y < size.height):
            raise BadRecording(
                f"line {event.line}: {event.text} is outside of the screen, {size.width} by {size.height}"
            )
        button = 0 if event.kind == "scroll" else 1
        app.post_message(part(None, x, y, 0, 0, button, False, False, False, x, y))


def screen_text(app: App[int]) -> str:
    """The characters on the screen, line by line. Textual has pictures of a screen, but no text."""
    width, height = app.size
    return "\n".join([_row_text(app.screen, y, width).rstrip() for y in range(height)])


def _row_text(screen: Screen[object], y: int, width: int) -> str:
    """A row of a screen, from what each widget shows of itself there. Where none lies yet, it is blank."""
    text, start = "", 0
    for place, cells in groupby(range(width), lambda x: _widget_at(screen, x, y)):
        end = start + len(list(cells))
        if place is None:
            text += " " * (end - start)
        else:
            widget, region = place
            part = Region(start - region.x, y - region.y, end - start, 1)
            text += widget.render_lines(part)[0].text
        start = end
    return text


def _widget_at(screen: Screen[object], x: int, y: int) -> tuple[Widget, Region] | None:
    try:
        return screen.get_widget_at(x, y)
    except NoWidget:  # the screen was not laid out for this size
        return None


def read_file(path: str) -> list[Event]:
    """The events of a file. Raises BadRecording."""
    try:
        return read(short_text(path))
    except (UnreadableText, BadRecording) as problem:
        raise BadRecording(f"{path}: {problem}") from None


# -- permit ----------------------------------------------------------------------------------------------------------
# What the explorer may touch. Keys of a recording may be those of a stranger: they open its program, and write no
# file.


FLAG = "--allow-writes"
_SHOWN = 200  # characters of a path


@dataclass(slots=True)
class Permit:
    """Everything while the user has the keys. While a recording plays, only the files that the command line names."""

    is_all: bool = True
    is_typed: bool = True  # the user has the keys: they may start passes of TVM and of her own
    named: list[Path] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)  # what was said, each once

    def name(self, paths: Iterable[str]) -> None:
        """Let a recording open some files, and all in these folders."""
        for path in paths:
            if path and (real := _real(path)) is not None:
                self.named.append(real)

    def to_write(self, name: str) -> str:
        """Why a file is not written; empty if it may be."""
        if self.is_all:
            return ""
        return self._refusal(f"not written: {visible(name, _SHOWN)}; a recording writes files with {FLAG}")

    def to_open(self, path: str) -> str:
        """Why a file or a folder is not opened; empty if it may be."""
        if self.is_all or self._is_own(path):
            return ""
        return self._refusal(
            f"not opened: {visible(path, _SHOWN)}; a recording opens other files with {FLAG}"
        )

    def opened(self, path: str) -> str:
        """The path. Raises Failure if it may not be opened."""
        if refusal := self.to_open(path):
            raise Failure(Diagnostic(codes.UNREADABLE, refusal))
        return path

    def checked(self, call: CallInputs) -> CallInputs:
        """The inputs of a call. Raises Failure if they are in a file that may not be opened."""
        if self.is_all:  # to ask what is a file looks at the disk
            return call
        for source in call.sources.values():
            if "/" in source or is_file(source):
                self.opened(source)
        if call.calls:
            self.opened(call.calls)
        return call

    def _is_own(self, path: str) -> bool:
        real = [found for name in {path, address(path)[0]} if (found := _real(name)) is not None]
        known = [*self.named, *(item.resolve() for item in directories.samples())]
        return any(item == own or own in item.parents for item in real for own in known)

    def _refusal(self, text: str) -> str:
        if text not in self.refused:
            self.refused.append(text)
        return text


def _real(path: str) -> Path | None:
    """A path without links; None for what no path can be."""
    try:
        return Path(path).expanduser().resolve()
    except (OSError, ValueError, RuntimeError):
        return None


ALL = Permit()
