"""A screen of the explorer as a small SVG: one text for each run of cells with one style. Equal screens give equal files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
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
    return _picture(_drawn(rows, tokens), _wide(rows), len(rows) * HEIGHT, tokens, title)


def film_svg(
    frames: Sequence[tuple[str, Sequence[Strip]]], tokens: Tokens, title: str, seconds: float
) -> str:
    """Screens one after the other, each for some seconds with words below it, for ever; only the last for those who want no motion."""
    whole, share = len(frames) * seconds, 100 / len(frames)
    looks = f"""
.f {{ visibility: hidden; animation: shown {whole:g}s step-end infinite; }}
@keyframes shown {{ 0% {{ visibility: visible; }} {share:.4g}% {{ visibility: hidden; }} }}
@media (prefers-reduced-motion: reduce) {{ .f {{ animation: none; }} .f:last-child {{ visibility: visible; }} }}"""
    drawn, wide, high = [], 0.0, 0
    for number, (words, strips) in enumerate(frames):
        rows = [list(_runs(strip)) for strip in strips]
        wide, high = max(wide, _wide(rows)), max(high, (len(rows) + 2) * HEIGHT)
        below = f'<text x="{MARGIN}" y="{high + 4}" fill="{tokens.role("accent").color}" class="b">{escape(words)}</text>'
        style = f'class="f" style="animation-delay: {number * seconds:g}s"'
        drawn.append(f"<g {style}>\n{_drawn(rows, tokens)}\n{below}\n</g>")
    return _picture("\n".join(drawn), wide, high, tokens, title, looks)


def _wide(rows: Iterable[list[Run]]) -> float:
    return max(run.column + columns(run.text) for row in rows for run in row) * WIDTH


def _drawn(rows: Sequence[list[Run]], tokens: Tokens) -> str:
    return "\n".join(line for number, row in enumerate(rows) for line in _row(number, row, tokens))


def _picture(drawn: str, wide: float, high: float, tokens: Tokens, title: str, looks: str = "") -> str:
    width, height = wide + 2 * MARGIN, high + 2 * MARGIN
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img" aria-label="{escape(title)}">
<title>{escape(title)}</title>
<style>text {{ font: {SIZE}px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }}
.b {{ font-weight: 700; }} .u {{ text-decoration: underline; }} .s {{ text-decoration: line-through; }}{looks}</style>
<rect width="100%" height="100%" rx="8" fill="{tokens.ground}"/>
{drawn}
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
