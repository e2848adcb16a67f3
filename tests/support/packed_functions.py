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


LOG: list[str] = []
"""The texts that calls of `test.log` added."""


def write_down(text: str) -> str:
    """Adds its text to the log."""
    LOG.append(text)
    return text


def chosen(text: str) -> Any:
    """Adds its text to the log, and returns a function."""
    LOG.append(text)
    return identity


def register() -> None:
    """Register them in this process."""
    packed_function("test.f")(identity)
    packed_function("test.inc_inplace")(increment)
    packed_function("test.dps_double")(double)
    packed_function("test.first")(identity)
    packed_function("test.log")(write_down)
    packed_function("test.get_fn")(chosen)
