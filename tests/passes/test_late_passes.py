"""A pass that finds nothing because an earlier one removed what it reads says so, with the order that works; no other one does."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core import passes as registry
from relax_explorer.core.passes.examples import example
from relax_explorer.core.passes.pass_order import unmet
from relax_explorer.core.passes.phase_table import commuting, explained
from relax_explorer.core.passes.pipeline import Step, run, run_step, steps
from relax_explorer.core.phases.module_properties import holding

CODE = "RX0418"
# The earlier pass has done itself what the later one is for: nothing is left to do, and no other order does more.
_CASTS = (
    *("RemoveUnusedOutputs", "ExpandTupleArguments", "CanonicalizeBindings", "ConvertToDataflow", "FuseTIR"),
    *("RemoveRedundantReshape", "ExpandMatmulOfSum", "AdjustMatmulOrder", "ReorderPermuteDimsAfterConcat"),
    *("ReorderTakeAfterMatmul", "OptimizeLayoutTransform", "FoldBatchnormToConv2D"),
)
DONE: dict[str, tuple[str, ...]] = {
    "Normalize": ("VMShapeLower",),
    "RemoveUnusedParameters": ("FuseTIR",),
    "ExpandTupleArguments": ("FuseTIR",),
    "DecomposeOpsForInference": ("DecomposeOpsForTraining",),
    "CanonicalizeBindings": ("RemoveUnusedOutputs", "ExpandTupleArguments", "ConvertToDataflow", "FuseTIR"),
    "DeadCodeElimination": (
        *("InlinePrivateFunctions", "RemoveUnusedOutputs", "ExpandTupleArguments", "FuseTIR"),
        *("MergeCompositeFunctions", "RunCodegen"),
    ),
    "ElideChecks": (*_CASTS, "EliminateShapeChecks"),
    "EliminateShapeChecks": (*_CASTS, "ElideChecks"),
    "LegalizeOps": ("FastMathTransform",),
}
WITH_EXAMPLE = sorted(name for name, of in registry.own().items() if example(of) is not None)


def _told(problems: object) -> bool:
    return any(item.code.id == CODE for item in problems)  # type: ignore[attr-defined]  # a sequence of diagnostics


@cache
def _silent(name: str) -> tuple[set[str], list[str]]:
    """The passes in front of which a pass changes its example, and after which it does nothing in silence; and wrong reports."""
    shown = example(registry.get(name))
    assert shown is not None
    module, silent, wrong = shown.before, set[str](), list[str]()
    assert run_step(shown.step, module, False).changed
    held = holding(module)
    for other in registry.own().values():
        order = [Step(other, {}), shown.step]
        first, second = run(module, order, verify=False)
        if other.name == name or first.failure or not first.changed or second.failure:
            continue
        ahead = _told([problem for _, problem in unmet(order, held)])
        if second.changed and (ahead or _told(second.problems)):
            wrong.append(other.name)
        if not second.changed and not _told(second.problems):
            silent.add(other.name)
    return silent, wrong


@pytest.mark.parametrize("name", WITH_EXAMPLE)
def test_no_pass_finds_nothing_in_silence(name: str) -> None:
    silent, wrong = _silent(name)
    assert silent == set(DONE.get(name, ()))
    assert wrong == []


def test_the_order_that_works_is_told_before_a_run() -> None:
    rows = explained(steps("LegalizeOps,ToMixedPrecision,ToNonDataflow,FoldConstant"))
    assert [row.hints for row in rows] == [
        (),
        ("run ToMixedPrecision before LegalizeOps",),
        (),
        ("run FoldConstant before ToNonDataflow",),
    ]
    assert [row.missing for row in explained(steps("ToMixedPrecision,LegalizeOps"))] == [(), ()]
    assert not commuting(registry.get("LegalizeOps"), registry.get("ToMixedPrecision"))


def test_blocks_that_come_back_are_found() -> None:
    order = steps("ToNonDataflow,ConvertToDataflow,FoldConstant")
    assert [row.missing for row in explained(order)] == [(), (), ()]


@pytest.mark.parametrize("name", registry.PIPELINES)
def test_no_pass_of_our_pipelines_comes_too_late(name: str) -> None:
    assert not _told([problem for _, problem in unmet(steps(name), ())])


PLAIN = '@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    y = R.add(x, x)\n    return y\n'


def test_what_was_never_there_has_not_been_removed() -> None:
    outcomes = list(
        run(
            rxe.normalize(rxe.parse(PLAIN)), steps("ToNonDataflow,FoldConstant,TopologicalSort"), verify=False
        )
    )
    assert not any(_told(outcome.problems) for outcome in outcomes)


BLOCK = """@R.function
def main(x: R.Tensor((2,), "float32")):
    with R.dataflow():
        y = R.add(x, x)
        R.output(y)
    return y
"""


def test_a_pass_that_would_have_found_nothing_is_not_late() -> None:
    order = steps("LegalizeOps,DispatchSampling,ToNonDataflow,FoldConstant")
    outcomes = list(run(rxe.normalize(rxe.parse(BLOCK)), order, verify=False))
    assert not any(_told(outcome.problems) for outcome in outcomes)


def test_a_session_tells_it() -> None:
    assert _told(rxe.Session(rxe.parse(BLOCK), "ToNonDataflow,FoldConstant").notes)
    assert not _told(rxe.Session(rxe.parse(BLOCK), "FoldConstant,ToNonDataflow").notes)


CLOSURE = """@R.function
def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
    @R.function
    def inner(a: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        b = R.add(a, y)
        return b
    z = inner(x)
    w = inner(z)
    return w
"""


def test_the_build_takes_closures() -> None:
    module = rxe.normalize(rxe.parse(CLOSURE))
    outcomes = list(run(module, steps("default_build")))
    assert [item for outcome in outcomes for item in outcome.problems if item.is_error] == []
    built = outcomes[-1].module
    inputs = [np.array(row, np.float32) for row in ([1, 2], [10, 20])]
    results = [rxe.run(each, "main", inputs) for each in (module, built)]
    assert [np.asarray(result).tolist() for result in results] == [[21, 42], [21, 42]]


def test_a_pass_that_was_only_warned_of_lets_the_others_run() -> None:
    graph = "    with R.dataflow():\n        g = R.add(x, y)\n        h = R.add(g, g)\n        R.output(h)\n"
    module = rxe.normalize(
        rxe.parse(CLOSURE.replace("    @R.function\n    def inner", f"{graph}    @R.function\n    def inner"))
    )
    first, second = run(module, steps("KillAfterLastUse,LambdaLift"), holding(module), phase_check="warn")
    assert (first.changed, second.changed) == (True, True)
    assert [item.code.id for item in first.problems if item.is_error] == []
    assert {item.code.id for item in first.problems} == {"RX0407", "RX0403"}  # what it broke is told
    assert rxe.run_pipeline(module, "KillAfterLastUse,LambdaLift", phase_check="warn") is not module


def test_code_of_the_machine_needs_lowered_operators() -> None:
    """PHASE-17: what generates it tells of each operator that is left, and of the pass to run."""
    order = (
        "ToNonDataflow,RemovePurityChecking,CallTIRRewrite,LowerAllocTensor,LowerRuntimeBuiltin,VMShapeLower"
    )
    notes = rxe.Session(rxe.parse(PLAIN), order).notes
    assert [note.help for note in notes if "NO_HIGH_LEVEL_OPS" in note.message] == [
        "run LegalizeOps before it"
    ]
    assert rxe.Session(rxe.parse(PLAIN), f"LegalizeOps,{order}").notes == []
