"""TVM gives our results of the examples of passes."""

from __future__ import annotations

import pytest

from relax_explorer.core import passes
from relax_explorer.core.passes.examples import example
from tests.support.known_differences import reasons
from tests.support.oracle import Oracle
from tests.support.pass_agreement import as_module, compare
from tests.support.pass_variants import Variant

OWN = frozenset(  # TVM does not have them, or reads their options in another form
    [
        *("BindParams", "ElideChecks", "EliminateShapeChecks", "LowerWildcards", "ReplaceModule", "SimplifyShapes", "SpecializeShapes"),
        *("FuseOpsByPattern", "UpdateParamType", "UpdateVDevice"),
    ]
)  # fmt: skip
KERNELS = frozenset(["DispatchSampling", "DispatchSortScan", "LegalizeOps", "Normalize"])
"""Their kernels are our own, or TVM does all that they do when it reads the program."""
THEIRS = {
    "ConvertLayout": {"desired_layouts": {"relax.nn.conv2d": ["NHWC", "OHWI"]}},
    "BindSymbolicVars": {"binding_map": {"n": 2}},
}
NAMES = [n for n in passes.names() if n in passes.own() and n not in OWN | KERNELS | {"RewriteCUDAGraph"}]


@pytest.mark.parametrize("name", NAMES)
def test_tvm_gives_the_result_that_the_page_shows(oracle: Oracle, name: str) -> None:
    shown = example(passes.get(name))
    assert shown is not None
    ahead = [(step.of.name, step.options) for step in shown.ahead if step.of.name != "FuseOpsByPattern"]
    if len(ahead) < len(shown.ahead):
        given = shown.before.script()  # TVM takes its patterns in another form
    else:
        given = oracle.apply(
            shown.before.script() if not ahead else as_module(shown.text), ahead or ["Normalize"]
        ).get()
    of = Variant(name, shown.step.options, THEIRS.get(name))
    outcome = compare(oracle, given, (name, shown.step.options), of.in_tvm)
    assert outcome.kind == "agree" or reasons(oracle, given, of), f"{outcome.kind}\n{outcome.details}"
