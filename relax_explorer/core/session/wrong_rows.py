"""Where two caches differ: the sequence and layer, and the first row."""

from __future__ import annotations

from relax_explorer.core.session.difference import Tolerance, delta, leaves_of
from relax_explorer.core.session.recording import Production


def wrong_row(a: Production, b: Production, tolerance: Tolerance) -> str:
    """The first place where the contents of two caches differ: `row 3`, or `sequence 0, layer 1, keys, row 3`.

    Empty for values that are no caches, and for caches that hold different numbers of arrays.
    """
    left, right = list(leaves_of(a.value)), list(leaves_of(b.value))
    if not a.parts or a.parts != b.parts or not len(left) == len(right) == len(a.parts):
        return ""
    for part, x, y in zip(a.parts, left, right, strict=True):
        apart = delta(x, y, tolerance)
        if not apart.equal:
            row = f"row {apart.index[0]}" if apart.index else f"{len(x)} rows against {len(y)}"
            return f"{part}, {row}" if part else row
    return ""
