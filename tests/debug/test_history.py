"""Laws of breakpoints and watches on random programs with effects: the way to a position does not matter."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.breakpoints import Breakpoint, condition, on_condition
from relax_explorer.core.exec.changes import back_to_change, fingerprint_of, forward_to_change
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.expression import expression
from tests.meaning.programs import Program
from tests.meaning.trial import LENGTHS, arguments, register


def runs(seeds: range) -> list[Debugger]:
    """Debuggers of random programs that end, at their end."""
    register()
    ended = []
    for seed in seeds:
        random = Random(seed)
        try:
            module = rxe.normalize(rxe.parse(Program(seed).text))
            args = [*arguments(random.choice(LENGTHS)), np.array(random.random() < 0.5)]
            at = Debugger(module, "main", args)
            at.continue_()
        except rxe.Failure:
            continue
        ended.append(at)
    return ended


def variables(at: Debugger) -> list[str]:
    changes = [change.event.binding for change in at.machine.log]
    return sorted({b.var.name for b in changes if b is not None and b.var is not None})


def points(names: list[str], random: Random) -> list[Breakpoint]:
    """A breakpoint on a condition, and one on every step under a condition."""
    name = random.choice(names)
    anywhere = Breakpoint("any step", lambda event, frame: event.kind != "done")
    anywhere.condition = condition(f"{name}.size > 0 and not nan({name})")
    return [on_condition(f"sum({name}) < {random.choice(names)}.size + 1"), anywhere]


@pytest.mark.parametrize("part", range(2))
def test_hits_do_not_depend_on_the_way(part: int) -> None:
    compared = 0
    for at in runs(range(part, 40, 2)):
        random = Random(part)
        names, last = variables(at), len(at.machine.log)
        if last < 5:
            continue
        seed = random.random()
        early, late = points(names, Random(seed)), points(names, Random(seed))
        at.goto(0)
        for point in early:
            at.add(point)
        while not at.done:
            for _ in range(random.randrange(1, 5)):
                at.step()
            for _ in range(random.randrange(3)):
                at.back()
        for point in late:
            at.add(point)
        assert at.position == last
        for one, other in zip(early, late, strict=True):
            assert one.hits == other.hits, one.text
            compared += len(one.hits)
    assert compared > 40


def test_stops_back_are_the_stops_forward_reversed() -> None:
    stopped = 0
    for at in runs(range(30)):
        at.goto(0)
        for point in points(variables(at) or ["x"], Random(1)):
            at.add(point)
        forward = []
        while not at.done:
            at.continue_()
            forward.append(at.position)
        back = []
        while at.position:
            at.back_continue()
            back.append(at.position)
        assert back[:-1] == forward[-2::-1]
        stopped += len(back)
    assert stopped > 40


def values(at: Debugger, text: str, frame: Any) -> list[Any]:
    """The fingerprint of an expression at every position: what the search is compared with."""
    found = []
    for position in range(len(at.machine.log) + 1):
        at.goto(position)
        alive = frame is at.frame or frame in at.frames
        found.append(fingerprint_of(expression(text), frame, at.event.value) if alive else ("no value",))
    return found


def test_changes_are_those_of_a_search_through_every_step() -> None:
    changed = 0
    for at in runs(range(30)):
        frame = at.frame
        for name in variables(at)[:6]:
            expected = values(at, name, frame)
            places = [n for n in range(1, len(expected)) if expected[n] != expected[n - 1]]
            at.goto(0)
            forward = []
            while forward_to_change(at, expression(name), frame):
                forward.append(at.position)
            assert forward == places, name
            back = []
            while back_to_change(at, expression(name), frame):
                back.append(at.position)
                at.back()
            assert back == places[::-1], name
            changed += len(places)
    assert changed > 100


def test_breakpoints_given_in_the_middle_count_earlier_hits_when_the_run_goes_on() -> None:
    text = "\n".join(
        [
            "@R.function",
            'def main(x: R.Tensor((2,), "float32")):',
            *["    y = R.add(x, x)"] * 9,
            "    return y",
        ]
    )
    at = Debugger(rxe.normalize(rxe.parse(text)), "main", [np.ones(2, np.float32)])
    at.goto(4)
    anywhere = Breakpoint("any step", lambda event, frame: event.kind == "bind")
    at.breakpoints = [anywhere]
    at.step()
    assert anywhere.hits == []
    at.continue_()
    assert anywhere.hits == list(range(1, at.position + 1))
