"""The command palette: every action of the screen and the commands of the `:` line, safe for fast keys and clicks and for low terminals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import cast

from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.command import CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.events import Click, Mount
from textual.widgets import Input

from relax_explorer.ui.tui import keys
from relax_explorer.ui.tui.host import Host
from relax_explorer.ui.tui.screens.moving import Settling
from relax_explorer.ui.tui.typed import TYPED


class KeyCommands(Provider):
    """The actions of the screen below the palette."""

    def _entries(self) -> Iterator[tuple[str, str, Callable[[], object]]]:
        app = cast(Host, self.app)
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


# -- command palette -------------------------------------------------------------------------------------------------
# The command palette of Textual, made safe for fast keys and clicks and for low terminals.


class Entries(CommandList):
    """The commands that were found. A click may arrive when fewer are listed than were drawn."""

    def on_click(self, event: Click) -> None:
        """Don't choose a line that is gone: Textual would raise IndexError."""
        if event.style.meta.get("option", -1) >= self.option_count:
            event.prevent_default()


class Palette(CommandPalette, Settling):
    """The palette of the current screen."""

    def compose(self) -> ComposeResult:
        """The palette of Textual with a list that takes late clicks."""
        for widget in super().compose():
            yield Entries() if type(widget) is CommandList else widget

    def dismiss(self, result: None = None) -> AwaitComplete:
        """Close, unless an earlier key or click did: Textual would then close the screen below."""
        return super().dismiss(result) if self.app.screen is self else AwaitComplete()

    def on_mount(self, event: Mount) -> None:
        """Don't list commands in a palette that a click closed at once: its list is gone."""
        self._drop_if_closed(event)

    def on_click(self, event: Click) -> None:
        """Take no click beside the screen, as when the terminal shrank meanwhile: Textual would raise NoWidget."""
        if not self.region.contains_point(event.screen_offset):
            event.prevent_default()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Don't search in a palette that is closed."""
        self._drop_if_closed(event)

    def _drop_if_closed(self, event: Mount | Input.Changed) -> None:
        if self.app.screen is not self:
            event.prevent_default()

    def _action_command_list(self, action: str) -> None:
        """Pass an action on to the list. Without room for a line, Textual's list knows no pages and raises KeyError."""
        if self.query_one(CommandList).scrollable_content_region:
            super()._action_command_list(action)

    def _watch__list_visible(self) -> None:
        """Show or hide the list. A search may end when the palette has lost it."""
        if self.query(CommandList):
            super()._watch__list_visible()

    async def _watch__show_busy(self) -> None:
        """Show or hide that a search goes on, likewise."""
        if self.query(CommandList):
            await super()._watch__show_busy()
