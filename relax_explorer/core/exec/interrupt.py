"""Stops a run from another thread, with a flag in memory that the machine and compiled kernels poll."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure

Item = TypeVar("Item")


class Cancelled(Failure):
    """The run was cancelled. The recorded part of the current step is undone."""

    def __init__(self) -> None:
        super().__init__(Diagnostic(codes.CANCELLED, "the run was cancelled", help=codes.CANCELLED.fix))


class Interrupt:
    """A flag that stops the runs that poll it (`Machine`, `Debugger` and `Kernel.__call__` take one).

    Call `cancel()` at any time, from any thread or signal handler. The machine raises `Cancelled` (a Failure, code RX0523)
    before its next step, a kernel within some milliseconds. Kernels release the GIL, so other threads can run. The flag stays
    set until `clear()`; after that a debugger can step again. Evaluations by numpy are not interrupted. A packed function stops
    before its next line of Python.
    """

    __slots__ = ("_flag", "_lock", "_reached", "address", "is_cancelled")

    def __init__(self) -> None:
        self._flag = np.zeros(1, np.int64)
        self.address = int(self._flag.ctypes.data)  # polled by kernels
        self.is_cancelled = False
        self._lock = threading.RLock()  # a signal handler may cancel in the thread that holds it
        self._reached: set[int] = set()  # threads inside packed functions

    def cancel(self) -> None:
        """Stop all runs that poll this flag."""
        with self._lock:
            if self.is_cancelled:
                return  # a second exception would hit a run that ends already
            self.is_cancelled = True
            self._flag[0] = 1
            for thread in self._reached:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(thread), ctypes.py_object(Cancelled)
                )

    @contextmanager
    def reaching(self) -> Iterator[None]:
        """Around code of users, which polls nothing: `cancel` raises Cancelled inside of it."""
        thread = threading.get_ident()
        try:
            with self._lock:
                is_inner = thread in self._reached  # a function of the program that a packed function called
                self._reached.add(thread)
            self.check()
            yield
        finally:
            with self._lock:
                if not is_inner:
                    self._reached.discard(thread)
            self.check()  # an exception that `cancel` set a moment ago is raised here at the latest

    def clear(self) -> None:
        """Reset the flag."""
        self._reached.clear()
        self.is_cancelled = False
        self._flag[0] = 0

    def check(self) -> None:
        """Raise Cancelled if the flag is set."""
        if self.is_cancelled:
            raise Cancelled


def polled(items: Iterable[Item], interrupt: Interrupt | None) -> Iterator[Item]:
    """The same items; Cancelled is raised before the next one once the flag is set."""
    for item in items:
        if interrupt is not None:
            interrupt.check()
        yield item
