"""Packed functions: Python functions that programs call by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Packed = Callable[..., Any]
_REGISTRY: dict[str, Packed] = {}


def packed_function(name: str) -> Callable[[Packed], Packed]:
    """Register the decorated function as the packed function `name`.

    It gets numpy arrays, shapes (tuples of int), tuples and numbers; called by `call_dps_packed` it gets the output arrays
    after the arguments and fills them.
    """

    def register(function: Packed) -> Packed:
        _REGISTRY[name] = function
        return function

    return register


def find(name: str) -> Packed | None:
    """The packed function called `name`, None when there is none."""
    return _REGISTRY.get(name)


def names() -> list[str]:
    """Names of the registered packed functions, sorted."""
    return sorted(_REGISTRY)


# The helpers that the chapters of the specification call.


@packed_function("test.f")
def _identity(*args: Any) -> Any:
    """Its first argument."""
    return args[0]


@packed_function("test.inc_inplace")
def _increment(array: Any) -> tuple[()]:
    """Adds 1 to the array itself."""
    np.add(array, np.ones((), array.dtype), out=array)
    return ()


@packed_function("test.dps_double")
def _double(array: Any, out: Any) -> None:
    """Fills `out` with twice `array`."""
    np.multiply(array, np.asarray(2, array.dtype), out=out)
