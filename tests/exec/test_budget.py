"""With a memory budget, evicted values are those of a run without one, wherever the debugger goes."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.budget import Budget
from relax_explorer.core.exec.changes import back_to_change
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.expression import expression
from relax_explorer.core.exec.frame import Evicted

TENSOR = 'R.Tensor((8,), "float32")'
X = np.arange(8, dtype=np.float32)


def program(seed: int, length: int = 120) -> str:
    """Bindings that read near and far values, split and join them, call a function, and choose a branch."""
    random = Random(seed)
    names, lines = ["x"], []
    for n in range(length):
        a, b = random.choice(names[-3:]), random.choice(names)
        kind = random.random()
        if kind < 0.1:
            lines += [f"t{n} = R.split({a}, 2)", f"h{n} = t{n}[1]", f"v{n} = R.concat((h{n}, h{n}), axis=0)"]
        elif kind < 0.2:
            lines.append(f"v{n} = M.half({a})")
        elif kind < 0.25:
            lines += ["if c:", f"    w{n} = R.negative({b})", f"    v{n}: {TENSOR} = R.abs(w{n})", "else:", f"    v{n}: {TENSOR} = {b}"]  # fmt: skip
        else:
            lines.append(f"v{n} = R.{random.choice(['add', 'maximum', 'subtract'])}({a}, {b})")
        names.append(f"v{n}")
    body = "\n".join(f"        {line}" for line in lines)
    return f"""@I.ir_module
class M:
    @R.function
    def main(x: {TENSOR}, c: R.Tensor((), "bool")) -> {TENSOR}:
{body}
        return {names[-1]}

    @R.function
    def half(q: {TENSOR}) -> {TENSOR}:
        p = R.multiply(q, R.const(0.5, "float32"))
        r = R.tanh(p)
        return r
"""


def seen(at: Debugger) -> Any:
    """The values that a user can ask for at a position."""
    frames = [{name: content(frame.find(name)) for name in frame.values} for frame in at.frames]
    return at.position, content(at.event.value), frames


def content(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(content, value))
    return value.tobytes() if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize("seed", range(6))
def test_every_value_is_as_without_a_budget(seed: int) -> None:
    module = rxe.normalize(rxe.parse(program(seed)))
    free = Debugger(module, "main", [X, np.array(seed % 2 == 0)])
    tight = Debugger(module, "main", [X, np.array(seed % 2 == 0)], budget=512)
    free.continue_()
    tight.continue_()
    assert tight.budget is not None
    assert tight.budget.evicted > 30
    random = Random(seed)
    last = free.position
    for position in [*range(last, last - 20, -1), *(random.randrange(last) for _ in range(10)), 0, last]:
        free.goto(position)
        tight.goto(position)
        assert seen(tight) == seen(free)
    for name in random.sample([name for name in free.frame.values if name.startswith("v")], 5):
        for at in (free, tight):
            at.goto(last)
            assert back_to_change(at, expression(name), at.frame)
        assert tight.position == free.position


def test_the_values_of_a_long_run_fit_the_budget() -> None:
    size, length, budget = 10_000, 400, 40 * 40_000
    lines = "".join(f"    v{n} = R.add(v{n - 1}, v0)\n" for n in range(1, length))
    text = f'@R.function\ndef main(v0: R.Tensor(({size},), "float32")):\n{lines}    return v{length - 1}\n'
    at = Debugger(rxe.normalize(rxe.parse(text)), "main", [np.ones(size, np.float32)], budget=budget)
    at.continue_()

    def held() -> int:
        contents = [change.event.content for change in at.machine.log]
        return sum(value.nbytes for value in contents if isinstance(value, np.ndarray))

    def is_counted(of: Budget) -> bool:
        kept = [sum(size for _, size in places) for places in (of.newest, of.marks)]
        kept.append(sum(size for *_, size in of.again.values()))
        return kept == [of.newest_bytes, of.mark_bytes, of.again_bytes]

    assert held() <= budget
    assert at.budget is not None
    assert is_counted(at.budget)
    assert not [n for n, _ in at.budget.waiting if isinstance(at.machine.log[n].event.content, Evicted)]
    assert at.budget.distance >= 16
    assert any(isinstance(change.event.content, Evicted) for change in at.machine.log)
    assert "evicted" in repr(at.frame.values["v2"])
    for position in range(length - 1, 0, -1):
        at.goto(position)
        assert at.event.value[0] == position + 1
    assert held() <= budget
    assert at.budget.again_bytes <= budget // 4
    assert is_counted(at.budget)


def test_kernels_run_again() -> None:
    lines = "".join(f"    v{n} = R.add(v{n - 1}, v0)\n" for n in range(1, 60))
    text = f'@R.function\ndef main(v0: R.Tensor((8,), "float32")):\n{lines}    return v59\n'
    module = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "LegalizeOps")
    at = Debugger(module, "main", [X], budget=256)
    at.continue_()
    assert at.budget is not None
    assert at.budget.evicted > 40
    for name in ("v7", "v30", "v2"):
        np.testing.assert_array_equal(at.frame.find(name), X * (int(name[1:]) + 1))


def test_programs_that_write_into_memory_keep_their_values() -> None:
    from tests.support.packed_functions import register

    register()
    text = """@R.function(pure=False)
def main(x: R.Tensor((8,), "float32")):
    y = R.add(x, x)
    z = R.add(y, y)
    a = R.call_packed("test.inc_inplace", y, sinfo_args=R.Tuple())
    w = R.add(z, z)
    return w
"""
    at = Debugger(rxe.normalize(rxe.parse(text)), "main", [X], budget=1)
    at.continue_()
    assert at.budget is not None
    assert at.budget.evicted == 0
    at.back()
    np.testing.assert_array_equal(at.frame["y"], 2 * X + 1)
