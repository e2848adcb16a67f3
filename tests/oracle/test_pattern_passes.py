"""Composite functions with fields of tuples, and blocks that nothing reads, are handled as in TVM. `test_pass_results.py` asks about more."""

from __future__ import annotations

import pytest

from tests.support.oracle import Oracle
from tests.support.pass_agreement import compare

MERGED = """
@I.ir_module
class Module:
    @R.function(private=True)
    def NAME(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"Composite": "my.exp", "Primitive": True})
        with R.dataflow():
            gv = R.exp(x)
            R.output(gv)
        return gv
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        cls = Module
        with R.dataflow():
            e = R.exp(x)
            a = cls.NAME(x)
            b = cls.NAME(e)
            BODY
            R.output(OUTPUTS)
        return (OUTPUTS)
"""


@pytest.mark.parametrize("name", ["fused_exp", "own"])
@pytest.mark.parametrize(
    ("body", "outputs"),
    [
        ("", "e, a"),
        ("t = (a, a); f = t[1]", "e, b"),
        ("t = (a, a); f = t[1]; g = R.exp(f)", "e, g"),
        ("t = (a, a); f = t[1]; g = R.exp(f)", "e, g, t"),
        ("t = (a, a); f = t[1]; g = cls.NAME(f)", "e, g"),
        ("t = (a, a)", "e, t"),
        ("t = (a, x); f = t[0]; g = cls.NAME(f)", "e, g"),
        ("t = (a, b); f = t[0]; g = cls.NAME(f)", "e, g"),
        ("g = cls.NAME(a); t = (a, g); f = t[0]; h = R.exp(f)", "e, h"),
        ("t = ((a, a), a); f = t[0]; g = f[1]; h = cls.NAME(g)", "e, h"),
    ],
)
def test_fields_of_tuples_are_merged_as_in_tvm(oracle: Oracle, name: str, body: str, outputs: str) -> None:
    lines = body.replace("; ", "\n            ")
    text = MERGED.replace("BODY", lines).replace("OUTPUTS", outputs).replace("NAME", name)
    outcome = compare(oracle, text, ("MergeCompositeFunctions", {}))
    assert outcome.kind == "agree", outcome.details


PARTED = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4), "float32"), w: R.Tensor((4, 4), "float32"), v: R.Tensor((4,), "float32")):
        R.func_attr({"num_input": 1})
        a = R.matmul(x, w)
        with R.dataflow():
            b = R.exp(x)
            R.output(b)
        c = R.matmul(a, v)
        return c
"""


@pytest.mark.parametrize("returned", ["c", "(c, b)"])
def test_a_dead_block_parts_no_match(oracle: Oracle, returned: str) -> None:
    text = PARTED.replace("return c", f"return {returned}")
    outcome = compare(oracle, text, ("AdjustMatmulOrder", {}))
    assert outcome.kind == ("agree" if returned == "c" else "same"), outcome.details
