"""Packed functions that kernels call: TVM's sorting functions, as its lowerings of argsort, topk and suppression call them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.tir_numba import compile_prim_func
from tests.support.packed_kernels import KERNELS, VALUES, kernel, outputs


def test_values_have_ties() -> None:
    """Without ties, nothing here would show that equal elements keep their order."""
    assert all(len(set(row)) < len(row) for row in VALUES.tolist())


@pytest.mark.parametrize("name", KERNELS)
def test_sorting(name: str) -> None:
    made = outputs(name)
    compile_prim_func(rxe.parse(kernel(name))["f"])(VALUES, *made)
    for found, wanted in zip(made, expected(name), strict=True):
        np.testing.assert_array_equal(found, wanted)


def expected(name: str) -> list[Any]:
    axis, descending = KERNELS[name].axis, KERNELS[name].descending
    order = np.argsort(-VALUES if descending else VALUES, axis=axis, kind="stable")
    if name == "the counted ones":  # three of the first row, all of the second
        order = np.array([[*np.argsort(VALUES[0, :3], kind="stable"), 3, 4], order[1]])
    taken = np.take_along_axis(VALUES, order, axis)
    found = {"O": taken, "I": order, "P": taken[:, :2], "Q": order[:, :2]}
    return [found[letter] for letter in KERNELS[name].filled]


def test_narrow_floats_are_filled_too() -> None:
    text = kernel("sorted").replace("float32", "float16")
    found = np.zeros((2, 5), np.float16)
    compile_prim_func(rxe.parse(text)["f"])(VALUES.astype(np.float16), found)
    np.testing.assert_array_equal(found, np.sort(VALUES, axis=1).astype(np.float16))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("contrib.sort.sort", "contrib.unknown", "a call of .*tvm.contrib.unknown"),
        ("T.tvm_stack_make_shape(2, 5)", "T.tvm_stack_make_shape(5)", "a call of .*tvm.contrib.sort.sort"),
        ("T.int64(0))", "T.int64(4))", "a call of .*tvm.contrib.sort.sort"),
    ],
)
def test_other_calls_are_named(old: str, new: str, words: str) -> None:
    fn = rxe.parse(kernel("sorted").replace(old, new))["f"]
    with pytest.raises(rxe.Failure, match=words) as caught:
        compile_prim_func(fn)
    assert caught.value.diagnostics[0].code.id == "RX0512"
