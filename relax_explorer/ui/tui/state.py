"""What the explorer shows: frozen values. Only the app replaces them; screens draw them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.ui.tui.selection import Options, Selection

if TYPE_CHECKING:
    from relax_explorer.core.session.compare import Comparison
    from relax_explorer.core.session.session import Plan, Session
    from relax_explorer.core.session.snapshot import Snapshot
    from relax_explorer.ui.tui.debug_rows import RunView
    from relax_explorer.ui.tui.pair_rows import PairView
    from relax_explorer.viz.solving import Solving


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison of two stages: their numbers, the result, and the pairs of values in the order of the runs."""

    a: int
    b: int
    result: Comparison
    pairs: tuple[PairView, ...] = ()


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
    plan: Plan | None = None
    failures: tuple[Diagnostic, ...] = ()  # of the last work that failed
    solving: Solving | None = None
    step: int = 0
    preview: str = ""  # the text of the first program, shown until it is read

    @property
    def stage(self) -> Snapshot | None:
        """The selected stage; None without a session."""
        return None if self.session is None else self.session.stages[self.selection.stage]
