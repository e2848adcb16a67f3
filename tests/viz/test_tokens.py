"""Every colour of the terminal themes can be read, on the ground and on the cursor row."""

from __future__ import annotations

import pytest

from relax_explorer.viz.compact import OpClass
from relax_explorer.viz.palette import contrast
from relax_explorer.viz.tokens import GLYPH_ROLES, MONO, THEMES, Tokens

COLORED = [theme for theme in THEMES.values() if theme is not MONO]


@pytest.mark.parametrize("theme", COLORED, ids=lambda theme: theme.name)
def test_every_token_can_be_read_on_every_ground(theme: Tokens) -> None:
    for name, token in theme.roles.items():
        for ground in filter(
            None, (theme.ground, theme.cursor, theme.panel, token.ground)
        ):  # the cursor row covers an own ground
            assert contrast(token.color, ground) >= 4.5, (name, ground)
    assert contrast(theme.focus, theme.ground) >= 3


def test_the_mono_theme_has_no_colours() -> None:
    assert not any(token.color or token.ground for token in MONO.roles.values())
    assert not MONO.ground + MONO.cursor + MONO.focus


@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
def test_marks_differ_without_colours_and_have_roles(theme: Tokens) -> None:
    assert theme.role("an unknown role") is theme.roles["text"]
    if theme is not MONO:
        assert {role for role in GLYPH_ROLES.values()} <= set(theme.roles)
        assert {kind.name.lower() for kind in OpClass} <= set(theme.roles)
