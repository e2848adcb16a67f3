"""Passes name what they add in the order of the functions' names, as TVM does, whatever the order of the text is."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from tests.support.oracle import Oracle
from tests.support.pass_agreement import compare
from tests.support.pass_variants import variants

FUNCTION = """
    @R.function
    def {name}(x: R.Tensor(({n}, 8), "float32"), w: R.Tensor((8, 8), "float32")) -> R.Tensor(({n}, 8), "float32"):
        with R.dataflow():
            wt = R.permute_dims(w)
            y = R.matmul(x, wt)
            z = R.nn.relu(y)
            e = R.exp(z)
            v = R.add(e, e)
            R.output(v)
        return v
"""
FUNCTIONS = [FUNCTION.format(name=name, n=n) for n, name in enumerate(("prefill", "embed", "decode"), 2)]
TEXT = "@I.ir_module\nclass Module:" + "".join(FUNCTIONS)
ADDING = [
    "LegalizeOps",
    "FuseOps",
    "FuseTIR",
    "FuseOpsByPattern",
    "FuseTransposeMatmul",
    "FastMathTransform",
    "DataflowUseInplaceCalls",
]


@pytest.mark.parametrize("name", ADDING)
def test_what_is_added_has_the_names_of_tvm(oracle: Oracle, name: str) -> None:
    variant = variants(name)[0]
    ready = oracle.apply(TEXT, variant.before).get() if variant.before else TEXT
    outcome = compare(oracle, ready, (variant.name, variant.options), variant.in_tvm)
    assert outcome.kind == "agree", outcome.details


def test_the_order_of_the_text_names_nothing() -> None:
    turned = "@I.ir_module\nclass Module:" + "".join(reversed(FUNCTIONS))
    module, turned = rxe.normalize(rxe.parse(TEXT)), rxe.normalize(rxe.parse(turned))
    assert list(turned.functions) == ["decode", "embed", "prefill"]
    pipeline = "zero,default_build"
    assert rxe.structural_equal(
        rxe.run_pipeline(module, pipeline), rxe.run_pipeline(turned, pipeline), map_free_vars=True
    )
