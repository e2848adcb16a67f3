"""Memory of large arrays is used again, but never while an array or a view of it lives."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ops.kit import ndarrays as large_arrays
from tests.perf.exec import elementwise

FLOAT = np.dtype("float32")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Arrays of 4 KB are large, and 10 KB are kept."""
    monkeypatch.setattr(large_arrays, "LARGE", 1 << 12)
    monkeypatch.setattr(large_arrays, "KEPT", 10 << 10)
    large_arrays._FREE.clear()
    yield
    large_arrays._FREE.clear()


def place(array: Any) -> int:
    return int(array.ctypes.data)


def test_dropped_memory_is_used_again_for_another_shape_and_dtype() -> None:
    first = large_arrays.empty((4, 256), FLOAT)
    assert first.shape == (4, 256)
    assert first.dtype == FLOAT
    assert first.flags.c_contiguous
    assert first.flags.writeable
    at = place(first)
    del first
    second = large_arrays.empty((2048,), np.dtype(ml_dtypes.bfloat16))
    assert place(second) == at
    assert second.dtype == ml_dtypes.bfloat16


@pytest.mark.parametrize(
    "view",
    [
        lambda array: array[1:],
        lambda array: array.reshape(-1).view("int32").T,
        lambda array: np.lib.stride_tricks.as_strided(array, (2,), (8,)),
        lambda array: np.broadcast_to(array, (3, 4, 256)),
        lambda array: memoryview(array),
        lambda array: array.base,
        lambda array: np.from_dlpack(array),
    ],
)
def test_memory_with_a_view_stays(view: Any) -> None:
    array = large_arrays.empty((4, 256), FLOAT)
    array.fill(7)
    at, kept = place(array), view(array)
    del array
    others = [large_arrays.empty((4, 256), FLOAT) for _ in range(3)]
    assert at not in map(place, others)
    del kept
    assert place(large_arrays.empty((4, 256), FLOAT)) == at


def test_arrays_that_live_at_once_have_memory_of_their_own() -> None:
    large_arrays.empty((1024,), FLOAT)  # dropped at once
    arrays = [large_arrays.empty((1024,), FLOAT) for _ in range(5)]
    assert len(set(map(place, arrays))) == 5


def test_another_size_and_a_small_array_get_other_memory() -> None:
    at = place(large_arrays.empty((1024,), FLOAT))
    assert len(large_arrays._FREE) == 1
    longer = large_arrays.empty((1025,), FLOAT)
    assert place(longer) != at
    large_arrays._FREE.clear()
    del longer
    assert large_arrays.empty((1024,), FLOAT).size == 1024
    small = large_arrays.empty((1023,), FLOAT)
    assert small.base is None


def test_kept_memory_is_bounded_and_the_oldest_goes_first() -> None:
    arrays = [large_arrays.empty((1024,), FLOAT) for _ in range(3)]
    places = [place(array) for array in arrays]
    while arrays:
        arrays.pop(0)
    assert [place(memory) for memory in large_arrays._FREE.values()] == places[1:]


def test_threads_share_no_memory() -> None:
    def work(number: int) -> bool:
        for _ in range(300):
            array = large_arrays.empty((1024,), FLOAT)
            array.fill(number)
            if not (array == number).all():
                return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_results_of_runs_keep_their_values() -> None:
    text, shapes = elementwise(1 << 20)
    module = rxe.normalize(rxe.parse(text))
    run = partial(rxe.run, module, "main")
    given = [[np.full(shape, fill, "float32") for shape in shapes] for fill in (1, 2, 3)]
    for args in given:
        run(args)
    results = [run(args) for args in given]
    expected = [
        args[0] - np.maximum(np.abs(np.maximum((args[0] + args[1]) * args[1], 0) - args[0]), args[1])
        for args in given
    ]
    for found, wanted in zip(results, expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
