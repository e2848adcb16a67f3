"""A screen of the explorer as a small SVG: one text for each run of cells with one style. Equal screens give equal files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape

from rich.color import Color
from rich.style import Style
from textual.strip import Strip

from relax_explorer.viz.tokens import Tokens
from relax_explorer.viz.visible import columns

WIDTH, HEIGHT, SIZE = 8.4, 18, 14  # of a cell, and of the font
MARGIN = 10


@dataclass(frozen=True)
class Run:
    """Neighbouring cells of one style."""

    column: int
    text: str
    style: Style


def screen_svg(strips: Iterable[Strip], tokens: Tokens, title: str) -> str:
    """The picture. Its title is for those who cannot see it."""
    rows = [list(_runs(strip)) for strip in strips]
    wide = max(run.column + columns(run.text) for row in rows for run in row)
    width, height = wide * WIDTH + 2 * MARGIN, len(rows) * HEIGHT + 2 * MARGIN
    body = "\n".join(line for number, row in enumerate(rows) for line in _row(number, row, tokens))
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img" aria-label="{escape(title)}">
<title>{escape(title)}</title>
<style>text {{ font: {SIZE}px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }}
.b {{ font-weight: 700; }} .u {{ text-decoration: underline; }} .s {{ text-decoration: line-through; }}</style>
<rect width="100%" height="100%" rx="8" fill="{tokens.ground}"/>
{body}
</svg>
"""


def _runs(strip: Strip) -> Iterator[Run]:
    """The runs of a row."""
    column, text, style = 0, "", Style()
    start = 0
    for segment in strip:
        own = segment.style or Style()
        if own != style:
            if text:
                yield Run(start, text, style)
            start, text, style = column, "", own
        text += segment.text
        column += columns(segment.text)
    if text:
        yield Run(start, text, style)


def _row(number: int, runs: list[Run], tokens: Tokens) -> Iterator[str]:
    top = MARGIN + number * HEIGHT
    for run in runs:
        ground, color = (
            _hex(run.style.bgcolor) or tokens.ground,
            _hex(run.style.color) or tokens.role("text").color,
        )
        if run.style.reverse:
            ground, color = color, ground
        x, cells = MARGIN + run.column * WIDTH, columns(run.text)
        if ground != tokens.ground:
            yield f'<rect x="{x:.1f}" y="{top}" width="{cells * WIDTH + 0.4:.1f}" height="{HEIGHT}" fill="{ground}"/>'
        looks = (("b", run.style.bold), ("u", run.style.underline), ("s", run.style.strike))
        names = " ".join(name for name, is_on in looks if is_on)
        classes = f' class="{names}"' if names else ""
        # Some programs that draw SVG merge spaces, so each part between wide gaps has a place of its own.
        for part in re.finditer(r"\S+(?: \S+)*", run.text):
            left = MARGIN + (run.column + columns(run.text[: part.start()])) * WIDTH
            place = f'x="{left:.1f}" y="{top + 13}" textLength="{columns(part[0]) * WIDTH:.1f}"'
            yield f'<text {place} fill="{color}"{classes}>{escape(part[0])}</text>'


def _hex(color: Color | None) -> str:
    return "" if color is None or color.is_default or color.triplet is None else color.triplet.hex
