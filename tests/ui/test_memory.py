"""What stays in memory after files and popups were opened and closed many times, and after the explorer is left."""

from __future__ import annotations

import gc
import threading
from collections import Counter
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.jobs import Job, Lane
from relax_explorer.ui.tui.widgets.line_view import LineView
from relax_explorer.viz.solving import Solving
from tests.support.roundtrip import SAMPLES
from tests.ui.test_explorer import wait
from tests.ui.test_looks import RELATIONS
from tests.ui.test_screens import FIRST, SECOND, idle, press, typed

pytestmark = pytest.mark.usefixtures("own_process")
KINDS = (Session, Snapshot, IRModule, Solving, Job, Screen, LineView, Widget)
OPENED = 10


def alive() -> Counter[str]:
    """How many objects of each kind there are."""
    gc.unfreeze()
    gc.collect()
    # isinstance would ask objects of other packages for their class
    found = Counter(map(type, gc.get_objects()))
    return Counter(
        {
            kind.__name__: sum(count for item, count in found.items() if issubclass(item, kind))
            for kind in KINDS
        }
    )


async def settled(pilot: Pilot[None], most: Counter[str] | None = None) -> Counter[str]:
    """The least of each kind in some moments, or until there are at most so many: what waits for its end is no leak."""
    found = alive()
    for _ in range(4 if most is None else 40):  # a busy machine ends things late
        if most is not None and found <= most:
            break
        await pilot.pause(0.05)
        found &= alive()  # the smaller count of each
    return found


def drawn() -> int:
    """How many drawn lines there are."""
    gc.collect()
    return sum(type(item) is Strip for item in gc.get_objects())


async def test_files_that_were_opened_and_closed_leave_nothing(tmp_path: Path) -> None:
    paths = [str(tmp_path / "first.py"), str(tmp_path / "second.py"), RELATIONS]
    for path, text in zip(paths, (FIRST, SECOND), strict=False):
        Path(path).write_text(text)
    kept = alive()["Session"]  # by other tests of this process
    app = Explorer(paths[0], "CanonicalizeBindings,LegalizeOps")
    opened: list[int] = []
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        for key in ("2", "3", "5", "4", "1"):
            await press(pilot, app, key)
        for number in range(OPENED):
            path = paths[(number + 1) % len(paths)]
            await typed(pilot, app, f"open {path}")
            await wait(pilot, lambda path=path: app.state.path == path)
            await idle(pilot, app)
            if path == paths[1]:
                await press(pilot, app, "2", "s", "5", "1")
                opened.append(number)
                if len(opened) == 2:
                    first = await settled(pilot)
        assert len(opened) == 4
        last = await settled(pilot, first)
    grown = {
        kind: count - first[kind] for kind, count in last.items() if count > first[kind] + 1
    }  # one may wait for its end
    assert not grown, "six opened files would leave this"
    assert last["Session"] - kept <= 3, "the present one, and those of screens that were not drawn since"


async def test_popups_leave_no_drawn_lines() -> None:
    app = Explorer(str(SAMPLES[11]), "CanonicalizeBindings")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        counts = []
        for _ in range(6):
            for key in ("question_mark", "E", "ctrl+p"):
                await press(pilot, app, key)
                await press(pilot, app, "escape", "escape")
            counts.append(drawn())
        assert len(app.screen_stack) == 1
    assert counts[-1] - counts[2] < 20, counts  # one popup has a hundred


async def test_the_explorer_leaves_no_thread_and_nothing_of_the_program() -> None:
    before = set(threading.enumerate())
    app: Explorer | None = Explorer(str(SAMPLES[11]), "CanonicalizeBindings")
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "2", "3", "1")
        assert set(threading.enumerate()) - before, "jobs have threads"
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
    left = [thread for thread in set(threading.enumerate()) - before if "_work" in thread.name]
    assert left == []


def test_a_waiting_thread_holds_no_job() -> None:
    class Held:
        pass

    lane, done = Lane(), threading.Event()
    held = Held()

    class Receiver:
        def post_message(self, message: object) -> bool:
            return True

    def work(job: Job, held: Held = held) -> None:
        done.set()

    lane.add(Job("session", "reading", Receiver()), work, lambda result: None)
    assert done.wait(10)
    next_done = threading.Event()
    del work
    for _ in range(200):
        gc.collect()
        if len(gc.get_referrers(held)) <= 1:
            break
        next_done.wait(0.02)
    holders = [item for item in gc.get_referrers(held) if not hasattr(item, "f_code")]
    lane.close()
    assert holders == []
