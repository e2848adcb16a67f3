"""Going back restores everything that a user can see: values, shape variables, calls, and output."""

from __future__ import annotations

import sys
from random import Random
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.debugger import Debugger
from tests.meaning.programs import Program
from tests.meaning.trial import LENGTHS, arguments, frozen, register

PROGRAMS = 120

DEEP = """
@I.ir_module
class M:
    @R.function
    def f(x: R.Tensor(("k",), "float32"), n: R.Tensor((), "int64")) -> R.Tensor("float32", ndim=1):
        c = R.equal(n, R.const(0, "int64"))
        if c:
            r: R.Tensor("float32", ndim=1) = x
        else:
            m = R.subtract(n, R.const(1, "int64"))
            y = R.concat((x, x), axis=0)
            p = R.print(m, format="{}")
            z = R.match_cast(y, R.Tensor(("j",), "float32"))
            w = R.strided_slice(z, axes=[0], begin=[0], end=[1])
            r: R.Tensor("float32", ndim=1) = M.f(w, m)
        return r
"""


def state(at: Debugger) -> Any:
    """What a user can see at a position."""
    frames = [
        (
            frame.name,
            frame.pc,
            {name: frozen(value) for name, value in frame.values.items()},
            frame.shape_vars,
        )
        for frame in at.frames
    ]
    return frames, list(at.machine.output), at.done, frozen(at.machine.result) if at.done else None


def forward(at: Debugger) -> list[Any]:
    """The state at every position up to the end, or up to the step that fails."""
    states = [state(at)]
    while not at.done:
        try:
            at.step()
        except rxe.Failure:
            break
        states.append(state(at))
    assert state(at) == states[-1], "a step that fails changes nothing"
    return states


def walk(at: Debugger, states: list[Any], random: Random) -> None:
    """Go back step by step, forward again, and to random positions, and compare each with the first visit."""
    for k in range(1, len(states)):  # k steps back from the end, each by itself, and k forward again
        at.back()
        assert state(at) == states[-1 - k]
    for expected in states[1:]:
        at.step()
        assert state(at) == expected
    for position in [*(random.randrange(len(states)) for _ in range(8)), 0, len(states) - 1]:
        at.goto(position)
        assert at.position == position
        assert state(at) == states[position]


@pytest.mark.parametrize("part", range(4))
def test_random_programs_with_effects(part: int) -> None:
    register()
    walked = 0
    for seed in range(part, PROGRAMS, 4):
        random = Random(seed)
        try:
            module = rxe.normalize(rxe.parse(Program(seed).text))
        except rxe.Failure:
            continue
        args = [*arguments(random.choice(LENGTHS)), np.array(random.random() < 0.5)]
        at = Debugger(module, "main", args)
        states = forward(at)
        walk(at, states, random)
        walked += len(states) > 3
    assert walked > PROGRAMS // 8


def test_recursion_and_output() -> None:
    module = rxe.normalize(rxe.parse(DEEP))
    at = Debugger(module, "f", [np.ones(2, np.float32), np.int64(6)])
    states = forward(at)
    assert at.done
    assert at.machine.output == [str(n) for n in range(5, -1, -1)]
    walk(at, states, Random(0))
    at.goto(len(states) // 2)
    assert len(at.machine.output) < 6, "what is printed later is not shown yet"


def test_the_record_of_a_step_does_not_grow_with_the_depth() -> None:
    module = rxe.normalize(rxe.parse(DEEP))
    sizes = []
    for depth in (4, 64):
        at = Debugger(module, "f", [np.ones(2, np.float32), np.int64(depth)])
        forward(at)
        parts = [(change.writes, change.bound, change.printed, change.memory) for change in at.machine.log]
        sizes.append(max(sum(map(sys.getsizeof, each)) for each in parts))
    assert sizes[0] == sizes[1]
