"""How the screen is drawn: what changed of it, and in turns with other work."""

from __future__ import annotations

import asyncio
import selectors
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import ClassVar, cast

from textual._compositor import ChopsUpdate, Compositor
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from relax_explorer.core.ir.pauses import Pauses
from relax_explorer.ui import process

SHORT = 0.0005  # seconds after which a thread asks for its turn; Python takes 0.005
SELDOM = 0.02  # seconds between two polls of a loop that has work left
LONGEST = 0.1  # seconds of a pause: the terminal might wait for something that the paused thread has


def give_way() -> None:
    """Let long work go on, until the next poll or `keep_turn`."""
    Pauses.pause = None
    Turns.is_free.set()


def keep_turn() -> None:
    """Let long work of other threads pause."""
    if Turns.are_taken:
        Turns.is_free.clear()
        Pauses.pause = _pause


def take_turns() -> None:
    """Keep the interpreter from now on: a key came. Until then the user waits for the thread that reads the program."""
    Turns.are_taken = Turns.is_in_use


def _pause() -> None:
    if threading.current_thread() is not threading.main_thread():
        Turns.is_free.wait(LONGEST)


class Turns(selectors.DefaultSelector):
    """Polls only when nothing is left to do, or a while after the last poll, and gives the interpreter away only then."""

    is_in_use: ClassVar[bool] = False  # by the event loop of this process
    are_taken: ClassVar[bool] = False
    is_free: ClassVar[threading.Event] = threading.Event()  # the terminal has nothing to do

    def __init__(self) -> None:
        super().__init__()
        self._polled = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """The files that are ready within some seconds. Without time to wait the list may be empty though some are."""
        if not self.are_taken:
            return super().select(timeout)
        if timeout is not None and timeout <= 0 and time.perf_counter() - self._polled < SELDOM:
            return []
        give_way()
        try:
            return super().select(timeout)
        finally:
            keep_turn()
            self._polled = time.perf_counter()

    def close(self) -> None:
        """End the loop; work that is left goes on."""
        super().close()
        give_way()


def event_loop() -> asyncio.AbstractEventLoop:
    """The event loop of the explorer. That of Windows polls in its own way, so its threads take equal turns."""
    process.shorten_turns(SHORT)
    if sys.platform == "win32":
        return asyncio.new_event_loop()
    Turns.is_in_use, Turns.are_taken = True, False
    return asyncio.SelectorEventLoop(Turns())


# -- painting --------------------------------------------------------------------------------------------------------
# What a screen draws again after a change: only the rows that changed, and only widgets that no other one hides.


_Cells = dict[int, Strip | None]  # what a row shows from a column on, up to the next column


class Painter(Compositor):
    """A compositor of Textual that asks widgets for fewer rows.

    Textual asks each widget near a change for all of its rows, also containers below it, of which nothing is seen.
    Most of the time between a key and its picture was spent there.
    """

    def update_widgets(self, widgets: set[Widget]) -> None:
        """Draw some widgets in the next picture, and with them all that wait to tell that they changed: one picture, not two."""
        super().update_widgets(
            widgets | {widget for widget in self.visible_widgets if widget._repaint_regions}
        )

    def render_partial_update(self) -> ChopsUpdate | None:
        """What changed since the last picture."""
        spans = list(self._regions_to_spans(self._dirty_regions))
        self._dirty_regions.clear()
        wanted: dict[int, list[tuple[int, int]]] = {}
        for y, start, end in spans:
            if y < self.size.height:
                wanted.setdefault(y, []).append((start, end))
        spans = [span for span in spans if span[0] in wanted]
        return ChopsUpdate(self._chops(wanted), spans, [row[1:] for row in self.cuts]) if spans else None

    def _render_chops(
        self, crop: Region, is_rendered_line: Callable[[int], bool]
    ) -> Sequence[Mapping[int, Strip]]:
        whole = [(0, self.size.width)]
        chops = self._chops({y: whole for y in crop.line_range if is_rendered_line(y)})
        return cast("Sequence[Mapping[int, Strip]]", chops)  # all of these rows are wanted

    def _chops(self, wanted: Mapping[int, list[tuple[int, int]]]) -> Sequence[Mapping[int, Strip | None]]:
        """The cells of the screen, None where they are not wanted. `wanted` has the columns by rows."""
        cuts = self.cuts
        screen: list[_Cells] = [dict.fromkeys(row[:-1]) for row in cuts]
        unseen = {
            y: [
                cell
                for cell in pairwise(cuts[y])
                if any(cell[0] < end and cell[1] > start for start, end in spans)
            ]
            for y, spans in wanted.items()
        }
        for widget, (region, clip) in self.visible_widgets.items():  # those in front come first
            left, top, width, height = area = region.intersection(clip)
            right, bottom = left + width, top + height
            gaps: list[tuple[int, list[tuple[int, int]]]] = []  # rows in which the widget is seen, and where
            for y, cells in unseen.items():
                if cells and top <= y < bottom:
                    seen = [cell for cell in cells if left <= cell[0] and cell[1] <= right]
                    if seen:
                        gaps.append((y, seen))
                        unseen[y] = [cell for cell in cells if cell not in seen]
            if gaps:
                first, last = gaps[0][0], gaps[-1][0] + 1
                strips = widget.render_lines(
                    Region(left - region.x, first - region.y, area.width, last - first)
                )
                for y, seen in gaps:
                    row, strip = screen[y], strips[y - first]
                    for start, end in seen:
                        row[start] = strip.crop(start - left, end - left)
        return screen
