"""How many steps a run will have is told where the program decides it, and is then what the run has."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.step_count import step_count
from relax_explorer.core.program.module import IRModule
from tests.support.roundtrip import SAMPLES

CALLS = """@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        a = M.twice(x)
        b = M.twice(a)
        c = M.outer(b)
        return c
    @R.function
    def twice(x: R.Tensor((2,), "float32")):
        a = R.exp(x)
        b = R.exp(a)
        return b
    @R.function
    def outer(x: R.Tensor((2,), "float32")):
        a = M.twice(x)
        return a
"""
BRANCH = """@R.function
def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")):
    if c:
        y = R.exp(x)
        z = R.exp(y)
    else:
        z = R.add(x, x)
    return z
"""


def steps(module: IRModule, function: str = "main") -> int:
    run = rxe.debug(module, function, rxe.inputs(module, function)[0])
    while not run.done:
        run.step()
    return run.position


@pytest.mark.parametrize("number", [0, 1, 3, 7, 8, 9, 10, 11])
def test_a_straight_program_has_the_steps_that_are_told(number: int) -> None:
    module = rxe.load(str(SAMPLES[number]))
    told = step_count(rxe.normalize(module), "main")
    assert told == steps(module)


def test_calls_are_counted_each_time() -> None:
    module = rxe.parse(CALLS)
    assert step_count(module, "main") == steps(module) == 15
    assert step_count(module, "outer") == steps(module, "outer")


@pytest.mark.parametrize("number", [4, 5, 6])
def test_a_branch_a_recursion_and_a_closure_leave_it_to_the_run(number: int) -> None:
    module = rxe.load(str(SAMPLES[number]))
    name = "main" if "main" in module else next(iter(module.relax_functions))
    assert step_count(rxe.normalize(module), name) is None


def test_what_calls_an_unknown_number_of_steps_has_none() -> None:
    text = CALLS.replace("        b = R.exp(a)\n        return b", "        b = M.main(a)\n        return b")
    assert step_count(rxe.parse(text), "main") is None
    body = BRANCH.replace("def main", "def f").replace("\n", "\n    ")
    call = CALLS.partition("    @R.function")[2].partition("    @R.function")[0]
    main = (
        call.replace("x: R.T", 'c: R.Tensor((), "bool"), x: R.T')
        .replace("M.twice(a)", "M.f(c, a)")
        .replace("M.twice(x)", "R.exp(x)")
    )
    module = rxe.parse(
        f"@I.ir_module\nclass M:\n    @R.function{main.replace('M.outer(b)', 'R.exp(b)')}    {body}"
    )
    assert step_count(module, "main") is None
    assert step_count(module, "f") is None
    assert step_count(module, "missing") is None


def test_every_stage_of_a_build_has_the_steps_that_are_told() -> None:
    session = rxe.Session(rxe.load(str(SAMPLES[11])), "zero,default_build")
    session.run_all()
    for stage in session.stages[::5]:
        assert step_count(stage.module, "main") == steps(stage.module), stage.made_by
