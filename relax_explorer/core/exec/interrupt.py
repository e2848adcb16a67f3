"""Stops a run from another thread, with a flag in memory that the machine and compiled kernels poll."""

from __future__ import annotations

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure


class Cancelled(Failure):
    """The run was cancelled. The recorded part of the current step is undone."""

    def __init__(self) -> None:
        super().__init__(Diagnostic(codes.CANCELLED, "the run was cancelled", help=codes.CANCELLED.fix))


class Interrupt:
    """A flag that stops the runs that poll it (`Machine`, `Debugger` and `Kernel.__call__` take one).

    Call `cancel()` at any time, from any thread or signal handler. The machine raises `Cancelled` (a Failure, code RX0523)
    before its next step, a kernel within some milliseconds. Kernels release the GIL, so other threads can run. The flag stays
    set until `clear()`; after that a debugger can step again. Evaluations by numpy and packed functions are not interrupted.
    """

    __slots__ = ("_flag", "address", "is_cancelled")

    def __init__(self) -> None:
        self._flag = np.zeros(1, np.int64)
        self.address = int(self._flag.ctypes.data)  # polled by kernels
        self.is_cancelled = False

    def cancel(self) -> None:
        """Stop all runs that poll this flag."""
        self.is_cancelled = True
        self._flag[0] = 1

    def clear(self) -> None:
        """Reset the flag."""
        self.is_cancelled = False
        self._flag[0] = 0

    def check(self) -> None:
        """Raise Cancelled if the flag is set."""
        if self.is_cancelled:
            raise Cancelled
