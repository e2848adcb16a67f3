"""What a program can see of a screen that looks wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator

from relax_explorer.viz.visible import columns

OPEN, CLOSED = "╭┏┌", "╮┓┐"  # a graph may be cut at the edge, all other frames close


def faults(text: str, width: int, is_ascii: bool = False, is_graph: bool = False) -> Iterator[str]:
    """Sentences about a screen: lines beyond the width, letters that `--ascii` should not draw, frames that do not close, an empty screen."""
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if columns(line) != width:
            yield f"line {number} has {columns(line)} cells of {width}"
        if is_ascii and not line.isascii():
            yield f"line {number} has {''.join(sorted({letter for letter in line if not letter.isascii()}))}"
        if not is_graph and sum(map(line.count, OPEN)) != sum(map(line.count, CLOSED)):
            yield f"line {number} opens and closes other numbers of frames: {line.strip()[:100]}"
    if len(re.findall(r"\S", text)) < width * 2:
        yield "nearly nothing is shown"
