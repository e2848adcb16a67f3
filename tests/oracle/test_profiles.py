"""How often the result of a pass is TVM's, in both profiles. In the profile `tvm` it must be nearly always."""

from __future__ import annotations

import pytest

from relax_explorer.core import passes
from tests.support.oracle import Oracle
from tests.support.pass_agreement import agreement, programs, random_programs

LEAST = {
    "CanonicalizeBindings": 90,
    "ConvertToDataflow": 80,
    "DeadCodeElimination": 85,
    "EliminateCommonSubexpr": 95,
    "ExpandTupleArguments": 85,
    "FoldConstant": 80,
    "FuseTIR": 60,
    "InlinePrivateFunctions": 60,
    "RemoveUnusedOutputs": 85,
    "RemoveUnusedParameters": 60,
}
LEAST_OF_LAYERS = {
    "AdjustMatmulOrder": 75,
    "ExpandMatmulOfSum": 75,
    "FoldBatchnormToConv2D": 75,
    "OptimizeLayoutTransform": 75,
    "RemoveRedundantReshape": 75,
    "ReorderPermuteDimsAfterConcat": 75,
    "ReorderTakeAfterMatmul": 75,
}
"""The least shares of equal results in the profile `spec`, in percent. The rest has rows in `differences.md`. Passes with patterns are
asked about programs of layers, which have something to match."""
LEAST_AS_TVM = 95
LESS_AS_TVM = {
    "AdjustMatmulOrder": 94
}  # row "Cleaning of a function of dataflow blocks", in 2 of 40 programs
FILES = ("binding: ", "canonicalize: ", "constants: ", "dataflow: ", "signatures: ")
OTHERS = {
    ("InlinePrivateFunctions", "A private function as a value"): "the result names a function that is gone",
    ("InlinePrivateFunctions", "Functions used as values"): "the same",
    ("ExpandTupleArguments", "Functions used as values"): "the type of the value is that of the old function",
    ("RemoveUnusedOutputs", "Functions used as values"): "the same",
    ("RemoveUnusedParameters", "Functions used as values"): "the same",
    ("FuseTIR", "Functions used as values"): "the same",
    ("FuseTIR", "Two lengths of one dropped parameter"): "TVM's result differs from run to run",
    (
        "RemoveUnusedParameters",
        "Two lengths of one dropped parameter",
    ): "TVM's result differs from run to run",
}
"""Programs whose results can't be equal, by pass and heading, with the reason."""


@pytest.mark.parametrize("name", LEAST)
def test_the_share_of_equal_results(name: str, oracle: Oracle) -> None:
    written = {title: text for title, text in programs().items() if title.startswith(FILES)}
    shares: dict[str, list[bool]] = {"spec": [], "tvm": []}
    for title, text in [*written.items(), *random_programs(24, 9300)]:
        if (name, title.split(": ", 1)[-1].rsplit(" #", 1)[0]) in OTHERS:
            continue
        for profile, equal in agreement(oracle, text, name).items():
            shares[profile].append(equal)
    spec, tvm = (100 * sum(found) / len(found) for found in shares.values())
    assert (spec >= LEAST[name], tvm >= LEAST_AS_TVM) == (True, True), f"{spec:.1f} %, {tvm:.1f} %"
    assert len(shares["tvm"]) >= 15


@pytest.mark.parametrize("name", LEAST_OF_LAYERS)
def test_the_share_of_equal_results_on_layers(name: str, oracle: Oracle) -> None:
    found = [agreement(oracle, text, name) for _, text in random_programs(24, 9300, "layers")]
    asked = [each for each in found if each]
    spec, tvm = (100 * sum(each[profile] for each in asked) / len(asked) for profile in ("spec", "tvm"))
    least = LESS_AS_TVM.get(name, LEAST_AS_TVM)
    assert (spec >= LEAST_OF_LAYERS[name], tvm >= least) == (True, True), f"{spec:.1f} %, {tvm:.1f} %"
    assert len(asked) >= 12


def test_every_pass_of_the_seven_has_the_option_or_needs_none() -> None:
    with_option = {name for name, found in passes.table().items() if found.has_profiles}
    assert set(LEAST) <= with_option
    assert "ToNonDataflow" not in with_option  # its results are TVM's
