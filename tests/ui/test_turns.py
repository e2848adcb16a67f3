"""The terminal keeps Python's interpreter while it answers a key, and gives it away when it waits."""

from __future__ import annotations

import os
import selectors
import sys
from collections.abc import Iterator

import pytest

from relax_explorer.ui.tui import turns
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.turns import LONG, SHORT, Turns, event_loop, give_way, keep_turn, take_turns
from tests.support.roundtrip import SAMPLES
from tests.ui.test_explorer import opened

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the event loop of Windows takes no turns")


@pytest.fixture(autouse=True)
def interval() -> Iterator[None]:
    before, flags = sys.getswitchinterval(), (Turns.is_in_use, Turns.are_taken)
    Turns.is_in_use = Turns.are_taken = True
    yield
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
        clock[0] += LONG * 0.9
        assert not selector.select(0)
        clock[0] += LONG * 0.2
        assert selector.select(0)


def test_others_have_the_interpreter_while_the_loop_waits(
    monkeypatch: pytest.MonkeyPatch, clock: list[float]
) -> None:
    during: list[float] = []

    def select(self: object, timeout: float | None) -> list[object]:
        during.append(sys.getswitchinterval())
        if timeout == 7:
            raise OSError("gone")
        return []

    monkeypatch.setattr(selectors.DefaultSelector, "select", select)
    with Turns() as selector:
        sys.setswitchinterval(0.1)
        selector.select(None)
        assert sys.getswitchinterval() == pytest.approx(LONG)
        with pytest.raises(OSError, match="gone"):
            selector.select(7)
        assert sys.getswitchinterval() == pytest.approx(LONG)
        selector.select(0)
        assert sys.getswitchinterval() == pytest.approx(LONG)
    assert during == pytest.approx([SHORT, SHORT])


def test_turns_are_taken_in_the_loop_of_the_explorer_from_the_first_key_on(
    pipe: tuple[int, int], clock: list[float]
) -> None:
    Turns.is_in_use = Turns.are_taken = False
    sys.setswitchinterval(0.003)
    take_turns()
    give_way()
    keep_turn()
    assert sys.getswitchinterval() == pytest.approx(0.003)
    loop = event_loop()
    loop.close()
    keep_turn()
    assert sys.getswitchinterval() == pytest.approx(SHORT)
    with Turns() as selector:
        selector.register(pipe[0], selectors.EVENT_READ)
        os.write(pipe[1], b"x")
        assert [bool(selector.select(0)) for _ in range(3)] == [True] * 3, "the user waits for the reader"
        assert sys.getswitchinterval() == pytest.approx(SHORT)
        take_turns()
        assert [bool(selector.select(0)) for _ in range(3)] == [True, False, False]
    keep_turn()
    assert sys.getswitchinterval() == pytest.approx(LONG)
    give_way()
    assert sys.getswitchinterval() == pytest.approx(SHORT)


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
