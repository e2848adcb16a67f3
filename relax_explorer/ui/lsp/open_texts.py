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


class Closed(Exception):
    """The document was closed while somebody waited for its check."""


class Superseded(Exception):
    """The text changed while it was checked, or was closed."""


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
    running: asyncio.Future[None] | None = None
    is_open: bool = True

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
        if text is not None:
            text.is_open = False
            if text.pending is not None:
                text.pending.cancel()

    def end(self) -> None:
        """Give up all work."""
        for uri in list(self.texts):
            self.close(uri)
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _start(self, text: OpenText) -> None:
        if text.pending is not None:
            text.pending.cancel()
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
        """The check of the whole of the present text; who waits gets that of the last edit. Raises Closed."""
        while not text.is_fresh:
            if not text.is_open:
                raise Closed
            if text.running is None:
                text.running = asyncio.ensure_future(self._check(text))
            await asyncio.shield(text.running)
        assert text.checked is not None  # a fresh text was checked
        return text.checked

    async def _check(self, text: OpenText) -> None:
        """Check the whole in the thread, and keep the result if the text is still the same."""
        document = text.document
        try:
            done = await asyncio.get_running_loop().run_in_executor(self._thread, self._work, text, document)
        finally:
            text.running = None
        if done is not None and document is text.document:
            text.checked, text.before = done
            if text.is_open:
                self.told(text, done[0].problems, True)

    def _work(self, text: OpenText, document: Document) -> tuple[Checked, tuple[Before, ...]] | None:
        """A check of the whole; None if another edit came meanwhile."""
        owner = threading.get_ident()

        def pause() -> None:
            if threading.get_ident() == owner:
                if document is not text.document or not text.is_open:
                    raise Superseded
                self._is_free.wait(_LONGEST)

        Pauses.pause = pause
        try:
            checked = check(document, self.rules, text.checked)
            before = tuple(map(Before, checked.regions))
            for item in before:
                item.prepare()
            return checked, before
        except Superseded:
            return None
        finally:
            Pauses.pause = None
