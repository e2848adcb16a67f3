"""The work of some benchmarks, written by hand with numpy, and the copy of the bytes that an element-wise program must move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.perf.benchmark import Work

Array = np.ndarray[Any, Any]


def _on(function: Callable[..., object], *shapes: Sequence[int]) -> Callable[[], Work]:
    def prepare() -> Work:
        random = np.random.default_rng(0)
        arrays = [random.standard_normal(tuple(shape)).astype("float32") for shape in shapes]
        return lambda: function(*arrays)

    return prepare


def _copied(x: Array, y: Array, target: Array) -> None:
    """Two arrays are read and one is written. Two copies of 3/4 of an array move as many bytes."""
    part = len(x) * 3 // 4
    target[:part] = x[:part]
    target[:part] = y[:part]


def _multiplied(x: Array, y: Array) -> Any:
    return x @ y


def _perceptron(x: Array, a: Array, b: Array, c: Array) -> Any:
    hidden = x @ a
    np.maximum(hidden, 0, out=hidden)
    hidden = hidden @ b
    np.maximum(hidden, 0, out=hidden)
    return hidden @ c


def _normalized(x: Array, g: Array, b: Array) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + np.float32(1e-5)) * g + b


def _block(x: Array, g: Array, b: Array, q: Array, k: Array, v: Array, o: Array, u: Array, d: Array) -> Any:
    first = _normalized(x, g, b)
    heads = [(first @ weight).reshape(1, 128, 8, 64).transpose(0, 2, 1, 3) for weight in (q, k, v)]
    scores = heads[0] @ heads[1].swapaxes(2, 3) * np.float32(0.125)
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    scores /= scores.sum(-1, keepdims=True)
    seen = (scores @ heads[2]).transpose(0, 2, 1, 3).reshape(1, 128, 512)
    middle = x + seen @ o
    return middle + np.maximum(_normalized(middle, g, b) @ u, 0) @ d


def _convolved(x: Array, w: Array) -> Any:
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    columns = windows.transpose(0, 1, 4, 5, 2, 3).reshape(64 * 9, 56 * 56)
    return np.maximum(w.reshape(64, 64 * 9) @ columns, 0).reshape(1, 64, 56, 56)


COPY = _on(_copied, *[(10_000_000,)] * 3)
MATMUL = _on(_multiplied, *[(1024, 1024)] * 2)
PERCEPTRON = _on(_perceptron, (256, 1024), *[(1024, 1024)] * 3)
BLOCK = _on(_block, (1, 128, 512), (512,), (512,), *[(512, 512)] * 4, (512, 2048), (2048, 512))
CONV2D = _on(_convolved, (1, 64, 56, 56), (64, 64, 3, 3))
