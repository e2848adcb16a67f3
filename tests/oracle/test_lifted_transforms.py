"""LiftTransformParams gives TVM's result. The differences have reasons in `differences.md`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.judged import Asker
from tests.support.oracle import Oracle
from tests.support.pass_agreement import as_module, compare, programs
from tests.support.pass_variants import variants

TEXTS = {
    name.split(": ", 1)[1].rsplit(" #", 1)[0]: text
    for name, text in programs().items()
    if name.startswith("lifts: ")
}
DIFFERENT = {
    "False": {"Only a transformed weight", "A length of which only a multiple stays"},
    "True": {"Only a transformed weight", "Values that are bound twice, copies, and reads in branches"},
}
NOT_ASKED = {"False": set[str](), "True": {"Tuples, parts and casts of weights"}}


@pytest.mark.parametrize("shared", [False, True], ids=str)
def test_transforms_are_lifted_as_in_tvm(oracle: Oracle, shared: bool) -> None:
    options: dict[str, Any] = {"shared_transform": shared}
    outcomes = {
        title: compare(oracle, text, ("LiftTransformParams", options)) for title, text in TEXTS.items()
    }
    for title in [title for title, outcome in outcomes.items() if outcome.kind == "not asked"]:
        oracle.could_not_ask(f"LiftTransformParams: {outcomes[title].details[-100:]}")
    others = {title: item for title, item in outcomes.items() if item.kind not in ("agree", "not asked")}
    assert others.keys() == DIFFERENT[str(shared)], others
    assert {title for title, item in outcomes.items() if item.kind == "not asked"} == NOT_ASKED[str(shared)]


def test_named_functions_share_as_in_tvm(oracle: Oracle) -> None:
    text = TEXTS["Two functions that transform alike"]
    theirs = ("LiftTransformParams", {"shared_transform": ["one"]})
    outcome = compare(oracle, text, ("LiftTransformParams", {"shared_functions": ["one"]}), theirs)
    assert outcome.kind == "agree", outcome.details


TWICE = """
@I.ir_module
class Module:
    @R.function
    def one(x: R.Tensor((2,), "float32"), w: R.Tensor((2,), "float32"), i: T.int64):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            a = R.exp(w)
            b = R.sin(w)
            c = R.cos(a)
            d = R.add(x, b)
            e = R.add(d, c)
            R.output(e)
        return e
    @R.function
    def two(x: R.Tensor((2,), "float32"), w: R.Tensor((2,), "float32"), i: T.int64):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            b = R.sin(w)
            a = R.exp(w)
            c = R.cos(a)
            a1 = R.exp(w)
            d = R.add(a1, b)
            f = R.add(d, x)
            e = R.add(f, c)
            R.output(e)
        return e
"""


def test_a_value_that_one_function_binds_twice_stays_in_all_as_in_tvm(oracle: Oracle) -> None:
    alone, shared = variants("LiftTransformParams")
    assert Asker(oracle).verdict(TWICE, shared).kind == "equal"
    assert Asker(oracle).verdict(TWICE, alone).kind == "equal"


COPIED = """
@R.function
def main(x: R.Tensor((2,), "float32"), v: R.Tensor((2,), "float32"), w: R.Tensor((2,), "float32")):
    R.func_attr({"num_input": 1})
    with R.dataflow():
        BODY
        R.output(e)
    f = R.add(R.add(v, w), e)
    return f
"""


@pytest.mark.parametrize(
    "body",
    ["e = w", "d = w; e = d", "d = R.exp(w); e = w", "d = R.exp(v); e = d", "e = v", "d = (w, v); e = d[0]"],
)
def test_a_copied_weight_is_read_at_its_copy_as_in_tvm(oracle: Oracle, body: str) -> None:
    text = as_module(COPIED.replace("BODY", body.replace("; ", "\n        ")))
    for of in variants("LiftTransformParams"):
        verdict = Asker(oracle).verdict(text, of)
        assert verdict.kind == "equal", verdict.details
