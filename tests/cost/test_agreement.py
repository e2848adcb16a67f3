"""Costs beside independent answers: those of other stages, of TVM, and of our own runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.cost import amounts
from relax_explorer.core.cost.kernel_work import kernel_work
from relax_explorer.core.cost.program_cost import Cost
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.one_run import BindingTimes
from relax_explorer.core.tir.stmt import Buffer, PrimFunc
from tests.support.corpus import MODELS, Model
from tests.support.oracle import Oracle

SAMPLES = sorted((Path(__file__).resolve().parent.parent.parent / "samples").glob("[0-9]*.py"))
REMOVED = {"11_dead_and_double": "it has dead and double bindings, which passes remove"}
# What LegalizeOps writes in another way than the operator is defined, with the reason.
TOLD = {
    "diffusion": "TVM's lowering of layer_norm and group_norm has other loops than ours",
    "resnet_block": "our lowering of batch_norm takes a root for each element, that of TVM one for each channel",
    "bert_layer": "TVM's lowering of layer_norm has other loops than ours",
}


def stages(model: Model) -> Iterator[tuple[str, Cost]]:
    for path in model.stages:
        yield path.stem, rxe.cost(rxe.load(path), model.entry)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_the_stages_of_a_build_of_tvm_have_the_same_flops(model: Model) -> None:
    found = {
        name: (str(cost.flops), str(cost.functions), cost.unknown, cost.at_most)
        for name, cost in stages(model)
    }
    lowered = {value for name, value in found.items() if name != "00_input"}
    assert len(lowered) == 1, found
    flops, functions, unknown, _ = lowered.pop()
    assert unknown == ()
    assert (found["00_input"][:2] == (flops, functions)) is (model.name not in TOLD), found


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
@pytest.mark.parametrize("pipeline", ["zero", "zero,default_build"])
def test_our_pipelines_keep_the_flops_of_a_program(model: Model, pipeline: str) -> None:
    session = rxe.Session(rxe.parse(model.input), pipeline)
    session.run_all()
    found = {stage.made_by: rxe.cost(stage.module, model.entry) for stage in session.stages}
    assert {str(cost.flops) for cost in found.values()} == {str(found["input"].flops)}
    assert {str(cost.functions) for cost in found.values()} == {str(found["input"].functions)}
    assert {cost.unknown for cost in found.values()} == {()}


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_our_passes_keep_the_flops_of_the_samples(path: Path) -> None:
    module = rxe.load(path)
    before, after = (rxe.cost(one) for one in (module, rxe.run_pipeline(module, "zero")))
    if path.stem in REMOVED:
        assert (
            before.at(dict.fromkeys(before.variables, 8)).flops.value
            > after.at(dict.fromkeys(after.variables, 8)).flops.value
        )
        return
    told = {*before.unknown, *before.at_most, *after.unknown, *after.at_most}
    assert str(before.flops) == str(after.flops) or told


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_fusion_moves_fewer_bytes_and_plans_hold_less_than_all_values(model: Model) -> None:
    found = dict(stages(model))
    lengths = {name: 64 for name in model.record["dims"]}
    moved = {
        name: cost.at({k: v for k, v in lengths.items() if k in cost.variables}).moved.value
        for name, cost in found.items()
    }
    first, fused = moved["01_LegalizeOps"], moved["12_FuseTIRInner"]
    assert first is not None
    assert fused is not None
    assert fused < first
    cost = found["26_StaticPlanBlockMemory"]
    planned = cost.at({k: v for k, v in lengths.items() if k in cost.variables})
    whole, held, least = planned.allocated.value, planned.peak.value, planned.bound.value
    assert whole is not None
    assert held is not None
    assert least is not None
    assert least <= held <= whole


# -- TVM -------------------------------------------------------------------------------------------------------------


_WITHOUT = re.compile(
    r"Without memory planning, there are (\d+) constant-size memory allocation\(s\) with total size ([\d.e+-]+) GB"
)
_WITH = re.compile(
    r"With memory planning, there are (\d+) constant-size memory allocation\(s\) with total size ([\d.e+-]+) GB"
)


def constants_of(cost: Cost, is_planned: bool) -> tuple[int, int]:
    """The number and the bytes of the allocations of constant size: of all tensors, or of storages and what lies in none."""
    lives = cost.memory.owners if is_planned else cost.memory.tensors
    sizes = [amounts.value(life.size, {}) for life in lives if life.size is not None]
    known = [size for size in sizes if size is not None]
    return len(known), sum(known)


def gigabytes(text: str) -> float:
    return float(text) * 2**30


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_allocations_before_and_after_the_plan_are_those_that_tvm_estimates(
    model: Model, oracle: Oracle
) -> None:
    text = (model.directory / "24_RemovePurityChecking.py").read_text(encoding="utf-8")
    lengths = dict(model.record["dims"])
    bind = [("BindSymbolicVars", {"binding_map": lengths})] if lengths else []
    after = oracle.apply(text, [*bind, "CallTIRRewrite", "StaticPlanBlockMemory"]).get()
    estimate = oracle.memory_usage(after.handle).get()
    without, planned = _WITHOUT.search(estimate), _WITH.search(estimate)
    assert without is not None
    assert planned is not None
    cost = rxe.cost(rxe.parse(after.text), model.entry)
    assert cost.memory.is_planned
    for match, (count, size) in (
        (without, constants_of(cost, False)),
        (planned, constants_of(cost, True)),
    ):
        assert count == int(match[1]), estimate
        assert size == pytest.approx(gigabytes(match[2]), rel=1e-3, abs=1)


def is_constant(fn: PrimFunc) -> bool:
    dims = [dim for param in fn.params if isinstance(param, Buffer) for dim in param.shape]
    return all(dim.is_literal for dim in dims)


def test_kernels_of_constant_lengths_have_the_arithmetic_that_tvm_estimates(oracle: Oracle) -> None:
    """TVM counts neither functions nor comparisons, so that FLOPs without functions are its number, with those on integers."""
    asked, differ = 0, []
    for model in MODELS:
        module = rxe.parse((model.directory / "12_FuseTIRInner.py").read_text(encoding="utf-8"))
        theirs = oracle.flops((model.directory / "12_FuseTIRInner.py").read_text(encoding="utf-8"))
        estimates = theirs.get() if theirs.ok else {}
        for name, fn in module.functions.items():
            if not isinstance(fn, PrimFunc) or name not in estimates or not is_constant(fn):
                continue
            work = kernel_work(fn).work
            flops, functions, integers = (amounts.value(poly, {}) for poly in work.amounts[:3])
            assert flops is not None
            assert functions is not None
            assert integers is not None
            asked += 1
            if flops - functions + integers != estimates[name]:
                differ.append((model.name, name, flops - functions + integers, estimates[name]))
    assert differ == []
    assert asked > 10


# -- runs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
@pytest.mark.parametrize("stage", ["00_input", "12_FuseTIRInner"])
def test_the_bytes_of_values_are_those_of_a_run(model: Model, stage: str) -> None:
    module = rxe.normalize(rxe.load(model.directory / f"{stage}.py"))
    machine = Machine(module, model.entry, model.arrays("in"), private=True)
    times = BindingTimes()
    times.run(machine)
    cost = rxe.cost(module, model.entry, shape=dict(model.record["dims"]))
    compared = 0
    for row in cost.bindings:
        ran = times.rows.get(row.binding)
        if ran is None or row.size is None:
            continue
        assert cost.amount(row.size).value == ran.size
        compared += ran.size > 0
    assert compared >= 3


def test_a_planned_program_allocates_the_storages_that_its_cost_tells(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from relax_explorer.core.exec import memory

    model = next(model for model in MODELS if model.name == "llama")
    made: list[int] = []

    class Noted(memory.Storage):
        def __init__(self, size: int) -> None:
            super().__init__(size)
            made.append(size)

    monkeypatch.setattr(memory, "Storage", Noted)
    module = rxe.load(model.directory / "30_LowerRuntimeBuiltin.py")
    result = rxe.run(module, model.entry, model.arrays("in"), private=True)
    assert isinstance(result, np.ndarray)
    cost = rxe.cost(module, model.entry, shape=dict(model.record["dims"]))
    assert sum(made) == cost.amount(cost.memory.owned).value
