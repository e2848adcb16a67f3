"""What happens when the memory that a process may have is too small: one sentence, and an exit status of its own."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator

STATUS = 71
LEAST = 192 << 20  # bytes of address space for the smallest program
ROOMY = 16 << 30  # with less, libraries get one thread each: every thread reserves tens of megabytes
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
_SIGNS = (
    "can't start new thread",
    "failed to map segment",
    "cannot allocate memory",
    "unable to allocate",
    "out of memory",
)
_SAID = b"relax-explorer: there is not enough memory: a limit (ulimit -v) or the machine allows too little for this command\n"


def prepare() -> None:
    """Refuse a limit in which nothing can run. Numpy and others get few threads in a narrow one; so this comes before them."""
    threading.excepthook = _of_thread
    most = _limit()
    if most is None or most > ROOMY:
        return
    for name in _THREADS:
        os.environ.setdefault(name, "1")
    if most < LEAST:
        text = f"relax-explorer: the limit of memory, {most >> 20} MB (ulimit -v), is too low: it takes {LEAST >> 20} MB at least\n"
        _leave(text.encode())


def leave() -> None:
    """End the process with the sentence. It allocates nothing, and no thread delays it."""
    _leave(_SAID)


def is_cause(error: BaseException) -> bool:
    """True if an error comes from want of memory."""
    return any(
        isinstance(item, MemoryError)
        or (isinstance(item, OSError) and item.errno == errno.ENOMEM)
        or (
            isinstance(item, (ImportError, OSError, RuntimeError, SystemError))
            and any(sign in str(item).lower() for sign in _SIGNS)
        )
        for item in _chain(error)
    )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _limit() -> int | None:
    """The bytes of address space that this process may have; None without a limit."""
    try:
        import resource
    except ImportError:  # there is none on Windows
        return None
    soft = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if soft == resource.RLIM_INFINITY else soft


def _of_thread(given: threading.ExceptHookArgs) -> None:
    if given.exc_value is not None and is_cause(given.exc_value):
        leave()
    threading.__excepthook__(given)


def _leave(text: bytes) -> None:
    os.write(2, text)
    os._exit(STATUS)
