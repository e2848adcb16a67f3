"""The steps of a run as one line: done, now, not yet; breakpoints that hit."""

from __future__ import annotations

from relax_explorer.ui.tui.debug_rows import RunView


def timeline(view: RunView, width: int) -> str:
    """`━━━●━▶┄┄┄ step 6 of 12`, at most `width` cells.

    The end is the last step that was reached so far, with `+` until the run came to its end. `┼` starts a call of a file.
    """
    label = _label(view)
    cells = max(1, width - len(label) - 1)
    now = column(view.position, view.last, cells)
    line = ["━" if n < now else "┄" for n in range(cells)]
    for start in view.call.starts[1:] if view.call is not None else ():
        if start <= view.last:
            line[column(start, view.last, cells)] = "┼"
    for hit in view.hits:
        if hit <= view.last:
            line[column(hit, view.last, cells)] = "●"
    line[now] = "▶"
    return f" {''.join(line)}{label}"


def _label(view: RunView) -> str:
    """`+` while the run has not come to its end: nobody knows how many steps follow."""
    return f" step {view.position} of {view.last}{'' if view.knows_end else '+'} "


def column(position: int, last: int, cells: int) -> int:
    """The cell of a step."""
    return 0 if last <= 0 else min(cells - 1, position * (cells - 1) // last)


def step_at(cell: int, view: RunView, width: int) -> int:
    """The step that a cell of the line shows."""
    label = _label(view)
    cells = max(1, width - len(label) - 1)
    place = max(0, min(cells - 1, cell - 1))
    return 0 if cells == 1 else round(place * view.last / (cells - 1))
