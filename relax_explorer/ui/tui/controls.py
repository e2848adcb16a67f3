"""The app as its screens see it: a host with the controls. Those that need the machine of runs are imported when they are first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from relax_explorer.ui.tui.host import Host
from relax_explorer.ui.tui.pipeline_control import PipelineControl
from relax_explorer.ui.tui.stage_control import Marks, StageControl
from relax_explorer.ui.tui.tutorial import Tutorial

if TYPE_CHECKING:
    from relax_explorer.ui.tui.pass_trials import PassTrials
    from relax_explorer.ui.tui.pictures import Exports, Pictures
    from relax_explorer.ui.tui.rank_control import RankControl
    from relax_explorer.ui.tui.reproducing import Reproducing
    from relax_explorer.ui.tui.run_control import RunControl
    from relax_explorer.ui.tui.saving import Saving
    from relax_explorer.ui.tui.verdicts import Verdicts
    from relax_explorer.ui.tui.widgets.line_view import LineView


class Controls(Host, Protocol):
    """The app with its controls."""

    stage_control: StageControl
    marks: Marks
    pipeline_control: PipelineControl
    tutorial: Tutorial

    @property
    def view(self) -> LineView:
        """The lines that keys move."""

    @property
    def run_control(self) -> RunControl:
        """The run of the debug screen."""

    @property
    def pass_trials(self) -> PassTrials:
        """Which passes would change the program."""

    @property
    def pictures(self) -> Pictures:
        """Graphs, histories and searches."""

    @property
    def verdicts(self) -> Verdicts:
        """Comparing and bisecting."""

    @property
    def saving(self) -> Saving:
        """Sessions as files."""

    @property
    def exports(self) -> Exports:
        """Files to take away."""

    @property
    def reproducing(self) -> Reproducing:
        """Smaller programs, and programs for others."""

    @property
    def rank_control(self) -> RankControl:
        """Runs on several ranks."""
