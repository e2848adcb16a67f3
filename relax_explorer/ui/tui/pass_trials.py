"""Which passes would change the program at a place of the pipeline. They are tried in the background, and results are remembered."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from relax_explorer.core import passes as registry
from relax_explorer.core.passes.pipeline import Step, Verdict
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.session import Session
from relax_explorer.ui.tui.jobs import Job, Jobs
from relax_explorer.ui.tui.trying import NoVerdicts, Question, Trier
from relax_explorer.viz.child import Child

LANE = "trials"
GROUP = 0.1  # seconds of verdicts that are drawn together
MOST = 8  # places that are remembered
Told = Callable[[list[Verdict], str], None]


class PassTrials:
    """Tries all passes behind some steps. Newer work replaces older; `stop` cancels it."""

    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs
        self._trier = Trier()
        self._found: dict[tuple[IRModule, tuple[str, ...]], list[Verdict]] = {}

    def start(self, session: Session, steps: Sequence[Step], told: Told) -> None:
        """Try the passes behind `steps`. `told` gets the verdicts as they arrive, and the reason if there are none."""
        stage = _last_run(session, steps)
        module, rest = session.stages[stage].module, tuple([str(step) for step in steps[stage:]])
        own = {item.module for item in session.stages}
        self._found = {place: found for place, found in self._found.items() if place[0] in own}
        known = self._found.get((module, rest))
        if known is not None:
            told(known, "")
            return

        def work(job: Job) -> list[Verdict]:
            question = Question(module.script("rxe"), rest, tuple(registry.names()))
            return _tell_all(self._trier.verdicts(question, lambda: job.is_stale), job, told)

        def done(found: list[Verdict]) -> None:
            if len(found) == len(registry.names()):
                self._found = {**dict(list(self._found.items())[1 - MOST :]), (module, rest): found}

        self.stop()
        self.jobs.start(LANE, "trying passes", work, done, is_quiet=True)

    @property
    def children(self) -> list[Child]:
        """The processes that try passes now."""
        return self._trier.busy

    def stop(self) -> None:
        """Cancel what runs, and kill its child."""
        self.jobs.drop(LANE)
        self._trier.cancel()

    def close(self) -> None:
        """Cancel what runs, and end the child."""
        self.stop()
        self._trier.close()


def _tell_all(verdicts: Iterator[Verdict], job: Job, told: Told) -> list[Verdict]:
    """Tell the verdicts in groups, since each group is drawn. Return all of them."""
    found: list[Verdict] = []
    group: list[Verdict] = []
    last = time.monotonic()
    trouble = ""
    try:
        for verdict in verdicts:
            found.append(verdict)
            group.append(verdict)
            if time.monotonic() - last > GROUP:
                job.tell(partial(told, group, ""))
                group, last = [], time.monotonic()
    except NoVerdicts as error:
        trouble = str(error)
    job.tell(partial(told, group, trouble))
    return found


def _last_run(session: Session, steps: Sequence[Step]) -> int:
    """The last stage that the steps share with the pipeline that ran."""
    ran = session.pipeline[: len(session.stages) - 1]
    same = [old == new for old, new in zip(ran, steps, strict=False)]
    return same.index(False) if False in same else len(same)
