"""Runs one kernel for a pass (`ops/kit/evaluation.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Timer

from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.kernels import Kernels
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.struct_info import StructInfo
from relax_explorer.core.tir.stmt import PrimFunc


def results(
    kernel: PrimFunc, inputs: Sequence[object], out: StructInfo, place: e.Expr, seconds: float
) -> tuple[object, ...]:
    """The results of a kernel, which is cancelled after some seconds."""
    interrupt = Interrupt()
    timer = Timer(seconds, interrupt.cancel)
    timer.daemon = True
    timer.start()
    try:
        value = Kernels(interrupt=interrupt).call_tir(kernel, inputs, (), out, {}, place)
    finally:
        timer.cancel()
    return value if isinstance(value, tuple) else (value,)
