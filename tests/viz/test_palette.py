"""Colours: every text is readable and every outline visible, in each theme."""

from __future__ import annotations

import itertools

import pytest

from relax_explorer.viz.compact import OpClass
from relax_explorer.viz.graph import Kind, Mark
from relax_explorer.viz.palette import (
    HEAT_LEVELS,
    HUE_OF_CLASS,
    OKABE_ITO,
    STORAGE_HUES,
    THEMES,
    Theme,
    contrast,
    luminance,
    mix,
)

themes = pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)


def test_contrast_is_that_of_the_guideline() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)
    assert contrast("#0072b2", "#0072b2") == 1
    assert luminance("#808080") == pytest.approx(0.2159, abs=1e-4)


def test_mix_goes_from_one_colour_to_the_other() -> None:
    assert mix("#102030", "#ffffff", 1) == "#102030"
    assert mix("#102030", "#ffffff", 0) == "#ffffff"
    assert mix("#000000", "#ffffff", 0.5) == "#808080"


@themes
def test_every_text_is_readable(theme: Theme) -> None:
    weak = {}
    for colour in (theme.text, theme.muted):
        weak[colour] = contrast(colour, theme.background)
    for role, paint in (theme.nodes | theme.changes).items():
        weak[role, "theme text"] = contrast(theme.text, paint.fill)
        weak[role, "on fill"] = contrast(paint.text, paint.fill)
        weak[role, "on paper"] = contrast(paint.text, theme.background)
    assert not {what: ratio for what, ratio in weak.items() if ratio < 4.5}


@themes
def test_every_line_is_visible(theme: Theme) -> None:
    lines = {"edge": theme.edge} | {
        role: paint.stroke for role, paint in (theme.nodes | theme.changes).items()
    }
    assert not {role for role, colour in lines.items() if contrast(colour, theme.background) < 3}


@themes
def test_each_kind_and_mark_has_a_role(theme: Theme) -> None:
    heat = {f"heat-{level}" for level in range(HEAT_LEVELS)}
    storages = {f"storage-{name}" for name in (*range(len(STORAGE_HUES)), "other", "none")}
    classes = {f"is-{name}" for name in HUE_OF_CLASS}
    assert {kind.value for kind in Kind} | classes | heat | storages == set(theme.nodes)
    assert set(HUE_OF_CLASS) == {item.name.lower() for item in OpClass} - {"other"}
    assert {mark.value for mark in Mark} <= set(theme.changes)
    with pytest.raises(KeyError):
        theme.node("unheard of")


@themes
def test_added_and_removed_differ_without_red_and_green(theme: Theme) -> None:
    """Protanopia and deuteranopia leave the blue channel intact, and the pair differs most there."""
    added, removed = theme.change("added").text, theme.change("removed").text
    assert abs(int(added[5:7], 16) - int(removed[5:7], 16)) > 60


def test_hues_are_distinct() -> None:
    assert all(one != other for one, other in itertools.combinations(OKABE_ITO.values(), 2))
