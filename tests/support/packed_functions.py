"""The packed functions that programs of the tests call, registered as users register theirs."""

from __future__ import annotations

from typing import Any

import numpy as np

import relax_explorer as rxe


@rxe.packed_function("test.f")
def identity(*args: Any) -> Any:
    """Its first argument."""
    return args[0]


@rxe.packed_function("test.inc_inplace")
def increment(array: Any) -> tuple[()]:
    """Adds 1 to the array itself."""
    np.add(array, np.ones((), array.dtype), out=array)
    return ()


@rxe.packed_function("test.dps_double")
def double(array: Any, out: Any) -> None:
    """Fills `out` with twice `array`."""
    np.multiply(array, np.asarray(2, array.dtype), out=out)
