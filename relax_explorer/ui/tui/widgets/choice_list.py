"""A choice list that works without room on the screen."""

from __future__ import annotations

from textual.widgets import OptionList


class ChoiceList(OptionList):
    """Textual's list with a fix: without room, its paging reads lines that are not laid out."""

    def action_page_up(self) -> None:
        """Move up a page, or to the first choice if there is no room for a page."""
        if self.scrollable_content_region:
            super().action_page_up()  # type: ignore[no-untyped-call]  # of Textual
        else:
            self.action_first()

    def action_page_down(self) -> None:
        """Move down a page, or to the last choice if there is no room for a page."""
        if self.scrollable_content_region:
            super().action_page_down()  # type: ignore[no-untyped-call]  # of Textual
        else:
            self.action_last()
