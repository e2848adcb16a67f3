"""How passes run kernels. Passes and the machine do not import each other; they meet here."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

import numpy as np

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
    machine = import_module("relax_explorer.core.exec.kernels")
    results: tuple[np.ndarray, ...] = machine.results(kernel, inputs, out, place, SECONDS)
    return results
