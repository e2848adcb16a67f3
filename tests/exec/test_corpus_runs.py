"""The five real models compute TVM's results: before and after each of our passes, and at TVM's own stages up to FuseTIR."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.session.inputs import from_file
from tests.support.ready_modules import after as after_pass
from tests.support.roundtrip import DATA, STAGES, module, stage_id

LOWERED = [p for p in STAGES if int(p.name[:2]) <= 12]
MODELS = sorted(p.name for p in DATA.iterdir() if p.is_dir())


def entry(model: str) -> str:
    return str(json.loads((DATA / model / "stages.json").read_text())["entry"])


def check(program: Any, model: str, tolerance: float = 1e-4) -> None:
    name = entry(model)
    inputs = from_file(program[name], DATA / model / "io.npz")
    expected = np.load(DATA / model / "io.npz")["out0"]
    np.testing.assert_allclose(rxe.run(program, name, inputs), expected, rtol=tolerance, atol=tolerance / 10)


@pytest.mark.parametrize("path", LOWERED, ids=stage_id)
def test_every_stage_up_to_fusion_computes_what_tvm_computed(path: Path) -> None:
    check(module(path), path.parent.name)


# Two change the signature, one the meaning: in training a batch norm reads the moments of its data.
OTHER_VALUES = ("BundleModelParams", "LiftTransformParams", "DecomposeOpsForTraining")
ROUNDED = {"ToMixedPrecision": 0.02}  # float16 has 11 bits


@pytest.mark.parametrize("name", [name for name in rxe.passes.names() if name not in OTHER_VALUES])
@pytest.mark.parametrize("model", MODELS)
def test_each_pass_keeps_the_values(model: str, name: str) -> None:
    program = after_pass(rxe.normalize(module(DATA / model / "00_input.py")), name)
    check(program, model, ROUNDED.get(name, 1e-4))


@pytest.mark.parametrize("model", MODELS)
def test_the_pipeline_keeps_the_values(model: str) -> None:
    check(rxe.run_pipeline(rxe.normalize(module(DATA / model / "00_input.py")), "default"), model)


def test_going_back_is_as_if_it_had_not_been_stepped() -> None:
    program = rxe.normalize(module(DATA / "llama" / "00_input.py"))
    inputs = from_file(program["forward"], DATA / "llama" / "io.npz")
    debugger = rxe.debug(program, "forward", inputs)
    seen: list[set[str]] = [set(debugger.frame.values)]
    for _ in range(20):
        debugger.step()
        seen.append(set(debugger.frame.values))
    for position in range(19, -1, -1):
        debugger.back()
        assert debugger.position == position
        assert set(debugger.frame.values) == seen[position]
    while not debugger.done:
        debugger.step()
    np.testing.assert_allclose(
        debugger.result, np.load(DATA / "llama" / "io.npz")["out0"], rtol=1e-4, atol=1e-5
    )
    assert debugger.frame.shape_vars == {"b": 1, "s": 5}
