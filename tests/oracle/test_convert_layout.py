"""ConvertLayout gives TVM's results. Differences have reasons in `differences.md`."""

from __future__ import annotations

from pathlib import Path

import pytest

from relax_explorer.core.ops import find
from relax_explorer.core.passes.layout_rules import RULES
from tests.support.corpus import MODELS
from tests.support.oracle import Oracle
from tests.support.pass_agreement import compare, programs

ROWS = (Path(__file__).parent / "differences.md").read_text(encoding="utf-8")
TEXTS, BLOCKED = (
    {
        name.split(": ", 1)[1].rsplit(" #", 1)[0]: text
        for name, text in programs().items()
        if name.startswith(f"{file}: ")
    }
    for file in ("layouts", "blocks")
)
NHWC = {"relax.nn.conv2d": ["NHWC", "OHWI"], "relax.nn.conv1d": ["NWC", "OWI"]}


@pytest.mark.parametrize(
    "layouts",
    [["NHWC", "HWIO"], ["NHWC", "OHWI", "NCHW"], ["NWHC", "OIWH", "CNHW"]],
    ids=str,
)
@pytest.mark.parametrize("title", ["A convolution", "A bias", "Pools", "Two convolutions", "A residual"])
def test_other_layouts_are_those_of_tvm(oracle: Oracle, title: str, layouts: list[str]) -> None:
    options = {"desired_layouts": {"relax.nn.conv2d": layouts}}
    outcome = compare(oracle, TEXTS[title], ("ConvertLayout", options))
    assert outcome.kind == "agree", outcome.details


@pytest.mark.parametrize(
    "layouts", [["NHWC4c", "OHWI4i"], ["NCHW4c", "OIHW4i4o", "NCHW"], ["NCHW2c", "OIHW8o"]], ids=str
)
@pytest.mark.parametrize("title", ["A symbolic batch", "A tuple of blocks", "Blocks and `R.add(Y, o)`"])
def test_other_blocks_are_those_of_tvm(oracle: Oracle, title: str, layouts: list[str]) -> None:
    options = {"desired_layouts": {"relax.nn.conv2d": layouts}}
    outcome = compare(oracle, BLOCKED[title], ("ConvertLayout", options))
    assert outcome.kind == "agree", outcome.details


def test_a_model_gets_the_layouts_that_it_gets_in_tvm(oracle: Oracle) -> None:
    (model,) = [item for item in MODELS if item.name == "resnet_block"]
    text = model.stages[0].read_text(encoding="utf-8")
    outcome = compare(oracle, text, ("ConvertLayout", {"desired_layouts": NHWC}))
    assert outcome.kind == "agree", outcome.details


def test_every_rule_is_one_of_tvm(oracle: Oracle) -> None:
    theirs = {name for name in oracle.operators_with("FRelaxInferLayout").get() if find(name) is not None}
    assert RULES.keys() - theirs == set()
    missing = {name.removeprefix("relax.") for name in theirs - RULES.keys()}
    assert {name for name in missing if not name.startswith("ccl.")} == {
        "dynamic_strided_slice", "nn.dropout", "scatter_elements", "scatter_nd", "stack",
    }  # fmt: skip
    assert "| Operators that need the layout of the program in ConvertLayout" in ROWS
