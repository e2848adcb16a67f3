"""The pipelines of the profile `tvm` give TVM's functions, kernels and groups, up to the loops inside kernels."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import relax_explorer as rxe
from relax_explorer.core import passes
from relax_explorer.core.session.build_files import open_build
from tests.oracle.groups import compared, judged
from tests.oracle.test_real_builds import MODELS as BUILDS
from tests.oracle.test_real_builds import builds
from tests.support.corpus import MODELS
from tests.support.freedoms import with_lengths_in_order
from tests.support.oracle import Oracle
from tests.support.pass_agreement import random_programs

__all__ = ["builds"]  # a fixture


@pytest.mark.parametrize("name", [model.name for model in MODELS])
def test_models_have_tvms_groups(oracle: Oracle, group_counts: Counter[str], name: str) -> None:
    (model,) = [model for model in MODELS if model.name == name]
    verdict = judged(oracle, rxe.normalize(rxe.parse(model.input)), "zero")
    group_counts[f"models after zero|{verdict.kind}"] += 1
    assert verdict.kind == "equal", verdict.details


@pytest.mark.parametrize("name", BUILDS)
def test_builds_have_tvms_groups_and_its_code_of_the_machine(
    builds: Path, oracle: Oracle, group_counts: Counter[str], name: str
) -> None:
    given = open_build(builds / name / "dumpir")
    modules = [rxe.normalize(stage.module) for stage in given.stages]
    verdict = judged(oracle, modules[0], "zero")
    group_counts[f"builds after zero|{verdict.kind}"] += 1
    assert verdict.kind == "equal", verdict.details
    left = (
        "decoder",
        "VMShapeLower",
    )  # its text names a parameter `total_1` that TVM's messages call `total`
    for before, theirs, stage in zip(modules, modules[1:], given.stages[1:], strict=False):
        options = {"profile": "tvm"} if passes.get(stage.made_by).has_profiles else {}
        ours = rxe.apply_pass(before, stage.made_by, **options)
        verdict = compared(ours, with_lengths_in_order(ours, theirs), stage.text)
        kind = "named in the test" if (name, stage.made_by) == left else verdict.kind
        group_counts[f"stages of builds|{kind}"] += 1
        assert kind in ("equal", "named in the test"), f"{stage.made_by}: {verdict.details}"


@pytest.mark.parametrize("material", ["general", "layers"])
def test_random_programs_have_tvms_groups(oracle: Oracle, group_counts: Counter[str], material: str) -> None:
    found = [
        judged(oracle, rxe.normalize(rxe.parse(text)), "zero")
        for _, text in random_programs(6, 4200, material)
    ]
    group_counts.update(f"random {material} programs after zero|{verdict.kind}" for verdict in found)
    assert [verdict.details for verdict in found if verdict.kind == "unexplained"] == []
    assert [verdict.kind for verdict in found].count("equal") >= 5
