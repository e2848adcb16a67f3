"""BundleModelParams gives TVM's result. The one difference has a reason in `differences.md`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.oracle import Oracle
from tests.support.pass_agreement import compare, programs

TEXTS = {name: text for name, text in programs().items() if name.startswith("bundles: ")}


@pytest.mark.parametrize("options", [{}, {"param_tuple_name": "weights"}], ids=str)
def test_weights_are_bundled_as_in_tvm(oracle: Oracle, options: dict[str, Any]) -> None:
    outcomes = {title: compare(oracle, text, ("BundleModelParams", options)) for title, text in TEXTS.items()}
    different = {title: item.details for title, item in outcomes.items() if item.kind != "agree"}
    assert different.keys() == {"bundles: A bundle read in a nested function #1"}, different
