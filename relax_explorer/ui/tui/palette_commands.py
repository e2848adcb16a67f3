"""The command palette: every action of the current screen, and the commands of the `:` line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Protocol, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from relax_explorer.ui.tui import keys
from relax_explorer.ui.tui.keys import Keymap
from relax_explorer.ui.tui.typed import TYPED


class Acting(Protocol):
    """The app: it runs an action of its screen, and opens the `:` line."""

    screen_name: str
    keymap: Keymap

    async def act(self, action: str) -> None:
        """Run an action."""

    def ask(self, text: str) -> None:
        """Open the `:` line with a text."""


class KeyCommands(Provider):
    """The actions of the screen below the palette."""

    def _entries(self) -> Iterator[tuple[str, str, Callable[[], object]]]:
        app = cast(Acting, self.app)
        seen: set[str] = set()  # what two do stands once, with the key
        for key in keys.keys_of(app.screen_name, app.keymap):
            if key.description not in seen:
                seen.add(key.description)
                yield key.description, key.label, partial(app.act, key.action)
        for item in TYPED:
            if item.doc.rstrip(".") not in seen:
                yield item.doc, f":{item.name}", partial(app.ask, f"{item.name} ")

    async def discover(self) -> Hits:
        """All actions."""
        for description, label, action in self._entries():
            yield DiscoveryHit(description, action, help=label)

    async def search(self, query: str) -> Hits:
        """Actions whose description matches."""
        matcher = self.matcher(query)
        for description, label, action in self._entries():
            score = matcher.match(description)
            if score > 0:
                yield Hit(score, matcher.highlight(description), action, help=label)
