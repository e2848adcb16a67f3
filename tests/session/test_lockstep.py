"""Two runs in lock-step: which pairs there are, their order, and the motions through them."""

from __future__ import annotations

from dataclasses import replace

import pytest

import relax_explorer as rxe
from relax_explorer.core.session.compare import Trial, links_between
from relax_explorer.core.session.difference import Tolerance
from relax_explorer.core.session.lockstep import Lockstep, lockstep
from relax_explorer.core.session.samples import samples_of
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.stages import Stage

CALLS = """@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("n", 2), "float32")):
        y = M.outer(x)
        z = R.exp(y)
        return z

    @R.function
    def outer(x: R.Tensor(("n", 2), "float32")):
        a = M.inner(x)
        b = R.negative(a)
        return b

    @R.function
    def inner(x: R.Tensor(("n", 2), "float32")):
        c = R.add(x, x)
        return c
"""


def walk(a: str, b: str, tolerance: Tolerance | None = None) -> Lockstep:
    stages = Stage(0, "a", rxe.parse(a)), Stage(1, "b", rxe.parse(b))
    sample = samples_of(stages[0].module, "main", 1)[0]
    trial = Trial(stages[0], stages[1], "main", sample)
    return lockstep(trial if tolerance is None else replace(trial, tolerance=tolerance))


def names(runs: Lockstep) -> list[str]:
    return [" | ".join(dict.fromkeys(pair.names)) for pair in runs.pairs]


def body(*lines: str) -> str:
    return '@R.function\ndef main(x: R.Tensor((2,), "float32")):\n' + "\n".join(
        [f"    {line}" for line in lines]
    )


@pytest.mark.parametrize(
    "passes", ["LegalizeOps,FuseOps,FuseTIR", "default", "InlinePrivateFunctions", "DeadCodeElimination"]
)
@pytest.mark.parametrize(
    "sample", ["02_symbolic_shape", "05_if", "08_tuple", "11_dead_and_double", "12_transformer_layer"]
)
def test_each_value_of_both_runs_is_a_stop(sample: str, passes: str) -> None:
    module = rxe.load(f"samples/{sample}.py")
    session = Session(module, passes)
    session.run_all()
    stages = [
        Stage(item.number, item.made_by, item.module) for item in (session.stages[0], session.stages[-1])
    ]
    function = stages[0].entry
    links = links_between(session.stages, 0, len(session.stages) - 1)
    trial = Trial(stages[0], stages[1], function, samples_of(module, function, 1)[0], links=links)
    runs = lockstep(trial)
    assert [pair.b for pair in runs.pairs if pair.b is not None] == runs.b.productions  # in order, each once
    assert {pair.a for pair in runs.pairs} - {None} == set(runs.a.productions)
    alone = [pair.a for pair in runs.pairs if pair.b is None]
    assert len(alone) == len(set(alone))
    assert not any(pair.differs for pair in runs.pairs)
    assert runs.to_difference(0, 1) == runs.last


def test_a_step_back_undoes_a_step_at_each_place() -> None:
    runs = walk(CALLS, CALLS)
    assert runs.last == 6
    for at in range(runs.last):
        assert runs.step(runs.step(at, 1), -1) == at
    assert (runs.step(0, -1), runs.step(runs.last, 1)) == (0, runs.last)
    assert (runs.pair(0), runs.pair(runs.last)) == (None, None)


def test_steps_over_calls_stay_in_their_function_or_leave_it() -> None:
    runs = walk(CALLS, CALLS)
    assert names(runs) == ["c", "a", "b", "y", "z"]
    assert [pair.depth for pair in runs.pairs] == [2, 1, 1, 0, 0]
    assert [runs.over(at, 1) for at in range(6)] == [4, 2, 3, 4, 5, 6]
    assert [runs.over(at, -1) for at in range(1, 7)] == [0, 0, 2, 0, 4, 5]


def test_an_inlined_binding_is_no_call_of_its_own() -> None:
    inlined = body("c0 = R.add(x, x)", "b0 = R.negative(c0)", "z = R.exp(b0)", "return z")
    called = CALLS.replace('("n", 2)', "(2,)")
    for runs in (walk(called, inlined), walk(inlined, called)):
        added = next(pair for pair in runs.pairs if "c0" in pair.names)
        assert set(added.names) == {"c", "c0"}
        assert added.depth == 0
        assert runs.over(0, 1) == runs.pairs.index(added) + 1


def test_a_value_of_the_first_run_alone_stands_behind_the_one_before_it() -> None:
    short = body("m = R.exp(x)", "z = R.negative(m)", "return z")
    long = body(
        "s = R.abs(x)",
        "m = R.exp(x)",
        "t = R.sin(s)",
        "u = R.cos(t)",
        "z = R.negative(m)",
        "e = R.tan(u)",
        "return z",
    )
    assert names(walk(long, short)) == ["s", "m", "t", "u", "z", "e"]
    assert names(walk(short, long)) == ["s", "m", "t", "u", "z", "e"]


def test_values_that_moved_are_paired_all_the_same() -> None:
    one = body("a = R.exp(x)", "b = R.sin(x)", "c = R.add(a, b)", "return c")
    other = body("b = R.sin(x)", "a = R.exp(x)", "c = R.add(a, b)", "return c")
    runs = walk(one, other)
    assert names(runs) == ["b", "a", "c"]
    assert all(pair.pairing.equal for pair in runs.pairs)
    assert runs.to_difference(0, 1) == runs.last


def test_operands_are_told_only_where_values_part() -> None:
    right = body("a = R.exp(x)", "b = R.sin(a)", "c = R.add(b, a)", "return c")
    runs = walk(right, right.replace("R.sin", "R.cos"))
    assert [[operand.b.name for operand in pair.operands if operand.b] for pair in runs.pairs] == [
        [],
        ["a"],
        ["b", "a"],
    ]
    assert [runs.to_difference(at, 1) for at in range(5)] == [2, 2, 3, 4, 4]
    assert [runs.to_difference(at, -1) for at in range(5)] == [0, 0, 0, 2, 3]


def test_the_tolerance_tells_what_differs() -> None:
    right = body("a = R.exp(x)", "return a")
    wrong = body("a = R.add(R.exp(x), R.const(0.01, 'float32'))", "return a")
    assert walk(right, wrong).verdict.reason == "out0 differs"
    assert walk(right, wrong, Tolerance(0.5, 0.5)).verdict.reason == ""
    assert walk(right, wrong, Tolerance(0.5, 0.5)).to_difference(0, 1) == 3


def test_a_value_beyond_the_memory_limit_does_not_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    from relax_explorer.core.session import samples

    kept = samples.recorded
    monkeypatch.setattr(samples, "recorded", lambda *given, **named: kept(*given, **named, most=8))
    right = body("a = R.exp(x)", "b = R.sin(a)", "return b")
    runs = walk(right, right.replace("R.sin", "R.cos"))
    assert [pair.pairing.by for pair in runs.pairs][1] == "not kept"
    assert runs.to_difference(0, 1) == runs.last
    assert runs.verdict.reason == "out0 differs"
