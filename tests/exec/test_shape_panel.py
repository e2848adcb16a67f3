"""The shape panel: origins, constraints and checks of a frame, and the notes of a failed check."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.shape_panel import ShapePanel, shape_panel

CALLS = """
@I.ir_module
class M:
    @R.function
    def inner(p: R.Tensor(("k",), "float32"), q: R.Tensor(("k * 2",), "float32")) -> R.Tensor(("k",), "float32"):
        r = R.add(p, p)
        return r
    @R.function
    def outer(a: R.Tensor(("j",), "float32"), b: R.Tensor(("i",), "float32")) -> R.Tensor("float32", ndim=1):
        c = M.inner(a, b)
        return c
    @R.function
    def main(t: R.Tuple(R.Tensor(("n",), "float32"), R.Shape(["m"])), x: R.Tensor("float32", ndim=1)):
        n, m = T.int64(), T.int64()
        u = t[0]
        y = R.match_cast(x, R.Tensor(("h",), "float32"))
        w = M.outer(u, y)
        return w
"""


def session(text: str, *args: Any) -> Debugger:
    return rxe.debug(rxe.parse(text), "main", args)


def inputs(n: int, h: int) -> list[Any]:
    return [(np.ones(n, "float32"), (7,)), np.ones(h, "float32")]


def origins(panel: ShapePanel) -> dict[str, tuple[int | None, str]]:
    return {item.name: (item.value, str(item.origin or "")) for item in panel.variables}


def test_origins_of_tuples_shapes_and_match_casts() -> None:
    at = session(CALLS, *inputs(3, 6))
    assert origins(shape_panel(at)) == {"n": (3, "t[0].shape[0]"), "m": (7, "t[1][0]"), "h": (None, "")}
    at.step()
    at.step()
    assert origins(shape_panel(at))["h"][0] == 6
    assert "match_cast" in origins(shape_panel(at))["h"][1]
    at.back()
    assert origins(shape_panel(at))["h"] == (None, "")


def test_origins_go_back_through_the_calls() -> None:
    at = session(CALLS, *inputs(3, 6))
    while at.frame.name != "inner":
        at.step()
    panel = shape_panel(at)
    assert [str(item) for item in panel.variables] == ["k = 3 ← p.shape[0]"]
    assert panel.variables[0].before == (
        "a.shape[0] is j = 3 in outer",
        "j = 3 ← a.shape[0] in outer",
        "u.shape[0] is n = 3 in main",
        "n = 3 ← t[0].shape[0] in main",
    )
    rules = {(item.dimension, item.rule): item.holds for item in panel.variables[0].constraints}
    assert rules == {("k", "parameter"): True, ("k * 2", "parameter"): True, ("k", "inference"): None}
    assert [(row.step, row.kind, row.outcome) for row in panel.checks] == [
        (at.position, "parameters", "checked")
    ]
    assert panel.checks[0].seconds > 0
    outer = shape_panel(at, at.frames[1])
    assert outer.function == "outer"
    assert [row.kind for row in outer.checks] == ["parameters"]


def test_a_failed_call_names_both_chains() -> None:
    at = session(CALLS, *inputs(3, 5))
    with pytest.raises(rxe.Failure) as failure:
        at.goto(100)
    problem = failure.value.diagnostics[0]
    assert problem.notes == (
        "q.shape[0] must be k * 2 = 6, is 5",
        "k = 3 ← p.shape[0] in inner",
        "a.shape[0] is j = 3 in outer",
        "j = 3 ← a.shape[0] in outer",
        "u.shape[0] is n = 3 in main",
        "n = 3 ← t[0].shape[0] in main",
        "b.shape[0] is i = 5 in outer",
        "i = 5 ← b.shape[0] in outer",
        "y.shape[0] is h = 5 in main",
        "h = 5 ← x.shape[0] (match_cast, line 16) in main",
    )
    assert shape_panel(at).checks[-1].outcome == "failed"
    at.back()
    assert shape_panel(at).checks[-1].outcome != "failed"
    with pytest.raises(rxe.Failure) as plain:
        rxe.run(rxe.parse(CALLS), "main", inputs(3, 5))
    assert plain.value.diagnostics[0].notes == problem.notes


def test_an_argument_without_lengths_ends_the_chain() -> None:
    text = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((3,), "float32"), y: R.Tensor("float32", ndim=1)):
        r = M.inner(x, y)
        return r

    @R.function
    def inner(a: R.Tensor(("n",), "float32"), b: R.Tensor(("n",), "float32")):
        return a
"""
    for numbers in ((3, 2), (3, 4)):
        at = session(text, *[np.ones(count, "float32") for count in numbers])
        with pytest.raises(rxe.Failure) as failure:
            at.goto(100)
        assert failure.value.diagnostics[0].notes == (
            f"b.shape[0] must be n = 3, is {numbers[1]}", "n = 3 ← a.shape[0] in inner", "a is x of main", "b is y of main",
        )  # fmt: skip


def test_a_failed_match_cast_result_and_input_explain_themselves() -> None:
    head = '@R.function\ndef main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32"))'
    cast = (
        f'{head}:\n    n = T.int64()\n    z = R.match_cast(y, R.Tensor((n + 1,), "float32"))\n    return z\n'
    )
    with pytest.raises(rxe.Failure) as failure:
        rxe.run(rxe.parse(cast), "main", [np.ones(3, "float32"), np.ones(5, "float32")])
    assert failure.value.diagnostics[0].notes[:3] == (
        "y.shape[0] must be n + 1 = 4, is 5",
        "n = 3 ← x.shape[0] in main",
        "in main",
    )
    derived = cast.replace("match_cast(y", "match_cast(w").replace(
        "    z =", "    w = R.concat((y, y))\n    z ="
    )
    with pytest.raises(rxe.Failure) as failure:
        rxe.run(rxe.parse(derived), "main", [np.ones(3, "float32"), np.ones(5, "float32")])
    assert failure.value.diagnostics[0].notes[2:4] == (
        "w.shape[0] is m * 2 = 10",
        "m = 5 ← y.shape[0] in main",
    )
    result = '@R.function\ndef main(o: R.Object, x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):\n    return o\n'
    module = rxe.parse(result)
    with pytest.raises(rxe.Failure) as wrong:
        rxe.run(module, "main", [np.ones(2, "float32"), np.ones(3, "float32")])
    assert wrong.value.diagnostics[0].notes == (
        "the result.shape[0] must be n = 3, is 2",
        "n = 3 ← x.shape[0] in main",
    )


def test_lengths_that_a_closure_captured() -> None:
    text = """
@R.function
def main(x: R.Tensor(("n",), "float32")):
    n = T.int64()
    @R.function
    def g(y: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
        z = R.add(y, y)
        return z
    w = g(x)
    return w
"""
    at = session(text, np.ones(3, "float32"))
    while at.frame.name != "g":
        at.step()
    assert origins(shape_panel(at)) == {"n": (3, "captured by the closure")}


def test_events_carry_checks_and_branches_and_the_plain_run_makes_none() -> None:
    text = """
@R.function
def main(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(("n",), "float32"):
    n = T.int64()
    if c:
        y = R.add(x, x)
    else:
        y = R.match_cast(x, R.Tensor((n,), "float32"))
    return y
"""
    for taken in (True, False):
        at = session(text, np.ones(3, "float32"), np.asarray(taken))
        at.goto(100)
        events = [change.event for change in at.machine.log]
        assert [event.branches for event in events if event.branches] == [(taken,)]
        kinds = [check.kind for event in events for check in event.checks]
        assert kinds == ([] if taken else ["match_cast"]) + ["result"]
        assert at.machine.entry is not None
    from relax_explorer.core.exec.machine import Machine

    plain = Machine(rxe.normalize(rxe.parse(text)), "main", [np.ones(3, "float32"), np.asarray(True)])
    plain.run()
    assert (plain.entry, plain.log) == (None, [])


KILLED = """
@R.function(pure=False)
def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n * 2",), "float32"):
    n = T.int64()
    a = R.memory.alloc_storage(R.shape([64]), R.prim_value(0), R.str("global"), R.dtype("float32"))
    b: R.Tensor((n * 2,), "float32") = R.memory.alloc_tensor(a, R.prim_value(0), R.shape([n * 2]), R.dtype("float32"))
    u = R.memory.kill_tensor(b)
    c: R.Tensor((n * 2,), "float32") = R.memory.alloc_tensor(a, R.prim_value(0), R.shape([n * 2]), R.dtype("float32"))
    return c
"""


def test_a_value_that_was_killed_tells_no_length_and_the_next_one_does() -> None:
    at = session(KILLED, np.ones(3, "float32"))
    seen = []
    while not at.done:
        at.step()
        found = [item for item in shape_panel(at).variables[0].constraints if item.dimension == "n * 2"]
        seen.append([(item.places, item.found, item.holds) for item in found])
    both = ("b.shape[0]", "c.shape[0]")
    assert [item for step in seen for item in step] == [
        (both, None, None), (both, 6, True), (both, None, None), (both, 6, True), (both, 6, True),
    ]  # fmt: skip
