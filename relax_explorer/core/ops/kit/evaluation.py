"""How passes run kernels. Passes and the machine do not import each other; they meet here."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.struct_info import StructInfo

SECONDS = 10.0  # a kernel that runs longer is stopped


def kernel_results(kernel: Any, inputs: Sequence[Any], out: StructInfo, place: e.Expr) -> tuple[Any, ...]:
    """The arrays that a PrimFunc writes, given its input arrays and the StructInfo of its results.

    Raises Failure where the kernel stops, if a result is too large, or after SECONDS.
    """
    machine = import_module("relax_explorer.core.exec.evaluation")
    results: tuple[Any, ...] = machine.results(kernel, inputs, out, place, SECONDS)
    return results
