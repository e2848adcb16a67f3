"""Operands and results of an operator at run time: wrong operands are named, and a value has its inferred lengths."""

from __future__ import annotations

from collections.abc import Callable

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
    """The message when the call runs on two rows of three."""
    module = rxe.parse(MODULE.format(call=call))
    with pytest.raises(rxe.Failure) as caught:
        rxe.run(module, "main", [np.arange(6, dtype="float32").reshape(2, 3)])
    (problem,) = caught.value.diagnostics
    return problem


@pytest.mark.parametrize(
    ("call", "code", "text"),
    [
        ('R.einsum((x, x), "ij,jk->ik")', "RX0507", "the axis 'j' has the lengths 3 and 2"),
        ("R.matmul(x, x)", "RX0507", "inner dimensions differ: 3 and 2"),
        ("R.left_shift(x, x)", "RX0519", "bits are those of integers"),
        ("R.bitwise_not(x)", "RX0519", "bits are those of integers"),
        ("R.topk(x, k=9)", "RX0507", "but its StructInfo is"),
        ("R.nn.pad(x, [0, -9, 0, 0])", "RX0507", "pad_width cuts 9 elements off an axis of data that has 2"),
    ],
)
def test_every_operand_is_shown(call: str, code: str, text: str) -> None:
    problem = failure(call)
    assert problem.code.id == code
    assert text in problem.message
    assert problem.help
    shown = [label.text for label in problem.labels if not label.primary]
    assert shown
    assert all("is a tensor (2, 3) of float32" in item for item in shown)
    assert problem.notes[0] == "here n = 2, m = 3"


def test_labels_stand_at_the_operands() -> None:
    labels = failure("R.left_shift(x, x)").labels
    first, second = [label.place for label in labels if not label.primary]
    assert first.text == second.text == "x"
    assert first.column < second.column


TOLD = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        y = R.call_pure_packed("test.operation.longer", x, sinfo_args=R.Tensor((4,), "float32"))
        z = {call}
        return z
"""


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("R.exp(y)", "relax.exp: x is a tensor (5,) of float32, but its StructInfo is R.Tensor((4,)"),
        ("R.add(x, y)", "relax.add: the lengths 4 and 5 don't broadcast"),
    ],
)
def test_an_operand_that_is_not_what_its_type_says_is_named(call: str, text: str) -> None:
    @rxe.packed_function("test.operation.longer")
    def longer(array: np.ndarray) -> np.ndarray:
        return np.append(array, array[:1])

    with pytest.raises(rxe.Failure) as caught:
        rxe.run(rxe.parse(TOLD.format(call=call)), "main", [np.ones(4, "float32")])
    problem = caught.value.diagnostics[0]
    assert problem.code.id == "RX0507"
    assert text in problem.message
    assert any("is a tensor (5,) of float32" in label.text for label in problem.labels)


@pytest.mark.parametrize(
    ("computed", "text"),
    [
        (lambda x: x[:1], "relax.exp returned a tensor (1, 3) of float32, not R.Tensor((2, 3)"),
        (lambda x: x.astype("float64"), "dtype float64, expected float32"),
        (lambda x: x + np.ones(7), "could not be computed: operands could not be broadcast"),
    ],
)
def test_a_fault_of_ours_is_no_problem_of_the_program(
    monkeypatch: pytest.MonkeyPatch, computed: object, text: str
) -> None:
    monkeypatch.setattr(rxe.ops.get("relax.exp"), "evaluate", staticmethod(computed))
    problem = failure("R.exp(x)")
    assert problem.code.id == "RX0901"
    assert text in problem.message
    assert "x is a tensor (2, 3) of float32" in [label.text for label in problem.labels]


@pytest.mark.parametrize(
    "error", [ValueError("too long"), KeyError("key"), RuntimeError("no"), IndexError("out")]
)
def test_what_a_packed_function_raises_is_said_with_its_line(error: Exception) -> None:
    space: dict[str, Callable[[Exception], object]] = {}
    exec(compile("def raise_it(error):\n    raise error", "elsewhere.py", "exec"), space)

    @rxe.packed_function("test.operation.raises")
    def _raises(x: object) -> object:
        return space["raise_it"](error)

    problem = failure(
        'R.call_pure_packed("test.operation.raises", x, sinfo_args=(R.Tensor((n, m), "float32"),))'
    )
    assert problem.code.id == "RX0522"
    assert f"test.operation.raises raised {type(error).__name__}" in problem.message
    assert "elsewhere.py:2" in problem.message


@pytest.mark.parametrize(("lowered", "code"), [(False, "RX0511"), (True, "RX0515")])
def test_a_number_of_elements_beyond_int64_stops_the_run(lowered: bool, code: str) -> None:
    module = rxe.parse("""
@R.function
def main(x: R.Tensor(("n", 4), "float32"), s: R.Shape(["k", "m"])):
    k = T.int64()
    m = T.int64()
    y = R.reshape(x, R.shape([k, m]))
    return y
""")
    if lowered:
        module = rxe.apply_pass(module, "LegalizeOps")
    with pytest.raises(rxe.Failure) as caught:
        rxe.run(module, "main", [np.zeros((3, 4), np.float32), (2**62, 40)])
    assert caught.value.diagnostics[0].code.id == code
