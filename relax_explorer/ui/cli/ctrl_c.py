"""Never lose a ctrl+c."""

from __future__ import annotations

import _thread
import sys
import threading

AGAIN = 0.01  # seconds


def keep() -> None:
    """Python drops a KeyboardInterrupt that comes while an object is freed. Raise it again, a moment later."""

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            threading.Timer(AGAIN, _thread.interrupt_main).start()
        else:
            sys.__unraisablehook__(unraisable)

    sys.unraisablehook = hook
