"""A debugger goes into PrimFuncs, whatever calls them, and comes out as if it had never been there."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import relax_explorer as rxe
from relax_explorer.core.exec.breakpoints import on_bindings, on_stores, on_variable
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.interrupt import Cancelled
from relax_explorer.core.ir import expr as e
from relax_explorer.core.session.build_files import open_build
from relax_explorer.core.session.debug_commands import execute
from relax_explorer.core.session.debug_session import DebugSession, open_debug_session
from relax_explorer.core.session.samples import samples_of
from relax_explorer.core.session.session import Session
from relax_explorer.core.tir import stmt as t
from relax_explorer.ui.cli.main import group
from tests.exec.test_time_travel import state

CORPUS = Path(__file__).parent.parent / "data" / "corpus"
HEAD = """
@I.ir_module
class M:
    @T.prim_func
    def twice(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        T.func_attr({"global_symbol": "twice"})
        for i in range(4):
            B[i] = A[i] * T.float32(2)

    @T.prim_func(private=True)
    def count(k: T.int64, C: T.Buffer((4,), "float32")):
        for i in range(4):
            C[i] = T.Cast("float32", T.int64(4) - k)

    @T.prim_func(private=True)
    def beyond(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(5):
            B[i] = A[i]

    @T.prim_func(private=True)
    def endless(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        B[0] = A[0]
        while B[0] >= T.float32(0):
            B[0] = B[0] + T.float32(1)

    @R.function(private=True)
    def inner(y: R.Tensor((4,), "float32")):
        z = R.call_tir(M.twice, (y,), out_sinfo=R.Tensor((4,), "float32"))
        return z

    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")):
        cls = M
"""
CALLS = {
    "call_tir": ["z = R.call_tir(cls.twice, (x,), out_sinfo=R.Tensor((4,), 'float32'))"],
    "in place": [
        "z = R.call_tir_inplace(cls.twice, (x, x), inplace_indices=[1], out_sinfo=R.Tensor((4,), 'float32'))"
    ],
    "a call": ["z = R.builtin.alloc_tensor(R.shape([4]), 'float32', 0)", "u = cls.twice(x, z)"],
    "a packed call": [
        "z = R.builtin.alloc_tensor(R.shape([4]), 'float32', 0)",
        "u = R.call_packed('twice', x, z, sinfo_args=[R.Tuple()])",
    ],
    "of the virtual machine": [
        "z = R.builtin.alloc_tensor(R.shape([4]), 'float32', 0)",
        "u = R.vm.call_tir_dyn(cls.count, (R.shape([2]), z))".replace(
            "(R.shape([2]), z)", "(z, R.shape([2]))"
        ),
    ],
    "in a function": ["z = cls.inner(x)"],
    "in a branch": [
        "if c:",
        "    z = R.call_tir(cls.twice, (x,), out_sinfo=R.Tensor((4,), 'float32'))",
        "else:",
        "    z = R.add(x, x)",
    ],
}


def opened(lines: list[str], condition: bool = True) -> Debugger:
    text = HEAD + "".join(f"        {line}\n" for line in [*lines, "return z"])
    if "call_tir_dyn" in text:
        text = text.replace(
            'k: T.int64, C: T.Buffer((4,), "float32")', 'C: T.Buffer((4,), "float32"), k: T.int64'
        )
    return Debugger(rxe.parse(text), "main", [np.arange(4, dtype=np.float32), np.array(condition)])


def to_kernel(debugger: Debugger) -> None:
    while debugger.next_kernel is None:
        assert not debugger.done, "no step calls a PrimFunc"
        debugger.step()


@pytest.mark.parametrize("lines", CALLS.values(), ids=CALLS.keys())
def test_every_way_to_call_a_prim_func_is_entered(lines: list[str]) -> None:
    debugger, straight = opened(lines), opened(lines)
    to_kernel(debugger)
    before = state(debugger)
    walk = debugger.enter()
    walk.goto(2)
    assert state(debugger) == before
    assert walk.place == (1,)
    assert walk.element == 2
    walk.goto(1)
    debugger.step()
    assert debugger.inside is None
    straight.continue_()
    debugger.continue_()
    assert state(debugger) == state(straight)
    while debugger.position:  # also from steps that are done already
        debugger.back()
        if debugger.next_kernel is not None:
            debugger.enter_at_end()
            assert debugger.inside is not None
            assert debugger.inside.number == 4
            debugger.back()  # out of it
    debugger.continue_()
    assert state(debugger) == state(straight)


def test_breakpoints_stop_at_the_same_places_in_both_directions() -> None:
    debugger = opened(["y = cls.inner(x)", "z = cls.inner(y)"])
    kernel, main, inner = [debugger.module[name] for name in ("twice", "main", "inner")]
    assert isinstance(kernel, t.PrimFunc)
    assert isinstance(kernel.body, t.For)
    assert isinstance(main, e.Function)
    assert isinstance(inner, e.Function)
    chosen = [main.body.blocks[0].bindings[1], inner.body.blocks[0].bindings[0]]
    for item, places in (
        (on_stores("store", kernel, [kernel.body.body]), [(1, 1), (1, 2), (1, 3), (1, 4), (4, 1), (4, 2), (4, 3), (4, 4)]),
        (on_variable("z"), [(2, -1), (5, -1), (6, -1)]),
        (on_bindings("chosen", chosen, ["inner"]), [(1, -1), (2, -1), (4, -1), (5, -1), (6, -1)]),
    ):  # fmt: skip
        debugger.breakpoints = [item]
        debugger.goto(0)
        seen = []
        while not debugger.done:
            debugger.continue_()
            seen.append(debugger.place)
        assert seen == [*places, (7, -1)]
        back = []
        while debugger.position:
            debugger.back_continue()
            back.append(debugger.place)
        assert back == [*places[::-1], (0, -1)]


def test_the_branch_that_runs_decides() -> None:
    assert opened(CALLS["in a branch"], False).next_kernel is None
    assert opened(CALLS["in a branch"], True).next_kernel is not None


def test_a_prim_func_is_entered_again_with_evicted_arguments() -> None:
    lines = ["y0 = R.add(x, x)"]
    lines += [
        f"y{n} = R.call_tir(cls.twice, (y{n - 1},), out_sinfo=R.Tensor((4,), 'float32'))"
        for n in range(1, 40)
    ]
    text = HEAD + "".join(f"        {line}\n" for line in [*lines, "return y39"])
    module = rxe.parse(text)
    args = [np.arange(4, dtype=np.float32), np.array(True)]
    debugger = Debugger(module, "main", args, budget=200)
    debugger.goto(41)
    assert debugger.budget is not None
    assert debugger.budget.evicted > 10
    for position in (3, 20, 11):
        debugger.goto(position)
        walk = debugger.enter()
        walk.goto(4)
        assert walk.find("B").tolist() == [
            0.0,
            2.0 ** (position + 1),
            2.0 ** (position + 2),
            3 * 2.0 ** (position + 1),
        ]


def test_an_index_outside_stops_inside_and_the_store_before_is_seen() -> None:
    debugger = opened(["z = R.call_tir(cls.beyond, (x,), out_sinfo=R.Tensor((4,), 'float32'))"])
    to_kernel(debugger)
    walk = debugger.enter()
    with pytest.raises(rxe.Failure, match=r"index of buffer . is 4"):
        debugger.forward_inside(lambda: False)
    assert debugger.inside is walk
    assert walk.number == 4
    assert walk.loops == {"i": 3}
    walk.goto(2)
    assert walk.find("B").tolist() == [0, 1, 0, 0]


def test_an_endless_loop_is_cancelled_and_looked_at() -> None:
    debugger = opened(["z = R.call_tir(cls.endless, (x,), out_sinfo=R.Tensor((4,), 'float32'))"])
    to_kernel(debugger)
    walk = debugger.enter()

    def late() -> bool:
        if walk.number == 700:
            debugger.interrupt.cancel()
        return False

    with pytest.raises(Cancelled):
        debugger.forward_inside(late)
    debugger.interrupt.clear()
    assert walk.number == 700
    assert walk.find("B")[0] == 699
    walk.goto(300)
    assert walk.find("B")[0] == 299


def session(model: str, stage: str) -> DebugSession:
    path = next((CORPUS / model).glob(f"{stage}_*.py"))
    read = open_build(str(path)).stages[0]
    opened = Session(read.module, filename=str(path))
    values = samples_of(read.module, read.entry)[0].values(read.module.functions[read.entry])
    return open_debug_session(opened, opened.debug(read.entry, values), 0)


def seen(at: DebugSession) -> Any:
    """All that a session shows, without the hits of breakpoints."""
    place = at.place_of(0)
    inside = at.debugger.inside
    values = (
        {} if inside is None else {name: np.array(value).tobytes() for name, value in inside.values.items()}
    )
    return at.debugger.place, str(place), values, state(at.debugger)


@pytest.mark.parametrize("stage", ["12", "33"])
def test_any_moves_keep_what_each_place_shows(stage: str) -> None:
    """Each place of a build, outside and inside PrimFuncs, shows the same however it is reached."""
    at, rng = session("mlp", stage), random.Random(stage)
    moves = [
        "into",
        "into 3",
        "SI",
        "SI 2",
        "s",
        "S",
        "n",
        "N",
        "u",
        "U",
        "finish",
        "FIN",
        "goto +7",
        "goto -7",
    ]
    calls = []
    while not at.debugger.done:
        calls += [at.debugger.position] if at.debugger.next_kernel is not None else []
        at.debugger.step()
    known: dict[Any, Any] = {}
    for number in range(70):
        usual = {0: f"goto {rng.choice(calls)}", 1: "into 4"}
        answer = execute(at, usual.get(number % 10) or rng.choice(moves))
        assert answer.kind == "stop"
        assert not answer.problems
        now = seen(at)
        assert known.setdefault(now[0], now) == now
    assert len([place for place in known if place[1] > 0]) > 10


def test_json_tells_the_store(tmp_path: Path) -> None:
    path, script = tmp_path / "p.py", tmp_path / "commands.txt"
    path.write_text(
        HEAD
        + "        z = R.call_tir(cls.twice, (x,), out_sinfo=R.Tensor((4,), 'float32'))\n        return z\n"
    )
    script.write_text("into 3\nwhere\ninfo locals\nup\ninfo shapes\nblame\n")
    done = CliRunner().invoke(
        group, ["debug", str(path), "--input", "x=arange", "--script", str(script), "--format", "json"]
    )
    assert done.exit_code == 0, done.output
    start, stop, where, values, *_ = [json.loads(line) for line in done.stdout.splitlines()]
    assert start["inside"] is None
    assert stop["inside"] == {
        "function": "twice",
        "stores": 2,
        "line": 8,
        "loops": {"i": 1},
        "written": "B[1]",
        "value": 2.0,
        "operands": {"A[1]": 1.0},
    }
    assert [frame["function"] for frame in where["frames"]] == ["twice", "main"]
    assert values["values"]["i"] == 1


def test_breakpoints_move_to_another_run() -> None:
    first, second = session("mlp", "13"), session("mlp", "13")  # each PrimFunc of this stage is called
    line = min(first.listing.stores.values())
    execute(first, f"break {line}")
    assert second.take_over(first) == []
    assert execute(second, "c").data["inside"].line == line
