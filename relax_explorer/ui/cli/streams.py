"""Prepare the process: its standard streams, which may be closed, full, or in an encoding that lacks characters, and ctrl+c."""

from __future__ import annotations

import _thread
import codecs
import errno
import io
import locale
import os
import signal
import sys
import threading
from types import CodeType
from typing import IO

from relax_explorer.viz.visible import ascii_cells

_NAME = "rxe_ascii"


class _Encoder(codecs.IncrementalEncoder):
    """ASCII, with marks that look alike in place of other characters."""

    def encode(self, text: str, final: bool = False) -> bytes:
        return ascii_cells(text).encode("ascii", "backslashreplace")


def _found(name: str) -> codecs.CodecInfo | None:
    if name != _NAME:
        return None
    ascii = codecs.lookup("ascii")
    return codecs.CodecInfo(
        ascii.encode,
        ascii.decode,
        ascii.streamreader,
        ascii.streamwriter,
        _Encoder,
        ascii.incrementaldecoder,
        _NAME,
    )


# A codec of our own, since click writes UTF-8 on a stream that calls itself ASCII.
codecs.register(_found)


class _Closed(io.RawIOBase):
    """A stream that was closed before the program began."""

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def readinto(self, _: object) -> int:
        raise OSError(errno.EBADF, "it is closed")

    def write(self, _: object) -> int:
        raise OSError(errno.EBADF, "it is closed")


def prepare() -> None:
    """Replace closed streams, and make every character printable."""
    for number in range(3):  # otherwise the next opened file becomes a standard stream
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(_Closed(), encoding="utf-8")  # stdin is closed
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(_Closed(), encoding="utf-8", write_through=True)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # stays open until exit
    use_ascii(_codec(locale.getencoding()) != "utf-8" or _codec(sys.stdout.encoding) != "utf-8")


def use_ascii(is_on: bool) -> None:
    """Write only ASCII on the standard streams, with marks that look alike; or everything."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding=_NAME if is_on else "utf-8", errors="backslashreplace")


def is_ascii() -> bool:
    """True if standard output takes only ASCII."""
    return sys.stdout.encoding == _NAME


def _codec(name: str | None) -> str:
    """The usual name of an encoding."""
    try:
        return codecs.lookup(name or "").name
    except LookupError:
        return ""


def drop(stream: IO[str]) -> None:
    """Redirect an unwritable stream to the null device, so that Python does not flush it again at exit."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # a stream without a file
        return


# -- ctrl c ----------------------------------------------------------------------------------------------------------
# Never lose a ctrl+c.


AGAIN = 0.01  # seconds


def keep_interrupts() -> None:
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
