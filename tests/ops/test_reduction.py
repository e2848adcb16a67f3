"""Empty reductions: sums and products have a value, the others give a warning."""

from __future__ import annotations

import pytest

import relax_explorer as rxe

TEXT = """
@R.function
def main(x: R.Tensor((0, "n"), "float32")):
    y = R.{call}
    return y
"""


@pytest.mark.parametrize("name", ["max", "min", "mean", "variance", "std", "argmax", "argmin"])
def test_a_reduction_of_nothing_is_warned_of(name: str) -> None:
    axis = "0" if name.startswith("arg") else "[0]"
    (found,) = rxe.check(rxe.parse(TEXT.format(call=f"{name}(x, axis={axis})")))
    assert found.code.id == "RX0220"
    assert not found.is_error
    assert found.help
    assert any("R.Tensor((0, n)" in label.text for label in found.labels)


@pytest.mark.parametrize("call", ["sum(x, axis=[0])", "prod(x, axis=[0])", "max(x, axis=[1])"])
def test_other_reductions_say_nothing(call: str) -> None:
    assert rxe.check(rxe.parse(TEXT.format(call=call))) == []
