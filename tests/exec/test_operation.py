"""What an operator is given and gives when it runs: wrong operands are named, and a value has the lengths that were derived."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe

MODULE = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", "m"), "float32")):
        y = {call}
        return y
"""


def failure(call: str) -> rxe.Diagnostic:
    """What is said when the call runs on two rows of three."""
    module = rxe.parse(MODULE.format(call=call))
    with pytest.raises(rxe.Failure) as caught:
        rxe.run(module, "main", [np.arange(6, dtype="float32").reshape(2, 3)])
    (problem,) = caught.value.diagnostics
    return problem


@pytest.mark.parametrize(
    ("call", "code", "text"),
    [
        ('R.einsum((x, x), "ij,jk->ik")', "RX0507", "do not fit one another"),
        ("R.matmul(x, x)", "RX0507", ""),
        ("R.left_shift(x, x)", "RX0519", "bits are those of integers"),
        ("R.bitwise_not(x)", "RX0519", "bits are those of integers"),
        ("R.topk(x, k=9)", "RX0507", "relax.topk gives"),
        ("R.nn.pad(x, [0, -9, 0, 0])", "RX0507", "n - 9"),
    ],
)
def test_every_operand_is_shown(call: str, code: str, text: str) -> None:
    problem = failure(call)
    assert problem.code.id == code
    assert text in problem.message
    assert problem.help
    shown = [label.text for label in problem.labels if not label.primary]
    assert shown
    assert all("a tensor (2, 3) of float32" in item for item in shown)


def test_labels_stand_at_the_operands() -> None:
    labels = failure("R.left_shift(x, x)").labels
    first, second = [label.place for label in labels if not label.primary]
    assert first.text == second.text == "x"
    assert first.column < second.column
