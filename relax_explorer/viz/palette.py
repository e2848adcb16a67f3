"""Every colour of the project: names, roles and two themes, safe for colour-blind readers.

The hues are those of Okabe and Ito (2008), which stay distinct under the three common kinds of colour blindness.
Text has a contrast of at least 4.5:1 against its background, and outlines have at least 3:1 (WCAG 2.1, 1.4.3 and
1.4.11). Colour is never the only carrier of a meaning: shapes, line styles and marks repeat it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

BLACK = "#000000"
WHITE = "#ffffff"

OKABE_ITO: Mapping[str, str] = {
    "black": "#000000",
    "orange": "#e69f00",
    "sky": "#56b4e9",
    "green": "#009e73",
    "yellow": "#f0e442",
    "blue": "#0072b2",
    "vermillion": "#d55e00",
    "purple": "#cc79a7",
    "grey": "#999999",
}

HUE_OF_NODE: Mapping[str, str] = {
    "parameter": "blue",
    "constant": "yellow",
    "operator": "grey",
    "call": "orange",
    "tuple": "grey",
    "output": "vermillion",
    "match_cast": "purple",
    "branch": "blue",
    "more": "grey",
    "function": "vermillion",
    "private": "sky",
    "prim_func": "yellow",
    "packed": "blue",
}
"""The hue of each kind of graph node; the keys are the values of `graph.Kind`."""

HUE_OF_CLASS: Mapping[str, str] = {
    "matmul": "sky",
    "elementwise": "green",
    "reduce": "orange",
    "shape": "grey",
    "call": "purple",
    "memory": "yellow",
    "effect": "vermillion",
}
"""The hue of each class of operations, as in the tables of the terminal."""

STORAGE_HUES = ("sky", "orange", "green", "purple", "yellow", "vermillion", "blue")
"""The hues of storages, in the order of their allocation. Storages with few values share one if there are more."""

HEAT_LEVELS = 5
_HEAT_HUE = "vermillion"

HUE_OF_CHANGE: Mapping[str, str] = {
    "added": "blue",
    "removed": "orange",
    "changed": "purple",
    "done": "grey",
    "type_changed": "green",
    "moved": "sky",
    "merged": "purple",
    "split": "purple",
    "current": "blue",
    "selected": "vermillion",
    "error": "vermillion",
    "warning": "orange",
    "note": "blue",
    "good": "green",
}
"""The hue of each role of a line, a node or a diagnostic."""


@dataclass(frozen=True, slots=True)
class Paint:
    """Colours of one role: `text` is readable, and `stroke` visible, on `fill` and on the background."""

    fill: str
    stroke: str
    text: str


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours of a medium with one background; look roles up with `node` and `change`."""

    name: str
    background: str
    text: str
    muted: str
    edge: str
    nodes: Mapping[str, Paint]
    changes: Mapping[str, Paint]

    def node(self, kind: str) -> Paint:
        """The colours of the look of a graph node (`graph.Node.look`); KeyError for an unknown one."""
        return self.nodes[kind]

    def change(self, role: str) -> Paint:
        """The colours of a change, a mark or a severity; KeyError for an unknown role."""
        return self.changes[role]


def channels(colour: str) -> tuple[int, int, int]:
    """Red, green and blue (0 to 255) of a colour written `#rrggbb`."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def mix(colour: str, other: str, share: float) -> str:
    """A colour between two: `share` (0 to 1) of the first and the rest of the second, linear in sRGB."""
    pairs = zip(channels(colour), channels(other), strict=True)
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in pairs)


@lru_cache(maxsize=256)
def luminance(colour: str) -> float:
    """Relative luminance (0 black to 1 white) as WCAG 2.1 defines it."""
    linear = [
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in (channel / 255 for channel in channels(colour))
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours, 1 (the same) to 21 (black on white), as WCAG 2.1 defines it."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def readable(hue: str, grounds: tuple[str, ...], ratio: float, towards: str) -> str:
    """The colour nearest to `hue`, on its way to `towards`, with at least `ratio` on all `grounds`."""
    for step in range(21):
        colour = mix(towards, hue, step / 20)
        if all(contrast(colour, ground) >= ratio for ground in grounds):
            return colour
    return towards


def _paint(hue: str, background: str, towards: str, tint: float) -> Paint:
    fill = mix(hue, background, tint)
    grounds = (fill, background)
    return Paint(fill, readable(hue, grounds, 3.0, towards), readable(hue, grounds, 4.6, towards))


def _theme(name: str, background: str, text: str, towards: str, tint: float) -> Theme:
    def paints(roles: Mapping[str, str]) -> dict[str, Paint]:
        return {role: _paint(OKABE_ITO[hue], background, towards, tint) for role, hue in roles.items()}

    heat = {
        f"heat-{level}": _paint(OKABE_ITO[_HEAT_HUE], background, towards, 0.04 + 0.13 * level)
        for level in range(HEAT_LEVELS)
    }
    storages = {
        f"storage-{number}": _paint(OKABE_ITO[hue], background, towards, 1.6 * tint)
        for number, hue in enumerate(STORAGE_HUES)
    } | {
        "storage-other": _paint(OKABE_ITO["grey"], background, towards, 1.6 * tint),
        "storage-none": _paint(OKABE_ITO["grey"], background, towards, 0.0),
    }
    return Theme(
        name=name,
        background=background,
        text=text,
        muted=mix(text, background, 0.68),
        edge=mix(text, background, 0.62),
        nodes=paints({**HUE_OF_NODE, **{f"is-{name}": hue for name, hue in HUE_OF_CLASS.items()}})
        | heat
        | storages,
        changes=paints(HUE_OF_CHANGE),
    )


LIGHT = _theme("light", WHITE, "#1b1f24", BLACK, 0.20)
DARK = _theme("dark", "#14171c", "#e6e9ee", WHITE, 0.22)
THEMES: Mapping[str, Theme] = {theme.name: theme for theme in (LIGHT, DARK)}
