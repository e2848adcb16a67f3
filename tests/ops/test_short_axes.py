"""Axes of length 0, and axes shorter than a cut or a window: value, type and lowering agree."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ops import table
from tests.support.op_examples import read
from tests.support.op_values import Setting, apart, as_tuple, mismatch, setting

# A call, the length n, and the shape of the result.
SHORT = [
    ("nn.conv1d_transpose f32[1,2,n] f32[2,1,3] strides=2", 0, (1, 1, 1)),
    ("nn.conv1d_transpose f32[1,2,n] f32[2,1,2] strides=2", 0, (1, 1, 0)),
    ("nn.conv1d_transpose f32[1,2,n] f32[2,1,3] strides=3 output_padding=1", 0, (1, 1, 1)),
    ("nn.conv1d_transpose f32[1,2,n] f32[2,1,3] padding=[2,1] strides=3 dilation=2", 1, (1, 1, 2)),
    ("nn.conv2d_transpose f32[1,2,n,2] f32[2,1,3,1] strides=2", 0, (1, 1, 1, 3)),
    ("nn.conv3d_transpose f32[1,2,n,2,1] f32[2,1,3,1,1] strides=2", 0, (1, 1, 1, 3, 1)),
    ("nn.conv1d f32[1,2,n] f32[2,2,3]", 2, (1, 2, 0)),
    ("nn.conv2d f32[1,2,n,4] f32[2,2,3,1] strides=2", 1, (1, 2, 0, 2)),
    ("nn.max_pool1d f32[1,2,n] pool_size=3", 2, (1, 2, 0)),
    ("nn.avg_pool2d f32[1,2,n,4] pool_size=3 strides=2", 1, (1, 2, 0, 1)),
    ("nn.pad f32[n] pad_width=[-1,2] pad_value=5.0", 0, (1,)),
    ("nn.pad f32[n] pad_width=[2,-1] pad_value=5.0", 0, (1,)),
    ("nn.pad f32[n] pad_width=[-3,4] pad_value=5.0", 2, (3,)),
    ("nn.pad f32[n] pad_width=[4,-3] pad_value=5.0", 2, (3,)),
    ("nn.pad f32[n] pad_width=[4,-3] pad_value=5.0", 5, (6,)),
    ("nn.pad f32[n,2] pad_width=[-2,3,1,-1] pad_value=5.0", 3, (4, 2)),
    ('nn.pad f32[n] pad_width=[-3,4] pad_mode="reflect"', 2, (3,)),
]  # fmt: skip


def at(text: str, n: int) -> Setting:
    name, _, rest = text.partition(" ")
    return setting(read(table()[f"relax.{name}"], rest), {"n": n})


@pytest.mark.parametrize(("text", "n", "shape"), SHORT, ids=[f"{text} {n}" for text, n, _ in SHORT])
def test_value_type_and_lowering_agree(text: str, n: int, shape: tuple[int, ...]) -> None:
    call = at(text, n)
    made = rxe.run(call.module, "main", call.inputs())
    assert made.shape == shape
    assert not mismatch(made, call.info, call)
    lowered = rxe.run(rxe.apply_pass(call.module, "LegalizeOps"), "main", call.inputs())
    assert not apart(as_tuple(lowered), as_tuple(made))


def test_elements_are_those_of_the_data() -> None:
    call = at("nn.pad f32[n] pad_width=[2,-1] pad_value=5.0", 3)
    (x,) = (value for value in call.inputs() if isinstance(value, np.ndarray))
    made = rxe.run(call.module, "main", call.inputs())
    np.testing.assert_array_equal(made, np.concatenate([np.float32([5, 5]), x[:2]]))


@pytest.mark.parametrize(
    "call", ["median f32[n] axis=[0]", "median f32[n]", "median f32[n,2] axis=[0] keepdims=True"]
)
def test_a_median_of_nothing_is_refused_evaluated_and_lowered(call: str) -> None:
    empty = at(call, 0)
    lowered = rxe.apply_pass(empty.module, "LegalizeOps")
    for module, code, text in (
        (empty.module, "RX0520", "axis 0 of x has length 0"),
        (lowered, "RX0510", "has length 0"),
    ):
        with pytest.raises(rxe.Failure) as caught:
            rxe.run(module, "main", empty.inputs())
        problem = caught.value.diagnostics[0]
        assert problem.code.id == code
        assert text in problem.message
        assert "the median of no elements is undefined" in problem.message
    full = at(call, 3)
    made = rxe.run(full.module, "main", full.inputs())
    assert not apart(
        as_tuple(rxe.run(rxe.apply_pass(full.module, "LegalizeOps"), "main", full.inputs())), as_tuple(made)
    )
