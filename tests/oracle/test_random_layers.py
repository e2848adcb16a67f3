"""Results of passes for random parts of networks are TVM's, or have a row in `differences.md`."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.known_differences import reasons
from tests.support.oracle import Oracle
from tests.support.pass_agreement import compare, random_programs
from tests.support.pass_variants import variants

LAYERS = {
    "AdjustMatmulOrder": 6, "CombineParallelMatmul": 1, "ConvertLayout": 3, "ExpandMatmulOfSum": 6, "FoldBatchnormToConv2D": 6,
    "FuseOpsByPattern": 1, "FuseTransposeMatmul": 1, "LiftTransformParams": 1, "MergeCompositeFunctions": 4,
    "OptimizeLayoutTransform": 6, "RemoveRedundantReshape": 6, "ReorderPermuteDimsAfterConcat": 6, "ReorderTakeAfterMatmul": 6,
    "ToMixedPrecision": 4, "BundleModelParams": 6, "BindSymbolicVars": 2, "DataflowUseInplaceCalls": 2,
}  # fmt: skip
"""The passes with the least number of programs, of ten, that they change as TVM does."""


@pytest.mark.parametrize("name", LAYERS)
def test_results_for_random_layers_are_tvms_or_explained(name: str, oracle: Oracle) -> None:
    for variant in variants(name):
        kinds = Counter[str]()
        for title, text in random_programs(10, 8100, "layers"):
            ready = oracle.apply(text, variant.before) if variant.before else None
            if ready is not None and not ready.ok:
                oracle.could_not_ask(f"{name}: {ready.error[-80:]}")
                continue
            text = text if ready is None else ready.get().text
            outcome = compare(oracle, text, (variant.name, variant.options), variant.in_tvm)
            kinds[outcome.kind] += 1
            if outcome.kind == "not asked":
                oracle.could_not_ask(f"{name}: {outcome.details[-80:]}")
            explained = outcome.kind != "differ" or reasons(oracle, text, variant)
            assert explained, f"{variant.title}, {title}: {outcome.details}"
        assert kinds["refused"] == 0
        assert kinds["agree"] >= LAYERS[name], kinds
