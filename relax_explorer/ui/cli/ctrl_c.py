"""Never lose a ctrl+c."""

from __future__ import annotations

import _thread
import signal
import sys
import threading

AGAIN = 0.01  # seconds


def keep() -> None:
    """Python drops a KeyboardInterrupt that comes while an object is freed. Raise it again, a moment later."""

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            threading.Timer(AGAIN, interrupt).start()
        else:
            sys.__unraisablehook__(unraisable)

    sys.unraisablehook = hook


def interrupt() -> None:
    """Interrupt the main thread, also while it sleeps or waits. A flag alone would be seen only after the wait."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, signal.SIGINT)
    else:
        _thread.interrupt_main()
