"""Errors that appear only at run time are reported, lowered or not: indices out of range, steps of 0, empty reductions."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.machine import Machine
from tests.support.op_places import PLACES

DATA = np.arange(6, dtype=np.float32).reshape(2, 3)
GRAD = np.ones((2, 2), np.float32)
IMAGES = np.ones((2, 1, 4, 4), np.float32)
# The operator, its arguments (integers in lists, or arrays), the rest of the call, and the message.
OUTSIDE: list[tuple[str, tuple[Any, ...], str, str]] = [
    ("take", (DATA, [1, 3]), "axis=1", r"indices\[1\] is 3, axis 1 of x has length 3: 0 to 2"),
    ("take", (DATA, [-1]), "axis=0", r"indices\[0\] is -1, axis 0 of x has length 2: 0 to 1"),
    ("take", (DATA[:0], [0]), "axis=0", "axis 0 of x has length 0: nothing"),
    ("take", (DATA[:0], [0]), 'axis=0, mode="clip"', "axis 0 of x has length 0: nothing"),
    ("gather_elements", (DATA, [[0, -4], [0, 0]]), "axis=1", r"indices\[0, 1\] is -4, axis 1 of data .* -3 to 2"),
    ("gather_elements", (DATA, [[0], [0], [0]]), "axis=1", "length 3 along axis 0, the data only 2"),
    ("gather_nd", (DATA, [[0, 1], [0, 7]]), "", r"indices\[1, 1\] is 7, axis 1 of data has length 3"),
    ("gather_nd", (DATA, [[1], [0], [0]]), "batch_dims=1", "length 3 along axis 0, the data only 2"),
    ("index_tensor", (DATA, ([0, 1], [1, 9])), "", r"indices\[1\]\[1\] is 9, axis 1 of data"),
    ("scatter_elements", (DATA, [[0, 5], [0, 0]], GRAD), "axis=1", r"indices\[0, 1\] is 5, axis 1 of data"),
    ("scatter_elements", (DATA, [[3], [0]], GRAD[:, :1]), 'axis=1, reduction="mean"', r"indices\[0, 0\] is 3"),
    ("scatter_nd", (DATA, [[2], [0]], DATA), "", r"indices\[0, 0\] is 2, axis 0 of data has length 2"),
    ("index_put", (DATA, ([0, -3], [0, 0]), GRAD[0]), "", r"indices\[0\]\[1\] is -3, axis 0 of data"),
    ("index_put", (DATA, ([0, 0], [0, 3]), GRAD[0]), "accumulate=True", r"indices\[1\]\[1\] is 3, axis 1"),
    ("nn.nll_loss", (DATA, [0, 3]), "", r"targets\[1\] is 3, axis 1 of predictions has length 3: 0 to 2"),
    ("nn.nll_loss", (DATA, [0, -1]), 'reduction="none"', r"targets\[1\] is -1, axis 1 of predictions"),
    ("grad.nll_loss_backward", (GRAD[0, 0], DATA, [0, 3], GRAD[0, [0, 0, 0]]), "", r"targets\[1\] is 3, axis 1"),
    ("grad.take_backward", (DATA[:, :2], DATA, [0, 3]), "axis=1", r"indices\[1\] is 3, axis 1 of x"),
    ("multinomial_from_uniform", (DATA, GRAD[:, :1], [[0], [2]]), "", r"sample_indices\[1, 0\] is 2, axis 0 of prob"),
    ("vision.roi_align", (IMAGES, np.float32([[2, 0, 0, 1, 1]])), "pooled_size=(1, 1), spatial_scale=1.0", r"rois\[0, 0\] is 2.0, axis 0 of data"),
    ("vision.roi_pool", (IMAGES, np.float32([[-1, 0, 0, 1, 1]])), "pooled_size=(1, 1), spatial_scale=1.0", r"rois\[0, 0\] is -1.0, axis 0 of data"),
]  # fmt: skip


def program(name: str, values: tuple[Any, ...], rest: str = "") -> tuple[Any, list[Any]]:
    """A call of an operator with these values, every length a variable, and its inputs."""
    params: list[str] = []
    inputs: list[Any] = []

    def given(value: Any) -> str:
        if isinstance(value, tuple):
            return f"({', '.join(map(given, value))},)"
        array = np.asarray(value, None if isinstance(value, (np.ndarray, np.generic)) else np.int64)
        own = f"x{len(params)}"
        dims = ", ".join(map(str, array.shape)) + ("," if array.ndim else "")
        params.append(f'{own}: R.Tensor(({dims}), "{array.dtype.name}")')
        inputs.append(array)
        return own

    args = ", ".join([*map(given, values), *([rest] if rest else [])])
    head = f"@I.ir_module\nclass Module:\n    @R.function\n    def main({', '.join(params)}):\n"
    return rxe.normalize(rxe.parse(f"{head}        y = R.{name}({args})\n        return y\n")), inputs


def problem(module: Any, inputs: list[Any]) -> Any:
    """The problem that stops a run."""
    with pytest.raises(rxe.Failure) as caught:
        rxe.run(module, "main", inputs)
    return caught.value.diagnostics[0]


@pytest.mark.parametrize(("name", "values", "rest", "words"), OUTSIDE, ids=[row[0] for row in OUTSIDE])
def test_an_index_outside_stops_the_run(name: str, values: tuple[Any, ...], rest: str, words: str) -> None:
    module, inputs = program(name, values, rest)
    said = problem(module, inputs)
    assert said.code.id == "RX0508"
    assert re.search(words, said.message), said.message
    assert said.help
    assert len(said.labels) > 1  # the operands are shown as well


@pytest.mark.parametrize(
    ("name", "values", "rest"),
    [row[:3] for row in OUTSIDE if "clip" not in row[2]],
    ids=lambda x: str(x)[:20],
)
def test_so_does_a_kernel_that_it_is_lowered_to(name: str, values: tuple[Any, ...], rest: str) -> None:
    module, inputs = program(name, values, rest)
    said = problem(rxe.apply_pass(module, "LegalizeOps"), inputs)
    assert (said.code.id, "is outside the tensor" in said.message) in {("RX0508", False), ("RX0510", True)}


def test_every_operator_with_places_is_asked() -> None:
    assert {f"relax.{row[0]}" for row in OUTSIDE} == set(PLACES)


@pytest.mark.parametrize(
    ("mode", "wanted"), [("clip", [0, 2, 0]), ("wrap", [1, 0, 2]), ("nan", [1, np.nan, np.nan])]
)
def test_the_other_modes_of_take_keep_their_meaning(mode: str, wanted: list[float]) -> None:
    indices = [1, 3, -1] if mode != "clip" else [0, 3, -1]
    module, inputs = program("take", (np.arange(3, dtype=np.float32), indices), f'axis=0, mode="{mode}"')
    for each in (module, rxe.apply_pass(module, "LegalizeOps")):
        np.testing.assert_array_equal(rxe.run(each, "main", inputs), np.float32(wanted))


def test_a_class_that_is_none_is_on_nowhere() -> None:
    """`one_hot` compares the index with every class, so an index out of range gives a row of off_value."""
    module, inputs = program("one_hot", ([1, 3, -1],), "R.prim_value(1), R.prim_value(0), depth=3")
    for each in (module, rxe.apply_pass(module, "LegalizeOps")):
        assert rxe.run(each, "main", inputs).tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]


def test_ends_of_a_slice_are_moved_inside_as_numpy_does() -> None:
    module, inputs = program("dynamic_strided_slice", (DATA, [-9, 1], [9, 9], [1, 1]))
    for each in (module, rxe.apply_pass(module, "LegalizeOps")):
        np.testing.assert_array_equal(rxe.run(each, "main", inputs), DATA[:, 1:])


def test_slices_put_outside_are_left_out() -> None:
    data, new = np.zeros(5, np.float32), np.arange(1, 7, dtype=np.float32)
    for ends, wanted in (("3, 9", [0, 0, 0, 1, 2]), ("-8, -2", [4, 5, 6, 0, 0]), ("5, 11", [0] * 5)):
        begin, end = (f"R.prim_value({text})" for text in ends.split(", "))
        module, inputs = program("slice_scatter", (data, new), f"{begin}, {end}, R.prim_value(1)")
        for each in (module, rxe.apply_pass(module, "LegalizeOps")):
            assert rxe.run(each, "main", inputs).tolist() == wanted


def test_more_elements_than_there_are_stop_the_run() -> None:
    """TVM returns as many as the type says; the last ones are memory content."""
    module = symbolic("R.topk(x, k=3, axis=1)")
    for each, code in ((module, "RX0507"), (rxe.apply_pass(module, "LegalizeOps"), "RX0508")):
        assert problem(each, [DATA[:, :2]]).code.id == code
        assert rxe.run(each, "main", [DATA])[1].tolist() == [[2, 1, 0], [2, 1, 0]]


def test_an_ignored_target_is_no_class() -> None:
    module, inputs = program("nn.nll_loss", (DATA, [0, -100]), 'reduction="none"')
    for each in (module, rxe.apply_pass(module, "LegalizeOps")):
        assert rxe.run(each, "main", inputs).tolist() == [0.0, 0.0]


def test_a_step_of_0_divides_by_0() -> None:
    module, inputs = program("dynamic_strided_slice", (DATA, [0, 0], [1, 1], [1, 0]))
    said = problem(module, inputs)
    assert (said.code.id, "strides[1] is 0" in said.message) == ("RX0509", True)
    assert problem(rxe.apply_pass(module, "LegalizeOps"), inputs).code.id == "RX0509"


def symbolic(call: str, dtype: str = "float32") -> Any:
    """A program whose input has lengths known at run time."""
    head = (
        f'@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor(("n", "m"), "{dtype}")):\n'
    )
    return rxe.normalize(rxe.parse(f"{head}        y = {call}\n        return y\n"))


def warned(module: Any, value: Any) -> tuple[Any, list[Any]]:
    """The result and its warnings."""
    machine = Machine(module, "main", [value])
    while not machine.done:
        machine.step()
    return machine.result, machine.warnings


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("R.max(x, axis=[1])", np.finfo(np.float32).min),
        ("R.min(x, axis=[1])", np.finfo(np.float32).max),
        ("R.mean(x, axis=[-1])", np.nan),
        ("R.variance(x, axis=[1], keepdims=True)", np.nan),
        ("R.std(x, axis=[1])", np.nan),
        ("R.argmax(x, axis=1)", -1),
        ("R.argmin(x, axis=-1)", -1),
    ],
)
def test_a_reduction_of_nothing_is_warned_of_and_gives_what_tvm_gives(call: str, wanted: float) -> None:
    result, warnings = warned(symbolic(call), np.ones((2, 0), np.float32))
    assert np.array_equal(result.ravel(), np.full(2, wanted, result.dtype), equal_nan=True)
    assert [(w.code.id, "axis 1 of x has length 0" in w.message) for w in warnings] == [("RX0521", True)]
    for quiet in (np.ones((2, 3), np.float32), np.ones((0, 0), np.float32)):  # some elements, or no result
        assert warned(symbolic(call), quiet)[1] == []


@pytest.mark.parametrize("call", ["R.sum(x, axis=[1])", "R.prod(x, axis=[1])"])
def test_the_sum_and_the_product_of_nothing_are_numbers(call: str) -> None:
    assert warned(symbolic(call), np.ones((2, 0), np.float32))[1] == []


def test_no_integer_is_the_mean_of_nothing() -> None:
    module, nothing = symbolic("R.mean(x, axis=[1])", "int32"), [np.ones((2, 0), np.int32)]
    assert problem(module, nothing).code.id == "RX0509"
    assert problem(rxe.apply_pass(module, "LegalizeOps"), nothing).code.id == "RX0509"


def test_nothing_has_no_median() -> None:
    assert problem(symbolic("R.median(x, axis=1)"), [np.ones((2, 0), np.float32)]).code.id == "RX0520"
