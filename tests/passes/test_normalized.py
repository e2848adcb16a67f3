"""After each pass, normalizing returns the very same module, so that debuggers and views find its bindings.

Every other property that held before, and that the pass promises to keep, still holds.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import relax_explorer as rxe
from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.check.normalize_function import FunctionNormalizer
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.passes import derived_again
from relax_explorer.core.passes.contract import Pass, PassSite
from relax_explorer.core.passes.pipeline import Step, run_step, steps
from relax_explorer.core.passes.rewrite import Answer, rewrite
from relax_explorer.core.phases.module_properties import PROPERTIES, Property
from tests.support.random_programs import random_program
from tests.support.ready_modules import ready
from tests.support.roundtrip import SAMPLES

CORPUS = sorted((Path(__file__).parents[1] / "data" / "corpus").glob("*/*.py"))
RANDOM = 60  # by hand: 2,000


def assert_normalized(module: rxe.IRModule, what: str) -> int:
    """Test the law for every pass; returns the number of passes that accepted the module."""
    count, held = 0, dict[rxe.IRModule, list[Property]]()  # most passes get the module itself
    for name in rxe.passes.names():
        before = ready(module, name)
        if before not in held:
            held[before] = [q for q in PROPERTIES if q.holds(before)]
        outcome = run_step(steps(name)[0], before, held=held[before])
        broken = [item.message for item in outcome.problems if item.code.id == "RX0403"]
        assert not broken, f"{what}: {broken[0]}"
        after = outcome.module
        count += 1
        assert normalize_with(after)[0] is after, f"{what}, {name}"
    return count


@pytest.mark.parametrize("path", [*SAMPLES, *CORPUS], ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_after_each_pass_on_programs_of_people(path: Path) -> None:
    assert assert_normalized(rxe.normalize(rxe.load(str(path))), path.name) == len(rxe.passes.names())


def test_after_each_pass_on_random_programs() -> None:
    assert hold(range(RANDOM)) > RANDOM


def hold(seeds: range) -> int:
    """The number of passes that accepted a random program, each tested against the law."""
    count = 0
    for seed in seeds:
        try:
            module = rxe.normalize(rxe.parse(random_program(seed)))
        except rxe.Failure:
            continue
        count += assert_normalized(module, f"random program {seed}")
    return count


def _rewriting(name: str, change: Callable[[e.Binding], Answer]) -> Step:
    """A step that changes the bindings of `main`."""

    def run(fn: e.Function, at: PassSite) -> e.Function:
        """Change bindings."""
        return rewrite(fn, at, lambda walk, b: change(b)) if at.function == "main" else fn

    return Step(Pass(name, run, False))


def test_what_a_pass_leaves_to_derive_is_derived() -> None:
    forget = _rewriting("Forget", lambda b: replace(b, value=replace(b.value, struct_info=None)))
    for text in (PLAIN, PLAIN + EFFECT):
        module = rxe.normalize(rxe.parse(text))
        outcome = run_step(forget, module)
        assert [item for item in outcome.problems if item.is_error] == []
        assert outcome.module.script() == module.script()


def test_a_pass_that_writes_wrong_struct_info_breaks_its_contract() -> None:
    def write(binding: e.Binding) -> Answer:
        wrong = e.Call(e.op_ref("relax.shape_of"), binding.value.args, struct_info=s.OBJECT)
        return e.VarBinding(e.Var("wrong", s.OBJECT), wrong), binding

    forgetting = _rewriting("Write", write)
    says_so = PLAIN.replace("@R.function", "@R.function(pure=False)")
    for text in (
        PLAIN,
        PLAIN + EFFECT,
        says_so,
    ):  # functions with a possible effect hide nothing
        outcome = run_step(forgetting, rxe.normalize(rxe.parse(text)))
        assert [item.code.id for item in outcome.problems] == ["RX0403"]
        assert "NORMALIZED" in outcome.problems[0].message


PLAIN = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        y = R.exp(x)
        return y
"""
EFFECT = """
    @R.function
    def other(x: R.Tensor((2,), "float32")):
        _ = R.print(x)
        return x
"""


LOSING = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            unused = R.call_dps_packed("f", (x,), out_ty=R.Tensor((2,), "float32"))
            y = R.exp(x)
            R.output(y)
        return y
"""


def test_a_function_that_loses_its_effect_and_says_nothing_is_pure() -> None:
    before = rxe.normalize(rxe.parse(LOSING))
    after = rxe.apply_pass(before, "DeadCodeElimination")
    assert [fn["main"].struct_info.pure for fn in (before, after)] == [False, True]


NEIGHBOURS = """
@I.ir_module
class M:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0)]})

    @R.function(private=True)
    def inner(x: R.Tensor((2,), "float32")):
        y = R.exp(x)
        return y

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        cls = M
        y = cls.inner(x)
        z = R.to_vdevice(y, "cuda:0")
        return z
"""


def _widened(module: rxe.IRModule) -> rxe.IRModule:
    text = NEIGHBOURS.replace("R.exp(x)", 'R.astype(x, "float64")')
    return module.having({**module.functions, "inner": rxe.normalize(rxe.parse(text))["inner"]})


def _impure(module: rxe.IRModule) -> rxe.IRModule:
    text = NEIGHBOURS.replace("y = R.exp(x)", "_ = R.print(x)\n        y = R.exp(x)")
    text = text.replace("(private=True)", "(private=True, pure=False)")
    return module.having({**module.functions, "inner": rxe.normalize(rxe.parse(text))["inner"]})


def _without_device(module: rxe.IRModule) -> rxe.IRModule:
    infos = module.global_infos
    return replace(module, global_infos=infos.having(vdevice=infos["vdevice"][:1]))


def _without_callee(module: rxe.IRModule) -> rxe.IRModule:
    return module.having({"main": module["main"]})


@pytest.mark.parametrize("change", [_widened, _impure, _without_device, _without_callee])
def test_a_pass_that_breaks_a_function_which_it_leaves_alone_is_noticed(
    change: Callable[[rxe.IRModule], rxe.IRModule],
) -> None:
    module = rxe.normalize(rxe.parse(NEIGHBOURS))
    held = [q for q in PROPERTIES if q.holds(module)]
    assert normalize_with(module)[0] is module  # so that `main` is as precise as possible
    breaking = type(steps("LegalizeOps")[0])(Pass("Break", lambda module, at: change(module), True))
    outcome = run_step(breaking, module, held=held)
    is_mended = (
        normalize_with(outcome.module)[0] is outcome.module
    )  # what reads the function is derived again
    assert is_mended or "RX0403" in [item.code.id for item in outcome.problems]


@pytest.mark.parametrize("held", ["(M.f, x)", "(x, (M.f, M.f))", "(M.g, x)"])
@pytest.mark.parametrize("nested", [False, True])
def test_a_function_that_becomes_pure_changes_the_values_that_hold_it(held: str, nested: bool) -> None:
    """DeadCodeElimination removes the only effect of `f`, so the types of `f`, of `g` and of the tuple change."""
    inner = f"""
        @R.function(pure=False)
        def h(x: R.Tensor((2,), "float32")):
            t = {held}
            return t
        return h
"""
    module, _ = normalize_with(
        rxe.parse(
            """
@I.ir_module
class M:
    @R.function
    def f(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            v = R.call_dps_packed("f", (x,), out_sinfo=R.Tensor((2,), "float32"))
            y = R.add(x, x)
            R.output(y)
        return y
    @R.function
    def g(x: R.Tensor((2,), "float32")):
        y = M.f(x)
        return y
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")):
"""
            + (inner if nested else f"        t = {held}\n        return t\n")
        )
    )
    assert "False" in str(module["f"].struct_info)
    after = rxe.apply_pass(module, "DeadCodeElimination")
    assert "True" in str(after["f"].struct_info)
    assert normalize_with(after)[0] is after


@pytest.mark.parametrize(("checks", "times"), [(True, 2), (False, 1)])
def test_derived_struct_info_is_looked_at_again_in_tests_only(
    monkeypatch: pytest.MonkeyPatch, checks: bool, times: int
) -> None:
    """What a pass leaves open is derived, once; whether that changes nothing any more, only tests ask."""
    text = """
@R.function
def main(x: R.Tensor((2, 2), "float32")):
    with R.dataflow():
        y = R.exp(x)
        R.output(y)
    return y
"""
    module = rxe.normalize(rxe.parse(text))
    monkeypatch.setattr(derived_again, "CHECKS", checks)
    runs: list[object] = []
    run = FunctionNormalizer.run
    monkeypatch.setattr(FunctionNormalizer, "run", lambda self, fn: (runs.append(fn), run(self, fn))[1])
    run_step(_rewriting("Forget", lambda b: replace(b, value=replace(b.value, struct_info=None))), module)
    assert len(runs) == times
