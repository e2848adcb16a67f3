"""Composite functions with fields of tuples, and blocks that nothing reads, are handled as in TVM. `test_pass_results.py` asks about more."""

from __future__ import annotations

import ast

import pytest

import relax_explorer as rxe
from tests.support.judged import Asker
from tests.support.oracle import Oracle
from tests.support.pass_agreement import as_module, compare
from tests.support.pass_variants import variants

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


HEAD = """
@R.function
def main(s: R.Tensor(("n", 3), "float32"), r: R.Tensor(("n", 3), "float32"), u: R.Tensor(("m", 3), "float32"), c: R.Tensor((), "bool")):
    n, m = T.int64(), T.int64()
    b = s
    p = R.exp(s)
    d = R.zeros(R.shape([2, 3]), "float32")
    @R.function
    def whole(z: R.Tensor((2, 3), "float32")) -> R.Tensor((n, 3), "float32"):
        return b
    o = whole(d)
"""
ENDS = {
    "a copy": (("", "b"), ("", "r"), ""),
    "a copy beside a dead value": (("a = R.exp(s)", "b"), ("", "r"), ""),
    "a dead copy": (("a = R.exp(b)", "s"), ("", "r"), ""),
    "its own copy": (("a = s", "a"), ("", "r"), ""),
    "a copy of a copy": (("a = b", "a"), ("", "r"), ""),
    "a field": (("t = (b, r); a = t[0]", "a"), ("", "r"), ""),
    "a tuple": (("", "(b, r)"), ("", "(r, b)"), "w = y[0]"),
    "an equal value": (("a = R.exp(s)", "a"), ("", "r"), ""),
    "an equal value outside": (("", "q"), ("", "p"), ""),
    "another value": (("", "b"), ("a = R.sin(s)", "a"), "w = R.exp(y)"),
    "a dead value": (("a = R.sin(s)", "s"), ("", "r"), ""),
    "two values": (("a = R.sin(r)", "a"), ("a = R.cos(r)", "a"), "w = R.exp(y)"),
    "nothing": (("", "s"), ("", "s"), "y = R.cos(r)"),
}
"""What a branch binds and its result, the same for the other branch, and what stands behind the If."""


MERGED_LENGTH = (("a = R.match_cast(u, R.Tensor((n, 3), 'float32'))", "a"), ("", "r"), "")
WHERE = [(case, where) for case in ENDS for where in ("", "n", "2")]


@pytest.mark.parametrize(("case", "where"), [("a merged length", ""), *WHERE])
def test_branches_forget_lengths_as_in_tvm(oracle: Oracle, case: str, where: str) -> None:
    (first, yes), (second, no), behind = ENDS.get(case, MERGED_LENGTH)
    lines = [
        "q = R.exp(s)",
        "if c:",
        *_indented(first, f"y = {yes}"),
        "else:",
        *_indented(second, f"y = {no}"),
    ]
    lines += [line for line in behind.split("; ") if line]
    if where:  # all of it in a function with this length, whose result captures a length
        n = '"n"' if where == "n" else "n"
        length = '"n"' if where == "n" else "2"
        head = f'def inner(z: R.Tensor(({length}, 3), "float32")) -> R.Tensor(({n}, 3), "float32"):'
        bound = ["n = T.int64()", "b = z", "s = z", "r = R.sin(z)"] if where == "n" else []
        result = "y" if case != "a tuple" else "y[0]"
        body = [*bound, *lines, f"v = R.exp({result})", "return v"]
        lines = ["@R.function", head, *_indented(*body), f"y = inner({'s' if where == 'n' else 'd'})"]
    text = HEAD + "".join([f"    {line}\n" for line in (*lines, "return (p, o, y)")])
    verdict = Asker(oracle).verdict(as_module(text), variants("RemoveRedundantReshape")[0])
    assert verdict.kind in ("equal", "same"), verdict.details


def _indented(*lines: str) -> list[str]:
    return [f"    {part}" for line in lines for part in line.split("; ") if part]


@pytest.mark.parametrize("shape", ["()", "(1,)"])
def test_the_reshape_of_a_scalar_stays_as_in_tvm(oracle: Oracle, shape: str) -> None:
    text = as_module(f"""
@R.function
def main(x: R.Tensor({shape}, "float32")):
    a = R.exp(x)
    b = R.reshape(a, R.shape({list(ast.literal_eval(shape))}))
    return b
""")
    assert Asker(oracle).verdict(text, variants("RemoveRedundantReshape")[0]).kind in ("equal", "same")
    after = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "RemoveRedundantReshape")
    assert "R.reshape" not in after.script()
