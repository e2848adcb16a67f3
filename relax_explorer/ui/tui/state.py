"""What the screens show: the selected place, how things are shown, and the open program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.ir import expr as e
from relax_explorer.core.source import Source
from relax_explorer.viz.broken_source import broken_source
from relax_explorer.viz.table_folds import Folded

if TYPE_CHECKING:
    from relax_explorer.core.exec.values import Value
    from relax_explorer.core.session.compare import Comparison
    from relax_explorer.core.session.ranked import Ranked
    from relax_explorer.core.session.session import Plan, Session
    from relax_explorer.core.session.snapshot import Snapshot
    from relax_explorer.ui.tui.debug_rows import RunView
    from relax_explorer.ui.tui.pair_rows import PairView
    from relax_explorer.viz.solving import Solving


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected place, which all screens share. `binding` is None when the selected line has none."""

    stage: int = 0
    function: str = ""
    binding: e.Binding | None = None

    @property
    def variable(self) -> str:
        """The name of the selected variable, empty when there is none."""
        var = self.binding.var if self.binding is not None else None
        return "" if var is None else var.name


FIRST = Folded()

LEAST_BESIDE = 120  # cells of a terminal from which on two stages stand side by side
DIFFS = {
    "inline": "changes are marked",
    "beside": "side by side with the stage before",
    "only": "only what changed",
    "off": "no marks",
}
"""The ways to show changes, in the order of the key, and what is said about each."""


@dataclass(frozen=True, slots=True)
class Options:
    """How things are shown.

    `density` is compact, typed or written; `diff` is inline, only or off; `opened` are kernels with all lines; `radius` is that of
    the neighbourhood in the graph, 0 for the whole graph; `shows_map` shows the map of a large
    graph, None where it has room; `layers` draws equal layers once or each; `shows_memory` draws allocations; `shows_removed` shows in the
    graph what the stage removed; `heat` colours it by time, by what it costs, or by storages; `lengths` are those of shape variables, for costs;
    `columns` of costs stand beside bindings, `timed` counts the runs made for them;
    `inside` are
    functions whose calls are opened in the graph; `calls` draws which function calls
    which; `lower` is the table below the program in a narrow debug screen;
    `shows_programs` shows both programs when two stages are compared; `since` is the stage since which changes are shown, None
    for the one before; `checks` tells which checks of lengths are shown, `given` the function and the
    condition that is taken for granted in it; `keep_branches` looks into the functions that a program with contracts calls;
    `shows_layers` shows the layer of the model of each binding.
    """

    density: str = "compact"
    diff: str = "inline"
    opened: frozenset[str] = frozenset()
    folded: Folded = FIRST
    shows_unchanged: bool = False
    shows_details: bool = True
    radius: int = 0
    shows_map: bool | None = None
    layers: str = "once"
    shows_memory: bool = False
    inside: frozenset[str] = frozenset()
    calls: bool = False
    shows_removed: bool = False
    heat: str = ""
    lengths: tuple[tuple[str, int], ...] = ()
    columns: tuple[str, ...] = ()
    timed: int = 0
    lower: str = "values"
    shows_programs: bool = False
    since: int | None = None
    checks: str = "remaining"
    given: tuple[str, str] = ("", "")
    keep_branches: bool = False
    shows_layers: bool = False

    def before(self, stage: int) -> int:
        """The stage against which changes of a stage are shown."""
        return self.since if self.since is not None and self.since < stage else stage - 1


def room(width: int) -> int:
    """The cells of text in a line of a popup, in a terminal of so many columns; the style sheet says the same. At least one."""
    return max(1, min(width * 9 // 10, 140) - 6)  # the frame, the cursor, the gutter and a scrollbar


# -- state -----------------------------------------------------------------------------------------------------------
# What the explorer shows: frozen values. Only the app replaces them; screens draw them.


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison of two stages: their numbers, the result, and the pairs of values in the order of the runs.

    `compiled` names the recorded run of the compiled program that stands in the place of the first stage.
    """

    a: int
    b: int
    result: Comparison
    pairs: tuple[PairView, ...] = ()
    compiled: str = ""


@dataclass(frozen=True, slots=True)
class OnRanks:
    """A run on several ranks: the number of the stage, what the user asked for, and the values."""

    stage: int
    count: int
    unsharded: str
    found: Ranked


@dataclass(frozen=True, slots=True)
class State:
    """Everything the screens show. `stages` is the number of stages that exist, since a session grows while passes run.

    `plan` is the pipeline with the steps that are off; recorded stages have none. A program of type relations or shape contracts
    has no session, but `solving`, and the `step` that is shown.
    """

    path: str = ""
    session: Session | None = None
    stages: int = 0
    selection: Selection = field(default_factory=Selection)
    options: Options = field(default_factory=Options)
    run: RunView | None = None
    compared: Compared | None = None
    ranked: OnRanks | None = None
    plan: Plan | None = None
    failures: tuple[Diagnostic, ...] = ()  # of the last work that failed
    solving: Solving | None = None
    step: int = 0
    preview: str = ""  # the text of the first program, shown until it is read

    @property
    def broken(self) -> Source | None:
        """The text with the problems, if it is all that there is to show."""
        is_open = self.session is not None or self.solving is not None
        return None if is_open else broken_source(self.failures)

    @property
    def marked(self) -> tuple[Diagnostic, ...]:
        """The problems that stand in their text: why there is no program, else those of the selected stage."""
        stage = self.stage
        return stage.located if stage is not None else self.failures if self.solving is None else ()

    @property
    def stage(self) -> Snapshot | None:
        """The selected stage; None without a session."""
        return None if self.session is None else self.session.stages[self.selection.stage]

    @property
    def values_of_run(self) -> Mapping[int, Value] | None:
        """The values of the run, by bindings, if it is one of the selected stage."""
        is_here = self.run is not None and self.run.stage == self.selection.stage
        return self.run.lines.values if self.run is not None and is_here else None

    @property
    def opened(self) -> tuple[Session, Snapshot]:
        """The session and the selected stage, where there are some."""
        stage = self.stage
        assert self.session is not None  # who asks for both knows that a program is open
        assert stage is not None
        return self.session, stage
