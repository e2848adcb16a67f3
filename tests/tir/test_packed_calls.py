"""Packed functions that kernels call: TVM's sorting functions, as its lowerings of argsort, topk and suppression call them."""

from __future__ import annotations

import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core.event import install_recorder

import relax_explorer as rxe
from relax_explorer.core.exec import loop_runtime, machine_code
from relax_explorer.core.exec.compiled_kernel import compile_prim_func
from tests.support.packed_kernels import KERNELS, VALUES, kernel, outputs


@pytest.fixture(autouse=True)
def _no_files_are_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Kernels without a cache are compiled without files, which a process that is killed would leave behind."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield
    assert list(tmp_path.iterdir()) == []


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


def test_equal_types_share_the_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """An axis or a direction of its own does not compile the function again, which takes seconds."""
    monkeypatch.setattr(machine_code, "_TEXTS", OrderedDict())
    first, *others = ("positions", "positions downwards", "positions along the first axis")
    compile_prim_func(rxe.parse(kernel(first))["f"])(VALUES, *outputs(first))
    with install_recorder("numba:compile") as seen:
        for name in others:
            compile_prim_func(rxe.parse(kernel(name))["f"])(VALUES, *outputs(name))
    assert {event.data["dispatcher"].py_func.__name__ for _, event in seen.buffer} == {"kernel"}


@pytest.mark.parametrize("ascending", [True, False])
def test_order_is_that_of_numpy(ascending: bool) -> None:
    """NaN is larger than every number, and equal elements keep their order, at every length up to three powers of two."""
    choose = np.random.default_rng(3)
    for length in (0, 1, 2, 3, 4, 5, 7, 8, 9, 33):
        row = choose.choice([np.nan, -np.inf, -1.0, -0.0, 0.0, 2.5, np.inf], (1, length)).astype(np.float32)
        found = np.full((1, length), -1, np.int32)
        loop_runtime.argsort(row, found, 1, ascending)
        if ascending:
            wanted = np.argsort(row, axis=1, kind="stable")
        else:
            wanted = (length - 1 - np.argsort(row[:, ::-1], axis=1, kind="stable"))[:, ::-1]
        np.testing.assert_array_equal(found, wanted)


def test_a_row_can_be_sorted_in_its_place() -> None:
    data = VALUES.copy()
    loop_runtime.sort(data, data, 1, True)
    np.testing.assert_array_equal(data, np.sort(VALUES, axis=1))


@pytest.mark.parametrize(
    ("function", "dtype"), [(loop_runtime.sort, np.float32), (loop_runtime.argsort, np.int32)]
)
@pytest.mark.parametrize("length", [4, 6])
def test_outputs_of_other_lengths_are_refused(
    function: Callable[..., None], dtype: type, length: int
) -> None:
    with pytest.raises(ValueError, match="lengths differ"):
        function(VALUES, np.zeros((2, length), dtype), 1, True)


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
