"""What stands beside the main lineage of a build, in words."""

from __future__ import annotations

from pathlib import Path

from relax_explorer.core.session.builds import Build
from relax_explorer.core.session.lineages import Kind
from relax_explorer.core.session.stages import Aside
from relax_explorer.viz.visible import visible

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
    """The same as the line of a list, whose neighbours have numbers."""
    stages = f"{aside.count} stage{'s' * (aside.count != 1)}"
    if aside.kind is None:
        return f"{visible(Path(aside.path).name, 60)}/ ({stages})"
    if aside.kind is Kind.MANAGER:
        return f"{aside.numbers} {', '.join(dict.fromkeys(visible(stage.made_by, 40) for stage in aside.stages))}"
    names = {Kind.HELPER: "a helper module", Kind.KERNELS: "kernels alone", Kind.OTHER: "another build"}
    return f"{aside.numbers} {names[aside.kind]}{f' ({aside.count})' * (aside.count > 1)}"
