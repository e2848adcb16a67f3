"""One instruction of a stretch of calls that need no checks (`stretch`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.repeat_kernel import KernelRepeat
from relax_explorer.core.exec.values import Value

Rule = Callable[[Any, Frame, Instruction], object]


@dataclass(slots=True, eq=False)
class Step:
    """One instruction: what computes its value, and what the value must be."""

    at: Instruction
    pc: int
    rule: Rule | None = None  # for an instruction between calls
    kernel: KernelRepeat | None = None  # for a kernel
    function: Callable[..., Value] = tuple  # for an operator
    operands: Callable[[list[Value]], Sequence[Value]] = list
    type: tuple[tuple[int, ...], np.dtype[Any]] | None = None  # None if `function` gives no other one
    result: tuple[tuple[int, ...], np.dtype[Any]] | None = None  # of an operator
