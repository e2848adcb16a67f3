"""The calls of a file in one line: the one that runs, and a bar of all of them."""

from __future__ import annotations

from relax_explorer.ui.tui.debug_rows import CallView
from relax_explorer.viz.visible import columns, fit

LEAST_BAR = 100  # cells of the line from which on it has a bar
_TEXT = 0.42  # of the line, at most, for the call if there is a bar
_SHORTEST = 6  # cells of a call in the bar
_MOST = 40  # calls in the bar


def call_line(view: CallView, position: int, last: int, width: int) -> str:
    """` call 3 of 5  decode(ids=[[8]], total=4)   ├─init┼──prefill──┼─decode▶┼─decode─┤  step 97 of 214`, at most `width` cells."""
    head = f" call {view.number} of {len(view.functions)}  {view.text}"
    if width < LEAST_BAR:
        return fit(head, width - 1)
    end = f"  step {position} of {last} "
    head = fit(head, int(width * _TEXT))
    room = width - columns(head) - columns(end) - 3
    shown = bar(view, room)
    gap = " " * (room - columns(shown) + 3)
    return f"{head}{gap}{shown}{end}"


def bar(view: CallView, width: int) -> str:
    """The calls side by side, as long as their names have room; else those around the one that runs."""
    number = view.number - 1
    most = max(1, min(_MOST, (width - 1) // (_SHORTEST + 1)))
    first = max(0, min(number - most // 2, len(view.functions) - most))
    shown = view.functions[first : first + most]
    each = max(_SHORTEST, min(14, (width - 1) // len(shown) - 1))
    cells = []
    for place, name in enumerate(shown, first):
        mark = "▶" if place == number else "─"
        text = name.lstrip("_")[: each - 2]
        cells.append(f"─{text}{mark}{'─' * (each - 2 - columns(text))}")
    left, right = "├" if not first else "┄", "┤" if first + len(shown) == len(view.functions) else "┄"
    return f"{left}{'┼'.join(cells)}{right}"
