"""The documents that an editor has open: what is known of each, and the checks that run while the user types.

After a burst of edits a spot check answers at once, on the loop; the whole is checked in a thread behind it, and gives up as soon as
the next edit comes.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.ir.pauses import Pauses
from relax_explorer.ui.editor.document import Document
from relax_explorer.ui.editor.regions import Checked, Rules, check, unchecked
from relax_explorer.ui.editor.spot_check import Before, spot_check

SOON = 0.03  # seconds in which further edits belong to the same burst
LATER = 0.25  # seconds without an edit before the whole is checked
_LONGEST = 0.1  # seconds that the thread leaves the interpreter to the loop
Told = Callable[["OpenText", list[Diagnostic], bool], None]


class Superseded(Exception):
    """The text changed while it was checked."""


@dataclass(eq=False)
class OpenText:
    """One open document: its text, the last check of the whole, and what spot checks need of that."""

    uri: str
    document: Document
    version: int | None = None
    checked: Checked | None = None
    before: tuple[Before, ...] = ()
    names: Checked = field(init=False)
    values: dict[str, str] = field(default_factory=dict)
    ran: str = ""  # the text whose run gave the values
    pending: asyncio.Task[None] | None = None
    running: asyncio.Future[Checked] | None = None

    def __post_init__(self) -> None:
        self.names = unchecked(self.document)

    @property
    def is_fresh(self) -> bool:
        """True if the last check is that of the present text."""
        return self.checked is not None and self.checked.document is self.document

    @property
    def seen(self) -> Checked:
        """The present text for questions about names, checked if it is."""
        return self.checked if self.checked is not None and self.is_fresh else self.names

    def change(self, document: Document, version: int | None) -> None:
        """Take another text."""
        self.document, self.version = document, version
        self.names = unchecked(document)


class OpenTexts:
    """All open documents. `told` gets the problems of one, and if they are those of the whole."""

    def __init__(self, rules: Rules, told: Told) -> None:
        self.rules, self.told = rules, told
        self.texts: dict[str, OpenText] = {}
        self._thread = ThreadPoolExecutor(1, "check")
        self._stop = threading.Event()
        self._is_free = threading.Event()
        self._is_free.set()

    def open(self, uri: str, document: Document, version: int | None) -> None:
        """Take a document that the editor opened, and check it."""
        text = self.texts[uri] = OpenText(uri, document, version)
        self._start(text)

    def change(self, uri: str, document: Document, version: int | None) -> None:
        """Take a changed text, and check it when the burst of edits is over."""
        text = self.texts[uri]
        text.change(document, version)
        self._start(text)

    def close(self, uri: str) -> None:
        """Forget a document."""
        text = self.texts.pop(uri, None)
        if text is not None and text.pending is not None:
            text.pending.cancel()

    def end(self) -> None:
        """Give up all work."""
        for uri in list(self.texts):
            self.close(uri)
        self._stop.set()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _start(self, text: OpenText) -> None:
        if text.pending is not None:
            text.pending.cancel()
        if text.running is not None:
            self._stop.set()  # its thread gives up
        text.pending = asyncio.get_running_loop().create_task(self._refresh(text))

    async def _refresh(self, text: OpenText) -> None:
        await asyncio.sleep(SOON if text.checked is not None else 0)
        if text.checked is not None:
            self._is_free.clear()
            try:
                spot = spot_check(text.document, text.checked, text.before, self.rules)
            finally:
                self._is_free.set()
            if spot is not None:
                self.told(text, list(spot.problems), False)
                await asyncio.sleep(LATER)
        await self.fresh(text)

    async def fresh(self, text: OpenText) -> Checked:
        """The check of the whole of the present text; who waits gets that of the last edit."""
        while not text.is_fresh:
            if text.running is None:
                text.running = asyncio.ensure_future(self._check(text))
            try:
                await asyncio.shield(text.running)
            except Superseded:
                continue
        assert text.checked is not None  # a fresh text was checked
        return text.checked

    async def _check(self, text: OpenText) -> Checked:
        """Check the whole in the thread. Raises Superseded."""
        document, before = text.document, text.checked
        self._stop.clear()
        try:
            loop = asyncio.get_running_loop()
            checked, prepared = await loop.run_in_executor(self._thread, self._work, document, before)
        finally:
            text.running = None
        if document is not text.document:
            raise Superseded
        text.checked, text.before = checked, prepared
        if self.texts.get(text.uri) is text:
            self.told(text, checked.problems, True)
        return checked

    def _work(self, document: Document, before: Checked | None) -> tuple[Checked, tuple[Before, ...]]:
        owner = threading.get_ident()

        def pause() -> None:
            if threading.get_ident() == owner:
                if self._stop.is_set():
                    raise Superseded
                self._is_free.wait(_LONGEST)

        Pauses.pause = pause
        try:
            checked = check(document, self.rules, before)
            prepared = tuple(map(Before, checked.regions))
            for item in prepared:
                item.prepare()
            return checked, prepared
        finally:
            Pauses.pause = None
