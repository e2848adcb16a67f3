"""The style sheet of Textual, which parses again only what changed."""

from __future__ import annotations

from textual.cache import LRUCache
from textual.css.stylesheet import Stylesheet

_MOST = 256  # sources whose rules are kept: those of the explorer, and one for each class of widgets


class StyleRules(Stylesheet):
    """Rules stay while the colours stay. Textual parses all sources anew for each theme that is set, also for the same one."""

    def __init__(self, variables: dict[str, str]) -> None:
        super().__init__(variables=variables)
        self._parse_cache = LRUCache(_MOST)

    def set_variables(self, variables: dict[str, str]) -> None:
        """Set colours and other variables. The same ones change nothing."""
        if variables != self._variables:
            super().set_variables(variables)

    def reparse(self) -> None:
        """Parse what was not parsed with these variables."""
        self.parse()
