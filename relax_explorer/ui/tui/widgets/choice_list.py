"""A list to choose from that knows it may have no room."""

from __future__ import annotations

from textual.widgets import OptionList


class ChoiceList(OptionList):
    """Textual's list, which looks up lines that it has not laid out when it pages without room."""

    def action_page_up(self) -> None:
        """Move up a page; to the first choice where there is no room for a page."""
        if self.scrollable_content_region:
            super().action_page_up()  # type: ignore[no-untyped-call]  # of Textual
        else:
            self.action_first()

    def action_page_down(self) -> None:
        """Move down a page; to the last choice where there is no room for a page."""
        if self.scrollable_content_region:
            super().action_page_down()  # type: ignore[no-untyped-call]  # of Textual
        else:
            self.action_last()
