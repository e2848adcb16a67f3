"""TVM gives our results of the examples of passes."""

from __future__ import annotations

from typing import Any

import pytest

from relax_explorer.core import passes
from relax_explorer.core.passes.examples import example
from tests.support.judged import Asker
from tests.support.oracle import Oracle
from tests.support.pass_agreement import as_module
from tests.support.pass_variants import Variant

OWN = frozenset(  # TVM does not have them, or reads their options in another form
    [
        *("BindParams", "ElideChecks", "EliminateShapeChecks", "LowerWildcards", "ReplaceModule", "SimplifyShapes", "SpecializeShapes"),
        *("FuseOpsByPattern", "UpdateParamType", "UpdateVDevice"),
    ]
)  # fmt: skip
KERNELS = frozenset(["DispatchSampling", "DispatchSortScan", "LegalizeOps", "Normalize"])
"""Their kernels are our own, or TVM does all that they do when it reads the program."""
THEIRS: dict[str, dict[str, Any]] = {
    "ConvertLayout": {"desired_layouts": {"relax.nn.conv2d": ["NHWC", "OHWI"]}},
    "BindSymbolicVars": {"binding_map": {"n": 2}},
}
NAMES = [n for n in passes.names() if n in passes.own() and n not in OWN | KERNELS | {"RewriteCUDAGraph"}]


@pytest.mark.parametrize("name", NAMES)
def test_tvm_gives_the_result_that_the_page_shows(oracle: Oracle, name: str) -> None:
    shown = example(passes.get(name))
    assert shown is not None
    ahead = tuple(
        [(step.of.name, step.options) for step in shown.ahead if step.of.name != "FuseOpsByPattern"]
    )
    is_ready = len(ahead) < len(shown.ahead)  # TVM takes its patterns in another form
    text = shown.before.script() if is_ready or not ahead else as_module(shown.text)
    of = Variant(name, shown.step.options, THEIRS.get(name), () if is_ready else ahead or ("Normalize",))
    verdict = Asker(oracle).verdict(text, of)
    assert verdict.kind == "equal", f"{verdict.kind}\n{verdict.details}"
