"""TopologicalSort gives TVM's orders. The differences have reasons in `differences.md`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.oracle import Oracle
from tests.support.pass_agreement import compare, programs, random_programs

TEXTS = {name: text for name, text in programs().items() if name.startswith("orders: ")}
CAST = "orders: A match_cast that binds a length #2"
CAPTURED = "orders: A function in a block whose result does not need what it captures #15"
ROW = "TopologicalSort of a dataflow block with a function whose result"


@pytest.mark.parametrize("direction", ["from-inputs", "from-outputs"])
@pytest.mark.parametrize("order", ["depth-first", "breadth-first"])
def test_bindings_have_the_order_of_tvm(oracle: Oracle, order: str, direction: str) -> None:
    options = {"order": order, "direction": direction}
    texts = {**TEXTS, **dict(random_programs(20))}
    outcomes = {title: compare(oracle, text, ("TopologicalSort", options)) for title, text in texts.items()}
    different = {
        title: item.details for title, item in outcomes.items() if item.kind in ("differ", "refused")
    }
    assert different.keys() <= {CAST, CAPTURED}, different
    assert [item.kind for item in outcomes.values()].count("agree") >= 5


def test_the_row_is_there() -> None:
    assert f"| {ROW}" in (Path(__file__).parent / "differences.md").read_text(encoding="utf-8")
