"""Stopping a run from another thread: a flag in memory that the machine and compiled kernels look at."""

from __future__ import annotations

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure


class Cancelled(Failure):
    """The run was cancelled; the step that was under way is undone as far as it is recorded."""

    def __init__(self) -> None:
        super().__init__(Diagnostic(codes.CANCELLED, "the run was cancelled", help=codes.CANCELLED.fix))


class Interrupt:
    """A flag that stops the runs which look at it (`Machine`, `Debugger`, `Kernel.__call__` take one).

    `cancel()` may be called at any time, from any thread or signal handler: the machine raises `Cancelled` (a Failure, code RX0523)
    before its next step, a kernel within some milliseconds. Kernels release Python's lock while they run, so another thread gets
    to run. The flag stays up until `clear()`, which the owner calls before running on: a debugger can step again after that.
    An evaluation by numpy, or a packed function of the user's, is not stopped in its middle.
    """

    __slots__ = ("_flag", "address", "is_cancelled")

    def __init__(self) -> None:
        self._flag = np.zeros(1, np.int64)
        self.address = int(self._flag.ctypes.data)  # where kernels look
        self.is_cancelled = False

    def cancel(self) -> None:
        """Stop what looks at this flag."""
        self.is_cancelled = True
        self._flag[0] = 1

    def clear(self) -> None:
        """Take the flag down."""
        self.is_cancelled = False
        self._flag[0] = 0

    def check(self) -> None:
        """Raise Cancelled when the flag is up."""
        if self.is_cancelled:
            raise Cancelled
