"""The words of lines behind `:` that are those of options of the shell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from relax_explorer.ui.commands import command

if TYPE_CHECKING:
    from relax_explorer.viz.marked_graph import Counted, Measure

if TYPE_CHECKING:
    from relax_explorer.core.session.snapshot import Snapshot


def _choices(name: str, option: str) -> tuple[str, ...]:
    return next(item.choices for item in command(name).arguments if item.name == option)


TESTS = _choices("reduce", "--test")
"""What fails after a pass."""
TO = _choices("export", "--to")
"""What a program is written as for others."""
ANONYMOUS = "--anonymous"


@dataclass(frozen=True, slots=True)
class Asked:
    """The words of a line: one of the choices (empty if none is said), a file (empty: a name of ours), and whether names are replaced."""

    choice: str
    file: str
    is_anonymous: bool


def asked(text: str, choices: tuple[str, ...]) -> Asked:
    """What a line asks for."""
    words = text.split()
    chosen = [word for word in words if word in choices][:1]
    rest = [word for word in words if word != ANONYMOUS and word not in chosen]
    return Asked("".join(chosen), " ".join(rest), ANONYMOUS in words)


def usual_test(stage: Snapshot, has_passes: bool) -> str:
    """The test that fits: passes may change results, a program alone may be wrong or make NaN."""
    same_output, no_nan, well_formed = TESTS
    if has_passes:
        return same_output
    return well_formed if any(problem.is_error for problem in stage.problems) else no_nan


# -- measures of graphs ----------------------------------------------------------------------------------------------

MEASURES: dict[str, Measure] = {"time": "time", "bytes": "bytes", "machine": "machine"}
"""What the colours of a graph may show after a run, by the option `heat`."""
COUNTED: dict[str, Counted] = {"flops": "flops", "moved": "moved", "peak": "peak"}
"""What they may show without a run."""
STORAGES = "storages"
