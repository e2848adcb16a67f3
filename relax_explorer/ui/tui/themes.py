"""Themes for Textual, and the characters that a terminal may get."""

from __future__ import annotations

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter
from textual.theme import Theme

from relax_explorer.ui.process import no_colors
from relax_explorer.viz.tokens import DARK, MONO, THEMES, Tokens
from relax_explorer.viz.visible import ascii_cells, visible


class _Safe(LineFilter):
    """Replaces control characters, cell by cell."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same segments without control characters."""
        return [item if item.text.isprintable() else _replaced(item) for item in segments]


class _Ascii(LineFilter):
    """Replaces all other characters by ASCII, cell by cell, so that every screen keeps its layout."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same segments in ASCII."""
        return [
            item if item.text.isascii() else Segment(ascii_cells(item.text), item.style, item.control)
            for item in segments
        ]


def _replaced(segment: Segment) -> Segment:
    text = "".join(c if visible(c) == c else "�" for c in segment.text)
    return Segment(text, segment.style, segment.control)


SAFE = _Safe()
ASCII = _Ascii()


# -- themes ----------------------------------------------------------------------------------------------------------
# The themes of `viz.tokens` for Textual.


PLAIN = "ansi_default"
# Every colour of Textual's own widgets that would otherwise be one of the sixteen. What it said is said in reverse.
_PLAIN_VARIABLES = dict.fromkeys(
    (
        "border", "muted", "ansi-background", "ansi-foreground", "border-blurred", "block-cursor-foreground", "block-cursor-background",
        "scrollbar", "scrollbar-hover", "scrollbar-active", "scrollbar-background", "scrollbar-background-hover",
        "scrollbar-background-active", "scrollbar-corner-color", "link-background-hover", "link-color", "link-color-hover",
        "footer-key-foreground", "input-selection-background", "screen-selection-background", "screen-selection-foreground",
    ), PLAIN,
) | {"block-cursor-text-style": "reverse", "input-cursor-text-style": "reverse", "row": PLAIN, "row-style": "bold reverse"}  # fmt: skip


def chosen_theme(name: str) -> Tokens:
    """The theme of an option: auto, dark, light, classic or mono."""
    if name == "auto":
        return MONO if no_colors() else DARK
    return THEMES[f"rxe-{name}"]


def textual_theme(tokens: Tokens) -> Theme:
    """A theme as Textual takes it. The mono theme leaves the terminal its own colours."""
    return Theme(
        name=tokens.name,
        primary=tokens.focus or PLAIN,
        background=tokens.ground or PLAIN,
        surface=tokens.ground or PLAIN,
        panel=tokens.panel or PLAIN,
        foreground=tokens.role("text").color or PLAIN,
        dark=tokens.dark,
        ansi=not tokens.ground,  # the colours of the terminal, not those that Textual takes for them
        variables=_PLAIN_VARIABLES
        if not tokens.ground
        else {
            "border": tokens.border,
            "muted": tokens.role("muted").color,
            "row": tokens.cursor,
            "row-style": "bold",
        },
    )
