"""The values of operators: `evaluate`, our lowering on TVM's virtual machine, and TVM's own lowering must agree.

`tests/ops` tests that the lowering compiled by numba agrees with `evaluate`, too. Other dtypes than in the examples take
long, so they are compared by hand: `python -m tests.oracle.operator_values`.
"""

from __future__ import annotations

from collections import Counter

import pytest

from relax_explorer.core.ops import table
from relax_explorer.core.ops.kit.decl import Op
from tests.oracle.operator_values import DIFFER, UNEXPLAINED, as_written
from tests.support.op_calls import Difference, differences, picked
from tests.support.op_examples import examples
from tests.support.oracle import Oracle

EVALUATED = [op for op in table().values() if op.evaluate is not None]


@pytest.mark.parametrize("op", EVALUATED, ids=lambda op: op.name.removeprefix("relax."))
def test_tvm_computes_what_we_compute(op: type[Op], oracle: Oracle, value_counts: Counter[str]) -> None:
    found = list(as_written([example for example in examples() if example.op is op], oracle))
    value_counts.update(item.kind for item in found)
    assert [str(item) for item in found if item.kind == UNEXPLAINED] == []


@pytest.mark.parametrize(
    "row",
    [row for row in differences() if row.kind == "values"],
    ids=lambda row: f"{row.names}:{row.form}",
)
def test_every_difference_of_values_is_seen(row: Difference, oracle: Oracle) -> None:
    """A row about other dtypes than in the examples has a call of its own in its file."""
    shown = [call for call in (*examples(), *picked(row.family)) if row.explains(call)]
    assert any(item.kind == DIFFER for item in as_written(shown, oracle)), "TVM computes what we do"
