"""BindParams and BindSymbolicVars give TVM's results, up to names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support import wire
from tests.support.oracle import Oracle
from tests.support.pass_agreement import compare, programs

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
