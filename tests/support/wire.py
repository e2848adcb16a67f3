"""Run-time values as JSON, for the pipe between the tests and the oracle's process.

A tensor is sent as its bytes: the .npy format has no name for bfloat16 and the other dtypes of ml_dtypes.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np


def encode_tensor(value: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Return the JSON form of a tensor."""
    data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
    return {"tensor": data, "dtype": value.dtype.name, "dims": list(value.shape)}


def decode_tensor(wire: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Return the tensor encoded by `encode_tensor`, as a writable array."""
    name = wire["dtype"]
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    return np.frombuffer(base64.b64decode(wire["tensor"]), dtype).reshape(wire["dims"]).copy()


def encode(value: Any) -> dict[str, Any]:
    """Return the JSON form of an array, a tuple of integers (a shape), a tuple of values, or a scalar."""
    if isinstance(value, np.ndarray):
        return encode_tensor(value)
    if isinstance(value, tuple):
        if value and all(type(item) is int for item in value):
            return {"shape": list(value)}
        return {"tuple": [encode(item) for item in value]}
    if value is None or isinstance(value, bool | int | float | str):
        return {"scalar": value}
    raise TypeError(f"the oracle takes no {type(value).__name__} as an input")


def decode(
    wire: dict[str, Any],
    *,
    tensor: Callable[[np.ndarray[Any, Any]], Any] = lambda array: array,
    shape: Callable[[list[int]], Any] = tuple,
) -> Any:
    """Return the value of its JSON form; `tensor` and `shape` are the receiver's constructors for these two."""
    if "tensor" in wire:
        return tensor(decode_tensor(wire))
    if "shape" in wire:
        return shape(wire["shape"])
    if "tuple" in wire:
        return tuple(decode(item, tensor=tensor, shape=shape) for item in wire["tuple"])
    return wire["scalar"]
