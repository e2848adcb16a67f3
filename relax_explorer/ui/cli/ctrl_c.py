"""Never lose a ctrl+c."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from types import CodeType

AGAIN = 0.01  # seconds


def keep() -> None:
    """Python drops a KeyboardInterrupt that comes while an object is freed. Raise it again, a moment later."""

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            threading.Timer(AGAIN, later).start()
        else:
            sys.__unraisablehook__(unraisable)

    def later() -> None:
        """On a busy machine the main thread may still be in the hook, where Python would drop it for good."""
        if _runs(hook.__code__):
            threading.Timer(AGAIN, later).start()
        else:
            interrupt()

    sys.unraisablehook = hook


def _runs(code: CodeType) -> bool:
    """True if the main thread is in a call of this code."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None


def interrupt() -> None:
    """Interrupt the main thread, also while it sleeps or waits. A flag alone would be seen only after the wait."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, signal.SIGINT)
    else:
        _thread.interrupt_main()
