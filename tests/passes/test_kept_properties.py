"""A pass breaks no property that its contract does not name, in a program as it is written and as it is printed."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core import passes
from relax_explorer.core.passes.pass_order import refusal
from tests.support.pass_agreement import programs
from tests.support.ready_modules import ready

CASES = [
    ("BindSymbolicVars", "(SCOPE-16) #21"),
    ("CallTIRRewrite", "Overwriting by call_tir_inplace"),
    ("ConvertToDataflow", "(SCOPE-16)"),
    ("ElideChecks", "Two groups with one input"),
    ("EliminateShapeChecks", "A check of blocks"),
    ("FoldBatchnormToConv2D", "Batch norms: c"),
    ("InlinePrivateFunctions", "Effects in a private function in a branch"),
    ("InlinePrivateFunctions", "LowerWildcards gives each wildcard a name"),
    ("LambdaLift", "Arguments, tuples, closures and other functions are looked at"),
    ("LambdaLift", "(SCOPE-16)"),
    ("RemovePurityChecking", "A packed call is impure unless declared pure (PURE-02)"),
    ("LiftTransformParams", "Lengths that only weights tell"),
    ("LowerWildcards", "22_wildcards"),
    ("RealizeVDevice", "whole: Devices"),
    ("ReorderTakeAfterMatmul", "Sums, concatenations and takes: take"),
]


OPTIONS = {"BindSymbolicVars": "BindSymbolicVars{binding_map={'n': 3}}"}


@pytest.mark.parametrize(("name", "title"), CASES)
def test_no_other_property_is_broken(name: str, title: str) -> None:
    texts = [text for heading, text in programs().items() if title in heading]
    assert texts
    changed = 0
    for text in texts:
        written = rxe.normalize(rxe.parse(text))
        for module in (written, rxe.normalize(rxe.parse(written.script()))):
            before = ready(module, name)
            if refusal(passes.get(name), before) is not None:
                continue
            after = rxe.run_pipeline(before, OPTIONS.get(name, name))
            changed += after is not before
            again = rxe.check(rxe.parse(after.script()))
            assert [str(item) for item in again if item.is_error and item.code.id == "RX0116"] == []
    assert changed > 0


@pytest.mark.parametrize(
    ("name", "title"), [("LowerWildcards", "22_wildcards"), ("RealizeVDevice", "whole: Devices")]
)
def test_a_printed_program_becomes_the_same(name: str, title: str) -> None:
    for text in [text for heading, text in programs().items() if title in heading]:
        written = rxe.normalize(rxe.parse(text))
        printed = rxe.normalize(rxe.parse(written.script()))
        assert rxe.apply_pass(printed, name).script() == rxe.apply_pass(written, name).script()


def test_a_claim_that_no_wildcard_made_stays_an_annotation() -> None:
    text = """@I.ir_module
class M:
    I.module_attrs({"wildcard_dims": True})
    @R.function
    def main(v: R.Tensor("float32", ndim=1), w: R.Tensor((R.any_dim,), "float32")):
        y: R.Tensor((4,), "float32") = R.exp(v)
        return y
"""
    after = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "LowerWildcards").script()
    assert 'y: R.Tensor((4,), dtype="float32") = R.exp(v)' in after
    assert "match_cast" not in after


@pytest.mark.parametrize("axes", [[1], [1, 2], [1, 3], [-1], [-3, -1], [2, 3], [0, 1, 2, 3]])
def test_a_layer_norm_over_any_axes_is_decomposed(axes: list[int]) -> None:
    shape = (2, 3, 4, 5)
    lengths = tuple(shape[axis] for axis in axes)
    text = f"""@R.function
def main(x: R.Tensor({shape}, "float32"), g: R.Tensor({lengths}, "float32"), b: R.Tensor({lengths}, "float32")):
    y = R.nn.layer_norm(x, g, b, axes={axes})
    return y
"""
    module = rxe.normalize(rxe.parse(text))
    after = rxe.run_pipeline(module, "DecomposeOpsForTraining")
    assert "layer_norm" not in after.script()
    values = [
        np.random.default_rng(n).random(of).astype("float32")
        for n, of in enumerate((shape, lengths, lengths))
    ]
    have, want = (np.asarray(rxe.run(each, "main", values)) for each in (after, module))
    assert np.allclose(have, want, atol=1e-4)


def test_a_layer_norm_over_axes_in_another_order_stays() -> None:
    text = """@R.function
def main(x: R.Tensor((2, 3, 4), "float32"), g: R.Tensor((4, 3), "float32")):
    y = R.nn.layer_norm(x, g, g, axes=[2, 1])
    return y
"""
    module = rxe.normalize(rxe.parse(text))
    assert rxe.apply_pass(module, "DecomposeOpsForTraining") is module
