"""Work off the UI thread. Each kind of work has a lane: newer work replaces older, or waits behind it.

A job never touches a widget. Its results come back as messages, and results of replaced jobs are dropped.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from textual.message import Message

from relax_explorer.core.codes import internal
from relax_explorer.core.diagnostics import Diagnostic, Failure, ParseError
from relax_explorer.ui.process import write_report
from relax_explorer.viz.visible import fit, visible

NOTICE = 0.15  # seconds after which a job is named
MOST_NAMED = 40  # cells of its name and of how far it is


class Receiver(Protocol):
    """Takes messages from any thread."""

    def post_message(self, message: Message) -> bool:
        """Queue a message."""


@dataclass(eq=False)
class Job:
    """Some work: its lane, what it is called while it runs, and whether newer work replaced it."""

    lane: str
    name: str
    receiver: Receiver
    is_stale: bool = False
    is_working: bool = False
    is_cancelled: bool = False  # the user asked for its end
    is_quiet: bool = False  # nobody waits for it: it is not named, and Esc does not tell of it
    detail: str = ""  # how far it is
    started: float = field(default_factory=time.monotonic)

    def progress(self, what: str, number: int, total: int) -> None:
        """Tell how far the work is; the footer shows it."""
        self.detail = f"{what} {number} of {total}"

    def tell(self, then: Callable[[], None]) -> None:
        """Do something on the UI thread, unless the job is stale by then."""
        self.receiver.post_message(JobTold(self, then, is_end=False))


class JobTold(Message):
    """A job has something for the UI thread to do: a partial result, or its end."""

    def __init__(self, job: Job, then: Callable[[], None], is_end: bool) -> None:
        super().__init__()
        self.job, self.then, self.is_end = job, then, is_end


class JobFailed(Message):
    """A job failed. The screen stays unchanged."""

    def __init__(self, job: Job, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__()
        self.job, self.diagnostics = job, diagnostics


Work = Callable[[Job], Any]


class Lane:
    """A thread that does its jobs in order."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[tuple[Job, Work, Callable[[Any], None]] | None] = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    def add(self, job: Job, work: Work, done: Callable[[Any], None]) -> None:
        """Queue a job."""
        self._waiting.put((job, work, done))

    def close(self) -> None:
        """End the thread after its present work."""
        self._waiting.put(None)

    def _work(self) -> None:
        while (item := self._waiting.get()) is not None:
            _run(*item)
            del item  # while the thread waits, it would hold what the job worked on, such as a whole session


def _run(job: Job, work: Work, done: Callable[[Any], None]) -> None:
    if job.is_stale:
        return
    job.is_working = True
    try:
        result = work(job)
    except ParseError as failure:
        from relax_explorer.core.phases.module_check import problems

        job.receiver.post_message(JobFailed(job, problems(failure, "spec")))
    except Failure as failure:
        job.receiver.post_message(JobFailed(job, failure.diagnostics))
    except Exception as error:  # noqa: BLE001  # nothing may vanish in a thread
        job.receiver.post_message(JobFailed(job, (own_fault(error),)))
    else:
        job.receiver.post_message(JobTold(job, lambda: done(result), is_end=True))
    finally:
        job.is_working = False


def own_fault(error: BaseException) -> Diagnostic:
    """The diagnostic of an internal error, with the place of its report."""
    text = f"{type(error).__name__}: {error}"
    return Diagnostic(
        internal.OWN_FAULT, text, help=f"{internal.OWN_FAULT.fix} The report: {write_report(error)}"
    )


class Jobs:
    """The jobs of the app, lane by lane. `started` is called with each new job."""

    def __init__(self, receiver: Receiver, started: Callable[[], None] = lambda: None) -> None:
        self.receiver, self._started = receiver, started
        self.running: list[Job] = []
        self._dropped: list[Job] = []
        self._lanes: dict[str, Lane] = {}

    def start(
        self,
        lane: str,
        name: str,
        work: Work,
        done: Callable[[Any], None],
        replaces: bool = True,
        is_quiet: bool = False,
    ) -> Job:
        """Do `work` in a thread, and `done` with its result on the UI thread. `replaces` drops older work of the lane.

        Nobody waits for quiet work.
        """
        if replaces:
            self.drop(lane)
        if lane not in self._lanes:
            self._lanes[lane] = Lane()
        job = Job(lane, name, self.receiver, is_quiet=is_quiet)
        self.running.append(job)
        self._lanes[lane].add(job, work, done)
        self._started()
        return job

    def drop(self, lane: str) -> None:
        """Drop the jobs of a lane. A thread that works on one ends with it."""
        for job in [job for job in self.running if job.lane == lane]:
            job.is_stale = True
            self.running.remove(job)
            self._dropped = [item for item in self._dropped if item.is_working] + [job]
        if lane in self._lanes:
            self._lanes.pop(lane).close()

    def close(self) -> None:
        """Take no more jobs. Threads that work end with their jobs, the others at once."""
        for lane in list(self._lanes):
            self.drop(lane)

    def ended(self, job: Job) -> bool:
        """Forget a job that ended; False if it is stale."""
        if job in self.running:
            self.running.remove(job)
        return not job.is_stale

    @property
    def all_jobs(self) -> list[Job]:
        """The jobs that run or wait, and dropped ones whose threads may still work."""
        return [*self.running, *self._dropped]

    @property
    def is_idle(self) -> bool:
        """True if nothing runs that somebody waits for."""
        return all(job.is_quiet for job in self.running)

    def is_working(self, *lanes: str) -> bool:
        """True if a job of these lanes runs or waits."""
        return any(job.lane in lanes for job in self.running)

    def notice(self) -> str:
        """What has been running for a while, with its seconds; empty if nothing has. It fits into 80 columns."""
        late = [job for job in self.running if not job.is_quiet and time.monotonic() - job.started > NOTICE]
        if not late:
            return ""
        seconds = time.monotonic() - late[0].started
        how_far = f", {late[0].detail}" if late[0].detail else ""
        name = f"{fit(visible(late[0].name), MOST_NAMED - len(how_far))}{how_far} …"
        way_out = "ends after the present call" if late[0].is_cancelled else "Esc cancels"
        return f"{name} {seconds:.0f} s, {way_out}" if seconds >= 1 else name

    def cancel(self) -> None:
        """Note that the user asked for the end of what runs. Whoever does the work interrupts it."""
        for job in self.running:
            job.is_cancelled = True
