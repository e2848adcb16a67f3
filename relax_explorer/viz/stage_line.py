"""A stage in one line of the rail: mark, number, pass, and what it changed."""

from __future__ import annotations

from relax_explorer.core.session.align import ModuleDiff
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.viz.visible import columns, fit, visible

_SIGNS = {"added": "+", "removed": "−", "changed": "~", "type": "t", "kind": "k", "moved": ">"}
LEAST = 8  # cells that the name of the pass keeps


def stage_line(stage: Snapshot, diff: ModuleDiff | None, width: int) -> str:
    """`● 4 FuseOps     +8 −24 ~6`, at most `width` cells. `diff` is that against the stage before."""
    mark = "✗" if any(item.is_error for item in stage.problems) else "●" if stage.changed else "○"
    counts = "" if diff is None or not stage.changed else change_counts(diff)
    head = f"{mark} {stage.label} "
    room = width - columns(head) - (columns(counts) + 1 if counts else 0)
    if room < LEAST:
        counts, room = "", width - columns(head)
    name = fit(visible(stage.made_by, 200), room)
    return f"{head}{name}{' ' * (room - columns(name))}{' ' + counts if counts else ''}".rstrip()


def change_counts(diff: ModuleDiff) -> str:
    """`+8 −24 ~6 +4ƒ`: bindings and lines of kernels, then functions. `attrs` if only attributes or constants differ."""
    added = sum(fn.status == "added" for fn in diff.functions)
    removed = sum(fn.status == "removed" for fn in diff.functions)
    counts = dict.fromkeys(_SIGNS, 0)
    for fn in diff.functions:
        for kind in counts if fn.status == "changed" else ():
            counts[kind] += fn.count(kind)
    parts = [f"{sign}{counts[kind]}" for kind, sign in _SIGNS.items() if counts[kind]]
    parts += [f"{sign}{count}ƒ" for sign, count in (("+", added), ("−", removed)) if count]
    return " ".join(parts) or "attrs"
