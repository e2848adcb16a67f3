"""The packed functions of the tests' programs, registered the way users register theirs."""

from __future__ import annotations

from typing import Any

import numpy as np

from relax_explorer.core.exec.packed import packed_function


def identity(*args: Any) -> Any:
    """Its first argument."""
    return args[0]


def increment(array: Any) -> tuple[()]:
    """Adds 1 to the array itself."""
    np.add(array, np.ones((), array.dtype), out=array)
    return ()


def double(array: Any, out: Any) -> None:
    """Fills `out` with twice `array`."""
    np.multiply(array, np.asarray(2, array.dtype), out=out)


def register() -> None:
    """Register them in this process."""
    packed_function("test.f")(identity)
    packed_function("test.inc_inplace")(increment)
    packed_function("test.dps_double")(double)
