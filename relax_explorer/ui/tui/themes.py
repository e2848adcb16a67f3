"""The themes of `viz.tokens` for Textual."""

from __future__ import annotations

import os

from textual.theme import Theme

from relax_explorer.viz.tokens import DARK, MONO, THEMES, Tokens

PLAIN = "ansi_default"


def chosen_theme(name: str) -> Tokens:
    """The theme of an option: auto, dark, light, classic or mono."""
    if name == "auto":
        return MONO if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else DARK
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
        variables={"border": tokens.border or PLAIN, "muted": tokens.role("muted").color or PLAIN},
    )
