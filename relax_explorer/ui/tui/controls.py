"""The app as its screens and its `:` line see it: the host with its controls."""

from __future__ import annotations

from typing import Protocol

from relax_explorer.ui.tui.exporting import Exports
from relax_explorer.ui.tui.host import Host
from relax_explorer.ui.tui.marks import Marks
from relax_explorer.ui.tui.pictures import Pictures
from relax_explorer.ui.tui.pipeline_control import PipelineControl
from relax_explorer.ui.tui.run_control import RunControl
from relax_explorer.ui.tui.stage_control import StageControl
from relax_explorer.ui.tui.tutorial import Tutorial
from relax_explorer.ui.tui.verdicts import Verdicts


class Controls(Host, Protocol):
    """Stages, the run, and what is drawn or judged in jobs."""

    stage_control: StageControl
    run_control: RunControl
    pictures: Pictures
    verdicts: Verdicts
    tutorial: Tutorial
    exports: Exports
    pipeline_control: PipelineControl
    marks: Marks
