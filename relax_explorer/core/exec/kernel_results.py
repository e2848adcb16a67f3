"""Runs one kernel for a pass, which folds calls of constants."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Timer

import numpy as np

from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.kernels import Kernels
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.struct_info import StructInfo
from relax_explorer.core.tir.stmt import PrimFunc

SECONDS = 10.0  # a kernel that runs longer is stopped


def kernel_results(
    kernel: PrimFunc, inputs: Sequence[object], out: StructInfo, place: e.Expr
) -> tuple[np.ndarray, ...]:
    """The arrays that a PrimFunc writes, given its input arrays and the StructInfo of its results.

    Raises Failure where the kernel stops, if a result is too large, or after SECONDS.
    """
    interrupt = Interrupt()
    timer = Timer(SECONDS, interrupt.cancel)
    timer.daemon = True
    timer.start()
    try:
        value = Kernels(interrupt=interrupt).call_tir(kernel, inputs, (), out, {}, place)
    finally:
        timer.cancel()
    results: tuple[np.ndarray, ...] = value if isinstance(value, tuple) else (value,)
    return results
