"""Operators with a loop over elements: what numba compiles gives what NumPy gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.kernels import LLVM, NUMBA, REFERENCE, Kernels, Loops
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.ops import find
from relax_explorer.core.ops.kit.element_loops import Loop, compiling
from relax_explorer.core.ops.tensor import scatter
from relax_explorer.core.ops.vision import all_class_nms, nms, roi

LOOPS = [nms._suppress, nms._soften, all_class_nms._select, roi._aligned, roi._pooled, scatter._combined]
SUPPRESSION: dict[str, Any] = {
    "max_output_size": -1, "iou_threshold": 0.4, "force_suppress": False, "top_k": -1, "coord_start": 2, "score_index": 1, "id_index": 0,
    "return_indices": False, "invalid_to_bottom": False, "soft_nms_sigma": 0.0, "score_threshold": 0.1,
}  # fmt: skip


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[Loop]:
    """The loops that were compiled; the smallest inputs suffice."""
    found: list[Loop] = []
    for loop in LOOPS:
        monkeypatch.setattr(loop, "least", 0)
    return found


def both(
    name: str, used: list[Loop], *args: Any, cache: Path | None = None, **attrs: Any
) -> tuple[list[Any], list[Any]]:
    """The results of an operator in both forms."""
    evaluate: Callable[..., Any] = getattr(find(name), "evaluate")  # noqa: B009  # it may be None
    make = Loops(Kernels(cache))

    def watched(loop: Loop, given: tuple[Any, ...]) -> Any:
        used.append(loop)
        return make(loop, given)

    by_numpy = evaluate(*[arg.copy() for arg in args], **attrs)
    with compiling(watched):
        compiled = evaluate(*[arg.copy() for arg in args], **attrs)
    return [list(value) if isinstance(value, tuple) else [value] for value in (by_numpy, compiled)]  # type: ignore[return-value]  # two


def boxes(random: np.random.Generator, *shape: int) -> Any:
    corner, size = random.random((*shape, 2)) * 10, random.random((*shape, 2)) * 6 - 1
    return np.concatenate([corner, corner + size], -1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "attrs",
    [
        {},
        {"force_suppress": True, "return_indices": True},
        {"max_output_size": 3, "invalid_to_bottom": True},
        {"id_index": -1, "top_k": 9},
        {"soft_nms_sigma": 0.5, "return_indices": True},
        {"soft_nms_sigma": 0.3, "return_indices": True, "force_suppress": True, "max_output_size": 5},
    ],
)
def test_suppression(attrs: dict[str, Any], dtype: str, used: list[Loop]) -> None:
    for seed in range(6):
        random = np.random.default_rng(seed)
        rows = [random.integers(0, 3, (2, 20, 1)), random.random((2, 20, 1)).round(1), boxes(random, 2, 20)]
        data = np.concatenate(rows, -1).astype(dtype)
        data[0, 3, 4], data[1, :, 1] = np.nan, data[1, :, 1].round(2)
        count, indices = random.integers(0, 21, 2), np.arange(40, dtype="int32").reshape(2, 20)
        one, two = both(NMS, used, data, count, indices, **{**SUPPRESSION, **attrs})
        for a, b in zip(one, two, strict=True):
            assert a.dtype == b.dtype
            if "soft_nms_sigma" in attrs:  # an exponential is rounded in another way
                np.testing.assert_allclose(a, b, 1e-6)
            else:
                assert a.tobytes() == b.tobytes()
    assert set(used) == {nms._soften if "soft_nms_sigma" in attrs else nms._suppress}


NMS = "relax.vision.non_max_suppression"


@pytest.mark.parametrize("form", ["onnx", "tensorflow"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_suppression_of_each_class(form: str, dtype: str, used: list[Loop]) -> None:
    for seed in range(6):
        random = np.random.default_rng(seed)
        scores = random.random((2, 3, 20)).round(1).astype(dtype)
        limits = (np.array([4 + seed]), np.array([0.3], dtype), np.array([0.2], dtype))
        one, two = both(
            "relax.vision.all_class_non_max_suppression", used, boxes(random, 2, 20).astype(dtype), scores, *limits,
            output_format=form,
        )  # fmt: skip
        assert [a.tobytes() for a in one] == [b.tobytes() for b in two]
    assert set(used) == {all_class_nms._select}


def regions(random: np.random.Generator, dtype: str) -> Any:
    return np.concatenate([random.integers(0, 2, (7, 1)), boxes(random, 7)], -1).astype(dtype)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize(
    ("ratio", "aligned", "dtype"), [(2, False, "float32"), (-1, True, "float64"), (-1, False, "float32")]
)
def test_alignment_of_regions(
    mode: str, layout: str, ratio: int, aligned: bool, dtype: str, used: list[Loop]
) -> None:
    for seed in range(4):
        random = np.random.default_rng(seed)
        data = random.standard_normal((2, 3, 9, 8)).astype(dtype)
        one, two = both(
            "relax.vision.roi_align", used, data if layout == "NCHW" else data.transpose(0, 2, 3, 1), regions(random, dtype),
            pooled_size=(3, 2), spatial_scale=0.7, sample_ratio=ratio, aligned=aligned, layout=layout, mode=mode,
        )  # fmt: skip
        np.testing.assert_allclose(one[0], two[0], 1e-4, 1e-5)
    assert set(used) == {roi._aligned}


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
def test_pools_of_regions(dtype: str, used: list[Loop]) -> None:
    for seed in range(4):
        random = np.random.default_rng(seed)
        data = (random.random((2, 3, 9, 8)) * 100).astype(dtype)
        if dtype == "float32":
            data[0, 0, 3, 3] = np.nan
        rois = np.concatenate([random.integers(0, 2, (7, 1)), boxes(random, 7)], -1).astype("float32")
        one, two = both(
            "relax.vision.roi_pool", used, data, rois, pooled_size=(3, 2), spatial_scale=0.7, layout="NCHW"
        )
        assert one[0].tobytes() == two[0].tobytes()
    assert set(used) == {roi._pooled}


@pytest.mark.parametrize("reduction", ["mean", "max", "min"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("inner", [(), (3,)])
def test_updates_in_turn(reduction: str, dtype: str, inner: tuple[int, ...], used: list[Loop]) -> None:
    for seed in range(6):
        random = np.random.default_rng(seed)
        data = random.standard_normal((6, *inner)).astype(dtype)
        updates = random.standard_normal((15, *inner)).astype(dtype)
        updates[3], updates[7] = np.nan, np.inf
        index = random.integers(0, 6, (15, 1))
        one, two = both("relax.scatter_nd", used, data, index, updates, reduction=reduction)
        assert one[0].tobytes() == two[0].tobytes()
    assert set(used) == {scatter._combined}


def test_the_cache_keeps_the_code(tmp_path: Path, used: list[Loop]) -> None:
    rows = np.zeros((4,), "float32"), np.zeros((5, 1), "int64"), np.arange(5, dtype="float32")
    one, two = both("relax.scatter_nd", used, *rows, cache=tmp_path / "cache", reduction="mean")
    assert one[0].tobytes() == two[0].tobytes()
    assert list((tmp_path / "cache" / "__pycache__").glob("*.nbc"))


def test_what_numba_does_not_know_is_left_to_numpy(used: list[Loop]) -> None:
    """Narrow floats, and the mean of integers, which is truncated."""
    index, count = np.zeros((5, 1), "int64"), np.arange(5)
    both("relax.scatter_nd", used, np.zeros(4, "float16"), index, count.astype("float16"), reduction="max")
    assert not used


PROGRAM = """@R.function
def main(x: R.Tensor((4,), "float32"), i: R.Tensor((5,), "int64"), u: R.Tensor((5,), "float32")):
    return R.scatter_elements(x, i, u, axis=0, reduction="mean")
"""


@pytest.mark.parametrize(("engine", "is_compiled"), [(LLVM, True), (NUMBA, True), (REFERENCE, False)])
def test_the_engine_decides(
    engine: str, is_compiled: bool, used: list[Loop], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    by_numpy = scatter._combined.by_numpy
    monkeypatch.setattr(scatter._combined, "by_numpy", lambda *args: (calls.append(1), by_numpy(*args))[1])
    module = rxe.normalize(rxe.parse(PROGRAM))
    given = [np.zeros(4, "float32"), np.array([0, 0, 3, 0, 1]), np.arange(5, dtype="float32")]
    for record in (False, True):
        machine = Machine(module, "main", given, record=record, engine=engine)
        while machine.frames:
            machine.step()
        assert machine.result.tolist() == [1.75, 2, 0, 1]
    assert bool(calls) is not is_compiled


def test_little_work_is_left_to_numpy() -> None:
    asked: list[Loop] = []
    with compiling(lambda loop, args: asked.append(loop)):
        scatter._combined(np.zeros((4, 1), "float32"), np.zeros(5, int), np.ones((5, 1), "float32"), "mean")
        assert not asked
        scatter._combined(
            np.zeros((4, 1), "float32"), np.zeros(3000, int), np.ones((3000, 1), "float32"), "mean"
        )
    assert asked == [scatter._combined], "and what is not compiled, as well"
