"""The terminal keeps Python's interpreter while it answers a key, and gives it away when it waits."""

from __future__ import annotations

import os
import selectors
import sys
import threading
from collections.abc import Iterator

import pytest

from relax_explorer.core.ir.pauses import Pauses, with_pauses
from relax_explorer.ui.tui import turns
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.turns import SELDOM, SHORT, Turns, event_loop, give_way, keep_turn, take_turns
from tests.support.roundtrip import SAMPLES
from tests.ui.test_explorer import opened

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the event loop of Windows takes no turns")


@pytest.fixture(autouse=True)
def interval() -> Iterator[None]:
    before, flags = sys.getswitchinterval(), (Turns.is_in_use, Turns.are_taken)
    Turns.is_in_use = Turns.are_taken = True
    yield
    give_way()
    sys.setswitchinterval(before)
    Turns.is_in_use, Turns.are_taken = flags


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    yield read, write
    os.close(read)
    os.close(write)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(turns.time, "perf_counter", lambda: now[0])
    return now


def test_a_loop_with_work_left_polls_only_after_a_while(pipe: tuple[int, int], clock: list[float]) -> None:
    with Turns() as selector:
        selector.register(pipe[0], selectors.EVENT_READ)
        os.write(pipe[1], b"x")
        assert selector.select(0), "the first poll"
        assert not selector.select(0)
        assert not selector.select(-1)
        assert selector.select(1), "it has time to wait"
        assert not selector.select(0)
        assert selector.select(None), "it waits for ever"
        clock[0] += SELDOM * 0.9
        assert not selector.select(0)
        clock[0] += SELDOM * 0.2
        assert selector.select(0)


def test_long_work_goes_on_while_the_loop_waits(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    during: list[bool] = []

    def select(self: object, timeout: float | None) -> list[object]:
        during.append(Pauses.pause is None and Turns.is_free.is_set())
        if timeout == 7:
            raise OSError("gone")
        return []

    monkeypatch.setattr(selectors.DefaultSelector, "select", select)
    with Turns() as selector:
        keep_turn()
        selector.select(None)
        assert Pauses.pause is not None
        with pytest.raises(OSError, match="gone"):
            selector.select(7)
        assert Pauses.pause is not None
        assert not Turns.is_free.is_set()
        selector.select(0)
        assert Pauses.pause is not None
    assert during == [True, True], "the last one did not poll"
    assert Pauses.pause is None, "the loop ended"


@pytest.mark.usefixtures("own_process")
def test_turns_are_taken_in_the_loop_of_the_explorer_from_the_first_key_on(
    pipe: tuple[int, int], clock: list[float]
) -> None:
    Turns.is_in_use = Turns.are_taken = False
    take_turns()
    keep_turn()
    assert Pauses.pause is None
    loop = event_loop()
    loop.close()
    keep_turn()
    assert Pauses.pause is None
    assert sys.getswitchinterval() == pytest.approx(SHORT)
    with Turns() as selector:
        selector.register(pipe[0], selectors.EVENT_READ)
        os.write(pipe[1], b"x")
        assert [bool(selector.select(0)) for _ in range(3)] == [True] * 3, "the user waits for the reader"
        assert Pauses.pause is None
        take_turns()
        assert [bool(selector.select(0)) for _ in range(3)] == [True, False, False]
    keep_turn()
    assert Pauses.pause is not None
    give_way()
    assert Pauses.pause is None


def _at_a_place() -> tuple[threading.Thread, list[str]]:
    """Another thread at its next place, and what it tells."""
    told: list[str] = []

    def work() -> None:
        told.append("came")
        assert [*with_pauses("x")] == ["x"]
        told.append("went on")

    thread = threading.Thread(target=work)
    thread.start()
    return thread, told


def test_another_thread_pauses_until_the_terminal_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "LONGEST", 60.0)
    keep_turn()
    thread, told = _at_a_place()
    thread.join(0.05)
    assert told == ["came"]
    give_way()
    thread.join(10)
    assert told == ["came", "went on"]


def test_the_terminal_does_not_wait_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Turns, "is_free", None)
    Pauses.pause = turns._pause
    assert [*with_pauses("ab")] == ["a", "b"]
    monkeypatch.undo()


def test_a_pause_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "LONGEST", 0.001)
    keep_turn()
    thread, told = _at_a_place()
    thread.join(10)
    assert told == ["came", "went on"]
    assert Pauses.pause is not None


def test_work_that_is_left_is_done_before_the_next_poll() -> None:
    loop = event_loop()
    take_turns()
    polled: list[int] = []
    selector = loop._selector
    select = selector.select

    def counted(timeout: float | None) -> object:
        found = select(timeout)
        polled.append(1 if selector._polled != last[0] else 0)
        last[0] = selector._polled
        return found

    last, left = [selector._polled], [200]

    def work() -> None:
        left[0] -= 1
        if left[0]:
            loop.call_soon(work)
        else:
            loop.stop()

    selector.select = counted
    loop.call_soon(work)
    loop.run_forever()
    loop.close()
    assert len(polled) >= 200
    assert sum(polled) < 20, "a poll gives a turn away"


async def test_a_key_takes_turns() -> None:
    Turns.are_taken = False
    app = Explorer(str(SAMPLES[0]))
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        assert not Turns.are_taken
        await pilot.press("j")
        assert Turns.are_taken


async def test_long_work_goes_on_when_a_picture_was_sent() -> None:
    app = Explorer(str(SAMPLES[0]))
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        keep_turn()
        assert Pauses.pause is not None
        app.screen.refresh()
        await pilot.pause()
        assert Pauses.pause is None
