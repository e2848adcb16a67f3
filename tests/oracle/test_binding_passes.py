"""BindParams and BindSymbolicVars give TVM's results, up to names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from tests.support import wire
from tests.support.judged import Asker
from tests.support.oracle import Oracle
from tests.support.pass_agreement import as_module, compare, programs
from tests.support.pass_variants import variants

TEXTS = {name: text for name, text in programs().items() if name.startswith("binding: ")}
ARRAYS = {"b": np.arange(3, dtype="float32"), "w": np.arange(12, dtype="float32").reshape(4, 3)}


@pytest.mark.parametrize("title", TEXTS)
@pytest.mark.parametrize("names", ["b", "w", "bw"])
def test_parameters_are_bound_as_in_tvm(oracle: Oracle, title: str, names: str) -> None:
    params = {name: ARRAYS[name] for name in names}
    encoded = {name: wire.encode_tensor(array) for name, array in params.items()}
    theirs = ("BindParams", {"func_name": "main", "params": encoded})
    outcome = compare(oracle, TEXTS[title], ("BindParams", {"func_name": "main", "params": params}), theirs)
    assert outcome.kind == "agree", outcome.details


@pytest.mark.parametrize("title", TEXTS)
@pytest.mark.parametrize(
    "options",
    [
        {"binding_map": {"n": 4}},
        {"binding_map": {"n": 1, "m": 0}},
        {"binding_map": {"m": 7}, "func_name": "main"},
    ],
    ids=str,
)
def test_shape_variables_are_bound_as_in_tvm(oracle: Oracle, title: str, options: dict[str, Any]) -> None:
    outcome = compare(oracle, TEXTS[title], ("BindSymbolicVars", options))
    assert outcome.kind == "agree", outcome.details


MERGED = """
@R.function(pure=False)
def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32"), z: R.Tensor(("k",), "float32")):
    n = T.int64()
    m = T.int64()
    k = T.int64()
"""
CASTS = {
    "alone": "a = R.match_cast(x, R.Tensor((m,), 'float32'))\nreturn a",
    "a number behind it": "a = R.match_cast(x, R.Tensor((m,), 'float32'))\n"
    "c = R.call_packed('f', a, R.prim_value(m), ty_args=R.Object)\nreturn a",
    "a number before it": "c = R.call_packed('f', x, R.prim_value(m), ty_args=R.Object)\n"
    "a = R.match_cast(x, R.Tensor((m,), 'float32'))\nreturn a",
    "a number with the length that it has": "a = R.match_cast(x, R.Tensor((m,), 'float32'))\n"
    "c = R.call_packed('f', a, R.prim_value(n), ty_args=R.Object)\nreturn a",
    "a number and a shape": "a = R.match_cast(x, R.Tensor((m,), 'float32'))\n"
    "_ = R.assert_op(R.prim_value(n > m), format='')\nc = R.zeros(R.shape([m * 2]), 'float32')\nreturn (a, c)",
    "a chain": "a = R.match_cast(y, R.Tensor((n,), 'float32'))\nb = R.match_cast(z, R.Tensor((m,), 'float32'))\n"
    "c = R.match_cast(z, R.Tensor((n,), 'float32'))\nreturn (a, b, c)",
    "calls whose operands stay": "t = (y, y)\na = R.match_cast(x, R.Tensor((m,), 'float32'))\nb = R.exp(y)\n"
    "d = R.add(b, a)\ne = R.add(y, b)\nf = R.concat((y, y))\ng = t[0]\nh = R.exp(g)\ni: R.Object = R.exp(y)\n"
    "j = R.call_packed('f', y, ty_args=R.Tensor((m,), 'float32'))\nreturn (a, b, d, e, f, g, h, i, j)",
}


@pytest.mark.parametrize("case", CASTS)
@pytest.mark.parametrize("name", ["CanonicalizeBindings", "ReorderTakeAfterMatmul"])
def test_lengths_are_merged_as_in_tvm(oracle: Oracle, name: str, case: str) -> None:
    body = "".join(f"    {line}\n" for line in CASTS[case].splitlines())
    verdict = Asker(oracle).verdict(as_module(MERGED + body), variants(name)[0])
    assert verdict.kind in ("equal", "same"), verdict.details


CAPTURED = """
@R.function
def main(x: R.Tensor(("n", 3), "float32"), u: R.Tensor("float32", ndim=2), c: R.Tensor((), "bool")):
    @R.function
    def inner(z: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        if c:
            w = R.exp(z)
            v: R.Tensor("float32", ndim=2) = u
        else:
            v: R.Tensor("float32", ndim=2) = x
        t = (v, z)
        q = R.call_pure_packed("f", t, ty_args=R.Tensor((2,), "float32"))
        return q
    a = R.zeros((2,), "float32")
    b = inner(a)
    return b
"""


def test_a_branch_of_a_nested_function_is_cast_as_in_tvm(oracle: Oracle) -> None:
    verdict = Asker(oracle).verdict(as_module(CAPTURED), variants("CanonicalizeBindings")[0])
    assert verdict.kind in ("equal", "same"), verdict.details
    outside = CAPTURED.replace(
        'R.Tensor((2,), "float32"):', 'R.Tensor((2,), "float32"):\n        p = R.exp(x)'
    )
    assert Asker(oracle).verdict(as_module(outside), variants("CanonicalizeBindings")[0]).kind in (
        "equal",
        "same",
    )


BRANCHES = """
@R.function(pure=False)
def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32"), c: R.Tensor((), "bool"), d: R.Tensor((), "bool")):
    if c:
        a = FIRST
        u = a
    else:
        u = x
    if CONDITION:
        b = SECOND
        v = b
    else:
        v = x
    w = R.add(u, v)
    return w
"""


@pytest.mark.parametrize(
    ("first", "second", "condition", "is_one"),
    [
        ("R.exp(x)", "R.exp(x)", "c", True),
        ("R.exp(x)", "R.exp(x)", "d", False),
        ("R.exp(x)", "R.exp(y)", "c", False),
        ("R.exp(x)", "R.sin(x)", "c", False),
        ('R.call_packed("f", x, ty_args=R.Tensor((4,), "float32"))',) * 2 + ("c", False),
    ],
)
def test_equal_ifs_are_merged_as_in_tvm(
    oracle: Oracle, first: str, second: str, condition: str, is_one: bool
) -> None:
    text = BRANCHES.replace("FIRST", first).replace("SECOND", second).replace("CONDITION", condition)
    for name in ("EliminateCommonSubexpr", "RemoveRedundantReshape"):
        verdict = Asker(oracle).verdict(as_module(text), variants(name)[0])
        assert verdict.kind in ("equal", "same"), verdict.details
    module = rxe.normalize(rxe.parse(as_module(text)))
    after = rxe.apply_pass(module, "EliminateCommonSubexpr", profile="tvm")
    assert after.script().count("else:") == 2 - is_one
    assert rxe.apply_pass(module, "EliminateCommonSubexpr").script().count("else:") == 2
