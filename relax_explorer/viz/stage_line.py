"""A stage in one line of the rail: mark, number, pass, and what it changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from relax_explorer.core.session.builds import Build
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.session.stages import Aside, Kind
from relax_explorer.viz.visible import columns, counted, fit, visible

if TYPE_CHECKING:
    from relax_explorer.core.session.align import ModuleDiff

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


def history_line(label: object, mark: str, made_by: str, text: str, digits: int = 3) -> str:
    """A stage of a history: its number in some digits, what it did as a mark, the pass, and the value or the change."""
    return f"{label:>{digits}} {mark} {visible(made_by):<24} {text}"


TRACE_MARKS = {
    "≈": "likely the same value; no pass recorded it",
    "?": "perhaps the same value; no pass recorded it",
}
"""How sure it is that a value of one stage is that of another. Others are sure."""
KERNEL_MARKS = {"made": "+", "removed": "-", "changed": "~"}


# -- asides ----------------------------------------------------------------------------------------------------------
# What stands beside the main lineage of a build, in words.


MOST_NAMED = 8  # modules of a file that are named


def modules_line(build: Build) -> str:
    """The programs of a file with their lines: `2 modules: Before (lines 6-14), After (18-31)`."""
    shown: list[str] = []
    for stage in build.stages[:MOST_NAMED]:
        first, last = stage.origin.lines if stage.origin is not None else (0, 0)
        shown.append(f"{visible(stage.made_by, 40)} ({'lines ' * (not shown)}{first}–{last})")
    more = f", … {len(build.stages) - MOST_NAMED} more" if len(build.stages) > MOST_NAMED else ""
    return f"{len(build.stages)} modules: {', '.join(shown)}{more}"


def aside_title(aside: Aside) -> str:
    """A group of stages with their numbers: `59 with kernels alone (20–78)`."""
    if aside.kind is None:
        return f"{aside.count} in {visible(Path(aside.path).name, 60)}/"
    names = {
        Kind.HELPER: f"of a helper{f' of {aside.of}' if aside.of else ''}",
        Kind.KERNELS: "with kernels alone",
        Kind.MANAGER: f"of {'a pass manager' if aside.count == 1 else 'pass managers'}",
        Kind.OTHER: "of another build",
    }
    return f"{aside.count} {visible(names[aside.kind], 80)} ({aside.numbers})"


def aside_line(aside: Aside) -> str:
    """A group of stages as the line of a list, with its numbers first: `20–78 kernels alone (59)`."""
    stages = counted(aside.count, "stage")
    if aside.kind is None:
        return f"{visible(Path(aside.path).name, 60)}/ ({stages})"
    if aside.kind is Kind.MANAGER:
        return f"{aside.numbers} {', '.join(dict.fromkeys(visible(stage.made_by, 40) for stage in aside.stages))}"
    names = {Kind.HELPER: "a helper module", Kind.KERNELS: "kernels alone", Kind.OTHER: "another build"}
    return f"{aside.numbers} {names[aside.kind]}{f' ({aside.count})' * (aside.count > 1)}"
